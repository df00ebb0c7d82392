//! What `ConnectProject` and `ClusterConnectProject` have in common, so that one controller serves both.

use kube::api::Api;
use kube::core::object::HasStatus;
use kube::{Client, ResourceExt as _};

use super::managed_kind::ManagedKind;
use crate::crd::{ClusterConnectProject, ConnectProject, ConnectProjectSpec, ConnectProjectStatus};

/// A kind of project.
pub trait ProjectObject: ManagedKind + HasStatus<Status = ConnectProjectStatus> {
    /// The spec, without the namespaces that may use the project.
    fn project(&self) -> &ConnectProjectSpec;

    /// Returns the API for objects of `namespace`, which is empty for a cluster-scoped kind.
    fn api(client: Client, namespace: &str) -> Api<Self>;

    /// Returns the namespace of the Secret with its credentials. `operator`: the namespace of the operator, for a
    /// cluster-scoped kind.
    fn own_namespace(&self, operator: &str) -> String {
        if Self::KIND.is_cluster_scoped() { operator.to_owned() } else { self.namespace().unwrap_or_default() }
    }
}

impl ProjectObject for ConnectProject {
    fn project(&self) -> &ConnectProjectSpec {
        &self.spec
    }

    fn api(client: Client, namespace: &str) -> Api<Self> {
        Api::namespaced(client, namespace)
    }
}

impl ProjectObject for ClusterConnectProject {
    fn project(&self) -> &ConnectProjectSpec {
        &self.spec.project
    }

    fn api(client: Client, _: &str) -> Api<Self> {
        Api::all(client)
    }
}
