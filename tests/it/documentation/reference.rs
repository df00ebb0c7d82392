//! The reference in `docs/kinds/`: every field of every kind with its type and its bounds, from the schema that is
//! installed.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::prelude::*;

/// The tables of a reference with their columns. Bounds and defaults are of no use in a status.
const TABLES: [(&str, &str); 2] = [
    ("spec", "| Field | Type | Default | Description |\n|---|---|---|---|\n"),
    ("status", "| Field | Type | Description |\n|---|---|---|\n"),
];

const REFUSED: &str = "The API server refuses what the schema does not allow, with a message that gives the remedy.";

#[test]
fn the_reference_of_each_kind_matches_its_schema() {
    let all = crd::all();
    let project = all.iter().find(|crd| crd.spec.names.kind == "ConnectProject").expect("the kind");
    for crd in &all {
        let kind = &crd.spec.names.kind;
        let base = (kind == "ClusterConnectProject").then(|| schema(project));
        let page = format!("docs/kinds/{}.md", kind.to_lowercase());
        assert_golden_parts(&page, &[("reference", reference(crd, base.as_ref()))]);
    }
}

fn schema(crd: &CustomResourceDefinition) -> Value {
    json!(crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema)
}

/// Formats the fields of a kind. `base`: the schema of a ConnectProject, if its fields are not listed again.
fn reference(crd: &CustomResourceDefinition, base: Option<&Value>) -> String {
    let (names, version) = (&crd.spec.names, &crd.spec.versions[0].name);
    let short: Vec<_> = names.short_names.iter().flatten().map(|name| format!("`{name}`")).collect();
    let (group, plural, short) = (&crd.spec.group, &names.plural, short.join(", "));
    let mut text = format!("`{group}/{version}`, plural `{plural}`, short {short}.\n{REFUSED}\n");
    if base.is_some() {
        text.push_str("\nAll other fields are those of a [ConnectProject](connectproject.md#reference).\n");
    }
    let schema = schema(crd);
    let mut described = BTreeMap::new();
    for (part, columns) in TABLES {
        let mut rows = String::new();
        let base = base.map_or(&Value::Null, |base| &base["properties"][part]);
        fields(part, &schema["properties"][part], base, &mut rows, &mut described);
        if !rows.is_empty() {
            write!(text, "\n{columns}{rows}").unwrap();
        }
    }
    text
}

/// Adds a row for each field below `path` that differs from that of `base`. `described`: where fields of a schema are
/// listed already, by that schema.
fn fields(path: &str, schema: &Value, base: &Value, rows: &mut String, described: &mut BTreeMap<String, String>) {
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let base = &base["properties"][name];
        if field == base {
            continue;
        }
        let path = format!("{path}.{name}");
        let description = field["description"].as_str().unwrap_or_default();
        // The API server sets the default of such a field before it checks required fields.
        let filled = (!field["default"].is_null()).then(|| field["default"].to_string());
        let is_required = filled.is_none() && required.contains(&name.as_str());
        // The default ends with its sentence; what follows it, such as an example, belongs to the description.
        let (description, default) = match description.split_once("Default: ") {
            Some((before, rest)) if !is_required => {
                let (default, after) = rest.split_once(". ").unwrap_or((rest, ""));
                (format!("{before}{after}"), default.trim_end_matches('.'))
            }
            _ => (description.to_owned(), ""),
        };
        let mut description = escaped(description.trim_end());
        let mut below = Vec::new();
        for (suffix, member) in [("", None), ("[]", Some("items")), (".*", Some("additionalProperties"))] {
            let (field, base) = member.map_or((field, base), |member| (&field[member], &base[member]));
            // Conditions have the fields of conditions of every Kubernetes resource.
            let is_known = path.ends_with(".conditions") || is_reference(field);
            let properties = field["properties"].as_object().filter(|_| !is_known);
            let Some(properties) = properties else { continue };
            let place = format!("{path}{suffix}");
            let key = json!([properties, field["required"]]).to_string();
            let known = described.entry(key).or_insert_with(|| place.clone());
            if *known == place || properties.len() == 1 {
                below.push((place, field, base));
            } else {
                write!(description, " Its fields are those of `{known}`.").unwrap();
            }
        }
        let default = escaped(filled.as_deref().unwrap_or(default));
        if path.starts_with("status") {
            writeln!(rows, "| `{path}` | {} | {description} |", kind(field)).unwrap();
        } else {
            let mut words = vec![format!("{}{}", kind(field), if is_required { ", required" } else { "" })];
            words.extend(bounds(field, field["description"].as_str().unwrap_or_default()));
            writeln!(rows, "| `{path}` | {} | {default} | {description} |", words.join("; ")).unwrap();
        }
        for (place, field, base) in below {
            fields(&place, field, base, rows, described);
        }
    }
}

