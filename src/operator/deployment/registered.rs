//! What follows from the registry entry of the connector that a resource names: which version is its latest (rule 15),
//! what it declares (rule 14), and what the service would refuse (preflight). Pure.
//!
//! `reconcile/registered.rs` reads the registry and decides how often.

use std::sync::Arc;

use connect_api::Selector;
use connect_api::model::Deployment;
use connect_api::scopes::{self, Right};

use super::decide::CallKind;
use super::declared::Declared;
use super::desired::{Desired, Unready};
use super::state;
use super::{applications, intent, observe, preflight};
use crate::crd::{ConnectorDeployment, DriftPolicy};
use crate::operator::remote::{RegistryAnswer, RegistryConnector, RegistryEntry};
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

/// What the registry has, as far as it was read.
#[derive(Clone, Debug, Default)]
pub struct Registered {
    /// Its entry; `None`: nothing depends on it.
    pub registry_entry: Option<RegistryEntry>,
    /// Since which version the connector of a `stagedRef` can be deployed.
    pub deployable: Option<i64>,
}

impl Registered {
    /// Returns the connector that can be deployed; `None`: it is not known, or there is none.
    pub fn offering(&self) -> Option<&Arc<RegistryConnector>> {
        match &self.registry_entry.as_ref()?.found {
            RegistryAnswer::There(offering) => Some(offering),
            RegistryAnswer::Absent | RegistryAnswer::Unreadable => None,
        }
    }

    /// Whether the registry has no such connector.
    pub fn is_absent(&self) -> bool {
        self.registry_entry.as_ref().is_some_and(RegistryEntry::is_absent)
    }

    /// Returns the latest version in the registry. The version of a staged connector changes with each of its steps, so
    /// it is only known for one that a `stagedRef` names.
    pub fn latest(&self) -> Option<i64> {
        let published = self.offering().filter(|offering| offering.previewable.is_none());
        self.deployable.or_else(|| published.map(|offering| offering.version))
    }

    /// Returns what the version declares that a create deploys, or to which a redeploy moves.
    pub fn declared(&self) -> Option<Declared> {
        let offering = self.offering()?;
        observe::declared(offering.applications.as_ref(), offering.global.as_ref())
    }

    /// Returns the declarations of the version that will run (rule 14): those in the record, unless a redeploy moves to
    /// another version.
    pub fn declarations(&self, object: &ConnectorDeployment, record: Option<&Deployment>) -> Option<Declared> {
        let recorded = record.and_then(recorded);
        let moves = record.is_some_and(|record| self.moves(object, record));
        if moves { self.declared().or(recorded) } else { recorded.or_else(|| self.declared()) }
    }

    /// Whether a redeploy would move to the registry's latest version (rule 15).
    fn moves(&self, object: &ConnectorDeployment, record: &Deployment) -> bool {
        let (version, running) = (intent::version(object, self.latest()), record.connector.version);
        let state = object.status.as_ref().map(state::shown).unwrap_or_default();
        let before = state.applied.and_then(|applied| applied.connector_version);
        // What did not move the deployment once is not sent again.
        let moved = version.follow && state.followed.is_some() && state.followed == version.latest;
        let corrects = object.spec.drift_policy == DriftPolicy::Correct;
        (version.rises(running, before) && !moved) || (corrects && version.restores(running, before))
    }

    /// Whether a deployment of the connector generates an API client.
    pub fn generates_api_client(&self) -> bool {
        self.offering().is_some_and(|offering| offering.generates_api_client())
    }

    /// Returns the rights that this call needs. A redeploy is not known to need the right to generate API clients, so
    /// it is sent without it.
    pub fn rights(&self, call: CallKind) -> Vec<Right> {
        let mut rights = vec![Right::ManageDeployments];
        // A Recreate needs the rights of the create that follows, so that it does not fail in between.
        let unread = self.offering().is_none_or(|offering| offering.applications.is_none());
        if call.deploys_latest() && unread {
            rights.push(Right::ViewConnectors);
        }
        if call.creates() && self.generates_api_client() {
            rights.push(Right::GenerateApiClients);
        }
        rights
    }

