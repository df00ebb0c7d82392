//! Before the remote: who wakes us, whether the resource can be worked with at all, and when.

use std::collections::BTreeSet;
use std::time::Duration;

use kube::ResourceExt;

use super::super::act::{self};
use super::super::decide::Deletion;
use super::super::desired::{self};
use super::super::intent;
use crate::controllers::references::Named;
use crate::controllers::remote::Login;
use crate::controllers::subject::Subject;
use crate::crd::ManagementPolicy;
use crate::names;

use super::Run;

impl Run<'_> {
    /// Remembers who is to wake us.
    pub(super) fn note_references(&self) {
        let mut named = BTreeSet::new();
        if self.object.spec.management_policy == ManagementPolicy::Full {
            named = desired::references(&self.object.spec);
            named.extend(
                self.object.spec.outputs.iter().map(|outputs| (Named::ConfigMap, outputs.config_map_name.clone())),
            );
        }
        let project = self.object.spec.project_ref.name.clone();
        named.insert((Named::Project, project.clone()));
        let before = self.context.references.uses(self.subject, Named::Project);
        self.context.references.set(self.subject, named);
        if before != [project.clone()] {
            // Their status counts their users, and one that is being deleted waits for them.
            for project in before.into_iter().chain([project]) {
                self.context.wake(Subject::project(&self.subject.namespace, &project));
            }
        }
    }

    /// Rules 22 and 23: what was never created, and what is to stay, needs no remote to go.
    pub(super) fn may_go_at_once(&self) -> bool {
        let ledger = self.ledger();
        match intent::deletion(&self.object) {
            Some(Deletion::LetGo) => true,
            // The annotation outlives a status that was lost with a restored backup.
            Some(Deletion::Undeploy) => {
                let known = self.object.annotations().contains_key(names::REMOTE_ID);
                ledger.id.is_none() && ledger.operation.is_none() && !known
            }
            None => false,
        }
    }

    /// Sets the finalizer before anything is created.
    pub(super) async fn hold(&mut self) -> Result<(), kube::Error> {
        let held = self.object.finalizers().iter().any(|name| name == names::FINALIZER);
        if held || self.object.spec.management_policy == ManagementPolicy::ObserveOnly {
            return Ok(());
        }
        let object = act::hold(&self.api, &self.object).await?;
        self.wrote(object);
        Ok(())
    }

    /// Whether calls of this resource are held back after failures; a change of what is asked for ends that.
    pub(super) fn paused(&mut self) -> Option<Duration> {
        let asked = self.asked_for();
        if self.remembered.paused_for.as_ref() != Some(&asked) {
            self.remembered.not_before = None;
        }
        let until = self.remembered.not_before?;
        let now = self.context.clock.now();
        (now < until).then(|| crate::clock::between(now, until))
    }

    pub(super) fn asked_for(&self) -> (i64, Option<String>) {
        let generation = self.object.metadata.generation.unwrap_or_default();
        (generation, intent::request(&self.object, names::REDEPLOY_REQUESTED_AT))
    }

    /// What was refused with other credentials may be sent again.
    pub(super) fn note_login(&mut self, login: Login) {
        if self.remembered.login.replace(login).is_some_and(|before| before != login) {
            self.remembered.refusal = None;
            self.remembered.seen.refused = None;
        }
    }

    /// A new reconcile request is served by a look that begins from now on (rule 11).
    pub(super) fn note_request(&mut self) {
        let request = intent::request(&self.object, names::RECONCILE_REQUESTED_AT);
        let handled = self.status().handled_reconcile_request;
        match request {
            Some(request) if Some(&request) != handled.as_ref() => {
                if self.remembered.asked.as_ref().is_none_or(|(asked, _)| *asked != request) {
                    self.remembered.asked = Some((request, self.context.clock.now()));
                }
            }
            _ => self.remembered.asked = None,
        }
    }
}
