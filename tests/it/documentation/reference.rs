//! `docs/reference/`: every field of every kind with its type, its bounds and its rules, from the schema that is
//! installed.

use std::fmt::Write as _;

use connect_operator::crd;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde_json::{Value, json};

use crate::golden::assert_golden;

#[test]
fn the_reference_of_each_kind_matches_its_schema() {
    for crd in crd::all() {
        let kind = crd.spec.names.kind.clone();
        assert_golden(&format!("docs/reference/{}.md", kind.to_lowercase()), &page(&crd));
    }
}

fn page(crd: &CustomResourceDefinition) -> String {
    let names = &crd.spec.names;
    let version = &crd.spec.versions[0];
    let schema = json!(version.schema.as_ref().unwrap().open_api_v3_schema);
    let kind = &names.kind;
    let mut page = format!(
        "# {kind}: reference\n\n<!-- Generated from the CustomResourceDefinition: `UPDATE_GOLDEN=1 cargo test` rewrites this page. \
         -->\n\n[{kind}](../kinds/{}.md) explains the use of these fields, with examples.\n\n",
        kind.to_lowercase()
    );
    let short: Vec<_> = names.short_names.iter().flatten().map(|name| format!("`{name}`")).collect();
    write!(
        page,
        "| | |\n|---|---|\n| `apiVersion` | `{}/{}` |\n| `kind` | `{kind}` |\n| plural | `{}` |\n| short | {} |\n| scope | {} |\n\n",
        crd.spec.group,
        version.name,
        names.plural,
        short.join(", "),
        crd.spec.scope
    )
    .unwrap();
    page.push_str(
        "## Columns of `kubectl get`\n\n| Column | Path | Only with `-o wide` | Description |\n|---|---|---|---|\n",
    );
    for column in version.additional_printer_columns.iter().flatten() {
        let wide = if column.priority.unwrap_or_default() > 0 { "yes" } else { "" };
        let description = column.description.as_deref().unwrap_or_default();
        writeln!(page, "| `{}` | `{}` | {wide} | {} |", column.name, escaped(&column.json_path), escaped(description))
            .unwrap();
    }
    for part in ["spec", "status"] {
        let mut rows = String::new();
        fields(part, &schema["properties"][part], &mut rows);
        write!(page, "\n## `{part}`\n\n| Field | Type | Required | Default | Validation | Description |\n|---|---|---|---|---|---|\n{rows}")
            .unwrap();
    }
    let mut rules = String::new();
    collect("", &schema, &mut rules);
    if rules.is_empty() {
        page.push_str("\n## Validation rules\n\nNone.\n");
    } else {
        write!(
            page,
            "\n## Validation rules\n\nThe API server checks these CEL rules at each write; those with `oldSelf` at each update.\n\n\
             | Field | Rule | Message |\n|---|---|---|\n{rules}"
        )
        .unwrap();
    }
    page
}

fn fields(path: &str, schema: &Value, rows: &mut String) {
    let required: Vec<_> = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
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
        writeln!(
            rows,
            "| `{path}` | {} | {} | {} | {} | {} |",
            kind(field),
            if is_required { "yes" } else { "" },
            escaped(filled.as_deref().unwrap_or(default)),
            bounds(field).join("; "),
            escaped(description.trim_end())
        )
        .unwrap();
        fields(&path, field, rows);
        fields(&format!("{path}[]"), &field["items"], rows);
        fields(&format!("{path}.*"), &field["additionalProperties"], rows);
    }
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
        (Some("string"), Some("date-time")) => "time".to_owned(),
        (Some("integer"), Some(format)) => format!("integer ({format})"),
        (Some(kind), _) => kind.to_owned(),
        (None, _) => "anything".to_owned(),
    }
}

/// Formats what the schema itself rejects.
fn bounds(field: &Value) -> Vec<String> {
    let mut bounds = Vec::new();
    let choices: Vec<_> =
        field["enum"].as_array().into_iter().flatten().map(|choice| format!("`{}`", text(choice))).collect();
    if !choices.is_empty() {
        bounds.push(choices.join(", "));
    }
    for (least, most, of) in
        [("minLength", "maxLength", " characters"), ("minItems", "maxItems", " entries"), ("minimum", "maximum", "")]
    {
        match (&field[least], &field[most]) {
            (Value::Null, Value::Null) => {}
            (Value::Null, most) => bounds.push(format!("at most {}{of}", text(most))),
            (least, Value::Null) => bounds.push(format!("at least {}{of}", text(least))),
            (least, most) if field["exclusiveMinimum"] == true => {
                bounds.push(format!("more than {}, at most {}{of}", text(least), text(most)));
            }
            (least, most) => bounds.push(format!("{} to {}{of}", text(least), text(most))),
        }
    }
    if let Some(pattern) = field["pattern"].as_str() {
        let fence = if pattern.contains('`') { "``" } else { "`" };
        bounds.push(format!("{fence}{}{fence}", pattern.replace('|', "\\|")));
    }
    if field["type"] == "array" {
        bounds.extend(self::bounds(&field["items"]).into_iter().map(|bound| format!("each {bound}")));
    }
    bounds
}

fn collect(path: &str, schema: &Value, rules: &mut String) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let place = if path.is_empty() { "the object".to_owned() } else { format!("`{path}`") };
        let must = rule["rule"].as_str().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
        let said = rule["message"].as_str().unwrap_or_default();
        writeln!(rules, "| {place} | `{}` | {} |", must.replace('|', "\\|"), escaped(said)).unwrap();
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        collect(format!("{path}.{name}").trim_start_matches('.'), field, rules);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            collect(&format!("{path}[]"), &schema[inner], rules);
        }
    }
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
