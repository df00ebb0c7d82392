//! What several kinds have in common: references within the namespace and the identity of a remote project.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::schema::{DATA_KEY_PATTERN, NAME_PATTERN};

/// The `observedGeneration` of a status that no controller has written: the schema's default, so that nobody takes an
/// unseen object for a healthy one.
pub const UNSEEN: i64 = -1;

/// Whether a value is what stands for an absent field; such a field is not written, so that a serialised spec says only
/// what people wrote.
pub(super) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A ConnectProject of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ProjectRef {
    /// Kind of what is named. ConnectProject is the only one so far, and the default.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kind: ProjectKind,
    /// Name of the ConnectProject, in the same namespace. Example: shop.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
}

/// What a project reference may name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum ProjectKind {
    /// A ConnectProject.
    #[default]
    ConnectProject,
}

/// An object of the same namespace, by its name; the field says of which kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NamedRef {
    /// Name of the object, in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
}

/// One key of a Secret of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SecretKeyRef {
    /// Name of the Secret, in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Key within the Secret. Its value must be UTF-8.
    #[schemars(length(min = 1, max = 253), regex(pattern = DATA_KEY_PATTERN))]
    pub key: String,
}

/// One key of a ConfigMap of the same namespace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigMapKeyRef {
    /// Name of the ConfigMap, in the same namespace.
    #[schemars(length(min = 1, max = 253), regex(pattern = NAME_PATTERN))]
    pub name: String,
    /// Key within the ConfigMap's data.
    #[schemars(length(min = 1, max = 253), regex(pattern = DATA_KEY_PATTERN))]
    pub key: String,
}

/// Which remote project this is, as the operator saw it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RemoteIdentity {
    /// Address of the Connect API.
    #[schemars(length(max = 2048))]
    pub api_url: String,
    /// Key of the project there.
    #[schemars(length(max = 36))]
    pub project_key: String,
}
