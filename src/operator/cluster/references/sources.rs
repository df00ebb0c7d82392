//! Determines which resources a change of a Secret or ConfigMap enqueues. Pure; of each of these objects only
//! a hash of its version is kept, so that a relist enqueues nothing for what it shows as it was.
//!
//! A relist shows only what exists. An object that was deleted while no watch was open is one that a resource refers to
//! and that the list does not contain. Next: `references/mod.rs` for the references, `manager/watches.rs`, which feeds it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher as _, RandomState};

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use super::{Named, References};
use crate::operator::object_ref::ObjectRef;

/// The watch state of one kind of sources.
#[derive(Debug)]
pub struct Sources {
    kind: Named,
    /// The only namespace that is watched; `None`: all namespaces.
    namespace: Option<String>,
    /// Hashes of the names of all objects, and of their versions: there may be very many, and most are named by nothing.
    seen: BTreeMap<u64, u64>,
    /// What the list in progress has shown so far.
    listed: BTreeMap<u64, u64>,
    hasher: RandomState,
}

/// The resources to enqueue for an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// Resources that refer to an object that exists and may have changed.
    pub changed: Vec<ObjectRef>,
    /// Resources that refer to an object that does not exist.
    pub missing: Vec<ObjectRef>,
}

impl Sources {
    /// Creates the state before the first event. `namespace`: the only one that is watched; `None`: all namespaces.
    #[must_use]
    pub fn new(kind: Named, namespace: Option<String>) -> Self {
        Self { kind, namespace, seen: BTreeMap::new(), listed: BTreeMap::new(), hasher: RandomState::new() }
    }

    /// The kind of the objects.
    #[must_use]
    pub fn kind(&self) -> Named {
        self.kind
    }

    /// Processes an event; returns the resources that refer to its object.
    pub fn note<K: Resource>(&mut self, references: &References, event: &Event<K>) -> Users {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let (name, version) = self.hashes(object);
                self.listed.insert(name, version);
                if self.seen.get(&name) != Some(&version) {
                    return Users { changed: self.users(references, object), missing: Vec::new() };
                }
            }
            // An object that became referenced after its page was read counts as missing, which costs one reconcile.
            Event::InitDone => {
                self.seen = std::mem::take(&mut self.listed);
                let named = references.named(self.kind, self.namespace.as_deref());
                let missing = named.iter().filter(|name| !self.seen.contains_key(&self.hasher.hash_one(name)));
                let missing = missing.flat_map(|(namespace, name)| references.users(self.kind, namespace, name));
                return Users { changed: Vec::new(), missing: missing.collect() };
            }
            Event::Apply(object) => {
                let (name, version) = self.hashes(object);
                self.seen.insert(name, version);
                return Users { changed: self.users(references, object), missing: Vec::new() };
            }
            Event::Delete(object) => {
                self.seen.remove(&self.hashes(object).0);
                return Users { changed: Vec::new(), missing: self.users(references, object) };
            }
        }
        Users::default()
    }

    /// Returns hashes of the name and of the version of an object.
    fn hashes<K: Resource>(&self, object: &K) -> (u64, u64) {
        let name = (object.namespace().unwrap_or_default(), object.name_any());
        let version = (object.uid(), object.resource_version());
        (self.hasher.hash_one(name), self.hasher.hash_one(version))
    }

    fn users<K: Resource>(&self, references: &References, object: &K) -> Vec<ObjectRef> {
        references.users(self.kind, &object.namespace().unwrap_or_default(), &object.name_any())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Secret;
    use kube::api::ObjectMeta;

    use super::*;

    fn secret(namespace: &str, name: &str) -> Secret {
        let metadata =
            ObjectMeta { namespace: Some(namespace.into()), name: Some(name.into()), ..ObjectMeta::default() };
        Secret { metadata, ..Secret::default() }
    }

    fn changed_secret(namespace: &str, name: &str) -> Secret {
        let mut secret = secret(namespace, name);
        secret.metadata.resource_version = Some("2".to_owned());
        secret
    }

    #[test]
    fn users_of_an_object_that_a_list_lacks_are_enqueued_once_it_is_complete() {
        let references = References::default();
        let user = |namespace: &str, name: &str| ObjectRef::deployment(namespace, name);
        for (namespace, name, secret) in [("shop", "a", "one"), ("shop", "b", "two"), ("other", "c", "one")] {
            references.set(&user(namespace, name), [(Named::Secret, secret.to_owned())].into());
        }
        references.set(&user("shop", "d"), [(Named::ConfigMap, "two".to_owned())].into());
        let mut sources = Sources::new(Named::Secret, Some("shop".to_owned()));
        let changed = |name: &str| Users { changed: vec![user("shop", name)], missing: Vec::new() };
        let missing = |name: &str| Users { changed: Vec::new(), missing: vec![user("shop", name)] };
        let rows: Vec<(&str, Event<Secret>, Users)> = vec![
            ("a list", Event::Init, Users::default()),
            ("shows one", Event::InitApply(secret("shop", "one")), changed("a")),
            ("and one without users", Event::InitApply(secret("shop", "three")), Users::default()),
            ("the other is missing, in this namespace only", Event::InitDone, missing("b")),
            ("created", Event::Apply(secret("shop", "two")), changed("b")),
            ("deleted", Event::Delete(secret("shop", "two")), missing("b")),
            ("created again", Event::Apply(secret("shop", "two")), changed("b")),
            ("a list that fails on its way", Event::Init, Users::default()),
            ("shows one as it was", Event::InitApply(secret("shop", "one")), Users::default()),
            ("begins again", Event::Init, Users::default()),
            ("without it, and with a changed one", Event::InitApply(changed_secret("shop", "two")), changed("b")),
            ("and is complete", Event::InitDone, missing("a")),
        ];
        for (case, event, users) in rows {
            assert_eq!(sources.note(&references, &event), users, "{case}");
        }
        assert!(sources.listed.is_empty());
        assert_eq!(sources.seen.len(), 1, "nothing is kept of what does not exist");
    }
}
