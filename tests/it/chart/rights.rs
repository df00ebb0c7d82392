//! The rights of the operator's account for each kind of install: exactly those of the pages, bound to no other
//! account.

use crate::prelude::*;

const PAGE: &str = include_str!("../../../docs/security.md");
const SHARED_PAGE: &str = include_str!("../../../docs/kinds/clusterconnectproject.md");

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
        assert_eq!(object_refs[0]["name"], name, "{binding}");
        assert_eq!(object_refs[0]["namespace"], namespace, "{binding}");
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

/// Returns the rights of each role on a page.
fn roles_of<const N: usize>(page: &str) -> [BTreeSet<String>; N] {
    let fenced = page.split("```").skip(1).step_by(2).filter_map(|block| block.strip_prefix("yaml\n"));
    let roles = fenced.flat_map(helm::read).filter(|it| !it["rules"].is_null());
    roles.map(|role| words(&role["rules"])).collect::<Vec<_>>().try_into().expect("as many roles")
}

#[test]
fn the_rights_are_those_of_the_pages_and_no_others() {
    let [watched, own, outputs] = roles_of(PAGE);
    let [shared, events, shared_own] = roles_of(SHARED_PAGE);
    // What the API server serves, in the whole cluster or not at all.
    let (discovery, watched): (BTreeSet<_>, BTreeSet<_>) =
        watched.into_iter().partition(|right| right.starts_with('/'));
    let secrets: BTreeSet<_> = own.iter().filter(|right| right.starts_with("core/secrets")).cloned().collect();
    assert!(watched.len() > 10 && discovery.len() == 2 && own.len() == 3 && outputs.len() == 2 && shared.len() == 5);
    let (everywhere, home) = ("everywhere", "connect-operator");
    let (shop, all, own) = (("shop", &watched), [(everywhere, &watched), (everywhere, &discovery)], (home, &own));
    for (case, set, expected) in [
        ("all namespaces", "replicaCount=2", [&all[..], &[own]].concat()),
        ("no election", "replicaCount=1,leaderElection.enabled=false", [&all[..], &[(home, &secrets)]].concat()),
        ("with outputs", "outputs.enabled=true", [&all[..], &[own, (everywhere, &outputs)]].concat()),
        ("one's outputs", "watchNamespaces={shop},outputs.enabled=true", vec![shop, ("shop", &outputs), own]),
        (
            "shared projects in one namespace",
            "watchNamespaces={shop},clusterProjects.enabled=true",
            vec![shop, (everywhere, &shared), ("default", &events), (home, &shared_own), own],
        ),
        ("one namespace", "watchNamespaces={shop}", vec![shop, own]),
        ("two and its own", "watchNamespaces={shop,connect-operator}", vec![shop, (home, &watched), own]),
        ("roles managed elsewhere", "rbac.create=false", vec![]),
    ] {
        let at = |(place, rights): (&str, &BTreeSet<String>)| -> Vec<String> {
            rights.iter().map(|right| format!("{place} {right}")).collect()
        };
        assert_eq!(given(set), expected.into_iter().flat_map(at).collect(), "{case}");
    }
}
