//! The rights of the user and of the operators, as the API server evaluates them.
//!
//! A test compares the operator's rights with the rules of the chart.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec,
    SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};

use super::finding::{Finding, Level};
use crate::controllers::clients::served_crds;
use crate::names;

/// Maximum number of questions to the API server at once.
const AT_ONCE: usize = 8;

/// Rights on some resources.
#[derive(Clone, Copy, Debug)]
pub(super) struct Need {
    /// API group.
    group: &'static str,
    /// Resources, or paths that begin with a slash.
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    /// What a missing one means.
    level: Level,
    /// What they are needed for, as the end of a sentence.
    purpose: &'static str,
}

const RECORDS: &[&str] = &["connectordeployments", "connectorstageds", "connectprojects"];
const KINDS: &[&str] = &["actionchecks", "connectordeployments", "connectorstageds", "connectprojects"];

/// What a user needs in a namespace.
pub(super) const OF_USER: [Need; 3] = [
    need(names::GROUP, KINDS, &["get", "list", "watch"], Level::Problem, "to show resources and to wait for them"),
    need(names::GROUP, KINDS, &["create", "patch", "delete"], Level::Warning, "to apply, change and delete resources"),
    need("", &["secrets"], &["get"], Level::Warning, "for `plan` and commands with --project"),
];

/// What an operator needs in the namespaces that it watches; without the optional rights to write the ConfigMap of
/// `spec.outputs`.
pub(super) const WATCHED: [Need; 6] = [
    need(names::GROUP, RECORDS, &["get", "list", "watch", "patch"], Level::Problem, "to reconcile resources"),
    need(names::GROUP, &["actionchecks"], &["get", "list", "watch"], Level::Problem, "to reconcile ActionChecks"),
    need(
        names::GROUP,
        &["actionchecks/status", "connectordeployments/status", "connectorstageds/status", "connectprojects/status"],
        &["patch"],
        Level::Problem,
        "to persist operations and to report",
    ),
    need("", &["secrets", "configmaps"], &["get", "list", "watch"], Level::Problem, "to read credentials and values"),
    need("events.k8s.io", &["events"], &["create", "patch"], Level::Warning, "to report Events"),
    need("", &["namespaces"], &["get"], Level::Warning, "to detect a namespace that is being deleted"),
];

/// What an operator needs in its own namespace.
pub(super) const OWN: [Need; 2] = [
    need(
        "",
        &["secrets"],
        &["get", "list", "create", "patch", "delete"],
        Level::Problem,
        "for its digest key and its copies of credentials",
    ),
    need("coordination.k8s.io", &["leases"], &["get", "create"], Level::Problem, "for the leader election"),
];

/// The paths with which an operator checks what the API server serves. Most clusters let every account read them.
pub(super) const DISCOVERY: [Need; 1] = [need(
    "",
    &[names::KINDS_PATH, names::OPENAPI_PATH],
    &["get"],
    Level::Warning,
    "to check whether the CRDs are those of its version, and to notice that they are removed",
)];

/// What an operator with shared projects needs in all namespaces.
pub(super) const SHARED: [Need; 4] = [
    need(
        names::GROUP,
        &["clusterconnectprojects"],
        &["get", "list", "watch", "patch"],
        Level::Problem,
        "to reconcile ClusterConnectProjects",
    ),
    need(names::GROUP, &["clusterconnectprojects/status"], &["patch"], Level::Problem, "to report on them"),
    need(
        names::GROUP,
        &["connectordeployments", "connectorstageds"],
        &["list"],
        Level::Problem,
        "to know who still uses a ClusterConnectProject that is being deleted",
    ),
    need("", &["namespaces"], &["list", "watch"], Level::Problem, "to evaluate spec.allowedNamespaces"),
];

/// What it needs in its own namespace.
pub(super) const SHARED_OWN: [Need; 1] = [need(
    "",
    &["secrets"],
    &["watch"],
    Level::Problem,
    "to notice changes of the credentials of ClusterConnectProjects",
)];

/// Namespace of the Events about objects that have none.
pub(super) const CLUSTER_EVENTS: &str = "default";

/// What it needs in [`CLUSTER_EVENTS`].
pub(super) const SHARED_EVENTS: [Need; 1] = [need(
    "events.k8s.io",
    &["events"],
    &["create", "patch"],
    Level::Warning,
    "to report Events of ClusterConnectProjects",
)];

const fn need(
    group: &'static str,
    resources: &'static [&'static str],
    verbs: &'static [&'static str],
    level: Level,
    purpose: &'static str,
) -> Need {
    Need { group, resources, verbs, level, purpose }
}

impl Need {
    fn is_of_paths(&self) -> bool {
        self.resources.iter().any(|resource| resource.starts_with('/'))
    }

    /// Returns each right, as `(resource, verb)`.
    fn each(&self) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
        let verbs = self.verbs;
        self.resources.iter().flat_map(move |resource| verbs.iter().map(move |verb| (*resource, *verb)))
    }
}

