//! Changes to staged connectors by other users, by the certification team, or by a test.
//!
//! Only tests and `/_dev` use this module; no operation of the API does.

use jiff::Timestamp;

use super::actions::Change;
use super::record::{Rules, StagedRecord};
use super::{Specifications, StagedBook};
use crate::connector::ConnectorDefinition;
use crate::refusal::Refusal;
use connect_api::Selector;
use connect_api::model::{ConnectorStaged, ConnectorUpdate};

impl StagedBook {
    /// Returns the record with this id.
    pub(crate) fn by_id(&mut self, id: &str) -> Result<&mut StagedRecord, Refusal> {
        self.records.get_mut(id).ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))
    }

    /// Removes a staged connector and its published versions immediately.
    pub(crate) fn remove(&mut self, id: &str) -> Result<(), Refusal> {
        let removed = self.records.remove(id);
        removed.map(|_| ()).ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))
    }

    /// Updates a staged connector as someone else.
    pub(crate) fn update_elsewhere(
        &mut self,
        selector: &Selector,
        update: &ConnectorUpdate,
        found: &Specifications,
        now: Timestamp,
        rules: Rules<'_>,
    ) -> Result<ConnectorStaged, Refusal> {
        let record = self.named(selector).ok_or_else(|| Refusal::not_found(selector))?.clone();
        self.change(record, update, Change { project: "elsewhere", now, rules, found })
    }

    /// Adds the next version of a staged connector, or of a connector that was published from one. Returns its number.
    pub(crate) fn raise(
        &mut self,
        key: &str,
        staged: bool,
        change: impl FnOnce(&mut ConnectorDefinition),
    ) -> Option<i64> {
        let record = self.records.values_mut().find(|record| record.definition.key == key)?;
        let old = if staged { record.definition.clone() } else { record.published.last()?.clone() };
        let raised = old.raised(change);
        let version = raised.version;
        if staged {
            record.definition = raised;
        } else {
            record.published.push(raised);
        }
        Some(version)
    }
}
