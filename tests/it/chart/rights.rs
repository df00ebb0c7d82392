//! The rights of the operator's account for each kind of install: exactly these, bound to no other account.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::helm;

const PAGE: &str = include_str!("../../../docs/security.md");
const SHARED_PAGE: &str = include_str!("../../../docs/kinds/clusterconnectproject.md");

/// The rights in watched namespaces, each as `group/resource: verbs`.
const WATCHED: [&str; 12] = [
    "connect-operator.io/actionchecks: get list watch",
    "connect-operator.io/actionchecks/status: patch",
    "connect-operator.io/connectordeployments: get list patch watch",
    "connect-operator.io/connectordeployments/status: patch",
    "connect-operator.io/connectorstageds: get list patch watch",
    "connect-operator.io/connectorstageds/status: patch",
    "connect-operator.io/connectprojects: get list patch watch",
    "connect-operator.io/connectprojects/status: patch",
    "core/configmaps: get list watch",
    "core/namespaces: get",
    "core/secrets: get list watch",
    "events.k8s.io/events: create patch",
];

/// What the API server serves, in the whole cluster or not at all.
const DISCOVERY: [&str; 2] =
    ["/apis/connect-operator.io/v1alpha1: get", "/openapi/v3/apis/connect-operator.io/v1alpha1: get"];

/// The additional rights for `spec.outputs`.
const OUTPUTS: [&str; 2] =
    ["connect-operator.io/connectordeployments/finalizers: update", "core/configmaps: create patch"];

/// The additional rights for `ClusterConnectProject`s, in the whole cluster, for Events, and in the operator's own namespace.
const SHARED: [&str; 5] = [
    "connect-operator.io/clusterconnectprojects: get list patch watch",
    "connect-operator.io/clusterconnectprojects/status: patch",
    "connect-operator.io/connectordeployments: list",
    "connect-operator.io/connectorstageds: list",
    "core/namespaces: list watch",
];
const SHARED_EVENTS: [&str; 1] = ["events.k8s.io/events: create patch"];
const SHARED_OWN: [&str; 1] = ["core/secrets: list watch"];

/// The rights in the operator's own namespace.
const OWN: [&str; 3] = [
    "coordination.k8s.io/leases connect-operator: update",
    "coordination.k8s.io/leases: create get",
    "core/secrets: create delete get patch",
];

/// Formats the rules of a role.
pub(super) fn words(rules: &Value) -> BTreeSet<String> {
    let list = |value: &Value| -> BTreeSet<String> {
        value.as_array().into_iter().flatten().map(|it| it.as_str().unwrap().to_owned()).collect()
    };
    let mut words = BTreeSet::new();
    for rule in rules.as_array().unwrap() {
        let verbs: Vec<_> = list(&rule["verbs"]).into_iter().collect();
        words.extend(list(&rule["nonResourceURLs"]).into_iter().map(|path| format!("{path}: {}", verbs.join(" "))));
        let names = list(&rule["resourceNames"]).into_iter().fold(String::new(), |names, name| names + " " + &name);
        for group in list(&rule["apiGroups"]) {
            for resource in list(&rule["resources"]) {
                let group = if group.is_empty() { "core" } else { &group };
                words.insert(format!("{group}/{resource}{names}: {}", verbs.join(" ")));
            }
        }
    }
    words
}

/// Returns the rights of the operator's account, each with its scope; `everywhere` is the whole cluster.
fn given(set: &str) -> BTreeSet<String> {
    let manifests = helm::manifests(&["--set", set]);
    let mut given = BTreeSet::new();
    for binding in manifests.iter().filter(|it| it["kind"].as_str().unwrap().ends_with("Binding")) {
        let object_refs = binding["subjects"].as_array().unwrap();
        let [name, namespace] = helm::RELEASE;
        assert_eq!(object_refs.len(), 1, "{binding}");
        assert_eq!(
            (&object_refs[0]["name"], &object_refs[0]["namespace"]),
            (&name.into(), &namespace.into()),
            "{binding}"
        );
        let namespace = &binding["metadata"]["namespace"];
        let role = manifests.iter().find(|it| {
            it["kind"] == binding["roleRef"]["kind"]
                && it["metadata"]["name"] == binding["roleRef"]["name"]
                && (it["kind"] == "ClusterRole" || it["metadata"]["namespace"] == *namespace)
        });
        let place = namespace.as_str().unwrap_or("everywhere");
        given.extend(
            words(&role.expect("the role exists")["rules"]).into_iter().map(|right| format!("{place} {right}")),
        );
    }
    given
}

