//! Why a command about resources of the cluster failed, in words that name what is missing. Pure.

use crate::error_text::with_causes;
use crate::names;

use super::kind::ResourceType;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum Failed {
    /// The cluster cannot be reached, or the kubeconfig cannot be used.
    #[error("the cluster cannot be reached: {0}")]
    Cluster(String),
    /// An argument is invalid.
    #[error("{0}")]
    Argument(String),
    /// A resource does not exist.
    #[error("{resource} does not exist {place}")]
    Absent {
        /// Type and name.
        resource: String,
        /// Where, as the end of a sentence.
        place: String,
    },
    /// The user lacks a right.
    #[error("the right to {verb} {resource} {place} is missing: {message}")]
    Forbidden {
        /// The verb, as in a rule of a Role.
        verb: &'static str,
        /// The resource, as in a rule of a Role, with its API group.
        resource: String,
        /// Where.
        place: String,
        /// Message of the API server, with the user.
        message: String,
    },
    /// The API server does not have the type.
    #[error(
        "the cluster has no {0}: install the CustomResourceDefinitions with `{program} crds | kubectl apply --server-side -f -`",
        program = super::program()
    )]
    NotInstalled(&'static str),
    /// The API server returned another error, or did not answer.
    #[error("the API server did not answer as expected: {}", with_causes(.0))]
    Kubernetes(#[from] kube::Error),
    /// An object has a value that this version does not know.
    #[error("this version of the program cannot read {0}: {1}")]
    Unreadable(String, String),
    /// What was waited for did not happen.
    #[error("{0}")]
    Unfinished(String),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

impl Failed {
    /// Returns the error for a refused request about one of the types. `namespace`: where; `None`: in all namespaces.
    pub(super) fn of(
        verb: &'static str,
        resource_type: ResourceType,
        namespace: Option<&str>,
        error: kube::Error,
    ) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 404 && verb == "list" => {
                Self::NotInstalled(resource_type.kind())
            }
            kube::Error::Api(status) if status.code == 403 => {
                let resource = format!("{}.{}", resource_type.plural(), names::GROUP);
                let place = resource_type.place(namespace);
                Self::Forbidden { verb, resource, place, message: status.message }
            }
            error => Self::Kubernetes(error),
        }
    }
}
