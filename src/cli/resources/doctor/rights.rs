//! The rights of the user and of the operators, as the API server evaluates them.
//!
//! A test compares the operator's rights with the rules of the chart.

use futures::stream::{self, StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SelfSubjectAccessReview, SelfSubjectAccessReviewSpec};
use kube::api::PostParams;
use kube::{Api, Client};

use super::finding::{Finding, Level};
use crate::names::GROUP;

/// Maximum number of questions to the API server at once.
const AT_ONCE: usize = 8;

/// Rights on the resources of an API group with these verbs, and what a missing one means.
pub(super) type Need = (Level, &'static str, &'static [&'static str], &'static [&'static str]);

const RECORDS: &[&str] = &["connectordeployments", "connectorstageds", "connectprojects"];
const KINDS: &[&str] = &["actionchecks", "connectordeployments", "connectorstageds", "connectprojects"];
const STATUSES: &[&str] =
    &["actionchecks/status", "connectordeployments/status", "connectorstageds/status", "connectprojects/status"];

/// What a user needs in a namespace: to show resources and to wait for them; to change them; for `plan` and commands with
/// `--project`.
pub(super) const OF_USER: [Need; 3] = [
    (Level::Problem, GROUP, KINDS, &["get", "list", "watch"]),
    (Level::Warning, GROUP, KINDS, &["create", "patch", "delete"]),
    (Level::Warning, "", &["secrets"], &["get"]),
];

/// What an operator needs in the namespaces that it watches; without the optional rights to write the ConfigMap of
/// `spec.outputs`.
pub(super) const WATCHED: [Need; 6] = [
    (Level::Problem, GROUP, RECORDS, &["get", "list", "watch", "patch"]),
    (Level::Problem, GROUP, &["actionchecks"], &["get", "list", "watch"]),
    (Level::Problem, GROUP, STATUSES, &["patch"]),
    (Level::Problem, "", &["secrets", "configmaps"], &["get", "list", "watch"]),
    (Level::Warning, "events.k8s.io", &["events"], &["create", "patch"]),
    (Level::Warning, "", &["namespaces"], &["get"]),
];

/// What an operator needs in its own namespace: for its digest key and its copies of credentials, and for its Lease.
pub(super) const OWN: [Need; 2] = [
    (Level::Problem, "", &["secrets"], &["get", "create", "patch", "delete"]),
    (Level::Problem, "coordination.k8s.io", &["leases"], &["get", "create"]),
];

/// What an operator with shared projects needs in all namespaces.
pub(super) const SHARED: [Need; 4] = [
    (Level::Problem, GROUP, &["clusterconnectprojects"], &["get", "list", "watch", "patch"]),
    (Level::Problem, GROUP, &["clusterconnectprojects/status"], &["patch"]),
    (Level::Problem, GROUP, &["connectordeployments", "connectorstageds"], &["list"]),
    (Level::Problem, "", &["namespaces"], &["list", "watch"]),
];

/// What it needs in its own namespace.
pub(super) const SHARED_OWN: [Need; 1] = [(Level::Problem, "", &["secrets"], &["list", "watch"])];

/// Namespace of the Events about objects that have none.
pub(super) const CLUSTER_EVENTS: &str = "default";

/// What it needs in [`CLUSTER_EVENTS`].
pub(super) const SHARED_EVENTS: [Need; 1] = [(Level::Warning, "events.k8s.io", &["events"], &["create", "patch"])];

/// Whose rights are checked.
#[derive(Clone, Copy, Debug)]
pub(super) enum Subject<'a> {
    /// The user that runs the command.
    User,
    /// A service account of an operator, which the client impersonates.
    Operator(&'a str),
}

impl Subject<'_> {
    pub(super) fn check(self) -> &'static str {
        match self {
            Self::User => "Your permissions",
            Self::Operator(_) => "Permissions of the operator",
        }
    }

    fn remedy(self) -> &'static str {
        match self {
            Self::User => {
                "The ClusterRoles view and edit contain them, edit also those for Secrets, where the chart runs with \
                 rbac.aggregatedRoles: have one of them bound to you."
            }
            Self::Operator(_) => {
                "Compare its Roles with those of the chart (rbac.create), and its namespaces with watchNamespaces."
            }
        }
    }
}

