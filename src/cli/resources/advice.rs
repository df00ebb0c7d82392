//! What a user does next about a resource: the sentence of its reason, and a command where one helps. Pure.

use crate::controllers::conditions;
use crate::controllers::reason::{ConditionState, Reason};
use crate::crd::ProjectKind;
use crate::names;

use super::kind::Resource;

/// Returns the next step, as sentences and commands, one per line.
pub(super) fn next_step(resource: &Resource, program: &str) -> Vec<String> {
    let namespace = resource.namespace();
    let Some(ready) = resource.ready() else {
        return vec![format!(
            "Check that an operator runs and watches the namespace {namespace}: {program} version --namespace {namespace}"
        )];
    };
    let Some(reason) = Reason::parse(&ready.reason) else { return Vec::new() };
    let mut steps = Vec::new();
    if reason.state() != ConditionState::Ready || reason == Reason::DeployedWithWarnings {
        steps.push(reason.sentence().replace('`', ""));
    }
    let own = format!("{}/{} --namespace {namespace}", resource.resource_type().alias(), resource.name());
    steps.extend(command(resource, reason).map(|(verb, other)| match other {
        Some(other) => format!("{program} {verb} {other} --namespace {namespace}"),
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

/// Returns the verb that helps, and the other resource on which it is used.
fn command(resource: &Resource, reason: Reason) -> Option<(&'static str, Option<String>)> {
    let remote = matches!(resource, Resource::Deployment(_) | Resource::Staged(_));
    match reason {
        Reason::Suspended => Some(("resume", None)),
        Reason::DeploymentFailed
        | Reason::RedeployFailed
        | Reason::PublishingFailed
        | Reason::PreviewRefused
        | Reason::ValuesNotApplied
        | Reason::WarningsReported
            if remote =>
        {
            Some(("redeploy", None))
        }
        Reason::CheckFailed | Reason::AnswerLost => Some(("rerun", None)),
        Reason::ProjectNotReady => {
            // A project without a namespace is not among the resources that the commands show.
            let project = resource.project().filter(|project| project.kind == ProjectKind::ConnectProject)?;
            Some(("status", Some(format!("project/{}", project.name))))
        }
        Reason::StagedNotReady => {
            let Resource::Deployment(object) = resource else { return None };
            Some(("status", Some(format!("staged/{}", object.spec.connector.staged_ref.as_ref()?.name))))
        }
        Reason::AwaitingProof => Some(("tree", None)),
        _ => None,
    }
}
