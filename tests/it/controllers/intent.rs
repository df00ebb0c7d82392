//! What users request apart from values.

use connect_api::Selector;
use connect_operator::controllers::connector_deployment::intent::{
    Target, deletion, desired_identity, ignored, intent, kind, target,
};
use connect_operator::controllers::connector_deployment::persisted::ConnectorName;
use connect_operator::controllers::context::Project;
use connect_operator::controllers::reconcile::request;
use connect_operator::controllers::remote::RegistryKey;
use connect_operator::controllers::reporting::conditions::ConditionUpdate;
use connect_operator::controllers::reporting::reason::Reason;
use connect_operator::controllers::values::names::Item;
use connect_operator::crd::StagedConnector;
use connect_operator::crd::shared::RemoteIdentity;
use connect_operator::crd::{DeletionPolicy, DeploymentType};
use connect_operator::names;
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::{Value, json};

use super::resource;

fn project() -> Project {
    Project {
        identity: RemoteIdentity { api_url: "https://connect.test".into(), project_key: "demo".into() },
        region: "europe-west1.gcp".into(),
        http_api_url: "https://api.europe-west1.gcp.commercetools.com".into(),
        remote: Err(ConditionUpdate::new(Reason::Queued, "not needed here")),
    }
}

#[test]
fn defaults_apply_to_unset_fields() {
    for (case, spec, kind_of, region) in [
        ("nothing written", json!({}), "sandbox", "europe-west1.gcp"),
        ("staged", json!({"connector": {"key": "mine", "staged": true}}), "preview", "europe-west1.gcp"),
        ("written", json!({"type": "production", "region": "us-east-2.aws"}), "production", "us-east-2.aws"),
    ] {
        let object = resource(&spec);
        let wanted = desired_identity(&object, &project());
        assert_eq!(kind(&object), kind_of, "{case}");
        assert_eq!(wanted.region, region, "{case}");
        assert_eq!(wanted.key, "shop_tax", "{case}");
        assert_eq!(wanted.remote, project().identity, "{case}");
        assert_eq!(wanted.kind == DeploymentType::Preview, kind_of == "preview", "{case}");
    }
}

#[test]
fn a_connector_is_named_as_in_the_spec() {
    for (case, spec, sent, looked_up) in [
        ("by key", json!({"key": "tax"}), (None, Some("tax"), None), (Selector::Key("tax".into()), false)),
        (
            "by id, with a version",
            json!({"id": "one", "version": 4}),
            (Some("one"), None, None),
            (Selector::Id("one".into()), false),
        ),
        (
            "staged connectors are looked up among staged ones",
            json!({"key": "mine", "staged": true}),
            (None, Some("mine"), Some(true)),
            (Selector::Key("mine".into()), true),
        ),
        (
            "staged: false is left out",
            json!({"key": "tax", "staged": false}),
            (None, Some("tax"), None),
            (Selector::Key("tax".into()), false),
        ),
    ] {
        let object = resource(&json!({"connector": spec}));
        let target = target(&object, None).expect(case);
        let reference = target.reference();
        let (id, key, staged) = sent;
        assert_eq!(reference.id.as_deref(), id, "{case}");
        assert_eq!(reference.key.as_deref(), key, "{case}");
        assert_eq!(reference.staged, staged, "{case}");
        assert_eq!(reference.version, None, "{case}: deprecated");
        let (selector, staged) = looked_up;
        assert_eq!(target, Target { name: RegistryKey { selector, staged }, staged: None }, "{case}");
    }
}

#[test]
fn a_staged_ref_resolves_to_the_result_of_its_connector_staged() {
    let refused = || Err("its tag is not yet v2".to_owned());
    let of = |id: Option<&str>, deployable| Some(StagedConnector { id: id.map(Into::into), deployable });
    let found = |id: &str, staged| {
        Ok(Target { name: RegistryKey { selector: Selector::Id(id.into()), staged: true }, staged: Some(staged) })
    };
    let condition = |reason, message: &str| Err(ConditionUpdate::new(reason, message));
    let missing = || Err("it is missing in this namespace".to_owned());
    for (case, live, staged, expected) in [
        ("deployable", None, of(Some("one"), Ok(4)), found("one", Ok(4))),
        ("not yet", None, of(Some("one"), refused()), found("one", refused())),
        (
            "not created yet",
            None,
            of(None, refused()),
            condition(Reason::StagedNotReady, "ConnectorStaged mine: its tag is not yet v2"),
        ),
        (
            "missing",
            None,
            None,
            condition(Reason::StagedNotReady, "ConnectorStaged mine: it is missing in this namespace"),
        ),
        ("live", Some("one"), of(Some("one"), Ok(4)), found("one", Ok(4))),
        ("live, and missing", Some("one"), None, found("one", missing())),
        (
            "live, and another one",
            Some("one"),
            of(Some("two"), Ok(4)),
            condition(
                Reason::IdentityChanged,
                "ConnectorStaged mine is connector two now, but connector one is deployed: delete this resource and \
                 create it again",
            ),
        ),
    ] {
        let mut object = resource(&json!({"connector": {"stagedRef": {"name": "mine"}}}));
        object.status = live.map(|live: &str| {
            let status = json!({"observedGeneration": 1, "id": "deployment", "connector": {"id": live, "version": 1}});
            serde_json::from_value(status).expect("a status")
        });
        assert_eq!(target(&object, staged.as_ref()), expected, "{case}");
    }
}