fn at(place: &str, rights: &[&str]) -> BTreeSet<String> {
    rights.iter().map(|right| format!("{place} {right}")).collect()
}

#[test]
fn the_rights_are_these_and_no_others() {
    let own = at("connect-operator", &OWN);
    let secrets_only = at("connect-operator", &OWN[2..]);
    let discovery = at("everywhere", &DISCOVERY);
    for (case, set, expected) in [
        ("all namespaces", "replicaCount=2", vec![at("everywhere", &WATCHED), discovery.clone(), own.clone()]),
        (
            "all, without election",
            "replicaCount=1,leaderElection.enabled=false",
            vec![at("everywhere", &WATCHED), discovery.clone(), secrets_only],
        ),
        (
            "with outputs",
            "outputs.enabled=true",
            vec![at("everywhere", &WATCHED), at("everywhere", &OUTPUTS), discovery.clone(), own.clone()],
        ),
        (
            "outputs in one namespace",
            "watchNamespaces={shop},outputs.enabled=true",
            vec![at("shop", &WATCHED), at("shop", &OUTPUTS), own.clone()],
        ),
        (
            "shared projects in one namespace",
            "watchNamespaces={shop},clusterProjects.enabled=true",
            vec![
                at("shop", &WATCHED),
                at("everywhere", &SHARED),
                at("default", &SHARED_EVENTS),
                at("connect-operator", &SHARED_OWN),
                own.clone(),
            ],
        ),
        ("one namespace", "watchNamespaces={shop}", vec![at("shop", &WATCHED), own.clone()]),
        (
            "two and its own",
            "watchNamespaces={shop,connect-operator}",
            vec![at("shop", &WATCHED), at("connect-operator", &WATCHED), own],
        ),
        ("roles managed elsewhere", "rbac.create=false", vec![]),
    ] {
        let expected: BTreeSet<_> = expected.into_iter().flatten().collect();
        assert_eq!(given(set), expected, "{case}");
    }
}

#[test]
fn with_named_namespaces_nothing_holds_in_the_whole_cluster() {
    for manifest in helm::manifests(&["--set", "watchNamespaces={shop},rbac.aggregatedRoles=false,crds.enabled=false"])
    {
        assert!(!manifest["kind"].as_str().unwrap().starts_with("Cluster"), "{manifest}");
        assert!(manifest["metadata"]["namespace"].is_string(), "{manifest}");
    }
}

#[test]
fn users_get_the_kinds_and_never_the_status() {
    let roles =
        helm::manifests(&["--set", "watchNamespaces={shop}"]).into_iter().filter(|it| it["kind"] == "ClusterRole");
    let roles: Vec<_> = roles.collect();
    assert_eq!(roles.len(), 2);
    for (role, aggregated, verbs) in [
        (&roles[0], vec!["view", "edit", "admin"], "get list watch"),
        (&roles[1], vec!["edit", "admin"], "create delete deletecollection patch update"),
    ] {
        for to in ["view", "edit", "admin"] {
            let label = &role["metadata"]["labels"][format!("rbac.authorization.k8s.io/aggregate-to-{to}")];
            assert_eq!(label == "true", aggregated.contains(&to), "{}", role["metadata"]["name"]);
        }
        for right in words(&role["rules"]) {
            assert!(right.ends_with(&format!(": {verbs}")) && !right.contains("/status"), "{right}");
        }
    }
}

#[test]
fn the_page_about_security_has_the_same_rights() {
    let roles_of = |page: &str| -> Vec<Value> {
        let fenced = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("yaml\n"));
        fenced.flat_map(helm::read).filter(|it| !it["rules"].is_null()).collect()
    };
    let (roles, shared) = (roles_of(PAGE), roles_of(SHARED_PAGE));
    assert_eq!(roles.len(), 3, "one for watched namespaces, one for its own, one for outputs");
    assert_eq!(shared.len(), 3, "one for the cluster, one for Events, one for its own namespace");
    let expected = |rights: &[&str]| -> BTreeSet<String> { rights.iter().map(|right| (*right).to_owned()).collect() };
    assert_eq!(words(&roles[0]["rules"]), expected(&[&WATCHED[..], &DISCOVERY].concat()));
    assert_eq!(words(&roles[1]["rules"]), expected(&OWN));
    assert_eq!(words(&roles[2]["rules"]), expected(&OUTPUTS));
    assert_eq!(words(&shared[0]["rules"]), expected(&SHARED));
    assert_eq!(words(&shared[1]["rules"]), expected(&SHARED_EVENTS));
    assert_eq!(words(&shared[2]["rules"]), expected(&SHARED_OWN));
}
