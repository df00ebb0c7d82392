//! Tables of [`super`].

use serde_json::{Value, json};

use super::*;
use crate::crd::VerifiedResource;

const SERVICE: &str = "https://service-1.europe-west1.gcp.commercetools.app/tax";
const PUB_SUB: &str = "projects/tenant/topics/orders-2";
const ARN: &str = "arn:aws:sns:eu-central-1:123456789012:orders-2";
const OK: Reason = Reason::Verified;
const WRONG: Reason = Reason::WrongDestination;

/// A deployment of a service and an event application.
fn record(url: Option<&str>, topic: Option<&str>) -> Deployment {
    let application = |name: &str, url: Option<&str>, topic: Option<&str>| {
        json!({"id": name, "applicationName": name, "standardConfiguration": [], "securedConfiguration": [],
            "url": url, "topic": topic})
    };
    let record = json!({"id": "1", "version": 1, "type": "sandbox", "status": "Deployed", "preview": false,
        "connector": {"id": "c", "version": 1, "name": "Tax"}, "deployedRegion": "europe-west1.gcp", "details": {},
        "applications": [application("service", url, None), application("events", None, topic)]});
    serde_json::from_value(record).expect("it is a deployment")
}

fn verify(kind: ResourceKind, application: Option<&str>) -> Verify {
    let wanted = vec![VerifiedResource { key: "tax".into(), application_name: application.map(str::to_owned) }];
    match kind {
        ResourceKind::Extension => Verify { extensions: wanted, ..Verify::default() },
        ResourceKind::Subscription => Verify { subscriptions: wanted, ..Verify::default() },
    }
}

fn there(destination: &Value) -> Found {
    Found::There(serde_json::from_value(destination.clone()).expect("it is a destination"))
}

#[test]
fn an_extension_must_call_a_host_of_the_deployment() {
    let http =
        |url: &str| json!({"type": "HTTP", "url": url, "authentication": {"type": "x", "headerValue": "canary"}});
    let lambda = json!({"type": "AWSLambda", "arn": "x", "accessSecret": "canary"});
    let host = "https://service-1.europe-west1.gcp.commercetools.app";
    let loud = "HTTPS://Service-1.Europe-west1.GCP.commercetools.app:443/";
    for (case, destination, application, url, expected) in [
        ("the URL itself", http(SERVICE), None, Some(SERVICE), OK),
        ("without the path", http(host), None, Some(SERVICE), OK),
        ("with a slash", http(&format!("{host}/")), None, Some(host), OK),
        ("another path", http(&format!("{SERVICE}/check?a=b")), None, Some(host), OK),
        ("upper case and port", http(loud), None, Some(host), OK),
        ("the named application", http(SERVICE), Some("service"), Some(SERVICE), OK),
        ("another application", http(SERVICE), Some("events"), Some(SERVICE), WRONG),
        ("an application that does not exist", http(SERVICE), Some("gone"), Some(SERVICE), WRONG),
        ("an earlier deployment", http(&host.replace("-1", "-0")), None, Some(SERVICE), WRONG),
        ("a host that only begins the same", http(&format!("{host}.example.com")), None, Some(SERVICE), WRONG),
        ("no URL yet", http(SERVICE), None, None, WRONG),
        ("no URL at all", json!({"type": "HTTP"}), None, Some(SERVICE), WRONG),
        ("null", json!({"type": "HTTP", "url": null}), None, Some(SERVICE), WRONG),
        ("a lambda", lambda, None, Some(SERVICE), WRONG),
    ] {
        let found = [there(&destination)];
        let condition = evaluate(&verify(ResourceKind::Extension, application), &found, &record(url, None), "shop");
        let ConditionUpdate { reason, message, .. } = condition.expect("it could be read");
        assert_eq!(reason, expected, "{case}: {message}");
        assert!(message.contains("Extension tax") && !message.contains("canary"), "{case}: {message}");
        let without_url = url.is_none() || application == Some("events");
        assert_eq!(message.contains("has no URL"), without_url, "{case}: {message}");
    }
}

#[test]
fn a_subscription_must_send_to_a_topic_of_the_deployment() {
    let pub_sub =
        |project: &str, topic: &str| json!({"type": "GoogleCloudPubSub", "projectId": project, "topic": topic});
    let sns = |arn: &str| json!({"type": "SNS", "topicArn": arn, "accessKey": "k", "accessSecret": "canary"});
    for (case, destination, application, topic, expected) in [
        ("the topic", pub_sub("tenant", "orders-2"), None, Some(PUB_SUB), OK),
        ("its whole name", pub_sub("tenant", PUB_SUB), None, Some(PUB_SUB), OK),
        ("a bare name in the record", pub_sub("tenant", "orders-2"), None, Some("orders-2"), OK),
        ("the named application", pub_sub("tenant", "orders-2"), Some("events"), Some(PUB_SUB), OK),
        ("another application", pub_sub("tenant", "orders-2"), Some("service"), Some(PUB_SUB), WRONG),
        ("the topic before a redeploy", pub_sub("tenant", "orders-1"), None, Some(PUB_SUB), WRONG),
        ("another project", pub_sub("other", "orders-2"), None, Some(PUB_SUB), WRONG),
        ("no topic yet", pub_sub("tenant", "orders-2"), None, None, WRONG),
        ("the ARN", sns(ARN), None, Some(ARN), OK),
        ("another account", sns("arn:aws:sns:eu-central-1:1:orders-2"), None, Some(ARN), WRONG),
        ("another topic", sns(&ARN.replace("-2", "-1")), None, Some(ARN), WRONG),
        ("a bare name on AWS", sns(ARN), None, Some("orders-2"), OK),
        ("what AWS shows is unspecified", sns(ARN), None, None, OK),
        ("a queue", json!({"type": "SQS", "queueUrl": "https://sqs/x"}), None, Some(ARN), WRONG),
        ("nothing", json!({"type": "SNS"}), None, Some(ARN), WRONG),
    ] {
        let found = [there(&destination)];
        let condition =
            evaluate(&verify(ResourceKind::Subscription, application), &found, &record(None, topic), "shop");
        let condition = condition.expect("it could be read");
        assert_eq!(condition.reason, expected, "{case}: {}", condition.message);
        assert!(!condition.message.contains("canary"), "{case}: {}", condition.message);
    }
}

