//! Names the resource that a run is about. Knows nothing of what is in it.

use std::fmt;

/// Kind of a resource that a controller runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// A `ConnectProject`.
    Project,
    /// A `ConnectorDeployment`.
    Deployment,
    /// A `ConnectorStaged`.
    Staged,
    /// An `ActionCheck`.
    Check,
    /// The mirror of the registry of a `ConnectProject`.
    Mirror,
}

impl Kind {
    /// Every one.
    pub const ALL: [Self; 5] = [Self::Project, Self::Deployment, Self::Staged, Self::Check, Self::Mirror];

    /// The kind as it is counted and logged; a mirror is called after what it writes.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Project => "ConnectProject",
            Self::Deployment => "ConnectorDeployment",
            Self::Staged => "ConnectorStaged",
            Self::Check => "ActionCheck",
            Self::Mirror => "Connector",
        }
    }
}

/// One resource of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// Its kind.
    pub kind: Kind,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl ObjectRef {
    /// The `ConnectProject` of that name.
    #[must_use]
    pub fn project(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Project, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The `ConnectorDeployment` of that name.
    #[must_use]
    pub fn deployment(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Deployment, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The `ConnectorStaged` of that name.
    #[must_use]
    pub fn staged(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Staged, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The `ActionCheck` of that name.
    #[must_use]
    pub fn check(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Check, namespace: namespace.to_owned(), name: name.to_owned() }
    }

    /// The mirror of the registry of the `ConnectProject` of that name.
    #[must_use]
    pub fn mirror(namespace: &str, name: &str) -> Self {
        Self { kind: Kind::Mirror, namespace: namespace.to_owned(), name: name.to_owned() }
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}/{}", self.namespace, self.name)
    }
}
