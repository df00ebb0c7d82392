//! Staged connectors and the versions that were published from them: a pure state machine; the caller passes the time.
//!
//! [`StagedBook`] contains all of them; it does not depend on requests, files or deployments. Next: `record.rs` for one
//! staged connector, `actions.rs` for the update actions, `specification.rs` for `connect.yaml`.

mod actions;
#[cfg(test)]
mod actions_tests;
mod elsewhere;
#[cfg(test)]
mod life_tests;
mod list;
mod record;
pub(super) mod repository;
mod specification;
#[cfg(test)]
mod specification_tests;
#[cfg(test)]
mod testing;

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use self::actions::Change;
use self::record::StaleStaged;
use self::repository::{Found, RepositoryProblem};
use super::connector::{ConnectorDefinition, newest};
use super::ids::Ids;
use super::refusal::Refusal;
use super::variant::{RepositoryCheck, StagedUpdates};
use clock::later;
use connect_api::Selector;
use connect_api::model::REGIONS;
use connect_api::model::{
    ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, ConnectorUpdateAction, IsPreviewable, Repository,
};

pub(super) use self::list::StagedListQuery;
pub(super) use self::record::{Rules, StagedRecord};
pub use self::repository::{KnownRepository, KnownTag, Outcomes};
pub use self::specification::Specification;

/// The specifications that were read from the repositories of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Specifications(Vec<(Repository, Result<Found, RepositoryProblem>)>);

impl Specifications {
    pub(super) fn add(&mut self, repository: Repository, found: Result<Found, RepositoryProblem>) {
        self.0.push((repository, found));
    }

    /// Returns what was read from a repository. A repository that was not read is possible only if the record changed
    /// between reading and the update; then the version changed too, and the update fails with a conflict.
    fn of(&self, repository: &Repository) -> Result<Found, RepositoryProblem> {
        let found = self.0.iter().find(|(looked_for, _)| looked_for == repository);
        let nobody = || Err(RepositoryProblem::NotReachable("The repository was changed meanwhile.".to_owned()));
        found.map_or_else(nobody, |(_, found)| found.clone())
    }
}

/// All staged connectors.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct StagedBook {
    sequence: u64,
    records: BTreeMap<String, StagedRecord>,
    /// Keys of removed connectors, with the time from which they can be used again.
    held_keys: BTreeMap<String, Timestamp>,
    /// Ids of connectors that came from the catalogue, including removed ones.
    seeded: BTreeSet<String>,
}

impl StagedBook {
    /// Adds the staged connectors of the catalogue. Those that were changed since then stay unchanged; those that were
    /// deleted are not added again.
    pub(super) fn seed(&mut self, connectors: &[ConnectorDefinition]) {
        for definition in newest(connectors.iter().filter(|connector| connector.staged)) {
            let id = definition.id.as_str();
            let was_seeded = !self.seeded.insert(id.to_owned());
            let sequence = match self.records.get(id) {
                Some(record) if record.definition.version > definition.version => continue,
                // Replaced by the definition of the catalogue, which may have changed since the last start.
                Some(record) => record.sequence,
                None if was_seeded => continue,
                None => {
                    self.sequence += 1;
                    self.sequence
                }
            };
            let mut definition = definition.clone();
            for project in &mut definition.private_projects {
                if !project.contains(':') {
                    // Answers have identifiers with a region. This server serves all regions, so any will do.
                    *project = format!("{}:{project}", REGIONS[0]);
                }
            }
            self.records.insert(id.to_owned(), StagedRecord::new(sequence, definition));
        }
    }

    /// Applies every transition that is due at `now`.
    pub(super) fn advance(&mut self, now: Timestamp, rules: Rules<'_>) {
        self.held_keys.retain(|_, until| now < *until);
        for record in self.records.values_mut() {
            record.advance(now, rules);
        }
    }

    /// Returns all records, in their state after the last [`StagedBook::advance`].
    pub(super) fn records(&self) -> impl Iterator<Item = &StagedRecord> {
        self.records.values()
    }

    /// Returns every published version of listed connectors.
    pub(super) fn offered(&self) -> impl Iterator<Item = &ConnectorDefinition> {
        self.records.values().filter(|record| record.listed).flat_map(|record| &record.published)
    }

    /// Returns every published version, including those of unlisted connectors.
    pub(super) fn published(&self) -> impl Iterator<Item = &ConnectorDefinition> {
        self.records.values().flat_map(|record| &record.published)
    }

    fn named(&self, selector: &Selector) -> Option<&StagedRecord> {
        match selector {
            Selector::Id(id) => self.records.get(id),
            Selector::Key(key) => self.records.values().find(|record| record.definition.key == *key),
        }
    }

    fn record(&self, projects: &[String], selector: &Selector) -> Result<&StagedRecord, Refusal> {
        let found = self.named(selector).filter(|record| projects.iter().any(|project| record.is_known_to(project)));
        found.ok_or_else(|| Refusal::not_found(selector))
    }

    /// Whether a new staged connector may have this key; the caller checks the catalogue.
    pub(super) fn is_free(&self, key: &str) -> bool {
        !self.held_keys.contains_key(key) && self.records.values().all(|record| record.definition.key != key)
    }

