//! Controller of `ConnectProject`: reads the credentials, claims the remote, and says whether it answers.
//!
//! It sends nothing itself: the looker of the remote (`controllers/remote`) finds out how it is, and wakes the project
//! when that changes. What it comes to is kept for the deployments that name it, which are woken in turn.

mod observe;
pub mod status;

use std::sync::Arc;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::Api;
use kube::runtime::controller::Action;

use self::status::Facts;
use super::conditions::{self, Told};
use super::context::{Context, Project};
use super::patch::write_status;
use super::reason::Reason;
use super::references::Named;
use super::remote::{Remote, Settings};
use super::subject::Subject;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ConnectProject, ConnectProjectStatus};

/// Pause before a run is done again that the cluster refused.
const AFTER_CLUSTER_ERROR: Duration = Duration::from_secs(5);

/// One run for one project. Never fails: whatever goes wrong is said in the status, or tried again.
pub async fn reconcile(object: Arc<ConnectProject>, context: Arc<Context>) -> Action {
    let subject = Subject::project(&object.namespace().unwrap_or_default(), &object.name_any());
    match story(&object, &context, &subject).await {
        Ok(()) => Action::await_change(),
        Err(error) => {
            tracing::debug!(%subject, %error, "run again");
            Action::requeue(AFTER_CLUSTER_ERROR)
        }
    }
}

async fn story(object: &ConnectProject, context: &Context, subject: &Subject) -> Result<(), kube::Error> {
    let secret = object.spec.credentials_secret_ref.name.clone();
    context.references.set(subject, [(Named::Secret, secret)].into());
    let remote = match observe::credentials(context, object).await? {
        Ok(settings) => claim(context, subject, &settings),
        Err(told) => {
            context.remotes.release(subject);
            Err(told)
        }
    };
    let identity =
        RemoteIdentity { api_url: object.spec.effective_api_url(), project_key: object.spec.project_key.clone() };
    let login = remote.as_ref().ok().map(|remote| remote.login());
    let project =
        Project { identity: identity.clone(), region: object.spec.region.clone(), remote: remote.clone(), login };
    if context.projects.set(subject, project) {
        context.wake_users(Named::Project, &subject.namespace, &subject.name);
        // Once more: if it was deleted during this run, the next one notices.
        context.wake(subject.clone());
    }
    say(object, context, subject, identity, remote).await
}

fn claim(context: &Context, subject: &Subject, settings: &Settings) -> Result<Arc<Remote>, Told> {
    context.remotes.claim(subject, settings).map_err(|sentence| {
        context.remotes.release(subject);
        Told::new(Reason::ConfigurationInvalid, sentence)
    })
}

async fn say(
    object: &ConnectProject,
    context: &Context,
    subject: &Subject,
    identity: RemoteIdentity,
    remote: Result<Arc<Remote>, Told>,
) -> Result<(), kube::Error> {
    let users = context.references.users(Named::Project, &subject.namespace, &subject.name).len();
    let scopes = remote.as_ref().ok().and_then(|remote| remote.scopes());
    let facts = Facts {
        generation: object.metadata.generation.unwrap_or_default(),
        identity,
        health: remote.map(|remote| remote.health()),
        scopes,
        deployments: u32::try_from(users).unwrap_or(u32::MAX),
    };
    let before =
        object.status.clone().unwrap_or_else(|| ConnectProjectStatus { observed_generation: -1, ..Default::default() });
    let after = status::summarize(&before, &facts, context.clock.now());
    let api = Api::<ConnectProject>::namespaced(context.client.clone(), &subject.namespace);
    let Some(written) = write_status(&api, object, &before, &after).await? else { return Ok(()) };
    let told = status::tell(&facts);
    if conditions::ready_reason(&before.conditions) != Some(told.reason.as_str()) {
        context.event(&written, "Reconcile", &told).await;
    }
    Ok(())
}

/// Forgets everything about a project that is gone.
pub fn gone(context: &Context, subject: &Subject) {
    context.remotes.release(subject);
    context.projects.forget(subject);
    context.references.forget(subject);
    context.wake_users(Named::Project, &subject.namespace, &subject.name);
}