#[test]
fn rules_20_22_and_23_what_a_deletion_does_to_the_remote() {
    let policy = |policy: &str| json!({"deletionPolicy": policy});
    for (case, spec, expected) in [
        ("by default", json!({}), DeletionPolicy::Delete),
        ("of production by default", json!({"type": "production"}), DeletionPolicy::Orphan),
        ("Delete of production", json!({"type": "production", "deletionPolicy": "Delete"}), DeletionPolicy::Delete),
        ("Orphan", policy("Orphan"), DeletionPolicy::Orphan),
        (
            "only observed",
            json!({"managementPolicy": "ObserveOnly", "deletionPolicy": "Delete"}),
            DeletionPolicy::Orphan,
        ),
        ("suspended", json!({"suspend": true}), DeletionPolicy::Delete),
    ] {
        let mut object = resource(&spec);
        assert_eq!(deletion(&object, None), None, "{case}: not deleted");
        object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(deletion(&object, None), Some(expected), "{case}");
    }
}

#[test]
fn rule_23_an_install_may_have_another_default_which_the_spec_overrides() {
    for (case, spec, install, expected) in [
        ("sandbox", json!({}), None, DeletionPolicy::Delete),
        ("sandbox, kept by the install", json!({}), Some(DeletionPolicy::Orphan), DeletionPolicy::Orphan),
        ("production", json!({"type": "production"}), None, DeletionPolicy::Orphan),
        ("production, not kept", json!({"type": "production"}), Some(DeletionPolicy::Delete), DeletionPolicy::Delete),
        ("written", json!({"deletionPolicy": "Delete"}), Some(DeletionPolicy::Orphan), DeletionPolicy::Delete),
        (
            "only observed",
            json!({"managementPolicy": "ObserveOnly"}),
            Some(DeletionPolicy::Delete),
            DeletionPolicy::Orphan,
        ),
    ] {
        let mut object = resource(&spec);
        assert_eq!(deletion(&object, install), None, "{case}: not deleted");
        object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(deletion(&object, install), Some(expected), "{case}");
    }
}

#[test]
fn each_field_of_the_spec_arrives_in_the_intent() {
    let of = |spec: Value| {
        let object = resource(&spec);
        intent(&object, &desired_identity(&object, &project()), target(&object, None).ok().as_ref(), Some(9))
    };
    let plain = of(json!({}));
    assert!(!(plain.adopt || plain.observe_only || plain.suspended || plain.correct_drift || plain.version.follow));
    assert_eq!(plain.version.wanted, None);
    assert_eq!(plain.version.latest, Some(9));
    assert_eq!(plain.identity.kind, "sandbox");
    assert_eq!(plain.identity.region, "europe-west1.gcp");
    assert_eq!(plain.identity.connector, ConnectorName::Key("demo-connector".into()));
    assert!(of(json!({"adoptionPolicy": "Adopt"})).adopt);
    assert!(of(json!({"managementPolicy": "ObserveOnly"})).observe_only);
    assert!(of(json!({"suspend": true})).suspended);
    assert!(of(json!({"drift": {"policy": "Correct"}})).correct_drift);
    assert!(!of(json!({"drift": {"policy": "Detect"}})).correct_drift);
    let by_id = of(json!({"connector": {"id": "one", "version": 4, "updatePolicy": "Latest"}}));
    assert_eq!(by_id.identity.connector, ConnectorName::Id("one".into()));
    assert_eq!((by_id.version.wanted, by_id.version.follow), (Some(4), true));
    let drift = json!({"drift": {"ignore": [{"applicationName": "service", "key": "A"}, {"key": "B"}]}});
    let expected = [("", "B"), ("service", "A")].map(|(application, key)| Item::standard(application, key));
    assert_eq!(ignored(&resource(&drift)), expected.into());
}

#[test]
fn rules_3_and_11_annotations_are_read_and_long_ones_cut() {
    let mut object = resource(&json!({}));
    assert_eq!(request(&object, names::REDEPLOY_REQUESTED_AT), None);
    let annotations = [(names::REMOTE_ID, "id".to_owned()), (names::REDEPLOY_REQUESTED_AT, "é".repeat(300))];
    object.metadata.annotations = Some(annotations.map(|(name, value)| (name.to_owned(), value)).into());
    object.metadata.generation = Some(5);
    let intent = intent(&object, &desired_identity(&object, &project()), None, None);
    assert_eq!(intent.remote_id.as_deref(), Some("id"));
    assert_eq!(intent.redeploy_request, Some("é".repeat(256)), "the bound of the status");
    assert_eq!(intent.generation, 5);
    assert_eq!(request(&object, names::RECONCILE_REQUESTED_AT), None);
}
