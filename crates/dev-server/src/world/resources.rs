//! Access of the HTTP API, `/_dev` and tests to the resources that scripts create.

use jiff::Timestamp;

use super::World;
use crate::refusal::Refusal;
use crate::resources::{Creation, Resource};
use connect_api::Selector;
use connect_api::commerce::{ResourceKind, ResourceName};

impl World {
    /// Performs `getExtensionByKey` and `getSubscriptionByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn resource(
        &mut self,
        project: &str,
        name: &ResourceName,
        now: Timestamp,
    ) -> Result<serde_json::Value, Refusal> {
        self.advance(now);
        self.kept.resources.read(project, name)
    }

    /// Returns all resources that scripts created, of all projects.
    pub fn resources(&mut self, now: Timestamp) -> Vec<Resource> {
        self.advance(now);
        self.kept.resources.all().to_vec()
    }

    /// Plans what the script of a deployment does, from the running or next build on. `None`: what the catalogue says.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn plan_resources(&mut self, id: &str, creation: Option<Creation>, now: Timestamp) -> Result<(), Refusal> {
        self.advance(now);
        let record = self.kept.records.get_mut(id);
        record.ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))?.creation = creation;
        Ok(())
    }

    /// Runs the script of a deployment again now, as if someone had created or changed the resources manually.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn create_resources(&mut self, id: &str, creation: Creation, now: Timestamp) -> Result<(), Refusal> {
        self.advance(now);
        let Self { kept, variant, ids, .. } = self;
        let record = kept.records.get(id).ok_or_else(|| Refusal::not_found(&Selector::Id(id.to_owned())))?;
        let applications = record.show_truly(variant).applications;
        kept.resources.create(&record.project, id, &record.connector.creates, &applications, Some(creation), ids);
        Ok(())
    }

    /// Removes a resource, as someone else.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn remove_resource(&mut self, project: &str, kind: ResourceKind, key: &str) -> Result<(), Refusal> {
        let there = self.kept.resources.remove(project, kind, key);
        there.then_some(()).ok_or_else(|| Refusal::not_found(&Selector::Key(key.to_owned())))
    }
}
