//! The plan for one resource: a reconcile on the projected cluster, up to the first call that the operator would send.
//! Only reads; `simulation` and `staged` decide.

use std::sync::Arc;

use connect_api::http::HttpConnect;
use kube::ResourceExt as _;

use super::projected_cluster::{Planned, Project, ProjectedCluster};
use super::simulation::{Action, Inputs, Projection};
use super::stop::Stop;
use super::{local, staged};
use crate::crd::{ConnectorDeployment, ConnectorStaged, ManagementPolicy};
use crate::operator::deployment::application_urls::urls;
use crate::operator::deployment::desired::Desired;
use crate::operator::deployment::persisted::Sources;
use crate::operator::deployment::registered::{Registered, undeclared};
use crate::operator::deployment::{applications, intent, state};
use crate::operator::kinds::managed_kind::ManagedKind;
use crate::operator::object_ref::ObjectRef;
use crate::operator::reconcile::record::identity_changed;
use crate::operator::reporting::conditions::{self, ConditionUpdate};
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;
use crate::operator::staged::observe;
use crate::operator::staged::proof::Objects;
use crate::operator::values::Values;
use crate::operator::values::names::listed;

/// Returns the plan for a resource that ended early.
///
/// # Errors
/// Errors of the API server that leave no plan.
pub(super) fn ended(stop: Stop) -> Result<Projection, kube::Error> {
    match stop {
        Stop::Problem(condition) => Ok(Projection::problem(condition)),
        Stop::NotAsked(why) => Ok(Projection::not_known(why)),
        Stop::Failed(kube::Error::Api(status)) if status.code == 403 => {
            let message =
                format!("you may not read what it needs, so it is not known what would happen: {}", status.message);
            Ok(Projection::problem(ConditionUpdate::new(Reason::KubernetesError, message)))
        }
        Stop::Failed(error) => Err(error),
    }
}

impl ProjectedCluster {
    /// Returns the project of a resource with a client of it.
    ///
    /// # Errors
    /// Why the operator would not call it for this resource.
    async fn project_of<K: ManagedKind>(&self, object: &K) -> Result<(Project, Arc<HttpConnect>), Stop> {
        let namespace = object.namespace().unwrap_or_default();
        let Some(claim) = object.claim() else { return Err(Stop::NotAsked(String::new())) };
        let place = ObjectRef::of_project(&namespace, &claim.project);
        let found = self.project(&place, &namespace).await?;
        if let Some(winner) = self.winner(object) {
            return Err(problem::key_conflict(K::KIND.as_str(), &winner, &claim.key).into());
        }
        let project = match found {
            Some(project) => project,
            None if self.settings.local => return Err(Stop::NotAsked(local::absent(&place))),
            None => return Err(problem::project_missing(&place).into()),
        };
        if let Some(condition) = identity_changed(object, &project.spec.identity()) {
            return Err(condition.into());
        }
        let api = self.client(&place, &project).await?;
        Ok((project, api))
    }

    /// Plans one reconcile of a staged connector.
    pub(super) async fn plan_staged(&self, object: &ConnectorStaged) -> Result<Projection, Stop> {
        let spec = &object.spec;
        let (project, api) = self.project_of(object).await?;
        let project = &project.spec.project_key;
        let id = object.remembered().ok().and_then(|state| state.id);
        let record = observe::read(&*api, &spec.key, id.as_deref()).await;
        let record = record.map_err(|error| problem::condition(&error, project))?;
        let proofs = match &spec.publish_after {
            Some(after) => observe::proofs(&self.after, &object.namespace().unwrap_or_default(), after).await?,
            None => Objects::default(),
        };
        let (granted, now) = (api.scopes().unwrap_or_default(), self.now());
        let mut outcome = staged::plan(&staged::Inputs { object, record, proofs, granted, project, now });
        if self.settings.local && outcome.action == Action::Adopt {
            // What exists is that of the resource.
            outcome.action = Action::None;
        }
        Ok(outcome)
    }

    /// Plans a reconcile of a deployment, up to the first call that the operator would send. `follows`: the plan for the
    /// staged connector that it deploys.
    pub(super) async fn plan(
        &self,
        planned: &Planned<ConnectorDeployment>,
        follows: Option<&Projection>,
    ) -> Result<Projection, Stop> {
        let why = match self.of_deployment(planned, follows).await {
            Err(Stop::NotAsked(why)) => why,
            outcome => return outcome,
        };
        // What the connector declares is not known, so it is only checked that the values can be read.
        let values = self.values(&self.after, &planned.after, None).await?;
        let (values, unknown) = local::without_absent(values, self.settings.local);
        values.map_err(|unready| unready.condition)?;
        let mut outcome = Projection::not_known(why);
        outcome.notes.extend(unknown);
        Ok(outcome)
    }

