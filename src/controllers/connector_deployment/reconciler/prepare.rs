//! Before the remote: who wakes us, whether the resource can be worked with at all, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt;
use kube::api::Api;

use super::super::decide::Deletion;
use super::super::desired::{self};
use super::super::intent::{self, Target};
use crate::controllers::backoff::Asked;
use crate::controllers::conditions::ConditionUpdate;
use crate::controllers::object;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reason::Reason;
use crate::controllers::references::Named;
use crate::controllers::remote::Login;
use crate::crd::{ConnectorStaged, ManagementPolicy};
use crate::names;

use super::Reconciler;

impl Reconciler<'_> {
    /// Remembers who is to wake us.
    pub(super) fn note_references(&self) {
        let mut named = BTreeSet::new();
        if self.object.spec.management_policy == ManagementPolicy::Full {
            named = desired::references(&self.object.spec);
            named.extend(
                self.object.spec.outputs.iter().map(|outputs| (Named::ConfigMap, outputs.config_map.name.clone())),
            );
        }
        let verifies = self.object.spec.verify.iter().filter_map(|verify| verify.credentials_ref.as_ref());
        named.extend(verifies.map(|reference| (Named::Secret, reference.name.clone())));
        let staged = self.object.spec.connector.staged_ref.iter();
        named.extend(staged.map(|reference| (Named::Staged, reference.name.clone())));
        let project = self.object.spec.project_ref.name.clone();
        named.insert((Named::Project, project.clone()));
        let before = self.context.references.uses(self.object_ref, Named::Project);
        self.context.references.set(self.object_ref, named);
        if before != [project.clone()] {
            // Their status counts their users, and one that is being deleted waits for them.
            for project in before.into_iter().chain([project]) {
                self.context.enqueue(ObjectRef::project(&self.object_ref.namespace, &project));
            }
        }
    }

    /// What happens to the remote when the object is deleted, if it is.
    pub(super) fn deletion(&self) -> Option<Deletion> {
        intent::deletion(&self.object, self.context.default_deletion_policy)
    }

    /// Rules 22 and 23: what was never created, and what is to stay, needs no remote to go.
    pub(super) fn may_go_at_once(&self) -> bool {
        let persisted = self.persisted();
        match self.deletion() {
            Some(Deletion::Orphan) => true,
            // The annotation outlives a status that was lost with a restored backup.
            Some(Deletion::Undeploy) => {
                let inputs = self.object.annotations().contains_key(names::REMOTE_ID);
                persisted.id.is_none() && persisted.operation.is_none() && !inputs
            }
            None => false,
        }
    }

    /// Sets the finalizer before anything is created.
    pub(super) async fn add_finalizer(&mut self) -> Result<(), kube::Error> {
        let held = self.object.finalizers().iter().any(|name| name == names::FINALIZER);
        if held || self.object.spec.management_policy == ManagementPolicy::ObserveOnly {
            return Ok(());
        }
        let object = object::add_finalizer(&self.api, &*self.object).await?;
        self.wrote(object);
        Ok(())
    }

    /// The connector; `None` while the resource is being deleted and it is not known any more.
    ///
    /// # Errors
    /// Why it is not known: to tell people, or nothing while the controller of a staged one has not looked at it yet.
    pub(super) async fn target(&self) -> Result<Option<Target>, Option<ConditionUpdate>> {
        let deleting = intent::is_deleting(&self.object);
        let staged = match &self.object.spec.connector.staged_ref {
            None => None,
            Some(reference) => {
                let object_ref = ObjectRef::staged(&self.object_ref.namespace, &reference.name);
                match self.context.staged.get(&object_ref) {
                    Some(staged) => Some(staged),
                    None if !deleting && self.comes(&reference.name).await? => return Err(None),
                    None => None,
                }
            }
        };
        match intent::target(&self.object, staged.as_ref()) {
            Ok(target) => Ok(Some(target)),
            Err(_) if deleting => Ok(None),
            Err(condition) => Err(Some(condition)),
        }
    }

    /// Whether there is a `ConnectorStaged` of this name; its controller wakes its users once it knows it. That of another
    /// install does not.
    async fn comes(&self, name: &str) -> Result<bool, Option<ConditionUpdate>> {
        let api = Api::<ConnectorStaged>::namespaced(self.context.client.clone(), &self.object_ref.namespace);
        let found = api.get_metadata_opt(name).await;
        let found = found.map_err(|error| Some(object::unreadable(&format!("ConnectorStaged {name}"), error)))?;
        match found {
            Some(found) if !self.context.foreign_installs.selects(found.labels()) => {
                let message = format!(
                    "ConnectorStaged {name} has labels that this install of the operator does not select: give it those                      of this deployment"
                );
                Err(Some(ConditionUpdate::new(Reason::StagedNotReady, message)))
            }
            found => Ok(found.is_some()),
        }
    }

    /// Whether calls of this resource are held back after failures; a change of what is asked for ends that.
    pub(super) fn paused(&mut self) -> Option<Duration> {
        let asked = self.asked_for();
        self.cache.backoff.left(&asked, self.context.clock.now())
    }

    pub(super) fn asked_for(&self) -> Asked {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, object::request(&*self.object, names::REDEPLOY_REQUESTED_AT))
    }

    /// What was refused with other credentials may be sent again.
    pub(super) fn note_login(&mut self, login: Login) {
        if self.cache.login.replace(login).is_some_and(|before| before != login) {
            self.cache.refusal = None;
            self.cache.seen.refused = None;
        }
    }

    /// A new reconcile request is served by a look that begins from now on (rule 11).
    pub(super) fn note_request(&mut self) {
        let request = object::request(&*self.object, names::RECONCILE_REQUESTED_AT);
        let handled = self.status().handled_reconcile_request;
        match request {
            Some(request) if Some(&request) != handled.as_ref() => {
                if self.cache.asked.as_ref().is_none_or(|(asked, _)| *asked != request) {
                    self.cache.asked = Some((request, self.context.clock.now()));
                }
            }
            _ => self.cache.asked = None,
        }
    }
}
