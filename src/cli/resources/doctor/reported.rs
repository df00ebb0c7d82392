//! What the operator reports about the resources: whether each project answers with sufficient scopes, and which
//! resources are not Ready. Pure.

use std::collections::BTreeMap;

use connect_api::scopes::Right;

use super::finding::{Finding, Level};
use crate::cli::resources::kind::{Resource, ResourceType};
use crate::controllers::reporting::reason::{ConditionState, Reason};
use crate::crd::{ManagementPolicy, ProjectRef};

const PROJECT: &str = "Project";
/// Maximum number of names in a line.
const LISTED: usize = 3;

/// Checks each project: egress, credentials and scopes, as its status reports them.
pub(super) fn projects(resources: &[Resource], program: &str) -> Vec<Finding> {
    let projects = resources.iter().filter(|it| it.resource_type().is_project());
    projects.map(|resource| project(resource, resources, program)).collect()
}

/// Returns the finding if there is no project, through which alone the operator calls the service.
pub(super) fn no_project() -> Finding {
    let message = "not checked, because there is no project".to_owned();
    let remedy = "Create a ConnectProject and its Secret, and run the check again: the status of the project shows whether \
                  the operator reaches the Connect API.";
    Finding::new(Level::Warning, "Egress", message, remedy)
}

fn project(resource: &Resource, resources: &[Resource], program: &str) -> Finding {
    let name = resource.full_name();
    let Some(ready) = resource.ready() else { return unobserved(PROJECT, &name, resource, program) };
    let Some(reason) = Reason::parse(&ready.reason) else {
        let remedy = "Use this program in the version of the operator.";
        let message = format!("{name}: {}: {}", ready.reason, ready.message);
        return Finding::new(Level::Warning, PROJECT, message, remedy);
    };
    let level = level(reason);
    if level != Level::Ok {
        let message = format!("{name}: {reason}: {}", ready.message);
        return Finding::new(level, PROJECT, message, remedy(reason, resource));
    }
    let Some((spec, status)) = resource.as_project() else { return Finding::ok(PROJECT, name) };
    let key = &spec.project_key;
    let scopes = status.map(|status| status.scopes.as_slice()).unwrap_or_default();
    if scopes.is_empty() {
        return Finding::ok(PROJECT, format!("{name}: {key} answers; the scopes of its API client are not known"));
    }
    let granted = |right: &Right| right.is_granted(scopes.iter().map(String::as_str), key);
    let missing: Vec<Right> = needed(resource, resources).into_iter().filter(|right| !granted(right)).collect();
    if missing.is_empty() {
        return Finding::ok(
            PROJECT,
            format!("{name}: {key} answers, and its API client has the scopes that are needed"),
        );
    }
    let purposes: Vec<_> = missing.iter().map(|right| right.purpose()).collect();
    let scopes: Vec<_> = missing.iter().map(|right| right.needed(key)).collect();
    let message = format!("{name}: its API client lacks the scopes {}", purposes.join(" and "));
    let secret = &spec.credentials_secret_ref.name;
    let place = if resource.resource_type().is_cluster_scoped() { " in the operator's namespace" } else { "" };
    let scopes = scopes.join(", and ");
    let remedy = format!("Create an API client with {scopes}, and put it into the Secret {secret}{place}.");
    Finding::new(Level::Problem, PROJECT, message, remedy)
}

/// Returns what to do about a project with this reason. `docs/runbooks.md` has the same remedy.
fn remedy(reason: Reason, project: &Resource) -> String {
    let sentence = reason.sentence().replace('`', "");
    let Some((spec, _)) = project.as_project().filter(|_| reason == Reason::ServiceUnavailable) else {
        return sentence;
    };
    let (api, auth) = (spec.effective_api_url(), spec.effective_auth_url());
    format!(
        "{sentence}\nCheck for a NetworkPolicy, proxy or firewall between the operator and {api} and {auth}, and for a \
         missing CA certificate (--ca-file). Otherwise read the status page of commercetools."
    )
}

/// Returns the rights that the resources of a project need, each once.
fn needed(project: &Resource, resources: &[Resource]) -> Vec<Right> {
    let shared = project.resource_type().is_cluster_scoped();
    let names_it =
        |of: &ProjectRef| ResourceType::of_project(of.kind) == project.resource_type() && of.name == project.name();
    // Nothing is sent for a namespace that is not allowed.
    let allowed = |it: &Resource| it.ready().is_none_or(|ready| ready.reason != Reason::ProjectNotAllowed.as_str());
    let own = |it: &&Resource| {
        let here = if shared { allowed(it) } else { it.namespace() == project.namespace() };
        here && it.project().is_some_and(names_it)
    };
    let mut rights = Vec::new();
    for resource in resources.iter().filter(own) {
        match resource {
            Resource::Deployment(object) if object.spec.management_policy == ManagementPolicy::ObserveOnly => {
                rights.push(Right::ViewDeployments);
            }
            Resource::Deployment(_) => rights.extend([Right::ManageDeployments, Right::ViewConnectors]),
            Resource::Staged(_) => rights.push(Right::ManageConnectors),
            Resource::Project(_) | Resource::ClusterProject(_) | Resource::Check(_) => {}
        }
    }
    rights.sort_unstable();
    rights.dedup();
    rights
}

