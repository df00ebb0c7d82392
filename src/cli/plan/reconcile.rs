//! The plan for one resource: a reconcile on the projected cluster, up to the first call that the operator would send.
//! Only reads; `simulation` and `staged` decide.

use super::DigestKeys;
use super::local;
use super::projected_cluster::{Planned, PlannedStaged, ProjectedCluster};
use super::remote::{Reached, Remotes};
use super::simulation::{Action, Inputs, Projection, simulate};
use super::staged;
use crate::controllers::connector_deployment::application_urls::{self, Urls};
use crate::controllers::connector_deployment::applications;
use crate::controllers::connector_deployment::desired::{self, Contents, Desired};
use crate::controllers::connector_deployment::observe::RecordRead;
use crate::controllers::connector_deployment::persisted::PersistedState;
use crate::controllers::connector_deployment::registered::Registered;
use crate::controllers::connector_deployment::{intent, state, value_from};
use crate::controllers::connector_staged;
use crate::controllers::connector_staged::proof::Objects;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reconcile::record::identity_changed;
use crate::controllers::reporting::problem;
use crate::controllers::values::names::Item;
use crate::crd::{ConnectorDeployment, ManagementPolicy, UpdatePolicy};

/// Plans one reconcile of a staged connector, and those that follow it.
pub(super) async fn plan_staged(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    object_ref: &ObjectRef,
    planned: &PlannedStaged,
) -> Result<staged::Projection, kube::Error> {
    let object = &planned.after;
    let spec = &object.spec;
    let place = ObjectRef::of_project(&object_ref.namespace, &spec.project_ref);
    let project = match projected_cluster.project(&place, &object_ref.namespace).await? {
        Ok(project) => project,
        Err(condition) => return Ok(staged::Projection::problem(condition)),
    };
    if let Some(winner) = projected_cluster.winner(object) {
        return Ok(staged::Projection::problem(problem::key_conflict("ConnectorStaged", &winner, &spec.key)));
    }
    let Some(project) = project else {
        return Ok(if projected_cluster.local {
            local::staged_not_asked(local::absent(&place))
        } else {
            staged::Projection::problem(problem::project_missing(&place))
        });
    };
    if let Some(condition) = identity_changed(object, &project.spec().identity()) {
        return Ok(staged::Projection::problem(condition));
    }
    let api = match remotes.client(projected_cluster, &place, &project).await? {
        Reached::Client(api) => api,
        Reached::Not(condition) => return Ok(staged::Projection::problem(condition)),
        Reached::Unasked(why) => return Ok(local::staged_not_asked(why)),
    };
    let id = object.remembered().ok().and_then(|state| state.id);
    let record = match connector_staged::observe::read(&*api, &spec.key, id.as_deref()).await {
        Ok(record) => record,
        Err(error) => return Ok(staged::Projection::problem(problem::condition(&error, &project.spec().project_key))),
    };
    let proofs = match &spec.publish_after {
        Some(after) => projected_cluster.proofs(&object_ref.namespace, after).await?,
        None => Objects::default(),
    };
    let mut outcome = staged::simulate(&staged::Inputs {
        object,
        name: &object_ref.name,
        record: record.as_ref(),
        proofs: &proofs,
        granted: &api.granted().unwrap_or_default(),
        project: &project.spec().project_key,
        now: remotes.now(),
    });
    if projected_cluster.local {
        local::staged_owned(&mut outcome);
    }
    Ok(outcome)
}

