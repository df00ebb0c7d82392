//! Compares the fields of a staged connector: which ones an update would change. Pure.

use connect_api::model::ConnectorStaged as Record;
use serde::Serialize;
use serde_json::Value;

use crate::controllers::connector_staged::desired;
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

/// The fields that an update can change, in the spec and in a draft.
const FIELDS: [&str; 15] = [
    "name",
    "description",
    "creator.email",
    "creator.name",
    "creator.company",
    "creator.title",
    "creator.noOfContributors",
    "creator.logoUrl",
    "creator.supportUrl",
    "repository.url",
    "repository.tag",
    "integrationTypes",
    "supportedRegions",
    "privateProjects",
    "documentationUrl",
];

/// Lists that an update empties. What else the spec leaves out stays as it is.
const LISTS: [&str; 3] = ["integrationTypes", "supportedRegions", "privateProjects"];

/// Returns the fields that an update changes.
pub(super) fn differences(spec: &ConnectorStagedSpec, record: &Record) -> Vec<Difference> {
    let members = |draft| serde_json::to_value(desired::normalized(draft)).unwrap_or_default();
    let (wanted, seen) = (members(desired::draft(spec)), members(desired::shown(record)));
    let member = |of: &Value, field: &str| field.split('.').try_fold(of, |of, name| of.get(name)).cloned();
    let shown = |value: Option<Value>| match value {
        Some(Value::String(text)) => text,
        Some(Value::Array(words)) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        Some(other) => other.to_string(),
        None => String::new(),
    };
    let differs = |field: &&str| {
        let wanted = member(&wanted, field);
        wanted != member(&seen, field) && (wanted.is_some() || LISTS.contains(field))
    };
    let difference =
        |field| Difference { field, before: shown(member(&seen, field)), after: shown(member(&wanted, field)) };
    FIELDS.into_iter().filter(differs).map(difference).collect()
}
