//! Types that several kinds use: references within the namespace and the identity of a remote project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use url::Url;

use super::schema::{DATA_KEY_PATTERN, NAME_PATTERN};

/// The `observedGeneration` of a status that no controller has written. It is the schema's default, so that tools do
/// not take an unobserved object for a healthy one.
pub const UNSEEN: i64 = -1;

/// Returns whether a value equals the default of its field. Such a field is not serialized, so that a serialized spec
/// contains only what the user wrote.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Reference to a project: a ConnectProject in the same namespace, or a ClusterConnectProject that allows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ProjectRef {
    /// Kind of the project: ConnectProject or ClusterConnectProject. Default: ConnectProject.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: ProjectKind,
    /// Name of the project. Example: shop.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
}

/// Kinds that a project reference may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum ProjectKind {
    /// A ConnectProject in the same namespace.
    #[default]
    ConnectProject,
    /// A ClusterConnectProject.
    ClusterConnectProject,
}

impl ProjectKind {
    /// Returns the kind as a `projectRef` names it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ConnectProject => "ConnectProject",
            Self::ClusterConnectProject => "ClusterConnectProject",
        }
    }
}

/// Reference by name to an object in the same namespace; the field determines its kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct NamedRef {
    /// Name of the object in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
}

/// Reference to one key of a Secret in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct SecretKeyRef {
    /// Name of the Secret in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Key within the Secret. Its value must be UTF-8.
    #[schemars(length(min = 1, max = 253), regex(pattern = DATA_KEY_PATTERN))]
    pub key: String,
    /// Whether the Secret or its key may be missing; then the value is left out. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// Reference to one key of a ConfigMap in the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-map-type" = "atomic"))]
pub struct ConfigMapKeyRef {
    /// Name of the ConfigMap in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Key within the ConfigMap's data.
    #[schemars(length(min = 1, max = 253), regex(pattern = DATA_KEY_PATTERN))]
    pub key: String,
    /// Whether the ConfigMap or its key may be missing; then the value is left out. Default: false.
    #[serde(default, skip_serializing_if = "is_default")]
    pub optional: bool,
}

/// Identity of a remote project, as the operator observed it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteIdentity {
    /// Base URL of the Connect API.
    // Compared as text, so always normalized.
    #[schemars(length(max = 2048))]
    pub api_url: String,
    /// Key of the remote project.
    #[schemars(length(max = 36))]
    pub project_key: String,
}

/// Returns a base URL in the one spelling of the URL Standard, without a slash at the end: two that differ only in case,
/// the usual port or the notation of an address are the same remote. What is no URL stays as it is.
pub(super) fn normalize(url: String) -> String {
    Url::parse(&url).map_or(url, |parsed| parsed.as_str().trim_end_matches('/').to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::crd::connect_project::ConnectProjectSpec;

    #[test]
    fn spellings_of_one_address_are_one_remote() {
        for (case, one, other, same) in [
            ("the usual port", "https://h.example", "https://h.example:443", true),
            ("the usual port of plain HTTP", "http://h.example:80", "http://h.example", true),
            ("upper case", "https://H.Example", "https://h.example", true),
            ("upper case in the scheme", "HTTPS://h.example", "https://h.example", true),
            ("a slash at the end", "https://h.example/", "https://h.example", true),
            ("a slash at the end of a path", "https://h.example/connect/", "https://h.example/connect", true),
            ("dots in a path", "https://h.example/a/../connect", "https://h.example/connect", true),
            ("notations of IPv4", "http://127.1:8787", "http://127.0.0.1:8787", true),
            ("notations of IPv6", "http://[0:0::1]:8787", "http://[::1]:8787", true),
            ("another port", "https://h.example:8443", "https://h.example", false),
            ("another scheme", "http://h.example", "https://h.example", false),
            ("another host", "https://h.example", "https://g.example", false),
            ("upper case in a path", "https://h.example/Connect", "https://h.example/connect", false),
            ("no URLs", "h.example", "H.example", false),
        ] {
            let spec = |url: &str| {
                let spec = json!({"projectKey": "demo", "region": "r", "credentialsSecretRef": {"name": "shop"}, "apiUrl": url});
                serde_json::from_value::<ConnectProjectSpec>(spec).expect("it is a spec").identity()
            };
            assert_eq!(spec(one) == spec(other), same, "{case}");
        }
    }
}
