//! What happens to staged connectors elsewhere: by other people, by whoever certifies, or as a test wants it.
//!
//! Used by tests and `/_dev`; nothing of the API gets here.

use jiff::Timestamp;

use super::actions::Change;
use super::record::{Rules, StagedRecord};
use super::{Specifications, StagedBook};
use crate::connector::ConnectorDefinition;
use crate::refusal::Refusal;
use connect_api::Selector;
use connect_api::model::{ConnectorStaged, ConnectorUpdate};

impl StagedBook {
    /// The one with this id.
    pub(crate) fn by_id(&mut self, id: &str) -> Result<&mut StagedRecord, Refusal> {
        self.records.get_mut(id).ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))
    }

    /// Takes it away at once, with what was published of it.
    pub(crate) fn remove(&mut self, id: &str) -> Result<(), Refusal> {
        let removed = self.records.remove(id);
        removed.map(|_| ()).ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))
    }

    /// Someone else changes it.
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

    /// Makes the next version of a staged connector, or of what was published of one.
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
