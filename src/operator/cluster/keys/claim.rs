//! Which of several resources owns a remote key (rule 4), and what of an object decides that. Pure.

use jiff::Timestamp;
use kube::ResourceExt;

use crate::crd::shared::RemoteIdentity;
use crate::operator::kinds::managed_kind::{self, ClaimRequest, ManagedKind, has_finalizer};
use crate::operator::object_ref::ObjectRef;

/// What ranks a resource among those that claim the same key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The resource.
    pub object_ref: ObjectRef,
    /// Id of the remote record that it owns.
    pub id: Option<String>,
    /// Whether its status has an operation, which may have reached the remote.
    pub operation: bool,
    /// Whether its reconcile is about to write one, or to take over a record.
    pub begins: bool,
    /// When it was created.
    pub created: Timestamp,
}

impl Claim {
    /// Returns the rank; a smaller one is stronger.
    fn rank(&self) -> (bool, bool, Timestamp, &ObjectRef) {
        (self.id.is_none(), !(self.operation || self.begins), self.created, &self.object_ref)
    }

    /// Whether it keeps `other` from the key. Owners of different records do not compete: every call of theirs goes by id.
    pub(super) fn beats(&self, other: &Self) -> bool {
        let apart = self.id.is_some() && other.id.is_some() && self.id != other.id;
        !apart && self.rank() < other.rank()
    }
}

/// Returns the strongest of the claims that keep `mine` from the key; `None`: there is none.
pub fn owner_before<'a>(mine: &Claim, all: impl IntoIterator<Item = &'a Claim>) -> Option<&'a Claim> {
    all.into_iter().filter(|other| other.beats(mine)).min_by(|one, other| one.rank().cmp(&other.rank()))
}

/// What is kept of a resource.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    /// Resource version, if it is a number.
    version: Option<u64>,
    pub(super) claim: Claim,
    pub(super) key: String,
    /// The project that it names.
    project: ObjectRef,
    /// The remote of what it owns, has begun or has announced, whatever the project names now.
    held: Option<RemoteIdentity>,
    /// Whether it claims its key: a resource that only observes, or is already orphaned, does not.
    claims: bool,
}

impl Entry {
    pub(super) fn of<K: ManagedKind>(object: &K, request: ClaimRequest) -> Self {
        let object_ref = managed_kind::object_ref(object);
        let ClaimRequest { project, key, remote, id, operation, claims } = request;
        let orphaned = object.meta().deletion_timestamp.is_some() && !has_finalizer(object);
        let created = object.creation_timestamp().map_or(Timestamp::MAX, |time| time.0);
        Self {
            version: object.resource_version().and_then(|version| version.parse().ok()),
            project: ObjectRef::of_project(&object_ref.namespace, &project),
            held: remote.filter(|_| id.is_some() || operation),
            key,
            claims: claims && !orphaned,
            claim: Claim { object_ref, id, operation, begins: false, created },
        }
    }

    /// Takes over what the entry before knew that is not in the object. What a reconcile has announced holds until the
    /// status shows it.
    pub(super) fn succeed(&mut self, before: &Self) {
        if before.claim.begins && !self.claim.operation && self.claim.id.is_none() {
            self.claim.begins = true;
            self.held.clone_from(&before.held);
        }
    }

    /// Announces that it is about to begin in a remote, in place of what it announced before; `None`: it is not.
    pub(super) fn announce(&mut self, remote: Option<&RemoteIdentity>) {
        self.claim.begins = remote.is_some();
        if self.claim.id.is_none() && !self.claim.operation {
            self.held = remote.cloned();
        }
    }

    /// Whether this copy is newer than `before`. Resource versions grow with each write to a kind, so they also
    /// distinguish a resource from an earlier one of the same name (Kubernetes API concepts, resource versions).
    pub(super) fn follows(&self, before: &Self) -> bool {
        self.version.zip(before.version).is_none_or(|(version, before)| version > before)
    }

    /// Whether it still claims the key that it had `before`, through the same project.
    pub(super) fn claims_as(&self, before: &Self) -> bool {
        self.claims && self.key == before.key && self.project == before.project
    }

    /// Whether it owns a remote record, or has begun an operation.
    pub(super) fn holds(&self) -> bool {
        self.held.is_some()
    }

    /// Returns the remote in which it claims its key: that of what it has, otherwise the one that its project `admits` it to.
    pub(super) fn remote(&self, admits: super::Admits<'_>) -> Option<RemoteIdentity> {
        if !self.claims {
            return None;
        }
        self.held.clone().or_else(|| admits(&self.project, &self.claim.object_ref.namespace))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, id: Option<&str>, operation: bool, created: i64) -> Claim {
        let created = Timestamp::from_second(created).expect("a time in range");
        let (object_ref, id) = (ObjectRef::deployment("shop", name), id.map(ToOwned::to_owned));
        Claim { object_ref, id, operation, begins: false, created }
    }

    #[test]
    fn rule_4_the_owner_is_first_then_who_has_begun_then_the_older_then_the_smaller_name() {
        let announced = Claim { begins: true, ..claim("b", None, false, 2) };
        for (case, winner, loser) in [
            ("the smaller name", claim("a", None, false, 1), claim("b", None, false, 1)),
            ("the older", claim("b", None, false, 1), claim("a", None, false, 2)),
            ("an operation", claim("b", None, true, 2), claim("a", None, false, 1)),
            ("an operation that is announced", announced, claim("a", None, false, 1)),
            ("the id, before an operation", claim("b", Some("1"), false, 2), claim("a", None, true, 1)),
            ("the same id, and an operation", claim("b", Some("1"), true, 2), claim("a", Some("1"), false, 1)),
            ("the same id: the older", claim("b", Some("1"), false, 1), claim("a", Some("1"), false, 2)),
        ] {
            let all = [loser.clone(), winner.clone()];
            assert_eq!(owner_before(&winner, &all), None, "{case}");
            assert_eq!(owner_before(&loser, &all), Some(&winner), "{case}");
        }
    }

    #[test]
    fn rule_4_owners_of_different_records_do_not_compete_but_a_third_resource_waits_for_the_stronger() {
        let (one, two) = (claim("one", Some("1"), false, 1), claim("two", Some("2"), false, 1));
        let third = claim("a", None, false, 0);
        let all = [third.clone(), two.clone(), one.clone()];
        assert_eq!((owner_before(&one, &all), owner_before(&two, &all)), (None, None));
        assert_eq!(owner_before(&third, &all), Some(&one));
    }
}