/// Counts the resources of a type that are not Ready by their reasons; those that no operator observed come first.
pub(super) fn not_ready(resource_type: ResourceType, resources: &[Resource], program: &str) -> Vec<Finding> {
    let check = resource_type.kind();
    let all: Vec<&Resource> = resources.iter().filter(|it| it.resource_type() == resource_type).collect();
    let mut by_reason: BTreeMap<Option<&str>, Vec<&Resource>> = BTreeMap::new();
    for resource in &all {
        let reason = resource.ready().map(|ready| ready.reason.as_str());
        if reason.and_then(Reason::parse).is_none_or(|reason| reason.state() != ConditionState::Ready) {
            by_reason.entry(reason).or_default().push(resource);
        }
    }
    let some = by_reason.into_iter().filter_map(|(reason, some)| {
        let first = *some.first()?;
        let count = format!("{} of {} ({})", some.len(), all.len(), listed(&some));
        Some(match reason {
            None => unobserved(check, &count, first, program),
            Some(reason) => {
                let show = format!("{program} status {}", first.argument());
                let known = Reason::parse(reason);
                let sentence = known.map(|reason| format!("{}\n", reason.sentence().replace('`', "")));
                let level = known.map_or(Level::Warning, level);
                Finding::new(level, check, format!("{count}: {reason}"), sentence.unwrap_or_default() + &show)
            }
        })
    });
    let mut findings: Vec<Finding> = some.collect();
    if findings.is_empty() && !all.is_empty() {
        findings.push(Finding::ok(check, format!("{0} of {0} are Ready", all.len())));
    }
    findings
}

fn unobserved(check: &'static str, what: &str, resource: &Resource, program: &str) -> Finding {
    let message = format!("{what}: no operator has observed it");
    if resource.resource_type().is_cluster_scoped() {
        let remedy = format!(
            "Check that an operator runs with --cluster-projects (clusterProjects.enabled of the chart), and that its \
             selector matches the labels: {program} version"
        );
        return Finding::new(Level::Problem, check, message, remedy);
    }
    let namespace = resource.namespace();
    let remedy = format!(
        "Check that an operator runs and watches the namespace {namespace}, and that its selector matches the labels: \
         {program} version"
    );
    Finding::new(Level::Problem, check, message, remedy)
}

fn level(reason: Reason) -> Level {
    match reason.state() {
        // An operation in progress is no trouble.
        ConditionState::Ready | ConditionState::Progressing => Level::Ok,
        ConditionState::Waiting | ConditionState::Paused => Level::Warning,
        ConditionState::Stalled | ConditionState::Failing => Level::Problem,
    }
}

