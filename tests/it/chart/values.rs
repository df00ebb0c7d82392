//! `values.schema.json` has each value of `values.yaml`, and no other.

use crate::prelude::*;

#[test]
fn the_schema_has_each_value_and_no_other() {
    let [values, schema] = ["values.yaml", "values.schema.json"].map(|name| yaml_of(format!("{CHART}/{name}")));
    compare("", &values, &schema);
}

/// Checks that wherever the schema lists members, they are those of the values, and that it accepts no others.
fn compare(path: &str, values: &Value, schema: &Value) {
    let Some(listed) = schema["properties"].as_object().filter(|_| schema["type"] == "object") else { return };
    // Below `global` other charts have values too.
    assert!(schema["additionalProperties"] == false || path.starts_with(".global"), "{path}");
    let Some(values) = values.as_object() else { panic!("{path} is no map in values.yaml") };
    // Requests, limits and claims belong to Kubernetes, and `enabled` to a chart of which this one is a part.
    let of_others = |name: &str| name == "claims" || (path.is_empty() && name == "enabled");
    let mut listed: Vec<_> = listed.keys().filter(|name| !of_others(name)).collect();
    let mut given: Vec<_> = values.keys().collect();
    listed.sort();
    given.sort();
    assert_eq!(listed, given, "members of {path}");
    for (name, value) in values {
        compare(&format!("{path}.{name}"), value, &schema["properties"][name]);
    }
}
