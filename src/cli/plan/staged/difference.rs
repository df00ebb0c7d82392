//! Compares the fields of a staged connector: which ones an update would change. Pure.

use std::collections::BTreeMap;

use connect_api::model::ConnectorStaged as Record;
use serde::Serialize;
use serde_json::Value;

use crate::crd::ConnectorStagedSpec;
use crate::operator::staged::desired;

/// A field that would change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(in crate::cli::plan) struct Difference {
    /// Its path in the spec.
    pub(in crate::cli::plan) field: String,
    /// The value at the remote.
    pub(in crate::cli::plan) before: String,
    /// The value afterwards.
    pub(in crate::cli::plan) after: String,
}

/// Lists that an update empties. What else the spec leaves out stays as it is.
const LISTS: [&str; 3] = ["integrationTypes", "supportedRegions", "privateProjects"];

/// Returns the fields that an update changes.
pub(super) fn differences(spec: &ConnectorStagedSpec, record: &Record) -> Vec<Difference> {
    let fields = |draft| {
        let mut fields = BTreeMap::new();
        collect("", &serde_json::to_value(desired::normalized(draft)).unwrap_or_default(), &mut fields);
        fields
    };
    let (mut wanted, seen) = (fields(desired::draft(spec)), fields(desired::shown(record)));
    for list in LISTS {
        wanted.entry(list.to_owned()).or_default();
    }
    let differs = |(field, after): (String, String)| {
        let before = seen.get(&field).cloned().unwrap_or_default();
        (before != after && field != "key").then_some(Difference { field, before, after })
    };
    wanted.into_iter().filter_map(differs).collect()
}

/// Collects the texts of a draft by their paths.
fn collect(path: &str, value: &Value, fields: &mut BTreeMap<String, String>) {
    let text = match value {
        Value::Object(members) => {
            for (name, member) in members {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                collect(&path, member, fields);
            }
            return;
        }
        Value::Null => return,
        Value::String(text) => text.clone(),
        Value::Array(words) => words.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    };
    fields.insert(path.to_owned(), text);
}
