//! What a user does next about a resource: the sentence of its reason, and a command where one helps. Pure.

use crate::names;
use crate::operator::reporting::conditions;
use crate::operator::reporting::reason::{ConditionState, Reason};

use super::kind::{Resource, ResourceType};

/// Returns the next step, as sentences and commands, one per line.
pub(super) fn next_step(resource: &Resource, program: &str) -> Vec<String> {
    let Some(ready) = resource.ready() else { return vec![unread(resource, program)] };
    let Some(reason) = Reason::parse(&ready.reason) else { return Vec::new() };
    let mut steps = Vec::new();
    if reason.state() != ConditionState::Ready || reason == Reason::DeployedWithWarnings {
        steps.push(reason.sentence().replace('`', ""));
    }
    let own = resource.argument();
    steps.extend(command(resource, reason).map(|(verb, other)| match other {
        Some(other) => format!("{program} {verb} {other}"),
        None => format!("{program} {verb} {own}"),
    }));
    if conditions::is_true(resource.conditions(), names::SECRETS_UNVERIFIED) && !reason.is_failed() {
        steps.push(format!("To send the secured values again: {program} redeploy {own}"));
    }
    if resource.suspend() && reason != Reason::Suspended {
        steps.push(format!("To let the operator send changes again: {program} resume {own}"));
    }
    if steps.is_empty() {
        steps.push("Nothing to do.".to_owned());
    }
    steps
}

/// Returns the step for a resource that no operator has read.
fn unread(resource: &Resource, program: &str) -> String {
    if resource.resource_type().is_cluster_scoped() {
        return format!(
            "Check that an operator runs with --cluster-projects (clusterProjects.enabled of the chart): {program} doctor"
        );
    }
    let namespace = resource.namespace();
    format!(
        "Check that an operator runs and watches the namespace {namespace}: {program} doctor --namespace {namespace}"
    )
}

/// Returns the verb that helps, and the other resource on which it is used.
fn command(resource: &Resource, reason: Reason) -> Option<(&'static str, Option<String>)> {
    let remote = matches!(resource, Resource::Deployment(_) | Resource::Staged(_));
    match reason {
        Reason::Suspended => Some(("resume", None)),
        Reason::DeploymentFailed
        | Reason::RedeployFailed
        | Reason::PublishingFailed
        | Reason::PreviewRefused
        | Reason::RepositoryInvalid
        | Reason::ValuesNotApplied
        | Reason::WarningsReported
            if remote =>
        {
            Some(("redeploy", None))
        }
        Reason::CheckFailed | Reason::AnswerLost => Some(("rerun", None)),
        Reason::ProjectNotReady => {
            let project = resource.project()?;
            let project_type = ResourceType::of_project(project.kind);
            let place = if project_type.is_cluster_scoped() { String::new() } else { resource.namespace_option() };
            Some(("status", Some(format!("{}/{}{place}", project_type.alias(), project.name))))
        }
        Reason::StagedNotReady => {
            let Resource::Deployment(object) = resource else { return None };
            let staged = &object.spec.connector.staged_ref.as_ref()?.name;
            Some(("status", Some(format!("staged/{staged}{}", resource.namespace_option()))))
        }
        Reason::AwaitingProof => Some(("tree", None)),
        _ => None,
    }
}
