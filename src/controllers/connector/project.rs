//! A `ConnectProject` as its mirror sees it: a kind of its own to the controllers, so that a mirror that reads thousands of
//! connectors never holds up a run of the project. Of the object only what the mirror needs is kept.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::Deserialize;

use super::desired::Owner;
use crate::crd::{ConnectProject, MirrorStatus, RegistryMirror};
use crate::names;

/// A `ConnectProject`, as far as its mirror is concerned.
#[derive(Clone, Debug, Deserialize)]
pub struct MirroredProject {
    /// Its metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// What is wanted.
    pub spec: MirroredSpec,
    /// What was said.
    #[serde(default)]
    pub status: Option<MirroredStatus>,
}

/// The part of its spec.
#[derive(Clone, Debug, Deserialize)]
pub struct MirroredSpec {
    /// What is mirrored; absent: nothing.
    pub registry: Option<RegistryMirror>,
}

/// The part of its status.
#[derive(Clone, Debug, Deserialize)]
pub struct MirroredStatus {
    /// There as long as there may be Connector objects of this project.
    pub registry: Option<MirrorStatus>,
    /// The install that works on the project.
    pub controller: Option<String>,
    /// Conditions of the project.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl MirroredProject {
    /// Who owns the objects.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            name: self.metadata.name.clone().unwrap_or_default(),
            uid: self.metadata.uid.clone().unwrap_or_default(),
        }
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn is_going(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether there may be Connector objects of it.
    #[must_use]
    pub fn may_have_objects(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.registry.is_some())
    }

    /// The annotation by which people ask for a look now.
    #[must_use]
    pub fn requested(&self) -> Option<String> {
        self.metadata.annotations.as_ref()?.get(names::RECONCILE_REQUESTED_AT).cloned()
    }
}

impl Resource for MirroredProject {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        ConnectProject::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        ConnectProject::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        ConnectProject::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        ConnectProject::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}
