//! The plan for one resource: a reconcile on the projected cluster, up to the first call that the operator would send.
//! Only reads; `simulation` and `staged` decide.

use std::collections::BTreeSet;
use std::sync::Arc;

use connect_api::http::HttpConnect;
use kube::ResourceExt as _;

use super::projected_cluster::{Planned, Project, ProjectedCluster};
use super::remote::Remotes;
use super::simulation::{Action, Inputs, Projection, simulate};
use super::stop::Stop;
use super::{local, staged};
use crate::crd::{ConnectorDeployment, ConnectorStaged, ManagementPolicy};
use crate::operator::deployment::application_urls::{self, Urls};
use crate::operator::deployment::applications;
use crate::operator::deployment::desired::{self, Desired};
use crate::operator::deployment::observe::RecordRead;
use crate::operator::deployment::persisted::PersistedState;
use crate::operator::deployment::registered::{Registered, undeclared};
use crate::operator::deployment::{intent, state, value_from};
use crate::operator::kinds::managed_kind::ManagedKind;
use crate::operator::object_ref::ObjectRef;
use crate::operator::reconcile::record::identity_changed;
use crate::operator::reporting::problem;
use crate::operator::staged::observe;
use crate::operator::staged::proof::Objects;
use crate::operator::values::digest::DigestKey;
use crate::operator::values::names::Item;

/// Returns the project of a resource with its place and a client of it.
///
/// # Errors
/// Why the operator would not call it for this resource.
async fn project<K: ManagedKind>(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    object: &K,
) -> Result<(ObjectRef, Project, Arc<HttpConnect>), Stop> {
    let namespace = object.namespace().unwrap_or_default();
    let Some(claim) = object.claim() else { return Err(Stop::NotAsked(String::new())) };
    let place = ObjectRef::of_project(&namespace, &claim.project);
    let found = projected_cluster.project(&place, &namespace).await?;
    if let Some(winner) = projected_cluster.winner(object) {
        return Err(problem::key_conflict(K::KIND.as_str(), &winner, &claim.key).into());
    }
    let Some(project) = found else {
        let is_local = projected_cluster.settings.local;
        return Err(if is_local {
            Stop::NotAsked(local::absent(&place))
        } else {
            problem::project_missing(&place).into()
        });
    };
    if let Some(condition) = identity_changed(object, &project.spec.identity()) {
        return Err(condition.into());
    }
    let api = remotes.client(projected_cluster, &place, &project).await?;
    Ok((place, project, api))
}

/// Plans one reconcile of a staged connector.
pub(super) async fn plan_staged(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    object: &ConnectorStaged,
) -> Result<Projection, kube::Error> {
    ended(of_staged(projected_cluster, remotes, object).await)
}

fn ended(outcome: Result<Projection, Stop>) -> Result<Projection, kube::Error> {
    match outcome {
        Ok(outcome) => Ok(outcome),
        Err(Stop::Problem(condition)) => Ok(Projection::problem(condition)),
        Err(Stop::NotAsked(why)) => Ok(Projection::not_known(why)),
        Err(Stop::Failed(error)) => Err(error),
    }
}

async fn of_staged(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    object: &ConnectorStaged,
) -> Result<Projection, Stop> {
    let spec = &object.spec;
    let (_, project, api) = project(projected_cluster, remotes, object).await?;
    let id = object.remembered().ok().and_then(|state| state.id);
    let record = observe::read(&*api, &spec.key, id.as_deref()).await;
    let record = record.map_err(|error| problem::condition(&error, &project.spec.project_key))?;
    let namespace = object.namespace().unwrap_or_default();
    let proofs = match &spec.publish_after {
        Some(after) => observe::proofs(&projected_cluster.after, &namespace, after).await?,
        None => Objects::default(),
    };
    let mut outcome = staged::plan(&staged::Inputs {
        object,
        name: &object.name_any(),
        record: record.as_ref(),
        proofs: &proofs,
        granted: &api.scopes().unwrap_or_default(),
        project: &project.spec.project_key,
        now: remotes.now(),
    });
    if projected_cluster.settings.local && outcome.action == Action::Adopt {
        // What exists is that of the resource.
        outcome.action = Action::None;
    }
    Ok(outcome)
}

/// Plans a reconcile of a deployment, up to the first call that the operator would send. `follows`: the plan for the
/// staged connector that it deploys.
pub(super) async fn plan(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    key: &DigestKey,
    planned: &Planned<ConnectorDeployment>,
    follows: Option<&Projection>,
) -> Result<Projection, kube::Error> {
    let mut outcome = of_deployment(projected_cluster, remotes, key, planned, follows).await;
    if let Err(Stop::NotAsked(why)) = outcome {
        outcome = unread(projected_cluster, &planned.after, why).await;
    }
    ended(outcome)
}