/// Whether a field is an object that names another one, or a key in it.
fn is_reference(field: &Value) -> bool {
    let properties = field["properties"].as_object();
    properties.is_some_and(|fields| fields.keys().eq(["name"]) || fields.keys().eq(["key", "name", "optional"]))
}

fn kind(field: &Value) -> String {
    match (field["type"].as_str(), field["format"].as_str()) {
        (Some("array"), _) => match field["x-kubernetes-list-type"].as_str() {
            Some("map") => {
                let keys =
                    field["x-kubernetes-list-map-keys"].as_array().into_iter().flatten().filter_map(Value::as_str);
                format!("list of {}, one for each `{}`", kind(&field["items"]), keys.collect::<Vec<_>>().join("`, `"))
            }
            Some("set") => format!("list of different {}s", kind(&field["items"])),
            _ => format!("list of {}", kind(&field["items"])),
        },
        (Some("object"), _) if field["additionalProperties"].is_object() => "map".to_owned(),
        (Some("object"), _) if is_reference(field) && field["properties"]["key"].is_object() => {
            "object with `name`, `key` and `optional` (default: false)".to_owned()
        }
        (Some("object"), _) if is_reference(field) => "object with `name`".to_owned(),
        (Some("string"), Some("date-time")) => "time".to_owned(),
        (Some("integer"), Some(format)) => format!("integer ({format})"),
        (Some(kind), _) => kind.to_owned(),
        (None, _) => "anything".to_owned(),
    }
}

/// Formats what the schema itself rejects, apart from patterns and what the description says, too.
fn bounds(field: &Value, description: &str) -> Vec<String> {
    let mut bounds = Vec::new();
    let choices: Vec<_> =
        field["enum"].as_array().into_iter().flatten().map(|choice| format!("`{}`", text(choice))).collect();
    if !choices.is_empty() {
        bounds.push(choices.join(", "));
    }
    let is_described = |bound: &Value| {
        let mut numbers = description.split(|sign: char| !sign.is_ascii_digit());
        numbers.any(|number| number == text(bound))
    };
    for (least, most, of) in
        [("minLength", "maxLength", " characters"), ("minItems", "maxItems", " entries"), ("minimum", "maximum", "")]
    {
        match (&field[least], &field[most]) {
            (Value::Null, Value::Null) => {}
            (_, most) if is_described(most) => {}
            (Value::Null, most) => bounds.push(format!("at most {}{of}", text(most))),
            (least, Value::Null) => bounds.push(format!("at least {}{of}", text(least))),
            (least, most) if field["exclusiveMinimum"] == true => {
                bounds.push(format!("more than {}, at most {}{of}", text(least), text(most)));
            }
            (least, most) => bounds.push(format!("{} to {}{of}", text(least), text(most))),
        }
    }
    if field["type"] == "array" {
        let each = self::bounds(&field["items"], description).into_iter();
        bounds.extend(each.map(|bound| format!("each {bound}")));
    }
    bounds
}

fn text(value: &Value) -> String {
    // Bounds are whole numbers, which the schema stores as floating point.
    match (value.as_str(), value.as_f64()) {
        (Some(text), _) => text.to_owned(),
        (None, Some(number)) => format!("{number}"),
        (None, None) => value.to_string(),
    }
}

fn escaped(text: &str) -> String {
    text.replace('|', "\\|").replace('<', "&lt;")
}