    async fn of_deployment(
        &self,
        planned: &Planned<ConnectorDeployment>,
        follows: Option<&Projection>,
    ) -> Result<Projection, Stop> {
        let object = &planned.after;
        let (project, api) = self.project_of(object).await?;
        let wanted = intent::identity_in(object, project.spec.identity(), &project.spec.region);
        let persisted = state::read(&object.status.clone().unwrap_or_default())?;
        let read = self.look(&api, &wanted.key, persisted.id.as_deref()).await;
        let read = read.map_err(|error| problem::condition(&error, &project.spec.project_key))?;
        if follows.is_some_and(Projection::moves) {
            return Err(Stop::NotAsked(
                "its ConnectorStaged changes first: plan again once that is deployable".to_owned(),
            ));
        }
        if let Some(staged) = object.spec.connector.staged_ref.as_ref().filter(|_| self.settings.local) {
            let name = &staged.name;
            let why =
                format!("it deploys ConnectorStaged {name}, and only the cluster knows what of that is deployable");
            return Err(Stop::NotAsked(why));
        }
        let target = intent::target(object, self.staged(object).await?.as_ref())?;
        // A resource that only observes sends nothing, so its plan does not need the registry.
        let observes = object.spec.management_policy == ManagementPolicy::ObserveOnly;
        let registry_entry = if observes { None } else { Some(self.registry_entry(&api, &target.name).await) };
        let deployable = target.staged.as_ref().and_then(|staged| staged.as_ref().ok()).copied();
        let registered = Registered { registry_entry, deployable };
        let is_declared = registered.declarations(object, read.record.as_deref()).is_some();
        if !is_declared && !observes && !object.spec.configuration_from.is_empty() {
            let is_absent = registered.is_absent();
            return Err(undeclared(&target.name.selector, is_absent, &project.spec.project_key).into());
        }
        let (after, key, granted, now) = (object, &self.settings.key, api.scopes().unwrap_or_default(), self.now());
        let (desired, applied) = (Ok(Desired::default()), None);
        let inputs = Inputs { after, wanted, target, registered, read, desired, persisted, applied, key, granted, now };
        self.with_values(planned.before.as_ref(), inputs).await
    }

    /// Plans a reconcile once everything but the values is known.
    async fn with_values(
        &self,
        before: Option<&ConnectorDeployment>,
        mut inputs: Inputs<'_>,
    ) -> Result<Projection, Stop> {
        let (object, record) = (inputs.after, inputs.read.record.clone());
        let declared = inputs.registered.declarations(object, record.as_deref());
        let values = self.values(&self.after, object, declared.as_ref()).await?;
        let (values, unknown) = local::without_absent(values, self.settings.local);
        let region = &inputs.wanted.region;
        let values = values.map_err(|unready| inputs.registered.condition(object, unready, region, record.as_deref()));
        inputs.desired = values.map(|values| inputs.adapted(values, object));
        if let Some(before) = before {
            inputs.applied = self.applied_values(before, &inputs).await?;
        }
        let mut outcome = inputs.simulate();
        let desired = inputs.desired.as_ref().ok();
        if let (Some(desired), Some(declared), None, true) = (desired, &declared, &unknown, outcome.is_sent()) {
            // As those of a scaffold are.
            let empty = listed(declared.empty_required(&desired.values).iter());
            if !empty.is_empty() {
                outcome.notes.push(format!("the connector requires these values, and they are empty: {empty}"));
            }
        }
        if self.settings.local {
            let secured = desired.is_some_and(|desired| !desired.values.secured.is_empty());
            local::owned(&mut outcome, unknown.is_some(), secured);
            outcome.notes.extend(unknown);
        }
        Ok(outcome)
    }

    /// Returns the values that were applied last, if they are known, to show which secured ones change: those of the cluster
    /// before applying, if the operator has nothing to send for the spec, and their Secrets and ConfigMaps have not changed
    /// since.
    async fn applied_values(
        &self,
        before: &ConnectorDeployment,
        inputs: &Inputs<'_>,
    ) -> Result<Option<Values>, kube::Error> {
        let Some(applied) = &inputs.persisted.applied else { return Ok(None) };
        let generation = before.metadata.generation;
        let has_settled = before.status.as_ref().is_some_and(|status| {
            Some(status.observed_generation) == generation && conditions::is_ready(&status.conditions)
        });
        if applied.digest.is_none() || !(has_settled || Some(applied.generation) == generation) {
            return Ok(None);
        }
        let declared = inputs.registered.declarations(before, inputs.read.record.as_deref());
        let values = self.values(&self.before, before, declared.as_ref()).await?.ok();
        let values = values.filter(|values| applied.sources == Sources::of(&values.sources));
        Ok(values.map(|values| inputs.adapted(values, before).values))
    }
}

impl Inputs<'_> {
    /// Returns the values as a call would send them to the deployment that exists.
    fn adapted(&self, mut desired: Desired, object: &ConnectorDeployment) -> Desired {
        let record = self.read.record.as_deref();
        if let Some(record) = record {
            let declared = self.registered.declarations(object, Some(record));
            desired.fit(&applications::missing(record), declared.as_ref(), &self.persisted);
        }
        desired.resolve(&urls(record, &self.persisted));
        desired
    }
}