async fn of_deployment(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    key: &DigestKey,
    planned: &Planned<ConnectorDeployment>,
    follows: Option<&Projection>,
) -> Result<Projection, Stop> {
    let object = &planned.after;
    let (place, project, api) = project(projected_cluster, remotes, object).await?;
    let wanted = intent::identity_in(object, project.spec.identity(), &project.spec.region);
    let persisted = state::read(&object.status.clone().unwrap_or_default())?;
    let read = remotes.look(&api, &wanted.key, &persisted).await;
    let read = read.map_err(|error| problem::condition(&error, &project.spec.project_key))?;
    let is_local = projected_cluster.settings.local;
    if follows.is_some_and(Projection::moves) {
        return Err(Stop::NotAsked("its ConnectorStaged changes first: plan again once that is deployable".to_owned()));
    }
    if let Some(staged) = object.spec.connector.staged_ref.as_ref().filter(|_| is_local) {
        return Err(Stop::NotAsked(local::staged(&staged.name)));
    }
    let namespace = object.namespace().unwrap_or_default();
    let staged = projected_cluster.staged(&namespace, object).await?;
    let target = intent::target(object, staged.as_ref())?;
    // A resource that only observes sends nothing, so its plan needs neither the registry nor values.
    let observes = object.spec.management_policy == ManagementPolicy::ObserveOnly;
    let registry_entry =
        if observes { None } else { Some(remotes.registry_entry(&place, &api, target.name.clone()).await) };
    let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
    let registered = Registered { registry_entry, deployable };
    let declared = registered.declarations(object, read.record.as_deref());
    let named = if observes { BTreeSet::new() } else { value_from::references(&object.spec) };
    let contents = projected_cluster.contents(&projected_cluster.after, &namespace, &named).await?;
    if declared.is_none() && !observes && !object.spec.configuration_from.is_empty() {
        let is_absent = registered.is_absent();
        return Err(undeclared(&target.name.selector, is_absent, &project.spec.project_key).into());
    }
    let values = desired::from_spec(&object.spec, &contents, declared.as_ref());
    let (values, unknown) = local::without_absent(values, is_local);
    let values =
        values.map_err(|unready| registered.condition(object, unready, &wanted.region, read.record.as_deref()));
    let desired = values.map(|desired| adapted(desired, object, &registered, (&read, &persisted)));
    let before = planned.before.as_ref().filter(|_| !observes);
    let earlier = earlier(projected_cluster, before, &registered, (&read, &persisted)).await?;
    let mut outcome = simulate(&Inputs {
        before: planned.before.as_ref(),
        after: object,
        wanted: &wanted,
        target: &target,
        registered: &registered,
        read: &read,
        desired: &desired,
        earlier: earlier.as_ref(),
        key,
        granted: &api.scopes().unwrap_or_default(),
        now: remotes.now(),
    });
    if let (Ok(desired), Some(declared), None, true) = (&desired, &declared, &unknown, outcome.is_sent()) {
        outcome.notes.extend(empty_values(&declared.empty_required(&desired.values)));
    }
    if is_local {
        let secured = desired.as_ref().is_ok_and(|desired| !desired.values.secured.is_empty());
        local::owned(&mut outcome, unknown.is_some(), secured);
        outcome.notes.extend(unknown);
    }
    Ok(outcome)
}

/// Returns the values as a call would send them to the deployment that exists.
fn adapted(
    mut desired: Desired,
    object: &ConnectorDeployment,
    registered: &Registered,
    (read, persisted): (&RecordRead, &PersistedState),
) -> Desired {
    if let Some(record) = read.record.as_deref() {
        let declared = registered.declarations(object, Some(record));
        desired.fit(&applications::missing(record), declared.as_ref(), persisted);
    }
    let urls: Urls = application_urls::urls(read.record.as_deref(), persisted);
    desired.resolve(&urls);
    desired
}

/// Returns the values before applying: if they are those that were applied last, they show which secured values change.
async fn earlier(
    projected_cluster: &ProjectedCluster,
    before: Option<&ConnectorDeployment>,
    registered: &Registered,
    observed: (&RecordRead, &PersistedState),
) -> Result<Option<Desired>, kube::Error> {
    let Some(before) = before else { return Ok(None) };
    let (namespace, named) = (before.namespace().unwrap_or_default(), value_from::references(&before.spec));
    let contents = projected_cluster.contents(&projected_cluster.before, &namespace, &named).await?;
    let declared = registered.declarations(before, observed.0.record.as_deref());
    let values = desired::from_spec(&before.spec, &contents, declared.as_ref()).ok();
    Ok(values.map(|values| adapted(values, before, registered, observed)))
}

/// Notes required values that are empty, as those of a scaffold are.
fn empty_values(items: &[Item]) -> Option<String> {
    let names: Vec<String> = items.iter().map(Item::to_string).collect();
    (!names.is_empty())
        .then(|| format!("the connector requires these values, and they are empty: {}", names.join(", ")))
}

/// Plans a deployment of which the declarations are not known: checks only that its values can be read. `why`: why they
/// are not known.
async fn unread(
    projected_cluster: &ProjectedCluster,
    object: &ConnectorDeployment,
    why: String,
) -> Result<Projection, Stop> {
    let (namespace, named) = (object.namespace().unwrap_or_default(), value_from::references(&object.spec));
    let contents = projected_cluster.contents(&projected_cluster.after, &namespace, &named).await?;
    let values = desired::from_spec(&object.spec, &contents, None);
    let (values, unknown) = local::without_absent(values, projected_cluster.settings.local);
    values.map_err(|unready| unready.condition)?;
    let mut outcome = Projection::not_known(why);
    outcome.notes.extend(unknown);
    Ok(outcome)
}
