//! Tests of what passes, what fails with which message, and what is rejected.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use serde_json::json;

use super::*;

fn answer(status: u16, body: &str) -> ActionAnswer {
    let headers = [("x-cache", "hit"), ("vary", "a"), ("vary", "b")];
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(name, HeaderValue::from_static(value));
    }
    let status = StatusCode::from_u16(status).expect("a status");
    ActionAnswer { status, headers: map, body: body.into(), whole: true, duration: Duration::from_millis(1) }
}

fn expectation(value: Value) -> Expectation {
    serde_json::from_value(value).expect("an expectation")
}

fn evaluated(expected: Value, answer: &ActionAnswer) -> Result<(), String> {
    let expected = expectation(expected);
    compile(&expected).expect("it can be used").evaluate(answer)
}

const CART: &str = r#"{"cartId": "c1", "sum": {"centAmount": 300}, "share": 0.5, "gift": null, "open": true,
    "lineItems": [{"sku": "A1", "count": 1, "tags": ["x"]}, {"sku": "B2", "count": 2, "tags": ["x", "y"]}]}"#;

#[test]
fn assertions_apply_to_what_their_paths_select() {
    for (assertion, expected) in [
        (json!({"jsonPath": "$.cartId", "exists": true}), true),
        (json!({"jsonPath": "$.other", "exists": true}), false),
        (json!({"jsonPath": "$.other", "exists": false}), true),
        (json!({"jsonPath": "$.gift", "exists": true}), true),
        (json!({"jsonPath": "$.cartId", "equals": "c1"}), true),
        (json!({"jsonPath": "$.cartId", "equals": "c2"}), false),
        (json!({"jsonPath": "$.sum.centAmount", "equals": 300}), true),
        (json!({"jsonPath": "$.sum.centAmount", "equals": 300.0}), true),
        (json!({"jsonPath": "$.sum.centAmount", "equals": "300"}), false),
        (json!({"jsonPath": "$.share", "equals": 0.5}), true),
        (json!({"jsonPath": "$.open", "equals": true}), true),
        (json!({"jsonPath": "$.gift", "equals": null}), true),
        (json!({"jsonPath": "$.other", "equals": null}), false),
        (json!({"jsonPath": "$.lineItems[*].count", "matches": "^[0-9]+$"}), true),
        (json!({"jsonPath": "$.lineItems[*].sku", "equals": "A1"}), false),
        (json!({"jsonPath": "$.lineItems[*].sku", "equals": "B2"}), false),
        (json!({"jsonPath": "$.lineItems[?@.sku == 'B2'].count", "equals": 2}), true),
        (json!({"jsonPath": "$.lineItems[?@.count < 1]", "exists": false}), true),
        (json!({"jsonPath": "$.lineItems[?length(@.tags) > 1].sku", "equals": "B2"}), true),
        (json!({"jsonPath": "$.lineItems[?match(@.sku, '[AB].')].count", "exists": true}), true),
        (json!({"jsonPath": "$.lineItems[-1].sku", "matches": "2"}), true),
        (json!({"jsonPath": "$..sku", "matches": "^[AB][12]$"}), true),
        (json!({"jsonPath": "$.lineItems", "matches": "A1"}), false),
        (json!({"jsonPath": "$.none", "matches": ".*"}), false),
    ] {
        let passed = evaluated(json!({"body": [assertion]}), &answer(200, CART));
        assert_eq!(passed.is_ok(), expected, "{assertion}: {passed:?}");
    }
}