/// Checks the rights of the user of a client; `namespace`: where; `None`: in all namespaces.
///
/// # Errors
/// Those of the API server.
pub(super) async fn check(
    client: &Client,
    subject: Subject<'_>,
    needs: &[Need],
    namespace: Option<&str>,
) -> Result<Vec<Finding>, kube::Error> {
    let mut findings = Vec::new();
    for need in needs {
        let asked = each(need).map(|(resource, verb)| async move {
            let allowed = allowed(client, (need.1, resource, verb), namespace).await?;
            let group = if need.1.is_empty() { String::new() } else { format!(".{}", need.1) };
            Ok::<_, kube::Error>((!allowed).then(|| format!("{verb} {resource}{group}")))
        });
        let answers: Vec<Option<String>> = stream::iter(asked).buffered(AT_ONCE).try_collect().await?;
        let missing: Vec<String> = answers.into_iter().flatten().collect();
        findings.extend((!missing.is_empty()).then(|| finding(subject, need.0, &missing, namespace)));
    }
    if findings.is_empty() {
        findings.push(finding(subject, Level::Ok, &[], namespace));
    }
    Ok(findings)
}

/// Returns each right, as `(resource, verb)`.
fn each(need: &Need) -> impl Iterator<Item = (&'static str, &'static str)> + use<> {
    let (_, _, resources, verbs) = *need;
    resources.iter().flat_map(move |resource| verbs.iter().map(move |verb| (*resource, *verb)))
}

async fn allowed(
    client: &Client,
    (group, resource, verb): (&str, &str, &str),
    namespace: Option<&str>,
) -> Result<bool, kube::Error> {
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
    let spec = SelfSubjectAccessReviewSpec { resource_attributes: Some(attributes), ..Default::default() };
    let review = SelfSubjectAccessReview { spec, ..SelfSubjectAccessReview::default() };
    let answer = Api::all(client.clone()).create(&PostParams::default(), &review).await?;
    Ok(answer.status.is_some_and(|status| status.allowed))
}

/// Returns the finding about missing rights, or about none. Pure.
fn finding(subject: Subject<'_>, level: Level, missing: &[String], namespace: Option<&str>) -> Finding {
    let place = namespace.map_or("in all namespaces".to_owned(), |it| format!("in the namespace {it}"));
    let (who, have) = match subject {
        Subject::User => ("you", "have"),
        Subject::Operator(account) => (account, "has"),
    };
    if missing.is_empty() {
        return Finding::ok(subject.check(), format!("{who} {have} every right that is needed {place}"));
    }
    let message = format!("{who} may not {} {place}", missing.join(", "));
    Finding::new(level, subject.check(), message, subject.remedy())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Rights as `(group, resource, verb)`.
    type Rights = BTreeSet<(String, String, String)>;

    fn of_needs(needs: &[Need]) -> Rights {
        let rights = needs.iter().flat_map(|need| each(need).map(|right| (need.1, right)));
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
    fn a_missing_right_is_named_with_its_place() {
        let missing = ["list connectprojects.connect-operator.io".to_owned()];
        let account = "the service account system/operator";
        for (subject, missing, level, expected) in [
            (
                Subject::User,
                &missing[..],
                Level::Problem,
                "you may not list connectprojects.connect-operator.io in the namespace shop",
            ),
            (
                Subject::Operator(account),
                &[],
                Level::Ok,
                "the service account system/operator has every right that is needed in the namespace shop",
            ),
        ] {
            let found = finding(subject, level, missing, Some("shop"));
            assert_eq!((found.level, found.message.as_str()), (level, expected));
        }
    }
}