/// Whose rights are checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    /// The user that runs the command.
    User,
    /// A service account.
    ServiceAccount {
        /// Its namespace.
        namespace: &'a str,
        /// Its name.
        name: &'a str,
    },
}

/// Checks rights; `namespace`: where; `None`: in all namespaces.
///
/// # Errors
/// Those of the API server.
pub(super) async fn check(
    client: &Client,
    subject: Subject<'_>,
    needs: &[Need],
    namespace: Option<&str>,
) -> Result<Vec<Finding>, kube::Error> {
    let rights = needs.iter().enumerate().flat_map(|(at, need)| need.each().map(move |right| (at, need.group, right)));
    let answers = rights.map(|(at, group, (resource, verb))| async move {
        let allowed = allowed(client, subject, attributes(group, resource, verb, namespace)).await?;
        Ok::<_, kube::Error>((at, (!allowed).then(|| format!("{verb} {}", full(resource, group)))))
    });
    let answers: Vec<(usize, Option<String>)> = stream::iter(answers).buffered(AT_ONCE).try_collect().await?;
    let of = |at: usize| answers.iter().filter(move |(it, _)| *it == at).filter_map(|(_, missing)| missing.clone());
    let missing: Vec<(&Need, Vec<String>)> =
        needs.iter().enumerate().map(|(at, need)| (need, of(at).collect())).collect();
    Ok(findings(subject, namespace, missing.iter().map(|(need, missing)| (*need, missing.as_slice()))))
}

fn full(resource: &str, group: &str) -> String {
    if group.is_empty() { resource.to_owned() } else { format!("{resource}.{group}") }
}

/// What a right is asked for by: a resource, or a path.
type Attributes = (Option<ResourceAttributes>, Option<NonResourceAttributes>);

fn attributes(group: &str, resource: &str, verb: &str, namespace: Option<&str>) -> Attributes {
    if resource.starts_with('/') {
        let (path, verb) = (Some(resource.to_owned()), Some(verb.to_owned()));
        return (None, Some(NonResourceAttributes { path, verb }));
    }
    let (resource, subresource) = match resource.split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource.to_owned())),
        None => (resource, None),
    };
    let attributes = ResourceAttributes {
        group: Some(group.to_owned()),
        resource: Some(resource.to_owned()),
        subresource,
        verb: Some(verb.to_owned()),
        namespace: namespace.map(ToOwned::to_owned),
        ..ResourceAttributes::default()
    };
    (Some(attributes), None)
}

async fn allowed(client: &Client, subject: Subject<'_>, attributes: Attributes) -> Result<bool, kube::Error> {
    let (resource_attributes, non_resource_attributes) = attributes;
    let status = match subject {
        Subject::User => {
            let spec = SelfSubjectAccessReviewSpec { resource_attributes, non_resource_attributes };
            let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
            Api::all(client.clone()).create(&PostParams::default(), &review).await?.status
        }
        Subject::ServiceAccount { namespace, name } => {
            let groups =
                ["system:serviceaccounts", &format!("system:serviceaccounts:{namespace}"), "system:authenticated"];
            let spec = SubjectAccessReviewSpec {
                user: Some(format!("system:serviceaccount:{namespace}:{name}")),
                groups: Some(groups.map(ToOwned::to_owned).to_vec()),
                resource_attributes,
                non_resource_attributes,
                ..SubjectAccessReviewSpec::default()
            };
            let review = SubjectAccessReview { spec, ..SubjectAccessReview::default() };
            Api::all(client.clone()).create(&PostParams::default(), &review).await?.status
        }
    };
    Ok(status.is_some_and(|status| status.allowed))
}

