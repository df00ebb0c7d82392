//! Tables and properties of [`super`].

use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use proptest::prelude::*;

use super::*;

#[test]
fn values_are_hidden_in_every_spelling() {
    let secret = "pa\"ss/w\u{f6}rd & m+re";
    for (case, values, text, expected) in [
        ("nothing to hide", &[][..], "plain text", "plain text"),
        ("as it is", &[secret], "got pa\"ss/w\u{f6}rd & m+re!", "got ***!"),
        ("in JSON", &[secret], r#"{"v":"pa\"ss/wörd & m+re"}"#, r#"{"v":"***"}"#),
        ("in JSON of ASCII only", &[secret], r#""pa\"ss/w\u00f6rd & m+re""#, "\"***\""),
        ("in JSON, capital digits and more escapes", &[secret], r#""pa\u0022ss\/w\u00F6rd \u0026 m+re""#, "\"***\""),
        (
            "in JSON in JSON",
            &[secret],
            r#"{"v":"{\"w\":\"pa\\\"ss\\/w\\u00f6rd & m+re\"}"}"#,
            r#"{"v":"{\"w\":\"***\"}"}"#,
        ),
        ("in JSON with escaped slashes", &[secret], r#""pa\"ss\/wörd & m+re""#, "\"***\""),
        ("in a form", &[secret], "v=pa%22ss%2Fw%C3%B6rd+%26+m%2Bre&x", "v=***&x"),
        ("in a path, small digits", &[secret], "/pa%22ss%2fw%c3%b6rd%20%26%20m%2bre/x", "/***/x"),
        ("in a path, digits of both cases", &[secret], "/pa%22ss%2fw%C3%b6rd%20%26%20m+re/x", "/***/x"),
        ("in HTML", &[secret], "<p>pa&quot;ss/w&#246;rd &amp; m+re</p>", "<p>***</p>"),
        ("in HTML, by numbers", &[secret], "pa&#x22;ss&#47;w&#xF6;rd &#x000026; m&#43;re", "***"),
        ("in HTML in JSON", &[secret], r#""pa\u0026quot;ss/w\u00f6rd \u0026amp; m+re""#, "\"***\""),
        ("no character of HTML", &[secret], "a &b; &#xffffff; & c", "a &b; &#xffffff; & c"),
        ("beyond the first plane", &["key\u{1f511}\u{1f511}key"], r#""key\ud83d\udd11\uD83D\uDD11key""#, "\"***\""),
        ("in base64", &["canary-value"], "Y2FuYXJ5LXZhbHVl", "***"),
        ("in base64 behind one byte", &["canary-value"], "<eGNhbmFyeS12YWx1ZQ==>", "<***>"),
        ("in base64 between others", &["canary-value"], "<dXNlcjpjYW5hcnktdmFsdWU6eA==>", "<***>"),
        ("several times", &["canary"], "canary, canary", "***, ***"),
        ("overlapping", &["abcdef", "defghi"], "<abcdefghi>", "<***>"),
        ("one inside another", &["abcdef", "abcdefghi"], "<abcdefghi>", "<***>"),
        ("one at the end of another", &["abcdef", "xxabcdef"], "<xxabcdef>", "<***>"),
        ("with the end of a line", &["canary\n"], "<canary>", "<***>"),
        ("a line of several", &["first line\nok\nlast line"], "last line is ok", "*** is ok"),
        (
            "a short line of several",
            &["first line\nx7z\nlast"],
            "it was x7z, not x7zz, at last",
            "it was ***, not x7zz, at ***",
        ),
        ("broken across lines", &["two words"], "two\nwords", HIDDEN),
        ("short, across lines", &["a b"], "a\nb", LEFT_OUT),
        ("short: the text is left out", &["abc"], "xabcx", LEFT_OUT),
        ("short, in base64", &["abc"], "eWJj YWJj", LEFT_OUT),
        ("short, not contained", &["abc"], "ab c", "ab c"),
        ("short, also in the decoded text", &["abc"], "abc %2B", LEFT_OUT),
        ("short, only in the text as it is", &["%2B"], "x%2Bx", LEFT_OUT),
        ("short, of letters with several bytes", &["\u{e4}\u{f6}\u{fc}"], "x\u{e4}\u{f6}\u{fc}x", LEFT_OUT),
        ("short, with spaces around", &["  abc  "], "xabcx", LEFT_OUT),
        ("empty", &["", " \n"], "any text", "any text"),
        ("query of a URL behind a question", &["-"], "really?https://h/p?sig=1 now", "really?https://h/p now"),
        ("query of a URL", &["-"], "see https://h/p?sig=1 now", "see https://h/p now"),
        ("control characters", &[], "a\u{1b}[31m\nb\u{202e}", "a\u{fffd}[31m b\u{fffd}"),
        ("a value without the mark that nobody sees", &["\u{feff}hidden-value\u{200b}"], "is hidden-value", "is ***"),
    ] {
        let masker = Masker::new(values.iter().copied());
        assert_eq!(masker.mask(text), expected, "{case}");
        let broken = case.ends_with("across lines");
        assert_eq!(masker.is_clean(text), broken || (!expected.contains(HIDDEN) && expected != LEFT_OUT), "{case}");
    }
}

#[test]
fn what_is_secret_in_a_value_is_hidden_by_itself() {
    let document = r#"{"type": "service_account", "private_key": "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADAN\nx9\n", "n": 12345678,
        "inner": "{\"pin\": \"hidden-in-it\"}", "deep": [["list-of-one"]]}"#;
    for (case, value, text, expected) in [
        ("a token", "Bearer SECRETSECRET", "s=SECRETSECRET", "s=***"),
        ("the scheme is no secret", "Bearer SECRETSECRET", "not a Bearer token", "not a Bearer token"),
        ("a pair", "user=shop;password=hunter-two", "hunter-two is refused", "*** is refused"),
        ("names are no secrets", "user=shop;password=hunter-two", "user and password", "user and password"),
        ("padding is no separator", "AccountName=a;AccountKey=c2VjcmV0a2V5==", "key c2VjcmV0a2V5", "key ***"),
        (
            "a URL",
            "postgres://shop:letmein@db.internal:5432/tax",
            "password letmein, postgres",
            "password ***, postgres",
        ),
        ("a URL with escapes", "postgres://shop:let%40me%2fin@db/tax", "password let@me/in", "password ***"),
        ("an id and its secret", "key-4711:secret-4712", "no key-4711", "no ***"),
        ("a member of a document", document, "found hidden-in-it and list-of-one", "found *** and ***"),
        ("a number of a document", document, "n is 12345678", "n is ***"),
        ("a line in a document", document, "MIIEvQIBADAN?", "***?"),
        ("names of a document", document, "private_key of a service_account", "private_key of a service_account"),
        ("a short token with a digit", "login=shop;pin=47x1", "pin 47x1 not 147x11", "pin *** not 147x11"),
        ("a pair of a form", "password=hunter-two&user=shop", "hunter-two is refused", "*** is refused"),
        ("names of a form", "password=hunter-two&username=shop", "no username", "no username"),
        ("a path", "https://hooks.example/services/T0AB/xoxb-secret", "POST xoxb-secret of T0AB", "POST *** of ***"),
        ("words of a path", "https://hooks.example/services/T0AB/xoxb-secret", "services", "services"),
        ("a query", "https://example.org/in?letmein&v=1", "got letmein", "got ***"),
        ("a list", "letmein|open-sesame", "got letmein or open-sesame", "got *** or ***"),
        ("a line of a file in one line", r"-----BEGIN KEY-----\nMIIEvQIBADAN\r\nx7z\n", "x7z MIIEvQIBADAN", "*** ***"),
        ("a part that is too short", "a=in/to&b=x1y2z3", "it was in/to and x1y2z3", "it was in/to and ***"),
        ("a whole password with finer separators", "a=let/me?in&b=1", "it was let/me?in", "it was ***"),
        ("a token in base64", "user=shop;password=hunter-two", "Basic c2hvcDpodW50ZXItdHdv", "Basic ***"),
    ] {
        assert_eq!(Masker::new([value]).mask(text), expected, "{case}");
    }
}

#[test]
fn texts_are_cut_after_hiding_so_that_no_start_of_a_value_stays() {
    let text = format!("{}\u{e4}canary-value", "x".repeat(LONGEST_TEXT - 5));
    let masked = Masker::new(["canary-value"]).mask(&text);
    assert_eq!(masked.len(), LONGEST_TEXT);
    assert!(masked.ends_with("\u{e4}***"), "{masked}");
    assert_eq!(Masker::new([]).mask(&"\u{e4}".repeat(LONGEST_TEXT)).len(), LONGEST_TEXT);
}

#[test]
fn of_a_long_text_no_start_of_a_value_stays_where_it_was_cut() {
    let secret = "k3y-with-\"quotes\"-and-more";
    let masker = Masker::new([secret, "second-value"]).compile();
    for number in 0..FORMS {
        let planted = form(secret, number);
        for before in (0..=planted.len()).step_by(19).filter(|at| planted.is_char_boundary(*at)) {
            // The query is removed, so that the end of what is searched is near the start of what is shown.
            let url = format!("https://h?{}", "q".repeat(LONGEST_SEARCHED - before - 10));
            let shown = masker.mask(&format!("{url}\n{planted}"));
            assert!(shown == LEFT_OUT || shown.trim() == "https://h", "form {number}, {before}: {shown}");
        }
    }
    let long = format!("second-value{}", " and some words".repeat(LONGEST_SEARCHED));
    let shown = masker.mask(&long);
    assert!(shown.starts_with("*** and some words") && shown.len() == LONGEST_TEXT, "{shown}");
    assert!(!masker.is_clean(&long));
    for (length, clean) in [(LONGEST_SEARCHED, true), (LONGEST_SEARCHED + 1, false)] {
        assert_eq!(masker.is_clean(&"x".repeat(length)), clean, "{length} bytes without a value");
    }
}

#[test]
fn debug_shows_nothing() {
    assert_eq!(format!("{:?}", Masker::new(["canary-value"])), "Masker");
}

#[test]
fn patterns_stay_in_proportion_to_the_values() {
    let line = |number: usize| {
        format!("name{number}=\"s3cret-{number}\"; url=https://u:p4ssw0rd{number}@h{number}.example/%41{number}\n")
    };
    let lines: String = (0..400).map(line).collect();
    let document = serde_json::json!({"all": lines, "list": (0..400).map(line).collect::<Vec<_>>()}).to_string();
    for (case, value) in [("lines", lines), ("a document", document), ("one line", "x".repeat(30_000))] {
        let mut parts = Parts::default();
        parts.add(&value);
        let all = parts.anywhere.iter().chain(&parts.words).map(String::len).sum::<usize>();
        let encoded = parts.smallest.iter().flat_map(|part| encoded(part.as_bytes())).map(|it| it.len()).sum::<usize>();
        assert!(all + encoded < 20 * value.len(), "{case}: {all} and {encoded} for {}", value.len());
    }
}

#[test]
fn masking_needs_little_memory_whatever_the_values_and_the_text_are() {
    // Each of these tokens is the end of the next one.
    let tokens = (6..126).map(|length| "a".repeat(length)).collect::<Vec<_>>().join(" ");
    let number = |count: usize| (0..count).map(|number| format!("s3cret-{number}\n")).collect::<Vec<_>>().concat();
    for (case, value, text) in [
        ("overlapping matches", tokens.clone(), "a".repeat(256 << 10)),
        ("many readings of a text", "canary-value".to_owned(), "\\\\u0061%2B+".repeat(20_000)),
        ("a large text", "canary-value".to_owned(), "some words ".repeat(1 << 20)),
        ("a large text, and nothing to hide", String::new(), "some words ".repeat(1 << 20)),
        ("a large value", "x".repeat(1 << 20), "text".to_owned()),
        ("a large value of many parts", number(100_000), "text".to_owned()),
        ("tokens that a long one ends with", format!("{tokens} {}", "a".repeat(30_000)), "a".repeat(30_000)),
    ] {
        let mut shown = String::new();
        let used = allocation_counter::measure(|| shown = Masker::new([value.as_str()]).mask(&text)).bytes_max;
        let most = (4 << 20) + 64 * text.len().min(256 << 10) as u64;
        assert!(used <= most, "{case}: {used} bytes, {most} are allowed");
        assert!(!shown.contains("aaaaaa") && !shown.contains("canary"), "{case}: {shown}");
    }
}

/// Returns a secret in one of the encodings in which a server may repeat it.
fn form(secret: &str, form: usize) -> String {
    let hex = |bytes: &[u8], prefix: &str, capital: bool| -> String {
        let one = |byte: &u8| if capital { format!("{prefix}{byte:02X}") } else { format!("{prefix}{byte:02x}") };
        bytes.iter().map(one).collect::<Vec<_>>().concat()
    };
    let json = |text: &str| serde_json::to_string(text).expect("a string serializes to JSON");
    let units = || secret.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat();
    let behind = |count: usize| format!("{}{secret}:more", "~".repeat(count));
    match form {
        0 => format!(" {secret} "),
        1 => json(secret),
        2 => json(&json(secret)),
        3 => units(),
        4 => units().to_uppercase().replace("\\U", "\\u"),
        5 => hex(secret.as_bytes(), "%", true),
        6 => hex(secret.as_bytes(), "%", false),
        7 => escaped(secret),
        8 => escaped(secret).replace('+', "%20"),
        9..=11 => STANDARD.encode(behind(form - 9)),
        12..=14 => URL_SAFE.encode(behind(form - 12)),
        15 => secret.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;"),
        16 => secret.chars().map(|letter| format!("&#{};", u32::from(letter))).collect::<Vec<_>>().concat(),
        _ => STANDARD.encode(secret),
    }
}

const FORMS: usize = 18;

/// Returns a value that contains a secret in some structure.
fn holder(secret: &str, holder: usize) -> String {
    match holder {
        0 => secret.to_owned(),
        1 => format!("Bearer {secret}"),
        2 => format!("user=x;password={secret}"),
        3 => format!("amqps://u:{secret}@host/v"),
        4 => serde_json::json!({"outer": {"inner": [secret]}}).to_string(),
        5 => serde_json::json!({"document": serde_json::json!({"key": secret}).to_string()}).to_string(),
        6 => format!("password={}&user=shop", escaped(secret)),
        7 => format!("https://hooks.host/in/{}?sign=x&v=2", escaped(secret)),
        8 => format!("hooks.host|{secret}|more-of-it"),
        9 => format!(r"-----BEGIN KEY-----\n{secret}\nmore-of-it\n-----END KEY-----"),
        10 => format!("line of one\nkey=more-of-it\\n{secret}\nanother line"),
        _ => format!("line of one\n{secret}\nanother line"),
    }
}

const HOLDERS: usize = 12;

fn escaped(secret: &str) -> String {
    form_urlencoded::byte_serialize(secret.as_bytes()).collect()
}

proptest! {
    #[test]
    fn nothing_of_a_secret_remains_in_whatever_form(
        // A letter and a digit at the start make it neither a word nor a name; some characters need escaping.
        secret in "[a-zA-Z][0-9][a-zA-Z0-9äö€🔑/+_&~!$*-]{6,30}",
        held in 0..HOLDERS,
        forms in prop::collection::vec(0..FORMS, 1..4),
        around in "[ .,a-z]{0,20}",
    ) {
        let masker = Masker::new([holder(&secret, held).as_str()]);
        for planted in forms.iter().map(|it| form(&secret, *it)) {
            let text = format!("{around} <{planted}> {around}");
            let shown = masker.mask(&text);
            prop_assert!(!masker.is_clean(&text), "{text}");
            prop_assert!(!shown.contains(&secret), "{shown}");
            // Everything between the marks is hidden, except quotes and the text that base64 encodes beside the secret.
            let rest = shown.split('<').nth(1).and_then(|rest| rest.rsplit('>').next_back()).unwrap_or_default();
            let kept: String = rest.chars().filter(|letter| letter.is_alphanumeric()).collect();
            prop_assert!(kept.is_empty(), "{kept} of {planted} in {shown}");
        }
    }

    #[test]
    fn texts_without_secrets_stay_as_they_are(
        secret in "[a-z][0-9][A-Z0-9]{8,30}",
        held in 0..HOLDERS,
        text in "[a-zäö ,.:;=%+\\\\\"{}/-]{0,200}",
    ) {
        // Words of the structures themselves are part of the value, so some of them may be hidden in the text.
        let holders = ["line", "host", "outer", "inner", "document", "another", "amqps", "bearer", "user", "password",
            "more-of-it"];
        prop_assume!(!holders.iter().any(|word| text.contains(word)) && !text.contains("://"));
        let masker = Masker::new([holder(&secret, held).as_str()]);
        prop_assert!(masker.is_clean(&text));
        prop_assert_eq!(masker.mask(&text), text);
    }
}
