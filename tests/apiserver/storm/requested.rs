//! What was requested, and when that changed: what the checker compares the remote with.

use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::deployment::persisted::Sources;
use connect_operator::operator::reporting::conditions::is_true;
use dev_server::{Moment, World};

use crate::prelude::*;

pub(crate) const APPLICATION: &str = "service";
pub(crate) const PLAIN: &str = "FEATURES";
pub(crate) const SECURED: &str = "API_TOKEN";

/// Numbers of the secured value and of the plain one. They only grow, so that every state of the remote can be
/// identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Revision {
    pub(crate) token: u32,
    pub(crate) plain: u32,
}

impl Revision {
    /// Whether it was requested later: no number is smaller, and one is larger.
    pub(crate) fn is_later_than(self, other: Self) -> bool {
        self != other && self.token >= other.token && self.plain >= other.plain
    }
}

pub(crate) fn token(name: &str, number: u32) -> String {
    format!("token-{number}-of-{name}-which-nobody-may-see")
}

pub(crate) fn plain(number: u32) -> String {
    format!("revision-{number}")
}

/// Uid and resource version of a Secret.
pub(crate) type SecretVersion = (String, String);

/// A resource as it was requested.
#[derive(Clone, Debug, Default)]
pub(crate) struct Asked {
    /// How often it was created.
    pub(crate) made: u32,
    /// Whether it should exist.
    pub(crate) wanted: bool,
    /// Whether a foreign deployment has its key.
    pub(crate) taken: bool,
    pub(crate) now: Revision,
    /// Its current uid and generation.
    pub(crate) written: Option<(String, i64)>,
    /// Its current Secret.
    pub(crate) secret: Option<SecretVersion>,
    /// Plain numbers by uid and generation.
    pub(crate) generations: BTreeMap<(String, i64), u32>,
    /// Secured numbers by version of the Secret.
    pub(crate) secrets: BTreeMap<SecretVersion, u32>,
}

impl Asked {
    /// Whether the operator has observed the last change of the resource.
    fn is_observed_in(&self, object: &ConnectorDeployment) -> bool {
        let written = (object.uid().unwrap_or_default(), object.metadata.generation.unwrap_or_default());
        is_observed(object) && self.written == Some(written)
    }

    /// Whether the resource is as it must be at the end.
    pub(crate) fn is_met_by(&self, object: &ConnectorDeployment) -> bool {
        let seen = self.is_observed_in(object);
        if self.taken {
            return seen && condition(object, names::READY).is_some_and(|ready| ready.reason == "KeyTaken");
        }
        seen && is(object, names::READY)
            && (self.secret.as_ref().is_some_and(|secret| has_applied(object, secret)) || is_unverified(object))
    }

    /// Returns what a Ready object claims to be live; `None`: it was never requested.
    pub(crate) fn claimed_by(&self, object: &ConnectorDeployment) -> Option<Claim> {
        let observed = object.status.as_ref()?.observed_generation;
        let plain = *self.generations.get(&(object.uid()?, observed))?;
        let applied = || self.secrets.iter().find(|(secret, _)| has_applied(object, secret));
        let token = if is_unverified(object) { None } else { Some(*applied()?.1) };
        Some(Claim { token, plain })
    }

    /// Returns what a deployment had at some moment; `None`: it was never requested.
    pub(crate) fn carried(&self, name: &str, world: &World, moment: &Moment) -> Option<Revision> {
        let number = moment.plain(APPLICATION, PLAIN)?.strip_prefix("revision-")?.parse().ok()?;
        let is = |number: &u32| world.secured_was(moment, APPLICATION, SECURED, &token(name, *number)) == Some(true);
        Some(Revision { token: (0..=self.now.token).find(is)?, plain: number })
    }
}

/// Whether the status is about the current generation.
fn is_observed(object: &ConnectorDeployment) -> bool {
    let observed = object.status.as_ref().map(|status| status.observed_generation);
    observed.is_some() && observed == object.metadata.generation
}

/// What a resource claims to be live; no token: it reports that it does not know which.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Claim {
    token: Option<u32>,
    plain: u32,
}

impl Claim {
    pub(crate) fn holds_for(self, carried: Revision) -> bool {
        self.plain == carried.plain && self.token.is_none_or(|token| token == carried.token)
    }
}

/// Whether it was adopted as it was, and reports that.
fn is_unverified(object: &ConnectorDeployment) -> bool {
    let Some(status) = &object.status else { return false };
    let says_so = is_true(&status.conditions, names::SECRETS_UNVERIFIED);
    says_so && state(object).applied.is_some_and(|applied| applied.sources.is_empty())
}

/// Whether this version of its Secret was applied.
fn has_applied(object: &ConnectorDeployment, (uid, resource_version): &SecretVersion) -> bool {
    let (uid, resource_version) = (uid.clone(), resource_version.clone());
    let source = Source { kind: "Secret".to_owned(), name: object.name_any(), uid, resource_version };
    state(object).applied.is_some_and(|applied| applied.sources == Sources::of(&[source]))
}

/// All resources by name.
#[derive(Default)]
pub(crate) struct RequestedChanges(Mutex<BTreeMap<String, Asked>>);

impl RequestedChanges {
    pub(crate) fn note<T>(&self, name: &str, change: impl FnOnce(&mut Asked) -> T) -> T {
        change(self.0.lock().unwrap().entry(name.to_owned()).or_default())
    }

    pub(crate) fn all(&self) -> BTreeMap<String, Asked> {
        self.0.lock().unwrap().clone()
    }

    /// Returns the names of the resources that should exist.
    pub(crate) fn wanted(&self) -> Vec<String> {
        self.all().into_iter().filter(|(_, asked)| asked.wanted).map(|(name, _)| name).collect()
    }
}
