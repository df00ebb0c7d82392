//! Reads the inputs of a check: values of its Secrets, and what the deployment that it follows has applied.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};

use connect_api::action::ExtraHeader;
use kube::api::Api;
use secrecy::SecretString;
use sha2::{Digest as _, Sha256};

use super::Stopped;
use crate::crd::{
    ActionCheck, ActionCheckSpec, CheckedFor, ClusterConnectProject, ConnectProject, ConnectorDeployment, Frontend,
    SecretKeyRef,
};
use crate::names;
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::permissions::Permission;
use crate::operator::cluster::references::{Reference, Referenced};
use crate::operator::context::Context;
use crate::operator::deployment::state;
use crate::operator::object_ref::{Kind, ObjectRef};
use crate::operator::reconcile;
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;

/// Returns the objects that a spec names.
pub(super) fn references(spec: &ActionCheckSpec) -> BTreeSet<Reference> {
    let sources = spec.headers.iter().filter_map(|header| header.value_from.as_ref());
    let secrets = sources.map(|from| (Referenced::Secret, from.secret_key_ref.name.clone()));
    let after =
        spec.deployment_ref.iter().map(|deployment| (Referenced::Object(Kind::Deployment), deployment.name.clone()));
    let project = spec.project_ref.iter().map(Referenced::project);
    secrets.chain(after).chain(project).collect()
}

/// Checks that the namespace may use the project of the spec, if there is one (rule 29).
pub(super) fn permission(context: &Context, namespace: &str, spec: &ActionCheckSpec) -> Result<(), ConditionUpdate> {
    let Some(reference) = &spec.project_ref else { return Ok(()) };
    match context.permissions.permission(&ObjectRef::of_project(namespace, reference), namespace) {
        Permission::Denied(condition) => Err(condition),
        Permission::Granted | Permission::Unknown => Ok(()),
    }
}

/// Returns the frontend of a spec, completed from its project.
pub(super) async fn frontend(context: &Context, namespace: &str, spec: &ActionCheckSpec) -> Result<Frontend, Stopped> {
    let Some(reference) = &spec.project_ref else { return Ok(spec.frontend.clone()) };
    let (project, client) = (ObjectRef::of_project(namespace, reference), context.client.clone());
    let found = if project.kind.is_cluster_scoped() {
        match context.permissions.permission(&project, namespace) {
            Permission::Granted => {}
            Permission::Denied(condition) => return Err(condition.into()),
            // Whatever makes it known enqueues the check.
            Permission::Unknown => {
                let message = format!("ClusterConnectProject {project} does not exist, or is not known yet");
                return Err(ConditionUpdate::new(Reason::ProjectMissing, message).into());
            }
        }
        let found = Api::<ClusterConnectProject>::all(client).get_opt(&project.name).await?;
        found.map(|object| object.spec.project)
    } else {
        let found = Api::<ConnectProject>::namespaced(client, namespace).get_opt(&project.name).await?;
        found.map(|object| object.spec)
    };
    let found = found.ok_or_else(|| problem::project_missing(&project))?;
    Ok(spec.frontend.or(&found.frontend.unwrap_or_default()))
}

/// Returns the cause of a call, without the deployment that it follows.
fn own_cause(object: &ActionCheck) -> CheckedFor {
    let request = reconcile::request(object, names::RERUN_REQUESTED_AT);
    let handled = object.status.as_ref().and_then(|status| status.handled_rerun_request.clone());
    CheckedFor {
        generation: object.metadata.generation.unwrap_or_default(),
        spec_digest: Some(spec_digest(&object.spec)),
        // Removing the annotation requests nothing.
        rerun_request: request.or(handled),
        ..CheckedFor::default()
    }
}

/// Returns the digest of a spec without `suspend`, which does not affect a call. It contains no value of a Secret.
pub(in crate::operator) fn spec_digest(spec: &ActionCheckSpec) -> String {
    let spec = ActionCheckSpec { suspend: false, ..spec.clone() };
    // Serializing fails only for maps with keys that are not strings, and a spec has none.
    let text = serde_json::to_vec(&spec).unwrap_or_default();
    let digest = Sha256::digest(text);
    digest.iter().take(16).fold(String::new(), |text, byte| format!("{text}{byte:02x}"))
}

/// Returns the cause that a call would have now.
pub(super) async fn cause(context: &Context, namespace: &str, object: &ActionCheck) -> Result<CheckedFor, Stopped> {
    let own = own_cause(object);
    let Some(deployment) = &object.spec.deployment_ref else { return Ok(own) };
    let name = &deployment.name;
    let waits = |message| ConditionUpdate::new(Reason::DeploymentNotReady, message);
    let api = Api::<ConnectorDeployment>::namespaced(context.client.clone(), namespace);
    let deployment = api.get_opt(name).await?;
    let deployment = deployment.ok_or_else(|| waits(format!("ConnectorDeployment {name} is missing")))?;
    let cause = applied(&deployment, own);
    Ok(cause.ok_or_else(|| waits(format!("Waiting for ConnectorDeployment {name} to become Ready")))?)
}

/// Adds what is live to the cause; `None` unless the deployment is Ready with its last generation, and has no operation
/// in progress.
fn applied(deployment: &ConnectorDeployment, own: CheckedFor) -> Option<CheckedFor> {
    let status = deployment.status.as_ref()?;
    let seen = deployment.metadata.generation == Some(status.observed_generation);
    let settled = seen && conditions::is_ready(&status.conditions);
    let applied = state::applied(status).filter(|_| settled && deployment.metadata.deletion_timestamp.is_none());
    let (deployment_digest, at) = applied?;
    Some(CheckedFor { deployment_digest, deployment_applied_at: Some(at), ..own })
}

/// Returns the additional headers with their values.
pub(super) async fn headers(
    context: &Context,
    namespace: &str,
    spec: &ActionCheckSpec,
) -> Result<Vec<ExtraHeader>, Stopped> {
    let mut headers = Vec::new();
    // Read each Secret once, however many headers use it.
    let mut secrets = BTreeMap::new();
    for wanted in &spec.headers {
        let Some(from) = &wanted.value_from else {
            let value = SecretString::from(wanted.value.clone().unwrap_or_default());
            headers.push(ExtraHeader { name: wanted.name.clone(), value, is_masked: false });
            continue;
        };
        let SecretKeyRef { name, key, optional } = &from.secret_key_ref;
        let field = format!("header {} of spec.headers", wanted.name);
        let secret = match secrets.entry(name) {
            Entry::Occupied(read) => read.into_mut(),
            Entry::Vacant(unread) => {
                unread.insert(secret::named(&context.client, &context.settings.secrets, namespace, name).await??)
            }
        };
        let data = secret.as_ref().and_then(|secret| secret.data.as_ref());
        let bytes = data.and_then(|data| data.get(key)).map(|bytes| bytes.0.as_slice());
        if bytes.is_none() && *optional {
            continue;
        }
        if secret.is_none() {
            return Err(secret::missing(name, &field).into());
        }
        let value = match bytes.map(std::str::from_utf8) {
            None | Some(Ok("")) => return Err(secret::lacks_key(name, key, &field).into()),
            Some(Err(_)) => {
                let message = format!("key {key} of Secret {name} is not UTF-8");
                return Err(ConditionUpdate::new(Reason::ConfigurationInvalid, message).into());
            }
            Some(Ok(value)) => SecretString::from(value),
        };
        headers.push(ExtraHeader { name: wanted.name.clone(), value, is_masked: true });
    }
    Ok(headers)
}