#[test]
fn a_failure_names_the_assertion_and_quotes_nothing_of_the_answer() {
    let cut_off = ActionAnswer { whole: false, ..answer(200, "[1, 2") };
    let secret = r#"{"token": "canary", "n": 1}"#;
    let path = |rest: Value| {
        let mut assertion = json!({"jsonPath": "$.token"});
        assertion.as_object_mut().expect("an object").extend(rest.as_object().expect("an object").clone());
        json!({"body": [{"jsonPath": "$.n", "equals": 1}, assertion]})
    };
    let both =
        json!({"headers": [{"name": "x-cache", "matches": "^miss$"}], "body": [{"jsonPath": "$.n", "exists": false}]});
    for (case, expected, answer, words) in [
        ("another status", json!({}), answer(500, CART), Some("status 500 instead of 200 to 299")),
        ("not the one", json!({"status": 201}), answer(200, CART), Some("expect.status: status 200 instead of 201")),
        ("a redirect", json!({}), answer(302, ""), Some("302 instead of")),
        ("a refusal that is expected", json!({"status": 400}), answer(400, "no"), None),
        ("HTML", json!({}), answer(200, "<html>"), Some("not JSON")),
        ("nothing at all", json!({}), answer(204, ""), None),
        ("too long", json!({}), cut_off, Some("more than 256 KiB")),
        ("HTML for a path", path(json!({"exists": true})), answer(200, "<html>"), Some("not JSON")),
        ("equals", path(json!({"equals": "x"})), answer(200, secret), Some("expect.body[1]: $.token must equal \"x\"")),
        ("matches", path(json!({"matches": "^x"})), answer(200, secret), Some("expect.body[1]: $.token must match ^x")),
        ("exists", path(json!({"exists": false})), answer(200, secret), Some("expect.body[1]: $.token must not exist")),
        ("a header", json!({"headers": [{"name": "Vary", "equals": "a, b"}]}), answer(200, secret), None),
        ("no header", json!({"headers": [{"name": "Age", "exists": false}]}), answer(200, secret), None),
        (
            "all at once",
            both,
            answer(200, secret),
            Some("expect.headers[0]: x-cache must match ^miss$; expect.body[0]: $.n must not exist"),
        ),
    ] {
        let evaluated = evaluated(expected, &answer);
        assert_eq!(evaluated.is_ok(), words.is_none(), "{case}: {evaluated:?}");
        let message = evaluated.err().unwrap_or_default();
        assert!(message.contains(words.unwrap_or_default()), "{case}: {message}");
        assert!(!message.contains("canary"), "{case}: {message}");
    }
}

#[test]
fn invalid_assertions_are_rejected_when_compiled() {
    let many: Vec<_> = (0..9).map(|_| json!({"jsonPath": "$[?match(@, 'a')]", "matches": "b"})).collect();
    let body = |path: &str| json!({"body": [{"jsonPath": path, "exists": true}]});
    let long = format!("$.{}", "a".repeat(511));
    let nested = |depth: usize| format!("[?{}@.a{}]", "(".repeat(depth - 1), ")".repeat(depth - 1));
    for (case, expected, words) in [
        ("no path", body("$."), "expect.body[0].jsonPath: it is no JSONPath"),
        ("kubectl's form", body("{.status}"), "no JSONPath"),
        ("long", body(&long), "longer than 512"),
        ("deep", body(&format!("${}", nested(9))), "8 deep"),
        ("deep, after a string", body(&format!("$['a']{}", nested(9))), "8 deep"),
        ("deep, after a string with an escaped character", body(&format!("$['\\na']{}", nested(9))), "8 deep"),
        ("a function of the crate", body("$[?in(@.a, $.b)]"), "in() is no function"),
        ("a pattern of the answer", body("$[?match(@.a, @.b)]"), "written out"),
        ("a wrong pattern", body("$[?match(@.a, '(')]"), "no regular expression"),
        ("a wrong pattern in a query", body("$[?@[?match(@.a, '(')]]"), "no regular expression"),
        ("a length that is no condition", body("$[?length(@.a)]"), "must be compared"),
        ("a length of many", body("$[?length(@.*) > 1]"), "one value"),
        ("a comparison of truths", body("$[?match(@.a, 'a') == true]"), "no JSONPath"),
        ("a count of a text", body("$[?count('a') > 1]"), "no JSONPath"),
        ("two", json!({"body": [{"jsonPath": "$", "exists": true, "equals": 1}]}), "expect.body[0]: give exactly one"),
        ("none", json!({"headers": [{"name": "a"}]}), "expect.headers[0]: give exactly one"),
        ("a list", json!({"body": [{"jsonPath": "$", "equals": []}]}), "expect.body[0].equals: it must be a string"),
        (
            "too large",
            json!({"headers": [{"name": "a", "matches": "(\\w{100}){100}"}]}),
            "expect.headers[0].matches: the pattern",
        ),
        ("many patterns", json!({"body": many}), "expect.body[8].jsonPath: the check has more than 16 regular"),
    ] {
        let expected = expectation(expected);
        let error = compile(&expected).expect_err(case);
        assert!(error.contains(words), "{case}: {error}");
    }
    for path in [
        format!("$.{}", "a".repeat(510)),
        format!("${}", nested(8)),
        format!("${}", "[0]".repeat(9)),
        format!("$['{}']", "(".repeat(9)),
        format!("$[\"'{}\"]", "(".repeat(9)),
        format!("$['\\'{}']", "(".repeat(9)),
    ] {
        assert!(compile(&expectation(body(&path))).is_ok(), "{path}");
    }
}

