//! Bodies of user-defined actions: JSON with placeholders such as `{{body.variant.sku}}` for what was sent. Pure.

use serde_json::{Map, Value, json};

use super::request::Asked;

const OPEN: &str = "{{";
const CLOSE: &str = "}}";
/// What the path of a placeholder may begin with.
const ROOTS: [&str; 6] = ["action", "body", "locale", "method", "namespace", "query"];

/// Returns the values that placeholders can use.
pub(super) fn values(asked: &Asked) -> Value {
    json!({
        "action": asked.name,
        "body": asked.body,
        "locale": asked.locale,
        "method": asked.method,
        "namespace": asked.namespace,
        "query": asked.query,
    })
}

/// Checks that every placeholder of a template has a known root; the error says what to change.
pub(super) fn check(template: &Value) -> Result<(), String> {
    match template {
        Value::String(text) => pieces(text).try_for_each(|piece| match piece {
            Piece::Path(path) if ROOTS.contains(&path.split('.').next().unwrap_or_default()) => Ok(()),
            Piece::Path(path) => Err(format!("`{OPEN}{path}{CLOSE}` must begin with one of {}", ROOTS.join(", "))),
            Piece::Text(_) => Ok(()),
        }),
        Value::Array(list) => list.iter().try_for_each(check),
        Value::Object(members) => members.values().try_for_each(check),
        Value::Null | Value::Bool(_) | Value::Number(_) => Ok(()),
    }
}

/// Fills in a template. A string that is exactly one placeholder becomes the value that was sent, of any type; a
/// placeholder within a longer string becomes text. A value that was not sent is `null`, or empty within a string.
pub(super) fn filled(template: &Value, values: &Value) -> Value {
    match template {
        Value::String(text) => filled_text(text, values),
        Value::Array(list) => list.iter().map(|each| filled(each, values)).collect(),
        Value::Object(members) => {
            let members = members.iter().map(|(name, each)| (name.clone(), filled(each, values)));
            Value::Object(members.collect::<Map<_, _>>())
        }
        plain => plain.clone(),
    }
}

fn filled_text(text: &str, values: &Value) -> Value {
    let parts: Vec<_> = pieces(text).collect();
    if let [Piece::Path(path)] = parts.as_slice() {
        return found(path, values).cloned().unwrap_or_default();
    }
    let parts = parts.into_iter().map(|piece| match piece {
        Piece::Text(text) => text.to_owned(),
        Piece::Path(path) => match found(path, values) {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(text)) => text.clone(),
            Some(other) => other.to_string(),
        },
    });
    Value::String(parts.collect())
}

fn found<'a>(path: &str, values: &'a Value) -> Option<&'a Value> {
    path.split('.').try_fold(values, |value, step| match value {
        Value::Array(list) => list.get(step.parse::<usize>().ok()?),
        other => other.get(step),
    })
}

enum Piece<'a> {
    Text(&'a str),
    Path(&'a str),
}

/// Splits a text at its placeholders. A placeholder that is not closed is text.
fn pieces(text: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((path, after)) = rest.strip_prefix(OPEN).and_then(|inner| inner.split_once(CLOSE)) {
            rest = after;
            return Some(Piece::Path(path.trim()));
        }
        // Takes at least one character, so that an opening without a closing is consumed as text.
        let start = rest.chars().next().map_or(0, char::len_utf8);
        let end = rest[start..].find(OPEN).map_or(rest.len(), |at| at + start);
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(Piece::Text(piece))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn templates_are_filled_with_what_was_sent() {
        let values = json!({
            "body": {"n": 1, "list": ["a", {"b": true}], "text": "x"},
            "query": {"q": ["1", "2"]}, "locale": "en-GB", "method": "POST", "namespace": "tax", "action": "rate",
        });
        for (template, expected) in [
            (json!("{{body.n}}"), json!(1)),
            (json!("{{ body.list.1.b }}"), json!(true)),
            (json!("{{body}}"), values["body"].clone()),
            (json!("{{body.none}}"), json!(null)),
            (json!("{{body.list.7}}"), json!(null)),
            (json!("n is {{body.n}}, {{body.text}}{{body.none}}."), json!("n is 1, x.")),
            (json!({"a": ["{{query.q}}", "{{query.q.0}}"], "b": 2}), json!({"a": [["1", "2"], "1"], "b": 2})),
            (json!("{{locale}} {{method}} {{namespace}}/{{action}}"), json!("en-GB POST tax/rate")),
            (json!("not {{closed"), json!("not {{closed")),
            (json!("{{{{"), json!("{{{{")),
            (json!("ö{{body.n}}ö"), json!("ö1ö")),
            (json!(""), json!("")),
        ] {
            assert_eq!(filled(&template, &values), expected, "{template}");
        }
    }

    #[test]
    fn a_placeholder_with_an_unknown_root_is_rejected_at_startup() {
        for (template, right) in [
            (json!({"a": ["{{body.x}}"]}), true),
            (json!("{{query}}"), true),
            (json!({"a": ["{{headers.cookie}}"]}), false),
            (json!("{{}}"), false),
            (json!("{{bodyx}}"), false),
        ] {
            let checked = check(&template);
            assert_eq!(checked.is_ok(), right, "{template}: {checked:?}");
        }
    }
}
