//! A `ConnectProject` as seen by its mirror: a kind of its own for the controllers, so that a mirror that reads
//! thousands of connectors never delays a reconcile of the project. Only the fields that the mirror needs are decoded.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::NamespaceResourceScope;
use serde::{Deserialize, Serialize};

use super::desired::Owner;
use super::status::MirrorReport;
use crate::controllers::conditions;
use crate::crd::{ConnectProject, MirrorStatus, RegistryMirror};
use crate::names;

/// A `ConnectProject` with the fields that its mirror needs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MirroredProject {
    /// Its metadata.
    #[serde(default)]
    pub metadata: ObjectMeta,
    /// The spec.
    pub spec: MirroredSpec,
    /// The status.
    #[serde(default)]
    pub status: Option<MirroredStatus>,
}

/// The needed part of the spec.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MirroredSpec {
    /// The filter of the mirror; `None`: nothing is mirrored.
    pub registry: Option<RegistryMirror>,
}

/// The needed part of the status.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct MirroredStatus {
    /// Present as long as there may be Connector objects of this project.
    pub registry: Option<MirrorStatus>,
    /// The install that manages the project.
    pub controller: Option<String>,
    /// Conditions of the project.
    #[serde(default)]
    pub conditions: Vec<Condition>,
}

impl MirroredProject {
    /// Whether its status has the reason of this report. Another replica may have written another one meanwhile.
    pub(super) fn reports(&self, report: &MirrorReport) -> bool {
        let shown =
            self.status.as_ref().and_then(|status| conditions::reason(&status.conditions, names::REGISTRY_MIRRORED));
        shown == Some(report.condition.reason.as_str())
    }

    /// Returns the owner of the objects.
    #[must_use]
    pub fn owner(&self) -> Owner {
        Owner {
            name: self.metadata.name.clone().unwrap_or_default(),
            uid: self.metadata.uid.clone().unwrap_or_default(),
        }
    }

    /// Whether it is being deleted.
    #[must_use]
    pub fn is_deleting(&self) -> bool {
        self.metadata.deletion_timestamp.is_some()
    }

    /// Whether there may be Connector objects of the project.
    #[must_use]
    pub fn may_have_objects(&self) -> bool {
        self.status.as_ref().is_some_and(|status| status.registry.is_some())
    }

    /// Returns the annotation by which users request a read now.
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
