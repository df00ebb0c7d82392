//! Why a command about resources of the cluster failed, in words that name what is missing. Pure.

use crate::error_text::with_causes;
use crate::names;

use super::kind::ResourceType;

/// Number of letters of a name for each of which one more typing error is expected.
const LETTERS_PER_ERROR: usize = 6;
/// Maximum number of names that an error lists.
const LISTED: usize = 5;

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
    #[error("{resource} does not exist {place}{hint}")]
    Absent {
        /// Type and name.
        resource: String,
        /// Where, as the end of a sentence.
        place: String,
        /// What exists instead.
        hint: String,
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

/// Returns the name that a typing error may have changed; `None`: none is similar.
pub(in crate::cli) fn similar<'a>(name: &str, existing: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let errors = |other: &str| strsim::damerau_levenshtein(name, other);
    let nearest = existing.into_iter().min_by_key(|other| errors(other));
    nearest.filter(|nearest| errors(nearest) <= 1 + name.len() / LETTERS_PER_ERROR)
}

/// Returns what exists in place of a name: the same name of another type, a similar one, or a few of all.
pub(super) fn hint(resource_type: ResourceType, name: &str, existing: &[(ResourceType, String)]) -> String {
    if let Some((other, _)) = existing.iter().find(|(other, it)| *other != resource_type && it == name) {
        return format!("; there is a {}/{name}", other.alias());
    }
    let same: Vec<&str> =
        existing.iter().filter(|(other, _)| *other == resource_type).map(|(_, it)| it.as_str()).collect();
    match similar(name, same.iter().copied()) {
        None if same.is_empty() && resource_type.is_cluster_scoped() => "; there is none".to_owned(),
        None if same.is_empty() => format!("; it has no {}", resource_type.kind()),
        Some(similar) => format!("; did you mean {similar}?"),
        None => {
            let more = same.len().saturating_sub(LISTED);
            let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
            format!("; it has {}{rest}", same[..same.len() - more].join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use ResourceType::{Deployment, Staged};
    use kube::core::Status;

    use super::*;

    #[test]
    fn an_unknown_name_suggests_what_exists() {
        for (case, name, existing, expected) in [
            ("nothing", "tax", vec![], "; it has no ConnectorDeployment"),
            ("a typing error", "txa", vec![(Deployment, "tax"), (Deployment, "oms")], "; did you mean tax?"),
            ("another type", "kit", vec![(Deployment, "kit2"), (Staged, "kit")], "; there is a staged/kit"),
            ("something else", "zzz", vec![(Deployment, "tax"), (Deployment, "oms")], "; it has tax, oms"),
            (
                "many",
                "zzz",
                ["a", "b", "c", "d", "e", "f", "g"].map(|name| (Deployment, name)).to_vec(),
                "; it has a, b, c, d, e and 2 more",
            ),
        ] {
            let existing: Vec<_> = existing.into_iter().map(|(kind, name)| (kind, name.to_owned())).collect();
            assert_eq!(hint(Deployment, name, &existing), expected, "{case}");
        }
    }

    #[test]
    fn a_refused_request_names_the_missing_right() {
        let refused = |code: u16, verb, namespace| {
            let status = Status { code, message: "User \"jane\" cannot".to_owned(), ..Status::default() };
            Failed::of(verb, Deployment, namespace, kube::Error::Api(Box::new(status))).to_string()
        };
        assert_eq!(
            refused(403, "patch", Some("shop")),
            "the right to patch connectordeployments.connect-operator.io in the namespace shop is missing: User \"jane\" cannot"
        );
        assert!(refused(403, "list", None).contains("io in all namespaces is missing"));
        assert!(refused(404, "list", None).contains("the cluster has no ConnectorDeployment: install"));
        assert!(refused(500, "list", None).contains("the API server did not answer as expected"));
        let status = Status { code: 403, message: "no".to_owned(), ..Status::default() };
        let error = kube::Error::Api(Box::new(status));
        assert_eq!(
            Failed::of("get", ResourceType::ClusterProject, Some("shop"), error).to_string(),
            "the right to get clusterconnectprojects.connect-operator.io in the cluster is missing: no"
        );
    }
}
