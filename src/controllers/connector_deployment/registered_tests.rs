use std::sync::Arc;

use jiff::Timestamp;

use super::*;

#[test]
fn a_call_needs_the_rights_of_what_it_does() {
    use Right::{GenerateApiClients, ManageDeployments, ViewConnectors};
    let create = CallKind::Create { gone: None };
    let redeploy = |update_connector| CallKind::Redeploy { id: "1".into(), version: 1, update_connector };
    let undeploy = CallKind::Undeploy { id: "1".into() };
    let plain = RegistryConnector { applications: Some(Vec::new()), ..RegistryConnector::default() };
    let generating = RegistryConnector { api_client: vec!["manage_orders".into()], ..plain.clone() };
    let undeclared = RegistryConnector::default();
    for (case, offering, call, needed, suspected) in [
        ("create", Some(&plain), &create, &[ManageDeployments][..], &[ManageDeployments][..]),
        (
            "create with an API client",
            Some(&generating),
            &create,
            &[ManageDeployments, GenerateApiClients],
            &[GenerateApiClients, ManageDeployments],
        ),
        ("create, not read", None, &create, &[ManageDeployments, ViewConnectors], &[ManageDeployments]),
        ("create, undeclared", Some(&undeclared), &create, &[ManageDeployments, ViewConnectors], &[ManageDeployments]),
        ("redeploy, not read", None, &redeploy(false), &[ManageDeployments], &[ManageDeployments]),
        ("redeploy", Some(&generating), &redeploy(false), &[ManageDeployments], &[ManageDeployments]),
        ("move, not read", None, &redeploy(true), &[ManageDeployments, ViewConnectors], &[ManageDeployments]),
        (
            "move, which may generate an API client",
            Some(&generating),
            &redeploy(true),
            &[ManageDeployments],
            &[ManageDeployments, GenerateApiClients],
        ),
        (
            "deleted to be created again",
            Some(&generating),
            &CallKind::Recreate { id: "1".into() },
            &[ManageDeployments, GenerateApiClients],
            &[ManageDeployments],
        ),
        ("undeploy", Some(&generating), &undeploy, &[ManageDeployments], &[ManageDeployments]),
    ] {
        let found =
            offering.map_or(RegistryAnswer::Unreadable, |offering| RegistryAnswer::There(Arc::new(offering.clone())));
        let registry_entry = RegistryEntry { at: Timestamp::UNIX_EPOCH, found, current: true };
        let registered = Registered { registry_entry: Some(registry_entry), deployable: None };
        assert_eq!(registered.rights(call), needed, "{case}");
        assert_eq!(suspects(call, registered.generates_api_client()), suspected, "{case}");
    }
}