/// Returns a finding for each need that lacks a right, or one that says that none is missing. Pure.
fn findings<'a>(
    subject: Subject<'_>,
    namespace: Option<&str>,
    missing: impl Iterator<Item = (&'a Need, &'a [String])>,
) -> Vec<Finding> {
    let place = namespace.map_or("in all namespaces".to_owned(), |it| format!("in the namespace {it}"));
    let (check, who) = match subject {
        Subject::User => ("Your permissions", "you".to_owned()),
        Subject::ServiceAccount { namespace, name } => {
            ("Permissions of the operator", format!("the service account {namespace}/{name}"))
        }
    };
    let remedy = |need: &Need| match subject {
        // The ClusterRole view contains no Secrets.
        Subject::User if need.resources.contains(&"secrets") => {
            "The ClusterRole edit contains them: have it bound to you in this namespace."
        }
        Subject::User => {
            "The ClusterRoles view and edit contain them where the chart runs with rbac.aggregatedRoles: have one of them \
             bound to you."
        }
        Subject::ServiceAccount { .. } if need.is_of_paths() => served_crds::DISCOVERY,
        Subject::ServiceAccount { .. } => {
            "Compare its Roles with those of the chart (rbac.create), and its namespaces with watchNamespaces."
        }
    };
    let mut findings: Vec<Finding> = missing
        .filter(|(_, missing)| !missing.is_empty())
        .map(|(need, missing)| {
            let place = if need.is_of_paths() { String::new() } else { format!(" {place}") };
            let message = format!("{who} may not {}{place}, needed {}", missing.join(", "), need.purpose);
            Finding::new(need.level, check, message, remedy(need))
        })
        .collect();
    if findings.is_empty() {
        let has = if matches!(subject, Subject::User) { "have" } else { "has" };
        findings.push(Finding::ok(check, format!("{who} {has} every right that is needed {place}")));
    }
    findings
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Rights as `(group, resource, verb)`.
    type Rights = BTreeSet<(String, String, String)>;

    fn of_needs(needs: &[Need]) -> Rights {
        let rights = needs.iter().flat_map(|need| need.each().map(|right| (need.group, right)));
        rights.map(|(group, (resource, verb))| (group.to_owned(), resource.to_owned(), verb.to_owned())).collect()
    }

    /// Returns the rights in a Role of the chart, without those that are about a name.
    fn of_chart(name: &str) -> Rights {
        let manifests = include_str!("../../../../tests/fixtures/chart/one-namespace.yaml");
        of_manifests(manifests, |it| it["kind"] == "Role" && it["metadata"]["name"] == name)
    }

    fn of_manifests(manifests: &str, is_it: impl Fn(&serde_json::Value) -> bool) -> Rights {
        let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(manifests).expect("the manifests are YAML");
        let role = documents.into_iter().find(is_it);
        let mut rights = Rights::new();
        let words = |value: &serde_json::Value| {
            let words = value.as_array().into_iter().flatten();
            words.filter_map(|word| word.as_str().map(ToOwned::to_owned)).collect::<Vec<_>>()
        };
        for rule in role.expect("the role exists")["rules"].as_array().expect("rules") {
            for group in words(&rule["apiGroups"]) {
                for resource in words(&rule["resources"]) {
                    let named = rule.get("resourceNames").is_some();
                    let verbs = words(&rule["verbs"]).into_iter().filter(|_| !named);
                    rights.extend(verbs.map(|verb| (group.clone(), resource.clone(), verb)));
                }
            }
        }
        rights
    }

    #[test]
    fn the_chart_grants_the_paths_to_an_operator_of_all_namespaces() {
        let manifests = include_str!("../../../../tests/fixtures/chart/default.yaml");
        let documents: Vec<serde_json::Value> = serde_saphyr::from_multiple(manifests).expect("the manifests are YAML");
        let rules = documents.iter().filter(|it| it["kind"] == "ClusterRole").filter_map(|it| it["rules"].as_array());
        let paths: Vec<_> = rules.flatten().filter(|rule| rule["nonResourceURLs"].is_array()).collect();
        assert_eq!(paths, [&serde_json::json!({"nonResourceURLs": DISCOVERY[0].resources, "verbs": ["get"]})]);
    }

    #[test]
    fn the_operator_needs_what_the_chart_grants() {
        assert_eq!(of_needs(&WATCHED), of_chart("connect-operator:connect-operator"));
        assert_eq!(of_needs(&OWN), of_chart("connect-operator-own"));
    }

    #[test]
    fn shared_projects_need_what_their_page_grants() {
        // Compared with the chart by another test.
        let page = include_str!("../../../../docs/kinds/clusterconnectproject.md");
        let rights = page.split_once("\n## Rights\n").expect("a section").1;
        let manifests = rights.split("```").nth(1).and_then(|block| block.strip_prefix("yaml\n")).expect("manifests");
        let granted = |kind: &str, namespace: Option<&str>| {
            of_manifests(manifests, |it| it["kind"] == kind && it["metadata"]["namespace"].as_str() == namespace)
        };
        assert_eq!(of_needs(&SHARED), granted("ClusterRole", None));
        assert_eq!(of_needs(&SHARED_OWN), granted("Role", Some("connect-operator")));
        assert_eq!(of_needs(&SHARED_EVENTS), granted("Role", Some(CLUSTER_EVENTS)));
    }

    #[test]
    fn a_missing_right_is_named_with_its_purpose() {
        let missing = ["list connectprojects.connect-operator.io".to_owned()];
        let of = |subject, missing: &[String]| findings(subject, Some("shop"), [(&OF_USER[0], missing)].into_iter());
        let found = of(Subject::User, &missing);
        assert_eq!((found.len(), found[0].level), (1, Level::Problem));
        assert_eq!(
            found[0].message,
            "you may not list connectprojects.connect-operator.io in the namespace shop, needed to show resources and \
             to wait for them"
        );
        let secrets = ["get secrets".to_owned()];
        let found = findings(Subject::User, Some("shop"), [(&OF_USER[2], &secrets[..])].into_iter());
        assert!(found[0].remedy.as_deref().unwrap_or_default().contains("ClusterRole edit"), "{found:?}");
        let operator = Subject::ServiceAccount { namespace: "system", name: "operator" };
        let found = of(operator, &[]);
        assert_eq!((found.len(), found[0].level, found[0].check), (1, Level::Ok, "Permissions of the operator"));
        assert!(found[0].message.starts_with("the service account system/operator has every right"));
    }
}
