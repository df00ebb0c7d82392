//! Staged connectors for callers without HTTP: repositories come from the catalogue only.
//!
//! Tests that use the world directly call this; `state.rs` also reads local repositories.

use jiff::Timestamp;

use super::World;
use crate::refusal::Refusal;
use crate::staged::Specifications;
use connect_api::Selector;
use connect_api::model::{ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, Repository};

impl World {
    fn known(&self, named: Vec<Repository>) -> Specifications {
        let mut specifications = Specifications::default();
        for repository in named {
            let found = self.catalogue().tag(&repository);
            specifications.add(repository, found);
        }
        specifications
    }

    /// Performs `createConnectorStaged` for a project.
    ///
    /// # Errors
    /// `DuplicateField`, and the errors of the repository.
    pub fn stage_known(
        &mut self,
        project: &str,
        draft: ConnectorStagedDraft,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        let found = self.known(vec![draft.repository.clone()]);
        self.stage(project, draft, &found, now)
    }

    /// Performs `updateConnectorStagedById` and `updateConnectorStagedByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`, `ConcurrentModification`, the codes of contract section 6.2, and the errors of a repository.
    pub fn update_staged_known(
        &mut self,
        projects: &[String],
        selector: &Selector,
        update: &ConnectorUpdate,
        now: Timestamp,
    ) -> Result<ConnectorStaged, Refusal> {
        let found = self.known(self.repositories_of(selector, update));
        self.update_staged(projects, selector, update, &found, now)
    }
}
