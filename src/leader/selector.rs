//! Label selectors as users write them for kubectl (Kubernetes documentation, "Labels and Selectors"). Pure.
//!
//! Parses `a=b`, `a==b`, `a!=b`, `a in (b,c)`, `a notin (b,c)`, `a` and `!a`, separated by commas; all of them have to
//! match. Rejects what the API server would reject, with an example of the right form.

use std::collections::{BTreeMap, BTreeSet};

use kube::core::{Expression, Selector};

/// Longest name of a label, and longest value (Kubernetes API: label names and values).
const LONGEST: usize = 63;
/// Longest prefix of a label (a DNS subdomain).
const LONGEST_PREFIX: usize = 253;

/// Parses a selector; an empty text selects everything.
///
/// # Errors
/// If a part cannot be parsed; the error names the part and the reason.
pub fn parse(text: &str) -> Result<Selector, String> {
    if text.trim().is_empty() {
        return Ok(Selector::default());
    }
    parts(text).into_iter().map(|part| expression(part.trim())).collect()
}

/// Parses labels, separated by commas; an empty text has none.
///
/// # Errors
/// If the API server would refuse one of them; the error names it and the reason.
pub fn labels(text: &str) -> Result<BTreeMap<String, String>, String> {
    let mut labels = BTreeMap::new();
    for part in text.split(',').filter(|_| !text.trim().is_empty()) {
        let bad = |why| {
            let part = part.trim();
            format!("`{part}` is no label: {why}. Write labels as for kubectl: team=tax,example.com/cost-center=42")
        };
        let (key, value) = part.split_once('=').ok_or_else(|| bad("a label has a name, `=` and a value"))?;
        let key = key_of(key).map_err(bad)?;
        if labels.insert(key, value_of(value).map_err(bad)?).is_some() {
            return Err(bad("this name is given twice"));
        }
    }
    Ok(labels)
}

/// Splits at commas outside of parentheses.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let is_end = |letter| {
        match letter {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    text.split(is_end).collect()
}

fn expression(part: &str) -> Result<Expression, String> {
    let form = "Write it as for kubectl: team=tax,tier!=test,zone in (a,b),!legacy";
    parse_expression(part).map_err(|why| format!("`{part}` cannot be part of a label selector: {why}. {form}"))
}

fn parse_expression(part: &str) -> Result<Expression, &'static str> {
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Expression::NotEqual(key_of(key)?, value_of(value)?));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Expression::Equal(key_of(key)?, value_of(value)?));
    }
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Expression::DoesNotExist(key_of(key)?));
    }
    let Some((head, values)) = part.split_once('(') else { return Ok(Expression::Exists(key_of(part)?)) };
    let values = values.strip_suffix(')').ok_or("a closing parenthesis is missing at its end")?;
    let values: BTreeSet<_> = values.split(',').map(value_of).collect::<Result<_, _>>()?;
    match head.split_whitespace().collect::<Vec<_>>()[..] {
        [key, "in"] => Ok(Expression::In(key_of(key)?, values)),
        [key, "notin"] => Ok(Expression::NotIn(key_of(key)?, values)),
        _ => Err("a label and `in` or `notin` must precede the parentheses"),
    }
}

fn key_of(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    let (prefix, name) = text.split_once('/').map_or((None, text), |(prefix, name)| (Some(prefix), name));
    if name.is_empty() {
        return Err("a label is missing");
    }
    let lower = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || b"-.".contains(&byte);
    let fits = |prefix: &str| !prefix.is_empty() && prefix.len() <= LONGEST_PREFIX && prefix.bytes().all(lower);
    if !is_word(name) || !prefix.is_none_or(fits) {
        return Err(
            "a label is at most 63 letters, digits, dashes, dots and underscores, after an optional domain and a slash",
        );
    }
    Ok(text.to_owned())
}

fn value_of(text: &str) -> Result<String, &'static str> {
    let text = text.trim();
    if !text.is_empty() && !is_word(text) {
        return Err("a value is at most 63 letters, digits, dashes, dots and underscores");
    }
    Ok(text.to_owned())
}

/// Whether a text may be the value of a label.
pub(super) fn is_word(text: &str) -> bool {
    let bytes = text.as_bytes();
    let ends = [bytes.first(), bytes.last()];
    text.len() <= LONGEST
        && ends.iter().all(|end| end.is_some_and(u8::is_ascii_alphanumeric))
        && bytes.iter().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_are_read_as_kubectl_reads_them() {
        for (text, expected) in [
            ("", ""),
            (" ", ""),
            ("team=tax", "team=tax"),
            ("team == tax , tier != test", "team=tax,tier!=test"),
            ("zone in (b, a),team notin (x)", "zone in (a,b),team notin (x)"),
            ("legacy,!old", "legacy,!old"),
            ("example.com/team=a_b.c-d", "example.com/team=a_b.c-d"),
            ("team=", "team="),
            ("a in (,b)", "a in (,b)"),
        ] {
            let read = parse(text).unwrap_or_else(|bad| panic!("{text}: {bad}"));
            assert_eq!(read.to_string(), expected, "{text}");
            assert_eq!(parse(expected).expect("the printed form is valid").to_string(), expected);
        }
    }

    #[test]
    fn what_is_not_a_selector_is_rejected() {
        for (text, part) in [
            ("team=tax,", ""),
            ("=tax", "=tax"),
            ("team=tax=eu", "team=tax=eu"),
            ("team in (a", "team in (a"),
            ("team of (a)", "team of (a)"),
            ("team in a", "team in a"),
            ("tier>3", "tier>3"),
            ("a b", "a b"),
            ("team=tax,-x", "-x"),
            ("team=ä", "team=ä"),
            ("Example.com/team=a", "Example.com/team=a"),
            ("a/b/c", "a/b/c"),
        ] {
            let bad = parse(text).expect_err(text);
            assert!(bad.starts_with(&format!("`{part}` cannot")) && bad.contains("kubectl"), "{text}: {bad}");
        }
        assert!(parse(&format!("a={}", "x".repeat(64))).is_err());
    }

    #[test]
    fn labels_are_those_that_the_api_server_accepts() {
        let long = format!("a={}", "b".repeat(64));
        for (case, text, expected) in [
            ("none", " ", Ok("{}")),
            ("two", "team=tax, example.com/cost-center=42", Ok(r#"{"example.com/cost-center": "42", "team": "tax"}"#)),
            ("an empty value", "legacy=", Ok(r#"{"legacy": ""}"#)),
            ("no value", "team", Err("a label has a name")),
            ("no name", "=tax", Err("a label is missing")),
            ("a comma at the end", "team=tax,", Err("`` is no label")),
            ("a blank in a value", "team=tax and cart", Err("`team=tax and cart` is no label: a value is")),
            ("a value that is too long", &long, Err("at most 63")),
            ("a name with a sign", "te@m=tax", Err("a label is at most 63")),
            ("a prefix in capitals", "Example.com/team=tax", Err("a label is at most 63")),
            ("twice", "team=tax,team=cart", Err("given twice")),
        ] {
            match (labels(text).map(|labels| format!("{labels:?}")), expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{case}"),
                (Err(found), Err(expected)) => assert!(found.contains(expected), "{case}: {found}"),
                (found, expected) => panic!("{case}: {found:?} instead of {expected:?}"),
            }
        }
    }
}
