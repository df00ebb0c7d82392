//! Index of which resources refer to which Secret, ConfigMap, project or deployment, so that a change of one enqueues
//! only its users.
//!
//! It contains names only. Each reconcile records the references of its resource, whether their targets exist or not.

pub mod sources;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::crd::ProjectRef;
use crate::mutex::Mutex;
use crate::operator::object_ref::{Kind, ObjectRef};

/// A Secret or ConfigMap that values came from, in the version that was read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Source {
    /// Its kind.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its uid.
    pub uid: String,
    /// Its resource version.
    pub resource_version: String,
}

/// Kind of a referenced object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Referenced {
    /// A Secret.
    Secret,
    /// A ConfigMap.
    ConfigMap,
    /// An object that is reconciled.
    Object(Kind),
}

impl Referenced {
    /// Returns the kind as manifests spell it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::Object(kind) => kind.as_str(),
        }
    }

    /// Returns the reference to the project that a spec names.
    pub fn project(reference: &ProjectRef) -> Reference {
        (Self::Object(ObjectRef::of_project("", reference).kind), reference.name.clone())
    }
}

/// A reference: kind and name of an object, which is in the namespace of the referring resource unless the kind is
/// cluster-scoped.
pub type Reference = (Referenced, String);

/// Kind, namespace and name of a referenced object.
type Target = (Referenced, String, String);

/// The index of references.
#[derive(Debug, Default)]
pub struct References(Mutex<Index>);

#[derive(Debug, Default)]
struct Index {
    users: BTreeMap<Arc<Target>, BTreeSet<ObjectRef>>,
    /// In the order of the targets, each of which `users` has too.
    uses: BTreeMap<ObjectRef, Box<[Arc<Target>]>>,
}

impl References {
    /// Replaces the references of `object_ref`.
    pub fn set(&self, object_ref: &ObjectRef, uses: BTreeSet<Reference>) {
        self.set_in(object_ref, &object_ref.namespace, uses);
    }

    /// Replaces the references of `object_ref`, whose targets are in another namespace than itself.
    pub fn set_in(&self, object_ref: &ObjectRef, namespace: &str, uses: BTreeSet<Reference>) {
        let target = |(kind, name): Reference| {
            let namespace = if kind == Referenced::Object(Kind::ClusterProject) { "" } else { namespace };
            (kind, namespace.to_owned(), name)
        };
        let uses: BTreeSet<Target> = uses.into_iter().map(target).collect();
        let mut index = self.0.lock();
        let known = index.uses.get(object_ref).into_iter().flatten();
        if known.map(|target| &**target).eq(&uses) {
            return;
        }
        index.remove(object_ref);
        let uses: Box<[_]> = uses.into_iter().map(|target| index.add(target, object_ref)).collect();
        if !uses.is_empty() {
            index.uses.insert(object_ref.clone(), uses);
        }
    }

    /// Removes a resource that no longer exists.
    pub fn forget(&self, object_ref: &ObjectRef) {
        self.0.lock().remove(object_ref);
    }

    /// Returns the resources that refer to this object.
    pub fn users(&self, kind: Referenced, namespace: &str, name: &str) -> Vec<ObjectRef> {
        let key = (kind, namespace.to_owned(), name.to_owned());
        self.0.lock().users.get(&key).map(|users| users.iter().cloned().collect()).unwrap_or_default()
    }

    /// Returns the namespace and name of each referenced object of a kind. `namespace`: only in this one.
    pub fn named(&self, kind: Referenced, namespace: Option<&str>) -> Vec<(String, String)> {
        let index = self.0.lock();
        let named = index
            .users
            .keys()
            .map(|target| &**target)
            .filter(|(of, within, _)| *of == kind && namespace.is_none_or(|namespace| namespace == within));
        named.map(|(_, namespace, name)| (namespace.clone(), name.clone())).collect()
    }

    /// Returns the names of the objects of a kind that `object_ref` refers to.
    pub fn uses(&self, object_ref: &ObjectRef, kind: Referenced) -> Vec<String> {
        let index = self.0.lock();
        let uses = index.uses.get(object_ref).into_iter().flatten();
        uses.filter(|target| target.0 == kind).map(|target| target.2.clone()).collect()
    }

