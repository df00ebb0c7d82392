//! Tables of [`super`].

use serde_json::json;

use super::*;
use crate::model::Deployment;
use crate::testing::rows;

fn read(status: u16, body: &[u8]) -> Refusal {
    refusal(StatusCode::from_u16(status).expect("a status"), body, true, &Masker::new(["canary-value"]))
}

#[test]
fn errors_in_json_are_read_member_by_member_and_the_listed_codes_come_first() {
    for [case, status, body, codes, message] in rows(
        r#"
        of the API | 400 | {"errors":[{"code":"General","message":"m","detailedErrorMessage":"d"}]} | General | m; d
        unknown | 400 | {"errors":[{"code":"New","message":"a"},{"code":"General","message":"b"}]} | General New | a; b
        not found | 404 | {"errors":[{"code":"ResourceNotFound","message":"n"}]} | ResourceNotFound | n
        not found, without codes | 404 | {"statusCode":404,"message":"n"} | ResourceNotFound | n
        not found, errors null | 404 | {"statusCode":404,"message":null,"errors":null} | ResourceNotFound |
        other 404 | 404 | {"statusCode":404,"errors":[{"code":"InvalidPathParam"}]} | InvalidPathParam |
        404 of a gateway in JSON | 404 | {"message":"no route"} | | no route
        its code, another status | 400 | {"errors":[{"code":"ResourceNotFound"}]} | ResourceNotFound |
        odd entries | 400 | {"message":"m","errors":[{"message":"x"},null,7,{"code":null},{"code":7},[]]} | | x
        errors of another type | 400 | {"message":"m","errors":{"code":"General"}} | | m
        undeclared 401 | 401 | {"errors":[{"code":"bad_token","message":"t"}],"error":"bad_token"} | bad_token | t
        of a token endpoint | 401 | {"error":"invalid_client","error_description":"who?"} | | who?
        sent | 400 | {"message":"canary-value","errors":[{"code":"canary-value"},{"code":"General"}]} | General | ***
        "#,
    ) {
        let status = status.parse().expect("a number");
        let codes = codes.split_whitespace().map(ErrorCode::from).collect();
        let expected = Refusal { codes, message };
        assert_eq!(read(status, body.as_bytes()), expected, "{case}");
        let status = StatusCode::from_u16(status).expect("a status");
        let of_a_change = refusal(status, body.as_bytes(), false, &Masker::new(["canary-value"]));
        assert!(
            body.contains("ResourceNotFound") || !of_a_change.codes.contains(&ErrorCode::ResourceNotFound),
            "{case}"
        );
    }
}

#[test]
fn other_bodies_of_errors_are_neither_repeated_nor_believed() {
    let deep = "[".repeat(10_000);
    let gateway =
        |bytes: usize| format!("the body ({bytes} bytes) is not an error of the API; perhaps a gateway answered");
    for (case, status, body, message) in [
        ("HTML", 404, &b"<html>not found</html>"[..], gateway(22)),
        ("empty", 500, b"", gateway(0)),
        ("a list", 500, b"[]", gateway(2)),
        ("nested too deep", 500, deep.as_bytes(), gateway(10_000)),
        ("not UTF-8", 500, b"{\"message\":\"\xff\"}", gateway(15)),
        ("redirect", 302, b"", "redirects are not followed: correct the URL".to_owned()),
    ] {
        let expected = Refusal { codes: Vec::new(), message };
        assert_eq!(read(status, body), expected, "{case}");
    }
}

