//! Tables of [`super`].

use super::*;

fn read(status: u16, body: &[u8]) -> Refusal {
    refusal(StatusCode::from_u16(status).expect("a status"), body, &Masker::new(["canary-value"]))
}

#[test]
fn bodies_of_errors_are_survived_and_the_listed_codes_come_first() {
    let deep = "[".repeat(10_000);
    for (case, status, body, codes, message, absent) in [
        (
            "of the contract",
            400,
            r#"{"statusCode":400,"message":"m","errors":[{"code":"InvalidJsonInput","message":"m","detailedErrorMessage":"d"}]}"#,
            &["InvalidJsonInput"][..],
            "m; d",
            false,
        ),
        (
            "several, unknown one first",
            400,
            r#"{"statusCode":400,"message":"a","errors":[{"code":"New","message":"a"},{"code":"DuplicateField","message":"b"}]}"#,
            &["DuplicateField", "New"],
            "a; b",
            false,
        ),
        (
            "not found",
            404,
            r#"{"statusCode":404,"message":"n","errors":[{"code":"ResourceNotFound","message":"n"}]}"#,
            &["ResourceNotFound"],
            "n",
            true,
        ),
        ("not found, without codes", 404, r#"{"statusCode":404,"message":"n"}"#, &[], "n", true),
        ("not found, errors null", 404, r#"{"statusCode":404,"message":null,"errors":null}"#, &[], "", true),
        (
            "not found for another reason",
            404,
            r#"{"statusCode":404,"message":"n","errors":[{"code":"InvalidPathParam","message":"n"}]}"#,
            &["InvalidPathParam"],
            "n",
            false,
        ),
        ("not found, of a gateway in JSON", 404, r#"{"message":"no route"}"#, &[], "no route", false),
        (
            "the code with another status",
            400,
            r#"{"statusCode":400,"message":"n","errors":[{"code":"ResourceNotFound"}]}"#,
            &["ResourceNotFound"],
            "n",
            false,
        ),
        (
            "entries without code, null, of other types",
            400,
            r#"{"message":"m","errors":[{"message":"x"},null,7,{"code":null},{"code":7},[]]}"#,
            &[],
            "x",
            false,
        ),
        ("errors of another type", 400, r#"{"message":"m","errors":{"code":"General"}}"#, &[], "m", false),
        (
            "undeclared 401",
            401,
            r#"{"statusCode":401,"message":"t","errors":[{"code":"invalid_token","message":"t"}],"error":"invalid_token"}"#,
            &["invalid_token"],
            "t",
            false,
        ),
        (
            "of an authorization server",
            401,
            r#"{"error":"invalid_client","error_description":"who?"}"#,
            &[],
            "who?",
            false,
        ),
        (
            "HTML",
            404,
            "<html>not found</html>",
            &[],
            "the body (22 bytes) is not an error of the API; perhaps a gateway answered",
            false,
        ),
        ("empty", 500, "", &[], "the body (0 bytes) is not an error of the API; perhaps a gateway answered", false),
        ("redirect", 302, "", &[], "redirects are not followed: correct the URL", false),
        ("a list", 500, "[]", &[], "the body (2 bytes) is not an error of the API; perhaps a gateway answered", false),
        (
            "nested too deep",
            500,
            deep.as_str(),
            &[],
            "the body (10000 bytes) is not an error of the API; perhaps a gateway answered",
            false,
        ),
        (
            "a value that was sent",
            400,
            r#"{"message":"bad canary-value","errors":[{"code":"canary-value"},{"code":"General"}]}"#,
            &["General"],
            "bad ***",
            false,
        ),
    ] {
        let expected = Refusal {
            codes: codes.iter().map(|code| ErrorCode::from(*code)).collect(),
            message: message.into(),
            absent,
        };
        assert_eq!(read(status, body.as_bytes()), expected, "{case}");
    }
}

#[test]
fn a_body_that_is_not_text_is_survived() {
    assert_eq!(read(500, b"\xff\xfe{}").codes, []);
}

#[test]
fn every_code_of_the_contract_is_read() {
    for code in ErrorCode::KNOWN {
        let body = format!(r#"{{"statusCode":400,"message":"m","errors":[{{"code":"{code}","message":"m"}}]}}"#);
        let read = read(400, body.as_bytes()).codes;
        assert!(matches!(&read[..], [one] if one.as_str() == *code && !matches!(one, ErrorCode::Other(_))), "{code}");
    }
}

#[test]
fn texts_and_lists_of_errors_are_bounded() {
    let error = format!(r#"{{"code":"{}","message":"{}"}}"#, "c".repeat(200), "m".repeat(5000));
    let body = format!(r#"{{"errors":[{}]}}"#, vec![error; 5000].join(","));
    let read = read(400, body.as_bytes());
    assert_eq!((read.codes.len(), read.message.len()), (0, crate::connect::mask::LONGEST_TEXT));
}

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| ((*name).try_into().expect("name"), value.parse().expect("value"))).collect()
}

#[test]
fn retry_after_is_read_as_seconds_and_as_a_date_that_is_measured_from_the_answers_date() {
    let now = "2026-01-01T00:00:00Z".parse().expect("a time");
    let at = "Thu, 01 Jan 2026 00:00:30 GMT";
    for (case, pairs, expected) in [
        ("none", &[][..], None),
        ("seconds", &[("retry-after", "7")][..], Some(7)),
        ("zero", &[("retry-after", "0")], Some(0)),
        ("bounded", &[("retry-after", "86400")], Some(3600)),
        ("beyond every number", &[("retry-after", "99999999999999999999999")], Some(3600)),
        ("negative", &[("retry-after", "-1")], None),
        ("not a time", &[("retry-after", "soon")], None),
        ("empty", &[("retry-after", "")], None),
        ("date", &[("retry-after", at)], Some(30)),
        (
            "date, by the date of the answer",
            &[("retry-after", at), ("date", "Thu, 01 Jan 2026 00:00:10 GMT")],
            Some(20),
        ),
        ("date, the answer's date is no date", &[("retry-after", at), ("date", "today")], Some(30)),
        ("date that is over", &[("retry-after", "Wed, 31 Dec 2025 23:59:59 GMT")], Some(0)),
        ("date far away", &[("retry-after", "Fri, 01 Jan 2027 00:00:00 GMT")], Some(3600)),
    ] {
        assert_eq!(retry_after(&headers(pairs), now), expected.map(Duration::from_secs), "{case}");
    }
}

#[test]
fn correlation_ids_are_bounded_printable_and_never_a_value() {
    let long = "a".repeat(1000);
    for (case, came, expected) in [
        ("the answer's own", Some("projects-1-2"), "projects-1-2"),
        ("none", None, "sent"),
        ("empty", Some(""), "sent"),
        ("blanks", Some("a b\tc"), "abc"),
        ("long", Some(long.as_str()), &long[..LONGEST_WORD]),
        ("a value", Some("x-canary-value"), "sent"),
    ] {
        let headers = came.map(|id| headers(&[("x-correlation-id", id)])).unwrap_or_default();
        assert_eq!(correlation_id(&headers, "sent", || Masker::new(["canary-value"])), expected, "{case}");
    }
}