fn listed(resources: &[&Resource]) -> String {
    let names: Vec<_> = resources.iter().take(LISTED).map(|resource| resource.full_name()).collect();
    let more = resources.len().saturating_sub(LISTED);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    names.join(", ") + &rest
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::resources::samples::{cluster_project, conditions, deployment, project, staged};

    fn with(ready: (&str, &str, &str), scopes: &[&str]) -> Resource {
        project(&json!({"status": {"observedGeneration": 3, "conditions": conditions(ready), "scopes": scopes}}))
    }

    #[test]
    fn a_project_needs_credentials_with_the_scopes_of_its_resources() {
        let available = ("True", "Available", "");
        let observed = deployment(&json!({"spec": {"managementPolicy": "ObserveOnly"}}));
        let (full, kit) = (deployment(&json!({})), staged(&json!({})));
        for (case, project, used_by, level, expected) in [
            ("not observed", project(&json!({})), None, Level::Problem, "no operator has observed it"),
            (
                "rejected",
                with(("False", "CredentialsRejected", "Stalled"), &[]),
                None,
                Level::Problem,
                "CredentialsRejected: because",
            ),
            (
                "unreachable",
                with(("False", "ServiceUnavailable", "Reconciling"), &[]),
                None,
                Level::Warning,
                "ServiceUnavailable: because",
            ),
            ("unknown scopes", with(available, &[]), Some(&full), Level::Ok, "are not known"),
            ("all scopes", with(available, &["manage_project:my-shop"]), Some(&kit), Level::Ok, "has the scopes"),
            (
                "of another project",
                with(available, &["manage_project:other"]),
                Some(&kit),
                Level::Problem,
                "lacks the scopes to create, update and delete staged",
            ),
            (
                "to observe",
                with(available, &["view_connectors_deployments:my-shop"]),
                Some(&observed),
                Level::Ok,
                "has the scopes",
            ),
            (
                "only to observe",
                with(available, &["view_connectors_deployments:my-shop"]),
                Some(&full),
                Level::Problem,
                "to read connectors and to create, redeploy",
            ),
            ("a reason of another version", with(("False", "Later", ""), &[]), None, Level::Warning, "Later: because"),
        ] {
            let all: Vec<Resource> = std::iter::once(project).chain(used_by.cloned()).collect();
            let found = projects(&all, "connect-operator");
            let found = found.first().expect("a finding for each project");
            assert_eq!(found.level, level, "{case}: {}", found.message);
            assert!(found.message.contains(expected), "{case}: {}", found.message);
            assert!(found.message.contains("shop/shop"), "{case}: {}", found.message);
        }
    }

    #[test]
    fn a_project_that_is_not_available_has_a_remedy_of_its_reason() {
        let hosts = "between the operator and https://connect.europe-west1.gcp.commercetools.com and \
                     https://auth.europe-west1.gcp.commercetools.com, and for a missing CA certificate (--ca-file)";
        for (reason, remedy) in [
            ("ServiceUnavailable", hosts),
            ("Throttled", "the operator continues after it"),
            ("CredentialsRejected", "correct the Secret"),
            ("SecretMissing", "create it"),
            ("Later", "Use this program in the version of the operator"),
        ] {
            let found = projects(&[with(("False", reason, ""), &[])], "connect-operator");
            let found = found[0].remedy.clone().unwrap_or_default();
            assert!(found.contains(remedy), "{reason}: {found}");
            assert_eq!(found.contains("NetworkPolicy"), reason == "ServiceUnavailable", "{reason}: {found}");
        }
    }

    #[test]
    fn a_shared_project_needs_the_scopes_of_the_resources_of_allowed_namespaces() {
        let reference = json!({"kind": "ClusterConnectProject", "name": "shop"});
        let through = |change: Value| {
            let mut change = change;
            change["spec"]["projectRef"] = reference.clone();
            change
        };
        let denied =
            json!({"status": {"observedGeneration": 3, "conditions": conditions(("False", "ProjectNotAllowed", ""))}});
        let other_namespace = through(json!({"metadata": {"namespace": "yard"}}));
        let status = |scopes: Value| json!({"status": {"observedGeneration": 3, "conditions": conditions(("True", "Available", "")), "scopes": scopes}});
        let (all, views) = (json!(["manage_project:my-shop"]), json!(["view_connectors_deployments:my-shop"]));
        for (case, scopes, used_by, level, expected) in [
            (
                "all scopes",
                &all,
                deployment(&other_namespace),
                Level::Ok,
                "shop: my-shop answers, and its API client has",
            ),
            (
                "a user in another namespace",
                &views,
                deployment(&other_namespace),
                Level::Problem,
                "shop: its API client lacks the scopes",
            ),
            ("a user that is not allowed", &views, deployment(&through(denied)), Level::Ok, "has the scopes"),
            ("a project of the same name", &views, deployment(&json!({})), Level::Ok, "has the scopes"),
        ] {
            let found = projects(&[cluster_project(&status(scopes.clone())), used_by], "connect-operator");
            assert_eq!(found[0].level, level, "{case}: {}", found[0].message);
            assert!(found[0].message.starts_with("shop: ") && found[0].message.contains(expected), "{case}: {found:?}");
            let remedy = found[0].remedy.clone().unwrap_or_default();
            assert_eq!(
                remedy.contains("login in the operator's namespace"),
                level == Level::Problem,
                "{case}: {remedy}"
            );
        }
        let found = projects(&[cluster_project(&json!({}))], "connect-operator");
        assert!(found[0].remedy.as_ref().is_some_and(|it| it.contains("--cluster-projects")), "{found:?}");
    }

    #[test]
    fn resources_are_counted_by_reason() {
        let tax = |name: &str, ready: Value| deployment(&json!({"metadata": {"name": name}, "status": ready}));
        let with = |ready| json!({"observedGeneration": 3, "conditions": conditions(ready)});
        let missing = || with(("False", "SecretMissing", "Reconciling"));
        let all = [
            tax("a", with(("True", "Deployed", ""))),
            tax("b", missing()),
            tax("c", missing()),
            tax("d", missing()),
            tax("e", missing()),
            tax("f", with(("False", "DeploymentFailed", "Stalled"))),
            tax("g", with(("Unknown", "Redeploying", "Reconciling"))),
            tax("h", Value::Null),
        ];
        let found = not_ready(ResourceType::Deployment, &all, "connect-operator");
        let found: Vec<_> = found.iter().map(|it| (it.level, it.message.as_str())).collect();
        assert_eq!(
            found,
            [
                (Level::Problem, "1 of 8 (shop/h): no operator has observed it"),
                (Level::Problem, "1 of 8 (shop/f): DeploymentFailed"),
                (Level::Ok, "1 of 8 (shop/g): Redeploying"),
                (Level::Warning, "4 of 8 (shop/b, shop/c, shop/d and 1 more): SecretMissing"),
            ]
        );
        let remedies = not_ready(ResourceType::Deployment, &all[5..6], "kubectl connect");
        let remedy = remedies[0].remedy.clone().unwrap_or_default();
        assert!(remedy.ends_with("kubectl connect status deployment/f --namespace shop"), "{remedy}");
        let ready = not_ready(ResourceType::Deployment, &all[..1], "connect-operator");
        assert_eq!(ready, [Finding::ok("ConnectorDeployment", "1 of 1 are Ready")]);
        assert!(not_ready(ResourceType::Check, &all, "connect-operator").is_empty(), "there is none");
    }
}
