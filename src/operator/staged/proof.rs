//! What `spec.publishAfter` requires before a tag is published: the deployment and the checks that prove it. Pure.
//!
//! A proof is for one tag. The deployment shows from which tag it was created. A check shows for which deployment it
//! was made: its status remembers the digest and the time of what the deployment had applied, and each redeploy
//! changes both. So a check counts only if its `spec.deploymentRef` names that deployment. `observe.rs` reads the objects.

use super::state::State;
use crate::crd::{
    ActionCheck, CheckOutcome, ConnectorDeployment, ConnectorDeploymentStatus, ConnectorStagedSpec, LastCall,
};
use crate::names;
use crate::operator::check::spec_digest;
use crate::operator::deployment::state;
use crate::operator::reporting::conditions;

/// The objects that `publishAfter` names.
#[derive(Clone, Debug, Default)]
pub struct Objects {
    /// The deployment; `None`: it is missing.
    pub deployment: Option<ConnectorDeployment>,
    /// The checks, in the order of the spec; `None`: the check is missing.
    pub checks: Vec<Option<ActionCheck>>,
}

/// Returns what publishing of the connector of the `ConnectorStaged` `kit` still waits for, each in a sentence that names the object; empty: everything is proven.
pub fn missing(kit: &str, spec: &ConnectorStagedSpec, state: &State, objects: &Objects) -> Vec<String> {
    let Some(after) = &spec.publish_after else { return Vec::new() };
    let name = &after.deployment_ref.name;
    let deployment = match &objects.deployment {
        None => Err("is missing".to_owned()),
        Some(deployment) => proves(deployment, kit, &spec.repository.tag, state).map(|status| (deployment, status)),
    };
    let mut waits = Vec::new();
    if let Err(why) = &deployment {
        waits.push(format!("ConnectorDeployment {name} {why}"));
    }
    let live = deployment.ok().map(|(_, status)| status);
    for (named, check) in after.check_refs.iter().zip(&objects.checks) {
        let why = match check {
            None => Some("is missing".to_owned()),
            Some(check) => passed(check, name, live).err(),
        };
        waits.extend(why.map(|why| format!("ActionCheck {} {why}", named.name)));
    }
    waits
}

/// Returns the status of the deployment if it is Ready with this tag.
fn proves<'a>(
    deployment: &'a ConnectorDeployment,
    kit: &str,
    tag: &str,
    state: &State,
) -> Result<&'a ConnectorDeploymentStatus, String> {
    let staged = deployment.spec.connector.staged_ref.as_ref().map(|reference| reference.name.as_str());
    if staged != Some(kit) {
        return Err(format!("does not deploy this connector: set its spec.connector.stagedRef.name to {kit}"));
    }
    if deployment.metadata.deletion_timestamp.is_some() {
        return Err("is being deleted".to_owned());
    }
    let generation = deployment.metadata.generation;
    let current = |status: &&ConnectorDeploymentStatus| {
        let of_ready = status.conditions.iter().find(|condition| condition.type_ == names::READY);
        Some(status.observed_generation) == generation
            && of_ready.is_some_and(|ready| ready.observed_generation == generation)
    };
    let Some(status) = deployment.status.as_ref().filter(current) else {
        return Err("has not been reconciled in its current generation".to_owned());
    };
    if state::applied(status).is_none() || !conditions::is_ready(&status.conditions) {
        let reason = conditions::ready_reason(&status.conditions).unwrap_or_default();
        return Err(format!("is not Ready ({reason})"));
    }
    let connector = status.connector.as_ref();
    let runs = connector.and_then(|connector| connector.tag.as_deref());
    let is_it = connector.is_some_and(|connector| connector.id.is_some() && connector.id == state.id);
    if !is_it || runs != Some(tag) {
        return Err(format!("does not run tag {tag} yet, but {}", runs.unwrap_or("an unknown one")));
    }
    let version = connector.and_then(|connector| connector.version);
    // The same tag was deployed from an earlier version of the connector, and its sources may differ.
    let since = state.deployable.as_ref().map(|deployable| deployable.version);
    if since.is_some_and(|since| version.is_none_or(|version| version < since)) {
        return Err(format!("runs tag {tag} of an earlier version of the connector"));
    }
    Ok(status)
}

/// Whether a check passed for what is deployed; `live`: the status of the deployment, if it proves the tag itself.
fn passed(check: &ActionCheck, deployment: &str, live: Option<&ConnectorDeploymentStatus>) -> Result<(), String> {
    let after = check.spec.deployment_ref.as_ref().map(|deployment| deployment.name.as_str());
    if after != Some(deployment) {
        return Err(format!("does not come after that deployment: set its spec.deploymentRef.name to {deployment}"));
    }
    let yet = || Err("has not passed for this tag yet".to_owned());
    let Some((digest, at)) = live.and_then(state::applied) else { return yet() };
    let Some(status) = check.status.as_ref().filter(|_| check.metadata.deletion_timestamp.is_none()) else {
        return yet();
    };
    let Ok(Some(LastCall { cause: made_for, outcome, .. })) = status.last_call() else { return yet() };
    // Suspending and resuming does not make another spec, and the call is not repeated.
    let same_spec = Some(made_for.generation) == check.metadata.generation
        || made_for.spec_digest.as_deref() == Some(&*spec_digest(&check.spec));
    let same = same_spec && made_for.deployment_digest == digest && made_for.deployment_applied_at == Some(at);
    match outcome {
        CheckOutcome::Passed if same => Ok(()),
        CheckOutcome::Failed if same => Err("did not pass for this tag: see its status".to_owned()),
        _ => yet(),
    }
}

#[cfg(test)]
#[path = "proof_tests.rs"]
mod tests;
