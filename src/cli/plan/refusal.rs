//! Shortens what the API server says about a manifest that it rejects: the fields and what is wrong with them. Pure.
//!
//! Its messages may begin with the whole manifest, and name types of the programming language that it is written in.

use crate::controllers::reporting::conditions::{LONGEST_MESSAGE, cut};

/// Ends the part that repeats the manifest, before the errors of a strict decoder (apimachinery, `strictDecodingError`).
const STRICT: &str = "strict decoding error: ";
/// Begins the message about a manifest that does not fit the schema (apimachinery, server-side apply).
const TYPED: &str = "failed to create typed patch object (";
/// Begins a value in such a message; the value and a brace follow.
const VALUE: &str = "&value.valueUnstructured{Value:";
/// Ends the message about an unknown field.
const UNKNOWN: &str = ": field not declared in schema";

/// Whether the manifest cannot be decoded. Then the API server evaluates nothing else, so the schema says as much.
pub(super) fn is_undecodable(message: &str) -> bool {
    message.contains(STRICT) || message.starts_with(TYPED)
}

/// Returns the message on one line, with the fields that it is about.
pub(super) fn explain(message: &str) -> String {
    let errors = message.rsplit_once(STRICT).map_or(message, |(_, errors)| errors);
    let typed = errors.strip_prefix(TYPED).and_then(|rest| rest.split_once("): "));
    let text = match typed {
        None => errors.split_whitespace().collect::<Vec<_>>().join(" "),
        Some((_, errors)) => {
            let errors = errors.strip_prefix("errors:").unwrap_or(errors);
            let each = errors.lines().map(str::trim).filter(|line| !line.is_empty()).map(field_error);
            each.collect::<Vec<_>>().join("; ")
        }
    };
    cut(&text, LONGEST_MESSAGE)
}

/// Returns one error about a field, such as `.spec.connector.version: expected numeric, got …`.
fn field_error(line: &str) -> String {
    let line = line.strip_prefix('.').unwrap_or(line);
    if let Some(field) = line.strip_suffix(UNKNOWN) {
        return format!("{field}: unknown field");
    }
    let Some((before, value)) = line.split_once(VALUE) else { return line.to_owned() };
    let value = value.strip_suffix('}').unwrap_or(value);
    let value = if value.starts_with("map[") {
        "a map"
    } else if value.starts_with("[]") {
        "a list"
    } else {
        value
    };
    let scalar = value.parse::<f64>().is_ok() || matches!(value, "true" | "false");
    let quotes = if scalar && before.ends_with("expected string, got ") { ": put it in quotes" } else { "" };
    format!("{before}{value}{quotes}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rejected_manifest_is_one_short_line_with_the_field() {
        let patch = format!("patch: Invalid value: \"{{{}}}\": ", "x".repeat(5_000));
        let typed =
            "failed to create typed patch object (shop/tax; connect-operator.io/v1alpha1, Kind=ConnectorDeployment): ";
        for (case, message, expected) in [
            (
                "an unknown field in a merge patch",
                format!("{patch}strict decoding error: unknown field \"spec.conector\""),
                "unknown field \"spec.conector\"",
            ),
            (
                "an unknown field in an apply patch",
                format!("{typed}.spec.conector: field not declared in schema"),
                "spec.conector: unknown field",
            ),
            (
                "a number that is not quoted",
                format!(
                    "{typed}.spec.configurations[applicationName=\"service\"].standardConfiguration[key=\"PORT\"].value: \
                     expected string, got &value.valueUnstructured{{Value:8080}}"
                ),
                "spec.configurations[applicationName=\"service\"].standardConfiguration[key=\"PORT\"].value: expected \
                 string, got 8080: put it in quotes",
            ),
            (
                "a boolean that is not quoted",
                format!("{typed}.spec.key: expected string, got &value.valueUnstructured{{Value:true}}"),
                "spec.key: expected string, got true: put it in quotes",
            ),
            (
                "a list for a text",
                format!(
                    "{typed}.spec.key: expected string, got &value.valueUnstructured{{Value:[]interface {{}}{{1}}}}"
                ),
                "spec.key: expected string, got a list",
            ),
            (
                "two errors",
                format!(
                    "{typed}errors:\n  .spec.a: field not declared in schema\n  .spec.b: field not declared in schema"
                ),
                "spec.a: unknown field; spec.b: unknown field",
            ),
            (
                "a rule of the schema",
                "ConnectorDeployment \"tax\" is invalid: spec.key: Too long\n".to_owned(),
                "ConnectorDeployment \"tax\" is invalid: spec.key: Too long",
            ),
        ] {
            assert_eq!(explain(&message), expected, "{case}");
            assert_eq!(is_undecodable(&message), !message.contains("is invalid"), "{case}");
        }
        assert!(explain(&"y ".repeat(5_000)).len() <= LONGEST_MESSAGE);
    }
}
