//! What `ConnectProject` and `ClusterConnectProject` have in common, so that one controller serves both.

use kube::api::Api;
use kube::{Client, ResourceExt as _};

use super::managed_kind::ManagedKind;
use crate::crd::{ClusterConnectProject, ConnectProject, ConnectProjectSpec, ConnectProjectStatus, ProjectKind};

/// A kind of project.
pub trait ProjectObject: ManagedKind {
    /// The kind, as a `projectRef` names it.
    const REFERENCE_KIND: ProjectKind;

    /// The spec, without the namespaces that may use the project.
    fn project(&self) -> &ConnectProjectSpec;

    /// The status, if there is one.
    fn reported(&self) -> Option<&ConnectProjectStatus>;

    /// Returns the API for objects of `namespace`, which is empty for a cluster-scoped kind.
    fn api(client: Client, namespace: &str) -> Api<Self>;

    /// Returns the namespace of the Secret with its credentials. `operator`: the namespace of the operator.
    fn own_namespace(&self, operator: &str) -> String;
}

impl ProjectObject for ConnectProject {
    const REFERENCE_KIND: ProjectKind = ProjectKind::ConnectProject;

    fn project(&self) -> &ConnectProjectSpec {
        &self.spec
    }

    fn reported(&self) -> Option<&ConnectProjectStatus> {
        self.status.as_ref()
    }

    fn api(client: Client, namespace: &str) -> Api<Self> {
        Api::namespaced(client, namespace)
    }

    fn own_namespace(&self, _: &str) -> String {
        self.namespace().unwrap_or_default()
    }
}

impl ProjectObject for ClusterConnectProject {
    const REFERENCE_KIND: ProjectKind = ProjectKind::ClusterConnectProject;

    fn project(&self) -> &ConnectProjectSpec {
        &self.spec.project
    }

    fn reported(&self) -> Option<&ConnectProjectStatus> {
        self.status.as_ref()
    }

    fn api(client: Client, _: &str) -> Api<Self> {
        Api::all(client)
    }

    fn own_namespace(&self, operator: &str) -> String {
        operator.to_owned()
    }
}
