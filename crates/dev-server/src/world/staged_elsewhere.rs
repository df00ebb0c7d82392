//! Changes to staged connectors by other users, by the certification team, or by a test.
//!
//! Only tests and `/_dev` use this module; no operation of the API does.

use jiff::Timestamp;

use super::World;
use crate::refusal::Refusal;
use crate::staged::{Outcomes, Rules, Specifications, StagedRecord};
use connect_api::Selector;
use connect_api::model::{ConnectorStaged, ConnectorStatus, ConnectorUpdate, ConnectorUpdateAction};

impl World {
    fn staged_record(&mut self, id: &str, now: Timestamp) -> Result<&mut StagedRecord, Refusal> {
        self.advance(now);
        self.kept.staged.by_id(id)
    }

    /// Returns the current state of all staged connectors of all projects, without lag, oldest first.
    pub fn all_staged(&mut self, now: Timestamp) -> Vec<ConnectorStaged> {
        self.advance(now);
        let mut records: Vec<_> = self.kept.staged.records().collect();
        records.sort_by_key(|record| record.sequence);
        records.into_iter().map(StagedRecord::show).collect()
    }

    /// Returns the staged connector with this id, regardless of who may see it.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn staged_by_id(&mut self, id: &str, now: Timestamp) -> Result<ConnectorStaged, Refusal> {
        Ok(self.staged_record(id, now)?.show())
    }

    /// Plans the outcomes of the running operations of a staged connector, or of the next ones if none runs.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn plan_staged(&mut self, id: &str, outcomes: Outcomes, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.plan(outcomes);
        Ok(())
    }

    /// Ends what runs now: a preview request, publishing, all steps of a certification.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn finish_staged(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.advance(now);
        let rules = Rules { variant: &self.variant, lasts: self.deploy_duration };
        self.kept.staged.by_id(id)?.hasten(now, rules);
        Ok(())
    }

    /// Adds a comment of the certification, regardless of the status.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn comment_on_staged(&mut self, id: &str, user_id: &str, comment: &str, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.comment(user_id, comment, now);
        Ok(())
    }

    /// Sets the status, which may be one that the contract does not list; running publishing is cancelled.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn set_staged_status(&mut self, id: &str, status: ConnectorStatus, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.set_status(status);
        Ok(())
    }

    /// Increments the version without any other change.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn bump_staged_version(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.definition.version += 1;
        Ok(())
    }

    /// Removes a staged connector and its published versions immediately, as if someone else had deleted it.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn remove_staged(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.advance(now);
        self.kept.staged.remove(id)
    }

    /// Updates a staged connector as someone else, with the current version. Cannot change the repository.
    ///
    /// # Errors
    /// `ResourceNotFound`, and the codes of contract section 6.2.
    pub fn change_staged(
        &mut self,
        id: &str,
        actions: Vec<ConnectorUpdateAction>,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        let version = self.staged_record(id, now)?.definition.version;
        let update = ConnectorUpdate { version, actions };
        self.update_staged_elsewhere(&Selector::Id(id.to_owned()), &update, &Specifications::default(), now)
    }

    /// Updates a staged connector as someone else.
    pub(crate) fn update_staged_elsewhere(
        &mut self,
        selector: &Selector,
        update: &ConnectorUpdate,
        found: &Specifications,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        self.advance(now);
        let rules = Rules { variant: &self.variant, lasts: self.deploy_duration };
        self.kept.staged.update_elsewhere(selector, update, found, now, rules)
    }
}