    /// Reports values that cannot be sent yet, with mistakes in names that can be found without them.
    pub fn condition(
        &self,
        object: &ConnectorDeployment,
        unready: Unready,
        region: &str,
        record: Option<&Deployment>,
    ) -> ConditionUpdate {
        let call = match record {
            None => CallKind::Create,
            Some(record) if self.moves(object, record) => CallKind::Move,
            Some(_) => CallKind::Redeploy,
        };
        let (problems, _) = self.problems(object, &unready.names, region, record, call);
        unready.with(&problems)
    }

    /// Returns what the service would refuse about this call, and whether the registry is the source of that. What is
    /// not known is not a problem.
    pub fn problems(
        &self,
        object: &ConnectorDeployment,
        desired: &Desired,
        region: &str,
        record: Option<&Deployment>,
        call: CallKind,
    ) -> (Vec<String>, bool) {
        let mut problems = Vec::new();
        let by_registry = call.deploys_latest();
        let declared = if by_registry {
            let wanted = object.spec.connector.version;
            let current = self.registry_entry.as_ref().is_some_and(|registry_entry| registry_entry.current);
            let will_run = |offering: &&Arc<RegistryConnector>| wanted.is_none_or(|wanted| wanted == offering.version);
            let Some(offering) = self.offering().filter(|_| current).filter(will_run) else {
                return (problems, false);
            };
            problems = preflight::of_offering(region, offering);
            self.declared()
        } else if let (CallKind::Redeploy, Some(record)) = (call, record) {
            // A record need not repeat the declarations that the registry has for the same version.
            let same = self.offering().is_some_and(|offering| offering.version == record.connector.version);
            recorded(record).or_else(|| self.declared().filter(|_| same))
        } else {
            None
        };
        if let Some(mut declared) = declared {
            // Nothing can be sent to applications that the deployment lacks.
            let missing = record.filter(|_| !call.creates()).map(applications::missing).unwrap_or_default();
            declared.applications.retain(|name, _| !missing.contains(name));
            declared.keys.retain(|item, _| !missing.contains(&item.application));
            problems.extend(preflight::of_values(&desired.values, &desired.url_values, &declared));
        }
        let by_registry = by_registry && !problems.is_empty();
        (problems, by_registry)
    }
}

/// Returns what the connector declares in the version that runs, as far as the record says.
fn recorded(record: &Deployment) -> Option<Declared> {
    let Deployment { connector, .. } = record;
    observe::declared(connector.configurations.as_ref(), connector.global_configuration.as_ref())
}

/// Returns the rights whose lack explains a refused call, the likeliest first. `generates_api_client`: a deployment of
/// the connector generates an API client.
pub fn suspects(call: CallKind, generates_api_client: bool) -> Vec<Right> {
    match call {
        CallKind::Create if generates_api_client => vec![Right::GenerateApiClients, Right::ManageDeployments],
        CallKind::Move if generates_api_client => vec![Right::ManageDeployments, Right::GenerateApiClients],
        _ => vec![Right::ManageDeployments],
    }
}

/// Returns the condition while a call that needs the declarations of `connector` cannot be sent. `absent`: the registry has
/// no such connector; otherwise it cannot be read, or does not report what the connector declares.
pub fn undeclared(connector: &Selector, absent: bool, project: &str) -> ConditionUpdate {
    if absent {
        let (part, name) = match connector {
            Selector::Id(id) => ("id", id),
            Selector::Key(key) => ("key", key),
        };
        let message =
            format!("The registry has no connector with the {part} {name} for this project: correct spec.connector");
        return ConditionUpdate::new(Reason::ConnectorNotFound, message);
    }
    let message = format!(
        "Nothing is sent: the registry does not report what the connector declares: a create and a move have to name each \
         application, and configurationFrom gives the keys that are declared. The registry is read again until it does. The \
         API client needs {}",
        scopes::explain(&[Right::ViewConnectors], project)
    );
    ConditionUpdate::new(Reason::DeclarationsUnknown, message)
}

/// Reports problems that were found before anything is sent.
pub fn not_sent(problems: &[String]) -> String {
    format!("Not sent: {}", problems.join("; "))
}

#[cfg(test)]
#[path = "registered_tests.rs"]
mod tests;
