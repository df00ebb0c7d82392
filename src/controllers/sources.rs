//! Whom a change of a Secret or ConfigMap enqueues. Pure; of the objects themselves nothing is kept.
//!
//! A list that begins anew shows only what exists. One that was deleted while no watch was open is what somebody names and
//! no list shows. Next: `references.rs` for who names what, `manager/watches.rs`, which feeds this.

use std::collections::BTreeSet;

use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt};

use super::object_ref::ObjectRef;
use super::references::{Named, References};

/// The watch of one kind of sources.
#[derive(Debug)]
pub struct Sources {
    kind: Named,
    /// The only namespace that is watched; `None`: all are.
    namespace: Option<String>,
    /// Names of what the list that is being read has shown, as far as somebody names it.
    listed: BTreeSet<(String, String)>,
}

/// Who is to run for an event.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Users {
    /// What they name is there, and may have changed.
    pub changed: Vec<ObjectRef>,
    /// What they name is not there.
    pub missing: Vec<ObjectRef>,
}

impl Sources {
    /// Nothing was shown yet. `namespace`: the only one that is watched.
    #[must_use]
    pub fn new(kind: Named, namespace: Option<String>) -> Self {
        Self { kind, namespace, listed: BTreeSet::new() }
    }

    /// Takes an event; returns who names what it is about.
    pub fn note<K: Resource>(&mut self, references: &References, event: &Event<K>) -> Users {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(object) => {
                let (name, changed) = self.users(references, object);
                if !changed.is_empty() {
                    self.listed.insert(name);
                }
                return Users { changed, missing: Vec::new() };
            }
            // What is named only since its page was read is taken for missing, which costs a reconcile.
            Event::InitDone => {
                let listed = std::mem::take(&mut self.listed);
                let named = references.named(self.kind, self.namespace.as_deref());
                let missing = named.iter().filter(|name| !listed.contains(name));
                let missing = missing.flat_map(|(namespace, name)| references.users(self.kind, namespace, name));
                return Users { changed: Vec::new(), missing: missing.collect() };
            }
            Event::Apply(object) => return Users { changed: self.users(references, object).1, missing: Vec::new() },
            Event::Delete(object) => return Users { changed: Vec::new(), missing: self.users(references, object).1 },
        }
        Users::default()
    }

    fn users<K: Resource>(&self, references: &References, object: &K) -> ((String, String), Vec<ObjectRef>) {
        let (namespace, name) =
            (object.namespace().unwrap_or_default(), object.meta().name.clone().unwrap_or_default());
        let users = references.users(self.kind, &namespace, &name);
        ((namespace, name), users)
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

    #[test]
    fn whoever_names_what_a_list_lacks_is_enqueued_once_it_is_complete() {
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
            ("and one that nobody names", Event::InitApply(secret("shop", "three")), Users::default()),
            ("the other is missing, in this namespace only", Event::InitDone, missing("b")),
            ("made", Event::Apply(secret("shop", "two")), changed("b")),
            ("deleted", Event::Delete(secret("shop", "two")), missing("b")),
            ("a list that fails on its way", Event::Init, Users::default()),
            ("shows one", Event::InitApply(secret("shop", "one")), changed("a")),
            ("begins anew", Event::Init, Users::default()),
            ("without it", Event::InitApply(secret("shop", "two")), changed("b")),
            ("and is complete", Event::InitDone, missing("a")),
        ];
        for (case, event, users) in rows {
            assert_eq!(sources.note(&references, &event), users, "{case}");
        }
        assert!(sources.listed.is_empty(), "nothing is kept between lists");
    }
}
