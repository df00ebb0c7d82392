//! What users request apart from values.

use connect_operator::crd::DeletionPolicy;
use connect_operator::crd::StagedConnector;
use connect_operator::operator::deployment::intent::{Target, deletion, target};
use connect_operator::operator::reconcile::request;
use connect_operator::operator::remote::RegistryKey;
use connect_operator::operator::reporting::conditions::ConditionUpdate;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::resource;
use crate::prelude::*;

#[test]
fn a_staged_ref_resolves_to_the_result_of_its_connector_staged() {
    let refused = || Err("its tag is not yet v2".to_owned());
    let of = |id: Option<&str>, deployable| Some(StagedConnector { id: id.map(Into::into), deployable });
    let found = |id: &str, staged| {
        Ok(Target { name: RegistryKey { selector: Selector::Id(id.into()), staged: true }, staged: Some(staged) })
    };
    let waits = |why: &str| Err(ConditionUpdate::new(Reason::StagedNotReady, format!("ConnectorStaged mine: {why}")));
    let missing = || Err("it is missing in this namespace".to_owned());
    let changed = "ConnectorStaged mine is connector two now, but connector one is deployed: delete this resource and \
                   create it again";
    let changed = Err(ConditionUpdate::new(Reason::IdentityChanged, changed));
    for (case, live, staged, expected) in [
        ("deployable", None, of(Some("one"), Ok(4)), found("one", Ok(4))),
        ("not yet", None, of(Some("one"), refused()), found("one", refused())),
        ("not created yet", None, of(None, refused()), waits("its tag is not yet v2")),
        ("missing", None, None, waits("it is missing in this namespace")),
        ("live", Some("one"), of(Some("one"), Ok(4)), found("one", Ok(4))),
        ("live, and missing", Some("one"), None, found("one", missing())),
        ("live, and another one", Some("one"), of(Some("two"), Ok(4)), changed),
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
fn rule_23_an_install_may_have_another_default_which_the_spec_overrides() {
    use DeletionPolicy::{Delete, Orphan};
    for (case, spec, install, expected) in [
        ("sandbox", json!({}), None, Delete),
        ("sandbox, kept by the install", json!({}), Some(Orphan), Orphan),
        ("production", json!({"type": "production"}), None, Orphan),
        ("production, not kept", json!({"type": "production"}), Some(Delete), Delete),
        ("written", json!({"deletionPolicy": "Delete"}), Some(Orphan), Delete),
        ("only observed", json!({"managementPolicy": "ObserveOnly"}), Some(Delete), Orphan),
    ] {
        let mut object = resource(&spec);
        assert_eq!(deletion(&object, install), None, "{case}: not deleted");
        object.metadata.deletion_timestamp = Some(Time(Timestamp::UNIX_EPOCH));
        assert_eq!(deletion(&object, install), Some(expected), "{case}");
    }
}

#[test]
fn rule_11_a_request_is_cut_to_the_bound_of_the_status() {
    let mut object = resource(&json!({}));
    assert_eq!(request(&object, names::REDEPLOY_REQUESTED_AT), None);
    object.metadata.annotations = Some([(names::REDEPLOY_REQUESTED_AT.to_owned(), "é".repeat(257))].into());
    assert_eq!(request(&object, names::REDEPLOY_REQUESTED_AT), Some("é".repeat(256)));
    assert_eq!(request(&object, names::RECONCILE_REQUESTED_AT), None);
}