/// Plans a reconcile of a deployment, up to the first call that the operator would send. `follows`: the plan for the
/// staged connector that it deploys.
pub(super) async fn plan(
    projected_cluster: &ProjectedCluster,
    remotes: &mut Remotes,
    keys: &DigestKeys,
    object_ref: &ObjectRef,
    planned: &Planned,
    follows: Option<&staged::Projection>,
) -> Result<Projection, kube::Error> {
    let object = &planned.after;
    let place = ObjectRef::of_project(&object_ref.namespace, &object.spec.project_ref);
    let project = match projected_cluster.project(&place, &object_ref.namespace).await? {
        Ok(project) => project,
        Err(condition) => return Ok(Projection::problem(condition)),
    };
    if let Some(winner) = projected_cluster.winner(object) {
        return Ok(Projection::problem(problem::key_conflict("ConnectorDeployment", &winner, &intent::key(object))));
    }
    let Some(project) = project else {
        if projected_cluster.local {
            return unasked(projected_cluster, object_ref, object, local::absent(&place)).await;
        }
        return Ok(Projection::problem(problem::project_missing(&place)));
    };
    let wanted = intent::identity_in(object, project.spec().identity(), &project.spec().region);
    if let Some(condition) = identity_changed(object, &wanted.remote) {
        return Ok(Projection::problem(condition));
    }
    let api = match remotes.client(projected_cluster, &place, &project).await? {
        Reached::Client(api) => api,
        Reached::Not(condition) => return Ok(Projection::problem(condition)),
        Reached::Unasked(why) => return unasked(projected_cluster, object_ref, object, why).await,
    };
    let persisted = match state::read(&object.status.clone().unwrap_or_default()) {
        Ok(persisted) => persisted,
        Err(condition) => return Ok(Projection::problem(condition)),
    };
    let read = match remotes.look(&api, &wanted.key, &persisted).await {
        Ok(read) => read,
        Err(error) => return Ok(Projection::problem(problem::condition(&error, &project.spec().project_key))),
    };
    if let Some(follows) = follows.filter(|follows| follows.moves && read.record.is_none() && persisted.id.is_none()) {
        return later(projected_cluster, object_ref, object, follows).await;
    }
    if let Some(staged) = object.spec.connector.staged_ref.as_ref().filter(|_| projected_cluster.local) {
        return match (&read.record, follows) {
            (None, Some(follows)) => later(projected_cluster, object_ref, object, follows).await,
            _ => unasked(projected_cluster, object_ref, object, local::staged(&staged.name)).await,
        };
    }
    let staged = projected_cluster.staged(&object_ref.namespace, object).await?;
    let target = match intent::target(object, staged.as_ref()) {
        Ok(target) => target,
        Err(condition) => return Ok(Projection::problem(condition)),
    };
    // A resource that only observes sends nothing, so its plan needs neither the registry nor values.
    let observes = object.spec.management_policy == ManagementPolicy::ObserveOnly;
    let registry_entry =
        if observes { None } else { Some(remotes.registry_entry(&place, &api, target.name.clone()).await) };
    let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
    let registered = Registered { registry_entry, deployable };
    let declared = registered.declarations(object, read.record.as_deref());
    let named = if observes { std::collections::BTreeSet::new() } else { value_from::references(&object.spec) };
    let contents = projected_cluster.contents_after(&object_ref.namespace, &named).await?;
    let missing = read.record.as_deref().map(applications::missing).unwrap_or_default();
    let values = desired::from_spec(&object.spec, &contents, declared.as_ref());
    let (values, unknown) = local::without_absent(values, projected_cluster.local);
    let mut desired =
        values.map_err(|unready| registered.condition(object, unready, &wanted.region, read.record.as_deref()));
    if let (Ok(desired), Some(_)) = (&mut desired, &read.record) {
        desired.fit(&missing, declared.as_ref(), &persisted);
    }
    if let Ok(desired) = &mut desired {
        desired.resolve(&urls(object, &read));
    }
    let before = planned.before.as_ref().filter(|_| !observes);
    let earlier = earlier(projected_cluster, (object_ref, before), &registered, (&read, &persisted)).await?;
    let key = keys.known.as_ref().ok().map(|key| key.of_namespace(&object_ref.namespace));
    let mut outcome = simulate(&Inputs {
        before: planned.before.as_ref(),
        after: object,
        wanted: &wanted,
        target: &target,
        registered: &registered,
        read: &read,
        desired: &desired,
        earlier: earlier.as_ref(),
        key: key.as_ref(),
        spare: &keys.spare,
        granted: &api.granted().unwrap_or_default(),
        now: remotes.now(),
    });
    if let (Ok(desired), Some(declared), None, true) = (&desired, &declared, &unknown, outcome.is_sent()) {
        outcome.notes.extend(empty_values(&declared.empty_required(&desired.values)));
    }
    if projected_cluster.local {
        let secured = desired.as_ref().is_ok_and(|desired| desired.values.secrets().next().is_some());
        local::owned(&mut outcome, unknown.is_some(), secured);
        outcome.notes.extend(unknown);
    }
    if let Some(follows) = follows {
        follow(object, follows, &mut outcome);
    }
    Ok(outcome)
}

