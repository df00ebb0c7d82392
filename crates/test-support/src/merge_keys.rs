//! The schema in `deploy/kustomize/`: of each kind, only the lists that a patch merges by a key.

use std::fmt::Write as _;

use serde_json::{Map, Value, json};

use crate::checkout::in_checkout;

/// The file, relative to the root of the workspace.
pub const FILE: &str = "deploy/kustomize/openapi.json";
/// What the names of definitions of the operator's kinds begin with.
pub const OWN: &str = "io.connect-operator.";

const KEY: &str = "x-kubernetes-patch-merge-key";
const KEYS: &str = "x-kubernetes-list-map-keys";

/// Returns what a schema says of lists with a key, or nothing if it has none. `definitions`: what it refers to. Metadata and
/// status are left out, because nobody patches lists in them.
#[must_use]
pub fn pruned(schema: &Value, definitions: &Value) -> Option<Value> {
    if let Some(reference) = schema["$ref"].as_str() {
        let name = reference.trim_start_matches("#/definitions/");
        return pruned(&definitions[name], definitions).map(|_| json!({"$ref": reference}));
    }
    if schema["items"].is_object() {
        // Kubernetes says which lists a patch merges; of the operator's kinds, those are all that have keys.
        let keys = &schema[KEYS];
        let key = schema[KEY].as_str().or_else(|| keys[0].as_str().filter(|_| definitions.is_null()))?;
        let items = pruned(&schema["items"], definitions).unwrap_or_else(|| json!({"type": "object"}));
        let mut list = json!({"type": "array", "items": items, KEY: key, "x-kubernetes-patch-strategy": "merge"});
        // A list may have several keys, such as port and protocol.
        if keys.is_array() {
            list[KEYS] = keys.clone();
        }
        return Some(list);
    }
    let patched = schema["properties"].as_object()?.iter().filter(|(name, _)| *name != "metadata" && *name != "status");
    let kept: Map<_, _> =
        patched.filter_map(|(name, schema)| Some((name.clone(), pruned(schema, definitions)?))).collect();
    (!kept.is_empty()).then(|| json!({"type": "object", "properties": kept}))
}

/// Returns the text of the file with these definitions instead of those that are own, or not.
///
/// # Panics
/// If the file is not what this function wrote.
#[must_use]
pub fn file_with(definitions: Map<String, Value>, own: bool, paths: Option<Value>) -> String {
    let text = std::fs::read_to_string(in_checkout(FILE)).unwrap_or_else(|_| "{}".into());
    let mut document: Value = serde_json::from_str(&text).expect("the file is JSON");
    let mut all = document["definitions"].as_object().cloned().unwrap_or_default();
    all.retain(|name, _| name.starts_with(OWN) != own);
    all.extend(definitions);
    let paths = paths.unwrap_or_else(|| document["paths"].take());
    let mut text = "{\n\"definitions\": {\n".to_owned();
    for (index, (name, definition)) in all.iter().collect::<std::collections::BTreeMap<_, _>>().into_iter().enumerate()
    {
        let comma = if index == 0 { "" } else { ",\n" };
        write!(text, "{comma}\"{name}\": {definition}").expect("a text grows");
    }
    write!(text, "\n}},\n\"paths\": {paths}\n}}\n").expect("a text grows");
    text
}
