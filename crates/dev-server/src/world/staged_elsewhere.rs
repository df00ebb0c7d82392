//! What happens to staged connectors elsewhere: by other people, by whoever certifies, or as a test wants it.
//!
//! Used by tests and `/_dev`; nothing of the API gets here.

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

    /// All staged connectors of all projects as they are now, without lag, oldest first.
    pub fn all_staged(&mut self, now: Timestamp) -> Vec<ConnectorStaged> {
        self.advance(now);
        let mut records: Vec<_> = self.kept.staged.records().collect();
        records.sort_by_key(|record| record.sequence);
        records.into_iter().map(StagedRecord::show).collect()
    }

    /// The staged connector with this id, whoever may see it.
    ///
    /// # Errors
    /// `ResourceNotFound`, as from every method here.
    pub fn staged_by_id(&mut self, id: &str, now: Timestamp) -> Result<ConnectorStaged, Refusal> {
        Ok(self.staged_record(id, now)?.show())
    }

    /// Chooses how what runs of a staged connector ends, or what comes next if nothing runs.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn plan_staged(&mut self, id: &str, outcomes: Outcomes, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.plan(outcomes);
        Ok(())
    }

    /// Ends what runs, now: a preview request, publishing, every step of a certification.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn finish_staged(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.advance(now);
        let rules = Rules { variant: &self.variant, lasts: self.deploy_duration };
        self.kept.staged.by_id(id)?.hasten(now, rules);
        Ok(())
    }

    /// A remark from certification, whatever the status.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn comment_on_staged(&mut self, id: &str, user_id: &str, comment: &str, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.comment(user_id, comment, now);
        Ok(())
    }

    /// Sets the status to a word of the contract or any other; nothing is published by itself afterwards.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn set_staged_status(&mut self, id: &str, status: ConnectorStatus, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.set_status(status);
        Ok(())
    }

    /// Makes the version grow without any other change.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn bump_staged_version(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.staged_record(id, now)?.definition.version += 1;
        Ok(())
    }

    /// Removes a staged connector at once, with what was published of it, as if someone else had deleted it.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn remove_staged(&mut self, id: &str, now: Timestamp) -> Result<(), Refusal> {
        self.advance(now);
        self.kept.staged.remove(id)
    }

    /// Someone else changes a staged connector, but not its repository, as it is now.
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

    /// Someone else changes a staged connector.
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