#[test]
fn all_findings_are_reported_and_the_first_in_order_is_the_reason() {
    let verify = Verify {
        extensions: vec![VerifiedResource { key: "cart".into(), application_name: None }],
        subscriptions: vec![VerifiedResource { key: "orders".into(), application_name: None }],
    };
    let good = || there(&json!({"type": "HTTP", "url": SERVICE}));
    let elsewhere = || there(&json!({"type": "HTTP", "url": "https://elsewhere.example/hook?token=canary"}));
    let unreadable = || Found::Unreadable("status 503".into());
    let refused = || Found::CredentialsRefused("invalid_client".into());
    let calls = "Extension cart calls elsewhere.example";
    let scopes = "manage_project:shop or manage_subscriptions:shop, which is needed to read Subscriptions";
    for (case, found, expected, words) in [
        ("missing", [good(), Found::Absent], Ok(Reason::NotFound), "Subscription orders does not exist"),
        ("missing, and a wrong destination", [elsewhere(), Found::Absent], Ok(Reason::NotFound), calls),
        ("no scope", [Found::Absent, Found::Forbidden], Ok(Reason::PermissionMissing), scopes),
        ("for the other", [Found::Forbidden, Found::Absent], Ok(Reason::PermissionMissing), "manage_extensions:shop"),
        ("no token", [refused(), refused()], Ok(Reason::CredentialsRejected), "invalid_client"),
        ("missing, and one cannot be read", [Found::Absent, unreadable()], Ok(Reason::NotFound), "status 503"),
        ("one cannot be read", [good(), unreadable()], Err(()), "Subscription orders cannot be looked up"),
    ] {
        let condition = evaluate(&verify, &found, &record(Some(SERVICE), Some(PUB_SUB)), "shop");
        let (reason, message) = match condition {
            Ok(condition) => (Ok(condition.reason), condition.message),
            Err(why) => (Err(()), why),
        };
        assert_eq!(reason, expected, "{case}: {message}");
        assert!(message.contains(words) && !message.contains("canary"), "{case}: {message}");
    }
}

#[test]
fn ready_requires_what_the_spec_asks_for_and_hides_no_finding() {
    use ReadyWhen::{NoWarnings, Verified};
    let deployed = || ConditionUpdate::new(Reason::Deployed, "Deployed");
    let warned = || ConditionUpdate::new(Reason::DeployedWithWarnings, "Deployed, with findings: slow");
    let failed = || ConditionUpdate::new(Reason::DeploymentFailed, "no");
    let verified = ConditionUpdate::new(Reason::Verified, "Verified: Extension tax");
    let missing = ConditionUpdate::new(Reason::NotFound, "Extension tax does not exist");
    let unchecked = ConditionUpdate::new(Reason::NotChecked, "The lookup is in progress");
    let forbidden = ConditionUpdate::new(Reason::PermissionMissing, "lacks");
    for (case, condition, when, findings, found, expected) in [
        ("the default", deployed(), &[][..], false, None, Reason::Deployed),
        ("the default, with warnings", warned(), &[][..], true, None, Reason::DeployedWithWarnings),
        ("the default, not verified", deployed(), &[][..], false, Some(&missing), Reason::Deployed),
        ("no warnings", deployed(), &[NoWarnings], false, None, Reason::Deployed),
        ("warnings", warned(), &[NoWarnings], true, None, Reason::WarningsReported),
        ("verified", deployed(), &[Verified], false, Some(&verified), Reason::Deployed),
        ("verified, with warnings", warned(), &[Verified], true, Some(&verified), Reason::DeployedWithWarnings),
        ("both", deployed(), &[NoWarnings, Verified], false, Some(&verified), Reason::Deployed),
        ("both, with warnings", warned(), &[NoWarnings, Verified], true, Some(&verified), Reason::WarningsReported),
        ("both, missing", warned(), &[Verified, NoWarnings], true, Some(&missing), Reason::NotVerified),
        ("missing", warned(), &[Verified], true, Some(&missing), Reason::NotVerified),
        ("not looked up", deployed(), &[Verified], false, Some(&unchecked), Reason::NotChecked),
        ("no scope", deployed(), &[Verified], false, Some(&forbidden), Reason::PermissionMissing),
        ("nothing to verify", deployed(), &[Verified], false, None, Reason::NotVerified),
        ("a failure stays one", failed(), &[Verified], false, Some(&missing), Reason::DeploymentFailed),
    ] {
        let before = condition.message.clone();
        let ConditionUpdate { reason, message, .. } = ready(condition, when, findings, found);
        assert_eq!(reason, expected, "{case}");
        assert!(when.contains(&Verified) && found.is_none() || message.contains(&before), "{case}: {message}");
        let is_ready = matches!(expected, Reason::Deployed | Reason::DeployedWithWarnings);
        assert_eq!(reason.state() == ConditionState::Ready, is_ready, "{case}");
    }
}
