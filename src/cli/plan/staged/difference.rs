//! Compares the fields of a staged connector: which ones an update would change. Pure.

use connect_api::model::ConnectorStaged as Record;
use serde::Serialize;
use serde_json::Value;

use crate::controllers::connector_staged::desired::Fields;
use crate::crd::ConnectorStagedSpec;

/// A field that would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::cli::plan) struct Difference {
    /// Its path in the spec.
    pub(in crate::cli::plan) field: &'static str,
    /// The value at the remote.
    pub(in crate::cli::plan) before: String,
    /// The value afterwards.
    pub(in crate::cli::plan) after: String,
}

/// Path in the spec of each member of [`Fields`].
const PATHS: [(&str, &str); 15] = [
    ("name", "name"),
    ("description", "description"),
    ("email", "creator.email"),
    ("creator_name", "creator.name"),
    ("company", "creator.company"),
    ("title", "creator.title"),
    ("contributors", "creator.noOfContributors"),
    ("logo_url", "creator.logoUrl"),
    ("support_url", "creator.supportUrl"),
    ("url", "repository.url"),
    ("tag", "repository.tag"),
    ("integration_types", "integrationTypes"),
    ("supported_regions", "supportedRegions"),
    ("private_projects", "privateProjects"),
    ("documentation_url", "documentationUrl"),
];

/// Returns the fields that an update changes. What the spec leaves out stays as it is.
pub(super) fn differences(spec: &ConnectorStagedSpec, record: &Record) -> Vec<Difference> {
    let members = |fields: Fields| serde_json::to_value(fields).unwrap_or_default();
    let (wanted, seen) = (members(Fields::from(spec)), members(Fields::from(record)));
    let shown = |value: &Value| match value {
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    let left_out = |value: &Value| matches!(value.as_str(), Some("")) || value.as_i64() == Some(0);
    let differs = |member: &str| wanted[member] != seen[member] && !left_out(&wanted[member]);
    let fields = PATHS.iter().filter(|(member, _)| differs(member));
    fields
        .map(|(member, path)| Difference { field: path, before: shown(&seen[*member]), after: shown(&wanted[*member]) })
        .collect()
}
