//! The connector registry: published connectors, the connectors that a deployment can use, and staged connectors.
//!
//! Published connectors are those of the catalogue and those published from staged connectors. Next: `staged/` for the
//! lifecycle of staged connectors.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::World;
use crate::connector::{ConnectorDefinition, newest};
use crate::list::{Part, paged, sorted};
use crate::record::Record;
use crate::refusal::{Refusal, cut};
use crate::staged::{Rules, Specifications, StagedListQuery};
use connect_api::model::{
    Connector, ConnectorReference, ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, IntegrationType,
    IsPreviewable, Paged, Repository,
};
use connect_api::{ErrorCode, Selector};

/// Query parameters of `searchConnectors`.
#[derive(Clone, Debug, Default)]
pub(crate) struct SearchQuery {
    pub(crate) part: Part,
    /// Words that must all appear in the name or the description.
    pub(crate) text: Option<String>,
    /// `true` keeps only private connectors; otherwise all available ones.
    pub(crate) private: Option<bool>,
    pub(crate) company: Option<String>,
    /// Ids to keep; empty: all.
    pub(crate) ids: Vec<String>,
    /// Keys to keep; empty: all.
    pub(crate) keys: Vec<String>,
    /// Integration types to keep; empty: all.
    pub(crate) integration_types: Vec<IntegrationType>,
}

impl SearchQuery {
    fn fits(&self, connector: &ConnectorDefinition) -> bool {
        let written = |text: &str| {
            let name = connector.name.to_lowercase();
            let description = connector.description.as_deref().unwrap_or_default().to_lowercase();
            text.to_lowercase().split_whitespace().all(|word| name.contains(word) || description.contains(word))
        };
        self.text.as_deref().is_none_or(written)
            && (self.private != Some(true) || connector.private)
            && (self.company.is_none() || connector.creator.company == self.company)
            && (self.ids.is_empty() || self.ids.contains(&connector.id))
            && (self.keys.is_empty() || self.keys.contains(&connector.key))
            && (self.integration_types.is_empty()
                || self.integration_types.iter().any(|wanted| connector.integration_types.contains(wanted)))
    }
}

impl World {
    /// Returns every published version, without unlisted connectors.
    fn offered(&self) -> impl Iterator<Item = &ConnectorDefinition> {
        let of_catalogue = self.catalogue.connectors.iter().filter(|connector| !connector.staged);
        of_catalogue.chain(self.kept.staged.offered())
    }

    /// Returns every published version, including those of unlisted connectors.
    pub(super) fn published(&self) -> impl Iterator<Item = &ConnectorDefinition> {
        let of_catalogue = self.catalogue.connectors.iter().filter(|connector| !connector.staged);
        of_catalogue.chain(self.kept.staged.published())
    }

    /// Returns the connector that a draft names: the newest matching version that this project may use.
    pub(super) fn connector(
        &self,
        reference: &ConnectorReference,
        project: &str,
    ) -> Result<ConnectorDefinition, Refusal> {
        let fits = |connector: &&ConnectorDefinition| {
            connector.is_open_to(project)
                && reference.id.as_ref().is_none_or(|id| connector.id == *id)
                && reference.key.as_ref().is_none_or(|key| !key.is_empty() && connector.key == *key)
                && reference.version.is_none_or(|version| connector.version == version)
        };
        let staged = reference.staged.unwrap_or_default();
        let found = if staged {
            self.kept.staged.records().map(|record| &record.definition).find(fits)
        } else {
            self.offered().filter(fits).max_by_key(|connector| connector.version)
        };
        found.cloned().ok_or_else(|| {
            let name = reference.key.as_deref().or(reference.id.as_deref()).unwrap_or_default();
            let version = reference.version.map(|version| format!(" in version {version}")).unwrap_or_default();
            let kind = if staged { "staged" } else { "published" };
            let text = format!("There is no {kind} connector '{}'{version} that the project may use.", cut(name));
            Refusal::new(ErrorCode::ConnectorReferenceNotFound, text)
        })
    }

    /// Returns the newest version of the connector of a deployment, even if the connector is unlisted.
    pub(super) fn newest(&self, old: &Record) -> Result<ConnectorDefinition, Refusal> {
        let failed = |text: String| Refusal::new(ErrorCode::DeploymentConnectorUpdateFailure, text);
        let same =
            |connector: &&ConnectorDefinition| connector.id == old.connector.id && connector.is_open_to(&old.project);
        let newest = if old.connector.staged {
            self.kept.staged.records().map(|record| &record.definition).find(same)
        } else {
            self.published().filter(same).max_by_key(|connector| connector.version)
        };
        let newest = newest.ok_or_else(|| failed("The connector cannot be used any more.".to_owned()))?;
        if newest.staged && newest.is_previewable != IsPreviewable::Yes {
            return Err(failed("The staged connector is not previewable any more.".to_owned()));
        }
        if newest.supports(&old.region) {
            return Ok(newest.clone());
        }
        Err(failed(format!("Version {} of the connector cannot be deployed in {}.", newest.version, old.region)))
    }