/// Returns the values before applying: if they are those that were applied last, they show which secured values change.
async fn earlier(
    projected_cluster: &ProjectedCluster,
    (object_ref, before): (&ObjectRef, Option<&ConnectorDeployment>),
    registered: &Registered,
    (read, persisted): (&RecordRead, &PersistedState),
) -> Result<Option<Desired>, kube::Error> {
    let Some(before) = before else { return Ok(None) };
    let contents: Contents =
        projected_cluster.contents_before(&object_ref.namespace, &value_from::references(&before.spec)).await?;
    let declared = registered.declarations(before, read.record.as_deref());
    let mut earlier = desired::from_spec(&before.spec, &contents, declared.as_ref()).ok();
    if let (Some(earlier), Some(record)) = (&mut earlier, read.record.as_deref()) {
        earlier.fit(&applications::missing(record), declared.as_ref(), persisted);
    }
    if let Some(earlier) = &mut earlier {
        earlier.resolve(&urls(before, read));
    }
    Ok(earlier)
}

/// Notes required values that are empty, as those of a scaffold are.
fn empty_values(items: &[Item]) -> Option<String> {
    let names: Vec<String> = items.iter().map(Item::to_string).collect();
    (!names.is_empty())
        .then(|| format!("the connector requires these values, and they are empty: {}", names.join(", ")))
}

/// Returns the URLs of the applications of a deployment.
fn urls(object: &ConnectorDeployment, read: &RecordRead) -> Urls {
    application_urls::urls(read.record.as_deref(), &object.status.clone().unwrap_or_default())
}

/// Plans a deployment that is created once its staged connector is deployable.
async fn later(
    projected_cluster: &ProjectedCluster,
    object_ref: &ObjectRef,
    object: &ConnectorDeployment,
    follows: &staged::Projection,
) -> Result<Projection, kube::Error> {
    if let Some(why) = &follows.not_deployable {
        return Ok(Projection::problem(intent::not_deployable(object, why)));
    }
    let contents =
        projected_cluster.contents_after(&object_ref.namespace, &value_from::references(&object.spec)).await?;
    let values = desired::from_spec(&object.spec, &contents, None);
    let (values, unknown) = local::without_absent(values, projected_cluster.local);
    if let Err(unready) = values {
        return Ok(Projection::problem(unready.condition));
    }
    let note = "it waits until its ConnectorStaged is deployable; the declarations of that connector are not known \
                yet, so values were not checked";
    let notes = std::iter::once(note.to_owned()).chain(unknown).collect();
    Ok(Projection { action: Action::Create, notes, ..Projection::nothing() })
}

/// Plans a deployment of which only the files are known: checks that they have its values. `why`: why nothing else is.
async fn unasked(
    projected_cluster: &ProjectedCluster,
    object_ref: &ObjectRef,
    object: &ConnectorDeployment,
    why: String,
) -> Result<Projection, kube::Error> {
    let contents =
        projected_cluster.contents_after(&object_ref.namespace, &value_from::references(&object.spec)).await?;
    let values = desired::from_spec(&object.spec, &contents, None);
    Ok(match local::without_absent(values, true) {
        (Err(unready), _) => Projection::problem(unready.condition),
        (Ok(_), unknown) => {
            let mut outcome = local::not_asked(why);
            outcome.notes.extend(unknown);
            outcome
        }
    })
}

/// Adds the redeploy of a live deployment that follows its staged connector to the next tag.
fn follow(object: &ConnectorDeployment, follows: &staged::Projection, outcome: &mut Projection) {
    let will = follows.moves && follows.not_deployable.is_none() && outcome.problem.is_none();
    if !will || object.spec.connector.update_policy != UpdatePolicy::Latest || object.spec.suspend {
        return;
    }
    if matches!(outcome.action, Action::None | Action::Unknown) {
        outcome.action = Action::Redeploy;
    }
    let note = "it follows its ConnectorStaged once that is deployable; its new declarations are not known yet";
    outcome.notes.push(note.to_owned());
}
