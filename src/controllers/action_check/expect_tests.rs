//! What passes, what fails and with which words, and what an expression may cost.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};

use super::*;

fn answer(status: u16, body: &str) -> ActionAnswer {
    let headers = HeaderMap::from_iter([("x-cache".parse().expect("a name"), HeaderValue::from_static("hit"))]);
    let status = StatusCode::from_u16(status).expect("a status");
    ActionAnswer { status, headers, body: body.into(), whole: true, duration: Duration::from_millis(1) }
}

fn judged(status: Option<u16>, expression: Option<&str>, answer: &ActionAnswer) -> Result<(), String> {
    let expected = Expectation { status, body: expression.map(str::to_owned) };
    let compiled = expression.map(|text| compile(text).expect(text));
    judge(&expected, compiled.as_ref(), answer, &Arc::default())
}

const CART: &str = r#"{"cartId": "c1", "sum": {"centAmount": 300}, "share": 0.5, "gift": null,
    "lineItems": [{"sku": "A1", "count": 1, "tags": ["x"]}, {"sku": "B2", "count": 2, "tags": ["x", "y"]}]}"#;

#[test]
fn expressions_see_body_status_and_headers() {
    for (expression, expected) in [
        ("body.cartId != '' && body.lineItems.size() > 0", true),
        ("body.lineItems.all(item, item.count > 0)", true),
        ("body.lineItems.exists(item, item.sku == 'B2')", true),
        ("body.lineItems.exists_one(item, item.count == 2)", true),
        ("body.lineItems.map(item, item.count) == [1, 2]", true),
        ("body.lineItems.filter(item, item.count > 1).size() == 1", true),
        ("body.lineItems.all(item, item.tags.exists(tag, tag == 'x'))", true),
        ("body.lineItems.all(item, item.tags.exists(tag, tag == 'y'))", false),
        ("body.sum.centAmount + 1 == 301 && body.share < 1.0", true),
        ("body.gift == null && type(body.cartId) == string", true),
        ("has(body.cartId) && !has(body.other)", true),
        ("status == 200 && headers['x-cache'] == 'hit'", true),
        ("body.cartId.startsWith('d')", false),
        ("'A1' in body.lineItems.map(item, item.sku)", true),
    ] {
        assert_eq!(judged(None, Some(expression), &answer(200, CART)).is_ok(), expected, "{expression}");
    }
}

#[test]
fn what_fails_says_why_and_quotes_nothing() {
    let cut_off = ActionAnswer { whole: false, ..answer(200, "[1, 2") };
    let secret = r#"{"token": "canary"}"#;
    for (case, status, expression, answer, expected) in [
        ("another status", None, None, answer(500, CART), Some("500 instead of 200 to 299")),
        ("not the one", Some(201), None, answer(200, CART), Some("200 instead of 201")),
        ("a redirect", None, None, answer(302, ""), Some("302 instead of")),
        ("a refusal that is expected", Some(400), None, answer(400, "no"), None),
        ("HTML", None, None, answer(200, "<html>"), Some("not JSON")),
        ("nothing at all", None, None, answer(204, ""), None),
        ("too long", None, None, cut_off, Some("more than 256 KiB")),
        ("HTML for an expression", None, Some("status == 200"), answer(200, "<html>"), Some("not JSON")),
        ("false", None, Some("body.token == ''"), answer(200, secret), Some("is false")),
        ("no truth", None, Some("body.token"), answer(200, secret), Some("neither true nor false")),
        ("no member", None, Some("body.cart == ''"), answer(200, secret), Some("no member cart")),
        ("another type", None, Some("body.token > 1"), answer(200, secret), Some("another type")),
        ("no function", None, Some("body.token.sing()"), answer(200, secret), Some("expect.body fails")),
    ] {
        let judged = judged(status, expression, &answer);
        assert_eq!(judged.is_ok(), expected.is_none(), "{case}: {judged:?}");
        let message = judged.err().unwrap_or_default();
        assert!(message.contains(expected.unwrap_or_default()), "{case}: {message}");
        assert!(!message.contains("canary"), "{case}: {message}");
    }
}

