//! Tests of what passes, what fails with which message, what is refused, and what the largest answers cost.

use std::time::Duration;

use http::StatusCode;
use serde_json::json;

use super::*;

fn answer(status: u16, body: &str) -> ActionAnswer {
    let status = StatusCode::from_u16(status).expect("a status");
    ActionAnswer { status, body: body.into(), whole: true, duration: Duration::from_millis(1) }
}

fn expected(status: Option<u16>, body: Option<&str>) -> Expected {
    let spec = Expectation { status, body: body.map(str::to_owned) };
    Expected::read(&spec).expect("it can be used")
}

fn evaluated(body: &str, found: &str) -> Result<(), String> {
    expected(None, Some(body)).evaluate(&answer(200, found), &Masker::new([]))
}

const CART: &str = r#"{"cartId": "c1", "sum": {"centAmount": 300, "currencyCode": "EUR"}, "share": 0.5, "gift": null,
    "open": true, "a/b": {"~": 1}, "none": [], "matrix": [[1, 2], [3, 4]],
    "lineItems": [{"sku": "A1", "count": 1, "tags": ["x"]}, {"sku": "B2", "count": 2, "tags": ["x", "y"]}]}"#;

#[test]
fn an_answer_passes_if_it_contains_the_expected_json() {
    for (case, body, passes) in [
        ("a member", r#"{"cartId": "c1"}"#, true),
        ("another value", r#"{"cartId": "c2"}"#, false),
        ("a member that is missing", r#"{"other": "c1"}"#, false),
        ("a member of a member", r#"{"sum": {"currencyCode": "EUR"}}"#, true),
        ("two members, one of which differs", r#"{"cartId": "c1", "sum": {"currencyCode": "USD"}}"#, false),
        ("any object", "{}", true),
        ("an object instead of an array", "[]", false),
        ("a member that is any object", r#"{"sum": {}}"#, true),
        ("a value that is no object", r#"{"cartId": {}}"#, false),
        ("a number by value", r#"{"sum": {"centAmount": 3.0e2}}"#, true),
        ("another number", r#"{"sum": {"centAmount": 301}}"#, false),
        ("a fraction", r#"{"share": 0.50}"#, true),
        ("a string instead of a number", r#"{"sum": {"centAmount": "300"}}"#, false),
        ("true", r#"{"open": true}"#, true),
        ("false", r#"{"open": false}"#, false),
        ("null", r#"{"gift": null}"#, true),
        ("null instead of nothing", r#"{"other": null}"#, false),
        ("an element", r#"{"lineItems": [{"sku": "B2"}]}"#, true),
        ("elements in another order", r#"{"lineItems": [{"sku": "B2"}, {"sku": "A1"}]}"#, true),
        ("two elements that are the same", r#"{"lineItems": [{"sku": "B2"}, {"count": 2}]}"#, true),
        ("an element that is missing", r#"{"lineItems": [{"sku": "A1"}, {"sku": "C3"}]}"#, false),
        ("no element with both", r#"{"lineItems": [{"sku": "A1", "count": 2}]}"#, false),
        ("an array in an element", r#"{"lineItems": [{"tags": ["y"], "sku": "B2"}]}"#, true),
        ("an array of arrays", r#"{"matrix": [[4], [2, 1]]}"#, true),
        ("any array", r#"{"none": [], "lineItems": []}"#, true),
        ("an element of an empty array", r#"{"none": [null]}"#, false),
    ] {
        let evaluated = evaluated(body, CART);
        assert_eq!(evaluated.is_ok(), passes, "{case}: {evaluated:?}");
    }
    assert_eq!(evaluated("7", "7.0"), Ok(()), "a body that is no object");
    assert!(evaluated("18446744073709551615", "18446744073709551614").is_err(), "all digits count");
}

#[test]
fn a_failure_says_where_the_answer_differs() {
    for (case, body, message) in [
        ("another value", r#"{"cartId": "c2"}"#, r#"/cartId in the body is "c1" instead of "c2""#),
        (
            "another type",
            r#"{"sum": 3}"#,
            r#"/sum in the body is {"centAmount":300,"currencyCode":"EUR"} instead of 3"#,
        ),
        ("missing", r#"{"sum": {"tax": {"a": 1}}}"#, r#"/sum/tax in the body is missing; expected: {"a":1}"#),
        ("null", r#"{"cartId": null}"#, r#"/cartId in the body is "c1" instead of null"#),
        (
            "no element",
            r#"{"lineItems": [{}, {"sku": "C3"}]}"#,
            r#"/lineItems in the body has no element that contains {"sku":"C3"}"#,
        ),
        ("a name that is escaped", r#"{"a/b": {"~": 2}}"#, "/a~1b/~0 in the body is 1 instead of 2"),
        ("the whole body", "[]", r#"the body is {"a/b":{"~":1},"cartId""#),
    ] {
        let failed = evaluated(body, CART).expect_err(case);
        assert!(failed.starts_with(message), "{case}: {failed}");
        assert!(failed.contains(r#". The answer: {"cartId": "c1","#), "{case}: {failed}");
    }
}

#[test]
fn the_status_and_the_default_are_evaluated() {
    let whole = |status, body: &str| answer(status, body);
    let cut_off = ActionAnswer { whole: false, ..answer(200, "[1, 2") };
    let any = Some("{}");
    for (case, status, body, answer, failure) in [
        ("another status", None, None, whole(500, CART), Some("status 500 instead of 200 to 299. The answer: {")),
        ("not the one", Some(201), None, whole(200, CART), Some("status 200 instead of 201. ")),
        ("not the one, and JSON", Some(201), any, whole(200, CART), Some("status 200 instead of 201. ")),
        ("a redirect", None, None, whole(302, ""), Some("status 302 instead of 200 to 299")),
        ("a refusal that is expected", Some(400), None, whole(400, "no"), None),
        ("a refusal that is expected, with JSON", Some(400), any, whole(400, CART), None),
        ("HTML", None, None, whole(200, "<html>"), Some("status 200, but the body is not JSON. The answer: <html>")),
        ("HTML instead of an object", None, any, whole(200, "<html>"), Some("status 200, but the body is not JSON")),
        ("nothing at all", None, None, whole(204, ""), None),
        ("nothing instead of an object", None, any, whole(204, ""), Some("status 204, but the body is not JSON")),
        ("too long", None, None, cut_off, Some("status 200, and a body of more than 256 KiB. The answer: [1, 2")),
    ] {
        let evaluated = expected(status, body).evaluate(&answer, &Masker::new([]));
        assert_eq!(evaluated.is_ok(), failure.is_none(), "{case}: {evaluated:?}");
        let message = evaluated.err().unwrap_or_default();
        assert!(message.starts_with(failure.unwrap_or_default()), "{case}: {message}");
    }
}

#[test]
fn a_failure_is_short_clean_and_shows_no_secret() {
    let long = "x".repeat(LONGEST_QUOTE - 8);
    let masker = Masker::new(["canary-41"]);
    let token = |found: &str| json!({"token": found}).to_string();
    for (case, body, found) in [
        ("the value itself", token("x"), token("canary-41")),
        ("at the end of a quote", token("x"), token(&format!("{long}canary-41"))),
        ("in what is expected", token("canary-41"), token(&format!("{long}{long}"))),
        ("in a name", json!({"canary-41": 1}).to_string(), token("x")),
        ("characters that are not shown", token("x"), format!("{{\"token\": \"\u{202e}\", \"a\": \"{long}{long}\"}}")),
    ] {
        let failed = expected(None, Some(&body)).evaluate(&answer(200, &found), &masker).expect_err(case);
        assert!(!failed.contains("cana") && !failed.contains('\u{202e}') && failed.len() < 1024, "{case}: {failed}");
    }
    let body = format!(r#"{{"{0}": {{"{0}": "{0}"}}}}"#, "n".repeat(1_000));
    let failed = expected(None, Some(&body)).evaluate(&answer(200, &body.replace(": \"n", ": \"m")), &masker);
    assert!(failed.is_err_and(|failed| failed.len() < 1024), "a message has a bound");
}

#[test]
fn what_cannot_be_used_is_refused_with_what_to_change() {
    let many = |count: usize| format!(r#"{{"a": [{}0], "b": [[0]]}}"#, "0,".repeat(count - 3));
    for (case, body, words) in [
        ("no JSON", "{a: 1}", Some("expect.body is not JSON: key must be a string at line 1")),
        ("two values", "{} {}", Some("expect.body is not JSON: trailing characters")),
        ("too deep", &"[".repeat(200), Some("expect.body is not JSON: recursion limit exceeded")),
        ("many elements", &many(64), None),
        ("one more", &many(65), Some("the arrays in expect.body have 65 elements: 64 at most")),
    ] {
        let refused = Expected::read(&Expectation { status: None, body: Some(body.to_owned()) }).err();
        assert_eq!(refused.is_some(), words.is_some(), "{case}: {refused:?}");
        let refused = refused.unwrap_or_default();
        assert!(refused.starts_with(words.unwrap_or_default()), "{case}: {refused}");
    }
}
