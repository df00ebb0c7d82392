//! Changes to deployments and connectors by other users, by the platform, or by a test.
//!
//! Only tests and `/_dev` use this module; no operation of the API does.

use jiff::Timestamp;

use super::World;
use crate::build::PlannedOutcome;
use crate::connector::ConnectorDefinition;
use crate::history::{Happened, Moment};
use crate::logs::{LogSeverity, LogType};
use crate::record::{Record, Revision};
use crate::refusal::Refusal;
use connect_api::model::{Deployment, DeploymentStatus, RedeployAction};
use connect_api::{ErrorCode, Selector};

impl World {
    fn by_id(&mut self, id: &str, now: Timestamp) -> Result<&mut Record, Refusal> {
        self.advance(now);
        self.kept.records.get_mut(id).ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))
    }

    /// Returns the id of the deployment with this key.
    pub fn id_of(&mut self, project: &str, key: &str, now: Timestamp) -> Option<String> {
        self.find(project, &Selector::Key(key.to_owned()), now).ok().map(|record| record.id.clone())
    }

    /// Plans the outcome of the running build of a deployment, or of the next one if none runs.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn plan_outcome(&mut self, id: &str, outcome: PlannedOutcome, now: Timestamp) -> Result<(), Refusal> {
        self.by_id(id, now)?.next_outcome = Some(outcome);
        Ok(())
    }

    /// Makes the running undeploy of a deployment fail, or the next one if none runs.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn fail_undeploy(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.by_id(id, now)?.undeploy_fails = true;
        Ok(())
    }

    /// Ends the running operation of a deployment now.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn finish(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.by_id(id, now)?.hasten(now);
        self.advance(now);
        Ok(())
    }

    /// Sets the status, which may be one that the contract does not list; a running operation is cancelled.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn set_status(&mut self, id: &str, status: DeploymentStatus, now: Timestamp) -> Result<(), Refusal> {
        let record = self.by_id(id, now)?;
        record.work = None;
        record.status = status.clone();
        let record = record.clone();
        self.history.note(now, &record, Happened::Became(status));
        Ok(())
    }

    /// Increments the version without any other change.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn bump_version(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.by_id(id, now)?.version += 1;
        Ok(())
    }

    /// Redeploys as someone else, with the current version; the values are those of `action`, or the old ones.
    ///
    /// # Errors
    /// Same as [`World::redeploy`], except for the version.
    pub fn redeploy_elsewhere(
        &mut self,
        id: &str,
        action: &RedeployAction,
        now: Timestamp,
    ) -> Result<Deployment, Refusal> {
        let record = self.by_id(id, now)?;
        let (project, version) = (record.project.clone(), record.version);
        self.redeploy(&project, &Selector::Id(id.to_owned()), version, action, now)
    }

    /// Rolls back, as someone else, to the newest revision that differs from the current one (contract section 5.2):
    /// connector and values are those of the revision, and the version increases.
    ///
    /// # Errors
    /// `ResourceNotFound`; `DeploymentRollbackNotAllowed` if there is no earlier revision, or the deployment is busy.
    pub fn rollback_elsewhere(&mut self, id: &str, now: Timestamp) -> Result<Deployment, Refusal> {
        let mut record = self.by_id(id, now)?.clone();
        let refused = |text: &str| Err(Refusal::new(ErrorCode::DeploymentRollbackNotAllowed, text));
        if record.status.is_busy() {
            return refused("The deployment is busy.");
        }
        let now_live =
            |revision: &&Revision| revision.connector == record.connector && revision.values == record.values;
        let earlier = record.revisions.iter().enumerate().rev().find(|(_, revision)| !now_live(revision));
        let Some((at, earlier)) = earlier.map(|(at, revision)| (at, revision.clone())) else {
            return refused("There is no earlier revision.");
        };
        record.rollback_revision = Some(format!("revision-{}", at + 1));
        Ok(self.replace(record, earlier.connector, earlier.values, false, now))
    }

    /// Removes a deployment immediately, as if someone else had undeployed it.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn remove(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        let record = self.by_id(id, now)?.clone();
        self.history.note(now, &record, Happened::Gone);
        self.kept.records.remove(id);
        self.kept.resources.undeployed(id);
        Ok(())
    }

    /// Adds a line of any type to the log of an application. `text` is a text, the message of a JSON object, or the
    /// path of a request, depending on `kind`.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub(crate) fn write_log(
        &mut self,
        id: &str,
        application: &str,
        kind: LogType,
        severity: &LogSeverity,
        text: &str,
        now: Timestamp,
    ) -> Result<(), Refusal> {
        self.by_id(id, now)?.log.add(now, application, kind, severity, text);
        Ok(())
    }

    /// Adds the next version of a connector and returns its number. `change` can modify everything except id, key,
    /// version and `staged`.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn raise_connector(
        &mut self,
        key: &str,
        staged: bool,
        change: impl FnOnce(&mut ConnectorDefinition),
    ) -> Result<i64, Refusal> {
        let known = |old: &&ConnectorDefinition| old.key == key && !old.staged && !staged;
        let newest = self.catalogue.connectors.iter().filter(known).max_by_key(|old| old.version);
        let Some(old) = newest else {
            let raised = self.kept.staged.raise(key, staged, change);
            return raised.ok_or_else(|| Refusal::not_found(&Selector::Key(key.to_owned())));
        };
        let raised = old.raised(change);
        let version = raised.version;
        self.catalogue.connectors.push(raised.clone());
        self.kept.raised.push(raised);
        Ok(version)
    }

    /// Returns the current state of all deployments of all projects, without lag, oldest first.
    pub fn all(&mut self, now: Timestamp) -> Vec<Deployment> {
        self.advance(now);
        let mut records: Vec<_> = self.kept.records.values().collect();
        records.sort_by_key(|record| record.sequence);
        records.into_iter().map(|record| record.show_truly(&self.variant)).collect()
    }

    /// Whether the secured value of a deployment is `value`. `application` is `None` for a global value. Returns `None`
    /// if there is no such deployment or value.
    pub fn secured_is(&self, id: &str, application: Option<&str>, key: &str, value: &str) -> Option<bool> {
        let values = &self.kept.records.get(id)?.values;
        let set = match application {
            Some(name) => &values.application(name)?.values,
            None => values.global.as_ref()?,
        };
        Some(set.secured(key)?.fingerprint == self.kept.fingerprints.of(value))
    }

    /// Returns the last 20,000 moments since the start; those of one deployment are in order.
    pub fn history(&mut self, now: Timestamp) -> Vec<Moment> {
        self.advance(now);
        self.history.moments()
    }

    /// Whether the secured value of an application at that moment is `value`. Returns `None` if it had none.
    pub fn secured_was(&self, moment: &Moment, application: &str, key: &str, value: &str) -> Option<bool> {
        let secured = moment.values.application(application)?.values.secured(key)?;
        Some(secured.fingerprint == self.kept.fingerprints.of(value))
    }
}
