use serde_json::{Value, json};

use super::*;
use crate::controllers::connector_deployment::desired::{Contents, from_spec};
use crate::crd::ConnectorDeploymentSpec;

const PLACEHOLDER: &str = "https://placeholder.example.com";

/// A plain value that is the URL of an application.
fn url_of(key: &str, application: &str, path: Option<&str>) -> Value {
    let mut from = json!({"application": application, "placeholder": PLACEHOLDER});
    if let Some(path) = path {
        from["path"] = json!(path);
    }
    json!({"key": key, "valueFrom": {"applicationUrl": from}})
}

/// Two applications that each need the other's URL, and a global value.
fn desired() -> Desired {
    let spec: ConnectorDeploymentSpec = serde_json::from_value(json!({
        "projectRef": {"name": "shop"}, "connector": {"key": "tax"},
        "configurations": [
            {"applicationName": "service", "standardConfiguration": [
                url_of("PEER", "app", None), {"key": "LEVEL", "value": "info"},
            ]},
            {"applicationName": "app", "standardConfiguration": [url_of("HOOK", "service", Some("/hook?a=1"))]},
        ],
        "globalConfiguration": {"standardConfiguration": [url_of("BASE", "service", Some("/"))]},
    }))
    .expect("a spec");
    from_spec(&spec, &Contents::new(), None).expect("nothing is missing")
}

fn record(applications: &Value) -> Deployment {
    let named: Vec<_> = applications.as_object().expect("names").iter().collect();
    let shown: Vec<_> = named.iter().map(|(name, it)| json!({"applicationName": name, "url": it["url"]})).collect();
    let declared: Vec<_> =
        named.iter().map(|(name, it)| json!({"applicationName": name, "applicationType": it["type"]})).collect();
    serde_json::from_value(json!({
        "id": "1", "version": 1, "status": "Deployed", "applications": shown,
        "connector": {"id": "9", "key": "tax", "version": 1, "configurations": declared},
    }))
    .expect("a record")
}

fn known(id: &str, urls: &[(&str, &str)]) -> PersistedState {
    let urls = urls.iter().map(|(name, url)| ((*name).to_owned(), (*url).to_owned())).collect();
    PersistedState { id: Some(id.to_owned()), urls, ..PersistedState::default() }
}

/// `PEER`, `HOOK` and `BASE`, and how many of them have no URL yet.
fn values(desired: &Desired) -> ([String; 3], usize) {
    let of = |application: &str, key: &str| desired.values.applications[application].standard[key].clone();
    let global = desired.values.global.standard["BASE"].clone();
    ([of("service", "PEER"), of("app", "HOOK"), global], desired.awaited().count())
}

#[test]
fn a_url_takes_the_place_of_its_placeholder_once_it_is_known() {
    let (service, app) = ("https://service-1.example.com", "https://app-1.example.com");
    let both = record(&json!({"service": {"type": "service", "url": service}, "app": {"type": "assets", "url": app}}));
    let hidden = record(&json!({"service": {"type": "service"}, "app": {"type": "assets"}}));
    let bare =
        record(&json!({"service": {"type": "service", "url": "service-1.example.com/"}, "app": {"type": "assets"}}));
    let before = known("1", &[("service", service), ("app", app)]);
    let nothing = PersistedState::default();
    let resolved = [app.to_owned(), format!("{service}/hook?a=1"), format!("{service}/")];
    let unresolved = [PLACEHOLDER; 3].map(str::to_owned);
    for (case, record, status, expected) in [
        ("no deployment exists yet", None, &nothing, (unresolved.clone(), 3)),
        ("the deployment is gone, and its URLs with it", None, &before, (unresolved.clone(), 3)),
        ("the record shows no URL yet", Some(&hidden), &nothing, (unresolved.clone(), 3)),
        ("the record shows both", Some(&both), &nothing, (resolved.clone(), 0)),
        (
            "both were seen before, and the record does not show them during a redeploy",
            Some(&hidden),
            &before,
            (resolved.clone(), 0),
        ),
        ("those of another deployment do not count", Some(&hidden), &known("2", &[("app", app)]), (unresolved, 3)),
        (
            "the record wins over what it showed before",
            Some(&both),
            &known("1", &[("service", "https://old.example.com"), ("app", app)]),
            (resolved.clone(), 0),
        ),
        (
            "one without a scheme, and with a slash at its end; the record does not show the other",
            Some(&bare),
            &nothing,
            ([PLACEHOLDER.to_owned(), resolved[1].clone(), resolved[2].clone()], 1),
        ),
    ] {
        let mut desired = desired();
        desired.resolve(&urls(record, status));
        assert_eq!(values(&desired), expected, "{case}");
        assert_eq!(desired.values.applications["service"].standard["LEVEL"], "info", "{case}");
    }
    let mut again = desired();
    again.resolve(&before.urls);
    assert_eq!(values(&again), (resolved, 0), "without a read of the remote");
}

#[test]
fn a_value_that_is_not_sent_stays_out() {
    let mut desired = desired();
    desired.values.applications.remove("app");
    desired.resolve(&[("service".to_owned(), "https://service-1.example.com".to_owned())].into());
    assert!(!desired.values.applications.contains_key("app"));
    assert_eq!(desired.url_values.len(), 2);
}

#[test]
fn the_message_names_each_value_its_application_and_why_the_url_is_unknown() {
    let url = "https://service-1.example.com";
    for (case, applications, expected) in [
        (
            "the URL may appear later",
            json!({"service": {"type": "service", "url": url}, "app": {"type": "assets"}}),
            Some("service/PEER (the URL of application app, which shows none yet)"),
        ),
        (
            "there will never be a URL",
            json!({"service": {"type": "service", "url": url}, "app": {"type": "job"}}),
            Some("service/PEER (the URL of application app, which is of type job and never has one)"),
        ),
        (
            "the application does not exist",
            json!({"app": {"type": "assets", "url": url}}),
            Some(
                "app/HOOK, globalConfiguration/BASE (the URL of application service, which is not part of the deployment)",
            ),
        ),
        (
            "all URLs are known",
            json!({"service": {"type": "service", "url": url}, "app": {"type": "assets", "url": url}}),
            None,
        ),
    ] {
        let record = record(&applications);
        let mut desired = desired();
        desired.resolve(&urls(Some(&record), &PersistedState::default()));
        let condition = waiting(&desired, &record);
        assert!(
            condition.as_ref().is_none_or(|condition| condition.reason == Reason::WaitingForApplicationUrl),
            "{case}"
        );
        let expected = expected.map(|why| format!("Deployed with placeholders for URLs that are not known: {why}"));
        assert_eq!(condition.map(|condition| condition.message), expected, "{case}");
    }
}
