//! References to the resources that controllers reconcile: kind, namespace and name.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use crate::crd::{ProjectKind, ProjectRef};
use crate::names;

/// Declares the kinds, so that none is missing in the list of all.
macro_rules! kinds {
    ($($(#[$doc:meta])* $kind:ident => $name:literal;)*) => {
        /// Kind of a resource that a controller reconciles.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Kind {
            $($(#[$doc])* $kind,)*
        }

        impl Kind {
            /// Every kind.
            pub const ALL: [Self; [$(Self::$kind),*].len()] = [$(Self::$kind),*];

            /// Returns the name of the kind in metrics and logs.
            pub fn as_str(self) -> &'static str {
                match self {
                    $(Self::$kind => $name,)*
                }
            }
        }
    };
}

kinds! {
    /// A `ConnectProject`.
    Project => "ConnectProject";
    /// A `ConnectorDeployment`.
    Deployment => "ConnectorDeployment";
    /// A `ConnectorStaged`.
    Staged => "ConnectorStaged";
    /// An `ActionCheck`.
    Check => "ActionCheck";
    /// A `ClusterConnectProject`.
    ClusterProject => "ClusterConnectProject";
}

impl Kind {
    /// Returns whether its resources have no namespace.
    pub fn is_cluster_scoped(self) -> bool {
        self == Self::ClusterProject
    }

    /// Returns whether its resources are projects, which other resources name in `projectRef`.
    pub fn is_project(self) -> bool {
        matches!(self, Self::Project | Self::ClusterProject)
    }

    /// Returns the finalizer of its resources: of a project, so that it stays while it is used; of others, so that they
    /// outlive their remote record.
    pub fn finalizer(self) -> &'static str {
        if self.is_project() { names::PROJECT_FINALIZER } else { names::FINALIZER }
    }
}

/// A reference to one resource of the cluster. Many indexes hold the same one, so a clone shares its text.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef(Arc<ObjectName>);

/// What an [`ObjectRef`] refers to.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// Kind of the resource.
    pub kind: Kind,
    /// Namespace of the resource; empty for one that is cluster-scoped.
    pub namespace: String,
    /// Name of the resource.
    pub name: String,
}

impl Deref for ObjectRef {
    type Target = ObjectName;

    fn deref(&self) -> &ObjectName {
        &self.0
    }
}

impl ObjectRef {
    /// Returns a reference to the resource of that name; `namespace` is empty for a cluster-scoped kind.
    pub fn new(kind: Kind, namespace: &str, name: &str) -> Self {
        Self(Arc::new(ObjectName { kind, namespace: namespace.to_owned(), name: name.to_owned() }))
    }

    /// Returns a reference to the `ConnectProject` of that name.
    pub fn project(namespace: &str, name: &str) -> Self {
        Self::new(Kind::Project, namespace, name)
    }

    /// Returns a reference to the `ClusterConnectProject` of that name.
    pub fn cluster_project(name: &str) -> Self {
        Self::new(Kind::ClusterProject, "", name)
    }

    /// Returns a reference to the project that a resource of this namespace names.
    pub fn of_project(namespace: &str, reference: &ProjectRef) -> Self {
        match reference.kind {
            ProjectKind::ConnectProject => Self::project(namespace, &reference.name),
            ProjectKind::ClusterConnectProject => Self::cluster_project(&reference.name),
        }
    }

    /// Returns a reference to the `ConnectorDeployment` of that name.
    pub fn deployment(namespace: &str, name: &str) -> Self {
        Self::new(Kind::Deployment, namespace, name)
    }

    /// Returns a reference to the `ConnectorStaged` of that name.
    pub fn staged(namespace: &str, name: &str) -> Self {
        Self::new(Kind::Staged, namespace, name)
    }

    /// Returns a reference to the `ActionCheck` of that name.
    pub fn check(namespace: &str, name: &str) -> Self {
        Self::new(Kind::Check, namespace, name)
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} {self}", self.kind.as_str())
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            return formatter.write_str(&self.name);
        }
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}
