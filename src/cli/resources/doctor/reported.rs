//! Which resources the operator reports as not Ready. Pure.

use std::collections::BTreeMap;

use super::finding::{Finding, Level};
use crate::cli::resources::kind::{Resource, ResourceType};
use crate::operator::reporting::reason::{ConditionState, Reason};

/// Maximum number of names in a line.
const LISTED: usize = 3;

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
            None => unobserved(check, &count, first),
            Some(reason) => {
                let show = format!("{program} status {}", first.argument());
                let known = Reason::parse(reason);
                let message = first.ready().filter(|_| some.len() == 1).map(|ready| format!(": {}", ready.message));
                let message = format!("{count}: {reason}{}", message.unwrap_or_default());
                let remedy = known.map(|reason| remedy(reason, first)).unwrap_or_default();
                Finding::new(known.map_or(Level::Warning, level), check, message, remedy + &show)
            }
        })
    });
    let mut findings: Vec<Finding> = some.collect();
    if findings.is_empty() && !all.is_empty() {
        findings.push(Finding::ok(check, format!("{0} of {0} are Ready", all.len())));
    }
    findings
}

/// Returns what to do about a reason, as lines. `docs/runbooks.md` has the same remedy.
fn remedy(reason: Reason, resource: &Resource) -> String {
    let sentence = reason.sentence().replace('`', "");
    let Some((spec, _)) = resource.as_project().filter(|_| reason == Reason::ServiceUnavailable) else {
        return format!("{sentence}\n");
    };
    let (api, auth) = (spec.effective_api_url(), spec.effective_auth_url());
    format!(
        "{sentence}\nCheck for a NetworkPolicy, proxy or firewall between the operator and {api} and {auth}, and for a \
         missing CA certificate (--ca-file). Otherwise read the status page of commercetools.\n"
    )
}

fn unobserved(check: &'static str, what: &str, resource: &Resource) -> Finding {
    let runs = if resource.resource_type().is_cluster_scoped() {
        "with --cluster-projects (clusterProjects.enabled of the chart)".to_owned()
    } else {
        format!("and watches the namespace {}", resource.namespace())
    };
    let remedy = format!("Check that an operator runs {runs}, and that its selector matches the labels.");
    Finding::new(Level::Problem, check, format!("{what}: no operator has observed it"), remedy)
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
    use crate::cli::resources::testing::{cluster_project, conditions, deployment, project};

    #[test]
    fn a_project_that_is_not_available_has_a_remedy_of_its_reason() {
        let hosts = "between the operator and https://connect.europe-west1.gcp.commercetools.com and \
                     https://auth.europe-west1.gcp.commercetools.com, and for a missing CA certificate (--ca-file)";
        for (reason, level, remedy) in [
            ("ServiceUnavailable", Level::Warning, hosts),
            ("Throttled", Level::Warning, "the operator continues after it"),
            ("CredentialsRejected", Level::Problem, "correct the Secret"),
            ("SecretMissing", Level::Warning, "create it"),
            ("Later", Level::Warning, "status project/shop --namespace shop"),
        ] {
            let status = json!({"observedGeneration": 3, "conditions": conditions(("False", reason, ""))});
            let found = not_ready(ResourceType::Project, &[project(&json!({"status": status}))], "connect-operator");
            let [Finding { level: found, message, remedy: Some(text), .. }] = &found[..] else { panic!("{found:?}") };
            assert_eq!((*found, message), (level, &format!("1 of 1 (shop/shop): {reason}: because")));
            assert!(text.contains(remedy), "{reason}: {text}");
            assert_eq!(text.contains("NetworkPolicy"), reason == "ServiceUnavailable", "{reason}: {text}");
        }
        let unread = not_ready(ResourceType::ClusterProject, &[cluster_project(&json!({}))], "connect-operator");
        assert!(unread[0].remedy.as_ref().is_some_and(|it| it.contains("--cluster-projects")), "{unread:?}");
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
                (Level::Problem, "1 of 8 (shop/f): DeploymentFailed: because"),
                (Level::Ok, "1 of 8 (shop/g): Redeploying: because"),
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