#[test]
fn texts_and_lists_of_errors_are_bounded() {
    let error = format!(r#"{{"code":"{}","message":"{}"}}"#, "c".repeat(200), "m".repeat(5000));
    let body = format!(r#"{{"errors":[{}]}}"#, vec![error; 5000].join(","));
    let read = read(400, body.as_bytes());
    assert_eq!((read.codes.len(), read.message.len()), (0, crate::mask::LONGEST_TEXT));
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

#[test]
fn lives_of_tokens_are_read_leniently_and_bounded() {
    for (case, expires_in, seconds) in [
        ("as in the standard", Some(json!(3600)), 3600),
        ("a fraction", Some(json!(100.0)), 100),
        ("missing", None, 3600),
        ("null", Some(json!(null)), 3600),
        ("not a number", Some(json!("soon")), 3600),
        ("zero", Some(json!(0)), 10),
        ("negative", Some(json!(-5)), 10),
        ("beyond every number", Some(json!(1e300)), 3600),
        ("years", Some(json!(1_000_000_000)), 30 * 24 * 3600),
    ] {
        assert_eq!(life(expires_in.as_ref()), Duration::from_secs(seconds), "{case}");
    }
}

#[test]
fn credentials_are_wrong_only_if_a_token_endpoint_refuses_them() {
    for (case, status, body, refused) in [
        ("the standard's", 400, r#"{"error":"invalid_client"}"#, true),
        ("a scope that it may not have", 400, r#"{"error":"invalid_scope","error_description":"no"}"#, true),
        ("a 401 without a body", 401, "", true),
        ("a page of a gateway", 400, "<html>bad request</html>", false),
        ("an error of something else", 400, r#"{"message":"bad request"}"#, false),
        ("an error of another type", 400, r#"{"error":{"code":1}}"#, false),
        ("broken", 503, r#"{"error":"temporarily_unavailable"}"#, false),
        ("forbidden by something in between", 403, r#"{"error":"denied"}"#, false),
    ] {
        let status = StatusCode::from_u16(status).expect("a status");
        assert_eq!(refuses_a_grant(status, body.as_bytes()), refused, "{case}");
    }
}

/// Returns a body of a little more than a megabyte: `open`, as many copies of `item` as fit, and `close`.
fn filled(open: &str, item: &str, close: &str) -> Vec<u8> {
    let count = (1 << 20) / (item.len() + 1);
    [open, &vec![item; count].join(","), close].concat().into_bytes()
}

/// The number of records of a page, and how many were left out.
type Counts = (usize, usize);

fn listed(body: &[u8]) -> Counts {
    let (page, left_out) = paged::<Deployment>(body).expect("a page");
    (page.results.len(), left_out)
}

#[test]
fn a_page_needs_little_more_memory_than_its_text() {
    let record = r#"{"id":"","version":1,"status":"Deployed"}"#;
    let report = r#"{"results":[{"id":"","version":1,"status":"Failed","details":{"build":{"report":{"entries":["#;
    let revision = r#"{"results":[{"id":"","version":1,"status":"Failed","rollbackRevision":["#;
    for (case, body, kept) in [
        ("many small records", filled(r#"{"results":["#, record, "]}"), usize::from(LARGEST_PAGE)),
        ("nothing that is a record", filled(r#"{"results":["#, "0", "]}"), 0),
        ("a record with a large report", filled(report, "{}", "]}}}}]}"), 1),
        ("a record with a large revision", filled(revision, "0", "]}]}"), 1),
    ] {
        let mut counts = (0, 0);
        let used = allocation_counter::measure(|| counts = listed(&body)).bytes_max;
        assert_eq!(counts.0, kept, "{case}");
        assert!(used < 2 * (1 << 20), "{case}: {used} bytes for a body of {}", body.len());
    }
}

#[test]
fn records_beyond_the_largest_page_are_counted_as_left_out() {
    let record = r#"{"id":"","version":1,"status":"Deployed"},"#;
    let page = |count: usize| format!(r#"{{"results":[{}7]}}"#, record.repeat(count)).into_bytes();
    let most = usize::from(LARGEST_PAGE);
    assert_eq!(listed(&page(3)), (3, 1), "one is no record");
    assert_eq!(listed(&page(most)), (most, 1));
    assert_eq!(listed(&page(most + 2)), (most, 3));
}