    /// Returns the resources that name this project.
    pub fn users_of_project(&self, project: &ObjectRef) -> Vec<ObjectRef> {
        self.users(Referenced::Object(project.kind), &project.namespace, &project.name)
    }

    /// Returns whether more than one resource names this project.
    pub fn has_several_users(&self, project: &ObjectRef) -> bool {
        let key = (Referenced::Object(project.kind), project.namespace.clone(), project.name.clone());
        self.0.lock().users.get(&key).is_some_and(|users| users.len() > 1)
    }

    /// Returns the projects that `object_ref` names.
    pub fn projects(&self, object_ref: &ObjectRef) -> Vec<ObjectRef> {
        let index = self.0.lock();
        let uses = index.uses.get(object_ref).into_iter().flatten();
        let project = |target: &Arc<Target>| match &**target {
            (Referenced::Object(kind), namespace, name) if kind.is_project() => {
                Some(ObjectRef::new(*kind, namespace, name))
            }
            _ => None,
        };
        uses.filter_map(project).collect()
    }

    /// Returns every resource that has references.
    pub fn object_refs(&self) -> Vec<ObjectRef> {
        self.0.lock().uses.keys().cloned().collect()
    }
}

impl Index {
    /// Adds a user of a target; returns the target as all its users share it.
    fn add(&mut self, target: Target, object_ref: &ObjectRef) -> Arc<Target> {
        let known = self.users.get_key_value(&target).map(|(known, _)| known.clone());
        let target = known.unwrap_or_else(|| Arc::new(target));
        self.users.entry(target.clone()).or_default().insert(object_ref.clone());
        target
    }

    fn remove(&mut self, object_ref: &ObjectRef) {
        for target in self.uses.remove(object_ref).unwrap_or_default() {
            if let Some(users) = self.users.get_mut(&target) {
                users.remove(object_ref);
                if users.is_empty() {
                    self.users.remove(&target);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_of_an_object_are_those_that_refer_to_it_now() {
        let references = References::default();
        let (one, two) = (ObjectRef::deployment("shop", "one"), ObjectRef::deployment("shop", "two"));
        references.set(&one, [(Referenced::Secret, "a".into()), (Referenced::Secret, "b".into())].into());
        references.set(&two, [(Referenced::Secret, "a".into())].into());
        assert_eq!(references.users(Referenced::Secret, "shop", "a"), [one.clone(), two.clone()]);
        assert!(references.users(Referenced::Secret, "other", "a").is_empty(), "another namespace");
        assert!(references.users(Referenced::ConfigMap, "shop", "a").is_empty(), "another kind");
        references.set(&one, [(Referenced::Secret, "b".into())].into());
        assert_eq!(references.users(Referenced::Secret, "shop", "a"), std::slice::from_ref(&two));
        references.forget(&two);
        assert!(references.users(Referenced::Secret, "shop", "a").is_empty());
        assert_eq!(references.0.lock().users.len(), 1, "an object without users has no entry");
    }

    #[test]
    fn a_cluster_scoped_project_has_users_in_several_namespaces_and_its_secret_in_another() {
        let references = References::default();
        let (one, other) = (ObjectRef::deployment("shop", "tax"), ObjectRef::deployment("yard", "tax"));
        let (shared, own) = (ObjectRef::cluster_project("demo"), ObjectRef::project("shop", "demo"));
        references.set(&one, [(Referenced::Object(Kind::ClusterProject), "demo".into())].into());
        references.set(&other, [(Referenced::Object(Kind::ClusterProject), "demo".into())].into());
        assert_eq!(references.users_of_project(&shared), [one.clone(), other.clone()]);
        assert!(references.users_of_project(&own).is_empty(), "of the same name");
        assert_eq!(references.projects(&one), std::slice::from_ref(&shared));
        references.set(&one, [(Referenced::Object(Kind::Project), "demo".into())].into());
        assert_eq!((references.users_of_project(&shared), references.users_of_project(&own)), (vec![other], vec![one]));
        references.set_in(&shared, "operator", [(Referenced::Secret, "demo".into())].into());
        assert_eq!(references.users(Referenced::Secret, "operator", "demo"), [shared]);
    }
}