#[test]
fn patterns_are_counted_before_they_are_compiled_and_need_bounded_memory() {
    let patterns: Vec<_> = (200..224).map(|length| format!("match(@,'(.{{{length}}})')")).collect();
    let path = format!("$[?{}]", patterns.join("||"));
    let many = vec![json!({"jsonPath": path, "exists": true}); 16];
    // As many as are allowed, with groups, which regular expressions that are not only matched need memory for.
    let large = |pattern: String| vec![json!({"jsonPath": "$", "matches": pattern}); 16];
    // Long enough for the search that remembers the ends of groups.
    let text = format!("\"{}\"", "a".repeat(1_600));
    for (case, body) in [
        ("too many", many),
        ("with a group", large("(.{240})".to_owned())),
        ("with a word boundary", large("\\b.{240}".to_owned())),
        ("with many groups", large(format!("{}[ab]{{1500}}c", "()".repeat(120)))),
    ] {
        let expected = expectation(json!({"body": body}));
        let work = || drop(compile(&expected).map(|compiled| compiled.evaluate(&answer(200, &text))));
        let used = allocation_counter::measure(work).bytes_max;
        assert!(used <= 8 << 20, "{case}: {used} bytes");
    }
}

#[test]
fn all_assertions_share_one_budget_that_bounds_the_evaluation() {
    let numbers = format!("[{}1]", "1,".repeat(2_000));
    let square = json!({"jsonPath": "$[?count($[?@ > 1]) > 0]", "exists": true});
    let error = evaluated(json!({"body": [square, {"jsonPath": "$[0]", "exists": true}]}), &answer(200, &numbers));
    let error = error.expect_err("four million steps");
    assert!(
        error.contains("expect.body[0]: $[?count($[?@ > 1]) > 0] must exist, which takes more than 1000000"),
        "{error}"
    );
    let large = format!("[{}1]", "1,".repeat(130_000));
    assert_eq!(evaluated(json!({"body": [{"jsonPath": "$..*", "equals": 1}]}), &answer(200, &large)), Ok(()));
}

#[test]
fn arbitrary_texts_are_parsed_or_rejected_within_the_stack_of_a_check() {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};
    let pieces = "$ @ . .. * [ ] ( ) [? ?@ , : 0 -1 1 a 'x' \"y\" && || ! == != < > length( count( value( match( search( \
                  null true é 'a\\'b' ,'a') @.a $.a [0] [1:2:3]";
    let pieces: Vec<_> = pieces.split_whitespace().collect();
    let mut random = StdRng::seed_from_u64(1);
    let mut texts: Vec<String> = (0..2_000)
        .map(|_| {
            let count = random.random_range(1..60);
            format!("${}", (0..count).map(|_| pieces[random.random_range(0..pieces.len())]).collect::<String>())
        })
        .collect();
    // Nested functions, which the grammar parses several times, as deep as allowed and deeper.
    for function in ["value(", "count(", "length(", "(", "!(", "match(", "@[?", "$[?"] {
        texts.push(format!("$[?{}@.a", function.repeat(7)));
        texts.push(format!("$[?{}@.a{}]", function.repeat(7), ")".repeat(7)));
        texts.push(format!("$[?{}@.a{}]", function.repeat(80), ")".repeat(80)));
    }
    let tracker = move || {
        let body = format!("{}1{}", "[".repeat(120), "]".repeat(120));
        for text in &texts {
            let expected = expectation(json!({"body": [{"jsonPath": text, "exists": true}]}));
            if let Ok(compiled) = compile(&expected) {
                let _ = compiled.evaluate(&answer(200, CART));
                let _ = compiled.evaluate(&answer(200, &body));
            }
        }
    };
    // A quarter of a check's stack, although a debug build needs much more.
    let thread = std::thread::Builder::new().stack_size(crate::controllers::action_check::STACK / 4);
    thread.spawn(tracker).expect("a thread").join().expect("no panic");
}