    /// Performs `searchConnectors`: returns the newest version of each connector that one of these projects may use.
    pub(crate) fn search(&mut self, projects: &[String], query: &SearchQuery, now: Timestamp) -> Paged<Connector> {
        self.advance(now);
        let open = |connector: &&ConnectorDefinition| projects.iter().any(|project| connector.is_open_to(project));
        let mut found = newest(self.offered().filter(open));
        found.retain(|connector| query.fits(connector));
        sorted(&mut found, &query.part.sort, |field, left, right| match field {
            "key" => left.key.cmp(&right.key),
            "id" => left.id.cmp(&right.id),
            "name" => left.name.cmp(&right.name),
            "version" => left.version.cmp(&right.version),
            // The sort is stable, so connectors keep the order of the catalogue.
            _ => Ordering::Equal,
        });
        paged(found, query.part.limit, query.part.offset, |connector| Some(connector.published()))
    }

    /// Performs `getConnectorById` and `getConnectorByKey`: returns a published connector that one of these projects
    /// may use, even if it is unlisted.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn read_connector(
        &mut self,
        projects: &[String],
        selector: &Selector,
        now: Timestamp,
    ) -> Result<Connector, Refusal> {
        self.advance(now);
        let fits = |connector: &&ConnectorDefinition| {
            projects.iter().any(|project| connector.is_open_to(project))
                && match selector {
                    Selector::Id(id) => connector.id == *id,
                    Selector::Key(key) => connector.key == *key,
                }
        };
        let found = self.published().filter(fits).max_by_key(|connector| connector.version);
        found.map(ConnectorDefinition::published).ok_or_else(|| Refusal::not_found(selector))
    }

    /// Performs `createConnectorStaged` for a project.
    ///
    /// # Errors
    /// `DuplicateField`, and the errors of the repository.
    pub(crate) fn stage(
        &mut self,
        project: &str,
        draft: ConnectorStagedDraft,
        found: &Specifications,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        self.advance(now);
        if let Some(key) = &draft.key {
            let published = self.published().any(|connector| connector.key == *key);
            if published || !self.kept.staged.is_free(key) {
                return Err(Refusal::duplicate_key("connector", key));
            }
        }
        let rules = Rules { variant: &self.variant, lasts: self.deploy_duration };
        self.kept.staged.create(project, draft, found, now, rules, &mut self.ids)
    }

    /// Performs `queryConnectorsStaged`: lists the staged connectors that these projects can see.
    pub(crate) fn list_staged(
        &mut self,
        projects: &[String],
        query: &StagedListQuery,
        now: Timestamp,
    ) -> Paged<ConnectorStaged> {
        self.advance(now);
        self.kept.staged.list(projects, query, now)
    }

    /// Performs `getConnectorStagedById` and `getConnectorStagedByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn read_staged(
        &mut self,
        projects: &[String],
        selector: &Selector,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        self.advance(now);
        self.kept.staged.read(projects, selector, now)
    }

    /// Returns the repositories that an update names; the caller reads them before it applies the update.
    pub(crate) fn repositories_of(&self, selector: &Selector, update: &ConnectorUpdate) -> Vec<Repository> {
        self.kept.staged.repositories(selector, update)
    }

    /// Performs `updateConnectorStagedById` and `updateConnectorStagedByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`, `ConcurrentModification`, the codes of contract section 6.2, and the errors of a repository.
    pub(crate) fn update_staged(
        &mut self,
        projects: &[String],
        selector: &Selector,
        update: &ConnectorUpdate,
        found: &Specifications,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        self.advance(now);
        let rules = Rules { variant: &self.variant, lasts: self.deploy_duration };
        self.kept.staged.update(projects, selector, update, found, now, rules)
    }

    /// Performs `deleteConnectorStagedById` and `deleteConnectorStagedByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`; while publishing runs, the code that the variant chooses.
    pub fn delete_staged(
        &mut self,
        projects: &[String],
        selector: &Selector,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        self.advance(now);
        let rules = Rules { variant: &self.variant, lasts: self.deploy_duration };
        self.kept.staged.delete(projects, selector, now, rules)
    }
}