#[test]
fn what_cannot_be_an_expression_is_refused_before_anything_is_sent() {
    let (signs, sum) = (format!("{}true", "!".repeat(65)), format!("1{} > 0", "+1".repeat(130)));
    let deep = format!("{}1{}", "(".repeat(500), ")".repeat(500));
    for (case, text, expected) in [
        ("no CEL", "body.cartId ==", ""),
        ("two", "body body", ""),
        ("an unknown name", "cart.id == ''", "cart is not known"),
        ("too many brackets", deep.as_str(), "64 brackets"),
        ("too many signs", signs.as_str(), "64 signs"),
        ("a long sum", sum.as_str(), "128 deep"),
        ("a type", "Money{amount: 1} == body", "cannot be made"),
        ("three macros", "body.all(a, body.all(b, body.all(c, true)))", "2 deep"),
        ("texts that double", "[body].map(a, a + a) == []", "inside of a macro"),
        ("lists that double", "[body].map(a, [a, a]) == []", "inside of a macro"),
        ("a name of another macro", "body.all(a, true) && a", "a is not known"),
    ] {
        let error = compile(text).expect_err(case);
        assert!(error.contains(expected) && !error.is_empty(), "{case}: {error}");
    }
}

#[test]
fn what_runs_too_long_is_stopped() {
    let numbers =
        |count: u32| format!("[{}]", (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(","));
    let square = "body.all(a, body.all(b, a >= 0 && b >= 0))";
    assert_eq!(judged(None, Some(square), &answer(200, &numbers(50))), Ok(()), "2,550 rounds");
    for expression in
        [square, "body.exists(a, body.exists(b, b == -1)) || true", "body.map(a, body.filter(b, b > a)).size() > 0"]
    {
        let error = judged(None, Some(expression), &answer(200, &numbers(5_000))).expect_err(expression);
        assert!(error.contains("takes too long"), "{expression}: {error}");
    }
    let stop = Arc::new(AtomicBool::new(true));
    let compiled = compile("body.all(a, a >= 0)").expect("it is CEL");
    let error =
        judge(&Expectation::default(), Some(&compiled), &answer(200, "[1]"), &stop).expect_err("it was stopped");
    assert!(error.contains("takes too long"), "{error}");
}

#[test]
fn the_longest_expressions_do_not_break_the_stack() {
    let texts = [
        format!("body{}", ".a".repeat(510)),
        format!("1{} > 0", "+1".repeat(500)),
        format!("true{}", "&&true".repeat(169)),
        format!("status == 1{}", "||status==1".repeat(90)),
        format!("{}true{}", "(!".repeat(64), ")".repeat(64)),
        format!("{}body{}", "[".repeat(64), "]".repeat(64)),
        format!("{}1 < 0", "-".repeat(64)),
        format!("true{}", "?true:false".repeat(64)),
        "x".repeat(1_024),
        "'".repeat(1_023),
        "in ".repeat(341),
    ];
    // A quarter of what the operator gives such a thread, and in a build that needs much more.
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    let work = move || {
        for text in texts {
            if let Ok(compiled) = compile(&text) {
                let _ = judge(&Expectation::default(), Some(&compiled), &answer(200, "{}"), &Arc::default());
            }
        }
    };
    thread.spawn(work).expect("a thread").join().expect("no panic");
}

#[test]
fn texts_of_any_pieces_are_read_or_refused() {
    use rand::rngs::StdRng;
    use rand::{RngExt as _, SeedableRng as _};
    let pieces =
        "( ) [ ] { } . , : ? ! - + == < && || in a body 1 'x' .all(a, .map(a, has( r\" \" b' 0x 1e é ` null true @";
    let pieces: Vec<_> = pieces.split(' ').collect();
    let mut random = StdRng::seed_from_u64(1);
    let mut texts = Vec::new();
    for _ in 0..200 {
        let count = random.random_range(1..200);
        let mut text: String = (0..count).map(|_| pieces[random.random_range(0..pieces.len())]).collect();
        text.truncate(text.floor_char_boundary(1_024));
        texts.push(text);
    }
    let thread = std::thread::Builder::new().stack_size(16 << 20);
    let work = move || texts.iter().filter(|text| compile(text).is_err()).count();
    let refused = thread.spawn(work).expect("a thread").join().expect("no panic");
    assert!(refused > 100, "{refused} of 200 were refused");
}