    /// Performs `createConnectorStaged`. The caller has checked that the key is free.
    pub(super) fn create(
        &mut self,
        project: &str,
        draft: ConnectorStagedDraft,
        found: &Specifications,
        now: Timestamp,
        rules: Rules<'_>,
        ids: &mut Ids,
    ) -> Result<ConnectorStaged, Refusal> {
        let found = found.of(&draft.repository);
        if rules.variant.repository_check == RepositoryCheck::AtOnce
            && let Err(problem) = &found
        {
            return Err(problem.refusal());
        }
        self.sequence += 1;
        let mut record = StagedRecord::new(self.sequence, definition(ids.next(), project, draft));
        record.take(found, rules.variant);
        record.stale = stale(None, now, rules);
        let shown = record.show();
        self.records.insert(shown.id.clone(), record);
        Ok(shown)
    }

    /// Performs `getConnectorStagedById` and `getConnectorStagedByKey`.
    pub(super) fn read(
        &self,
        projects: &[String],
        selector: &Selector,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        self.record(projects, selector)?.read(now).ok_or_else(|| Refusal::not_found(selector))
    }

    /// Returns the repositories that an update names; the caller reads them before it applies the update.
    pub(super) fn repositories(&self, selector: &Selector, update: &ConnectorUpdate) -> Vec<Repository> {
        let current = self.named(selector).filter(|record| record.definition.version == update.version);
        let Some(record) = current else { return Vec::new() };
        let mut last = record.definition.repository.clone();
        let mut named = Vec::new();
        for action in &update.actions {
            if let ConnectorUpdateAction::SetRepository(change) = action {
                last = change.clone().applied_to(last);
                named.push(last.clone());
            }
        }
        named
    }

    /// Performs `updateConnectorStagedById` and `updateConnectorStagedByKey`: checks the version, then whether
    /// publishing runs, then applies the actions in order.
    pub(super) fn update(
        &mut self,
        projects: &[String],
        selector: &Selector,
        update: &ConnectorUpdate,
        found: &Specifications,
        now: Timestamp,
        rules: Rules<'_>,
    ) -> Result<ConnectorStaged, Refusal> {
        let record = self.record(projects, selector)?;
        let project = projects.iter().find(|project| record.is_known_to(project)).cloned().unwrap_or_default();
        let record = record.clone();
        self.change(record, update, Change { project: &project, now, rules, found })
    }

    /// Applies an update; the caller has checked the rights.
    fn change(
        &mut self,
        mut record: StagedRecord,
        update: &ConnectorUpdate,
        change: Change<'_>,
    ) -> Result<ConnectorStaged, Refusal> {
        let (now, rules) = (change.now, change.rules);
        let current = record.definition.version;
        if current != update.version {
            return Err(Refusal::conflict(update.version, current));
        }
        record.stale = stale(Some(record.show()), now, rules);
        let mut done = 0;
        let mut refused = Ok(());
        for action in &update.actions {
            // Checked before each action: an action after `publish` in the same update finds publishing running.
            refused = if actions::is_publishing(&record) {
                Err(actions::while_publishing(rules.variant.publishing_code))
            } else {
                actions::apply(&mut record, action, change)
            };
            if refused.is_err() {
                break;
            }
            done += 1;
        }
        if done == 0 || rules.variant.staged_updates == StagedUpdates::AllOrNothing {
            refused.clone()?;
        }
        record.definition.version += 1;
        let shown = record.show();
        self.records.insert(shown.id.clone(), record);
        refused.map(|()| shown)
    }

    /// Performs `deleteConnectorStagedById` and `deleteConnectorStagedByKey`; removes the published versions too.
    pub(super) fn delete(
        &mut self,
        projects: &[String],
        selector: &Selector,
        now: Timestamp,
        rules: Rules<'_>,
    ) -> Result<ConnectorStaged, Refusal> {
        let record = self.record(projects, selector)?;
        if actions::is_publishing(record) {
            return Err(actions::while_publishing(rules.variant.publishing_code));
        }
        let shown = record.show();
        self.records.remove(&shown.id);
        let until = later(now, rules.variant.key_held);
        if let Some(key) = shown.key.clone().filter(|_| now < until) {
            self.held_keys.insert(key, until);
        }
        Ok(shown)
    }
}

fn stale(shown: Option<ConnectorStaged>, now: Timestamp, rules: Rules<'_>) -> Option<StaleStaged> {
    let lag = rules.variant.read_lag;
    (!lag.is_zero()).then(|| StaleStaged { until: later(now, lag), shown: shown.map(Box::new) })
}

fn definition(id: String, project: &str, draft: ConnectorStagedDraft) -> ConnectorDefinition {
    ConnectorDefinition {
        id,
        key: draft.key.unwrap_or_default(),
        version: 1,
        name: draft.name,
        description: draft.description,
        integration_types: draft.integration_types,
        creator: draft.creator,
        repository: draft.repository,
        private: true,
        private_projects: draft.private_projects,
        owner: Some(project.to_owned()),
        supported_regions: draft.supported_regions,
        documentation_url: draft.documentation_url,
        staged: true,
        is_previewable: IsPreviewable::NeverAsked,
        ..ConnectorDefinition::default()
    }
}
