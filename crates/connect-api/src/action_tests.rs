//! Tables of hosts, paths and headers of actions.

use serde_json::json;
use serde_json::value::to_raw_value;

use super::*;
use crate::hosts::AllowedHosts;
use crate::testing::rows;

fn endpoint(url: &str) -> Endpoint {
    AllowedHosts::parse(["http://127.0.0.1:*", "*.service.live"]).expect("patterns").endpoint(url).expect("allowed")
}

fn local() -> Endpoint {
    endpoint("http://127.0.0.1:8787/")
}

fn action() -> Action {
    Action {
        namespace: "cart".into(),
        name: "addToCart".into(),
        method: ActionMethod::Post(to_raw_value(&json!({"variant": {"sku": "A1", "count": 1}})).expect("JSON")),
        query: Vec::new(),
        locale: "en-GB".into(),
        extension_version: "1.4.0".into(),
        page_path: None,
        headers: Vec::new(),
    }
}

fn extra(name: &str, value: &str) -> ExtraHeader {
    ExtraHeader { name: name.into(), value: value.into(), is_masked: true }
}

#[test]
fn each_preset_has_its_operations_and_one_has_a_page() {
    let read = Action { method: ActionMethod::Get, ..action() };
    let put = Action { method: ActionMethod::Put(to_raw_value(&7).expect("JSON")), ..action() };
    for (preset, action, operation) in [
        (Preset::SERVICE, &action(), "writeActionPost"),
        (Preset::SERVICE, &read, "readAction"),
        (Preset::FRONTASTIC, &action(), "writeFrontasticActionPost"),
        (Preset::FRONTASTIC, &put, "writeFrontasticActionPut"),
    ] {
        assert_eq!(action.operation(&preset), operation);
    }
    let page = Action { page_path: Some("/cart".into()), ..action() };
    let request = page.request(&Preset::FRONTASTIC, &local()).expect("it is right");
    assert_eq!(request.headers["frontastic-path"], "/cart");
}

#[test]
fn namespace_and_name_stay_in_their_segments_and_the_query_in_its_place() {
    for (namespace, name, expected) in [
        ("cart", "addToCart", Some("/service/action/cart/addToCart")),
        ("cart.v2", "a b", Some("/service/action/cart%2Ev2/a%20b")),
        ("../../admin", "x?y=1#z", Some("/service/action/%2E%2E%2F%2E%2E%2Fadmin/x%3Fy%3D1%23z")),
        ("%2e%2e", "@evil", Some("/service/action/%252e%252e/%40evil")),
        ("", "addToCart", None),
        ("cart", "", None),
        ("..", "addToCart", None),
        ("cart", "..", None),
        ("cart", ".", None),
    ] {
        let action = Action {
            namespace: namespace.into(),
            name: name.into(),
            query: vec![("list[0]".into(), "a&b".into()), ("q".into(), "1".into()), ("q".into(), "2".into())],
            ..action()
        };
        let request = action.request(&Preset::SERVICE, &local());
        let url = request.ok().map(|request| request.url);
        assert_eq!(url.as_ref().map(Url::path), expected, "{namespace}/{name}");
        if let Some(url) = url {
            assert_eq!(url.query(), Some("list%5B0%5D=a%26b&q=1&q=2"));
            assert_eq!(url.origin(), local().url().origin());
        }
    }
}

#[test]
fn extra_headers_are_sensitive_and_cannot_take_the_place_of_others() {
    let with = |headers: &[(&str, &str)]| Action {
        headers: headers.iter().map(|(name, value)| extra(name, value)).collect(),
        ..action()
    };
    let fine = with(&[("Cookie", "a=secret-1"), ("X-Key", "sécret"), ("X-Key", "two"), ("Authorization", "Bearer t")]);
    let request = fine.request(&Preset::SERVICE, &local()).expect("all of them are fine");
    assert_eq!(request.headers.get_all("x-key").iter().count(), 2);
    assert_eq!(request.headers["cookie"], "a=secret-1");
    assert!(["cookie", "x-key", "authorization"].iter().all(|name| request.headers[*name].is_sensitive()));
    assert_eq!(fine.masker().mask("got a=secret-1"), "got ***");
    assert!(!format!("{fine:?} {request:?}").contains("secret"));

    let table = "
        the locale | Service-Locale | de | header `service-locale` cannot be set
        the locale of the other | Frontastic-Locale | de |
        the host | HOST | evil.com | header `host` cannot be set
        the length | Content-Length | 0 | header `content-length` cannot be set
        the type | content-type | text/plain | header `content-type` cannot be set
        the connection | TE | chunked | header `te` cannot be set
        the encoding | Transfer-Encoding | chunked | header `transfer-encoding` cannot be set
        a proxy's | Proxy-Authorization | x | header `proxy-authorization` cannot be set
        no name | | x | `` cannot be the name of a header
        a name with a blank | a b | x | `a b` cannot be the name of a header
        a line break | Cookie | canary\\nx | the value of header `cookie` is empty or
        a line feed at the end | Cookie | canary\\n | the value of header `cookie` is empty or
        empty | Cookie | | the value of header `cookie` is empty or has a line break
    ";
    let page = ["the page", "Frontastic-Path", "/x", "header `frontastic-path` cannot be set"].map(str::to_owned);
    let rows = rows(table).into_iter().map(|row| (Preset::SERVICE, row)).chain([(Preset::FRONTASTIC, page)]);
    for (preset, [case, name, value, expected]) in rows {
        let refused = with(&[(&name, &value)]).request(&preset, &local()).err().map(|error| error.to_string());
        let refused = refused.unwrap_or_default();
        assert_eq!(refused.is_empty(), expected.is_empty(), "{case}: {refused}");
        assert!(refused.starts_with(&expected) && !refused.contains("canary"), "{case}: {refused}");
    }
}

#[test]
fn what_a_header_cannot_carry_is_refused_with_its_name() {
    type Change = fn(&mut Action);
    let rows: [(&str, Preset, Change, &str); 6] = [
        ("no locale", Preset::SERVICE, |it| it.locale.clear(), "the locale is empty or"),
        ("two lines", Preset::SERVICE, |it| it.locale = "en\r\nx: y".into(), "the locale is empty or"),
        ("letters", Preset::SERVICE, |it| it.extension_version = "größer".into(), "the extension version is empty or"),
        ("a page", Preset::SERVICE, |it| it.page_path = Some("/".into()), "calls of this kind have no page path"),
        ("no path", Preset::FRONTASTIC, |it| it.page_path = Some("cart".into()), "the page path must start"),
        ("a path", Preset::FRONTASTIC, |it| it.page_path = Some("/tür".into()), "the page path is empty or"),
    ];
    for (case, preset, change, expected) in rows {
        let mut action = action();
        change(&mut action);
        let refused = action.request(&preset, &local()).map(drop).expect_err(case).to_string();
        assert!(refused.starts_with(expected), "{case}: {refused}");
    }
    // Spellings that the official frontend client sends.
    for locale in ["en", "en_US", "en_US@EUR", "zh-Hans-SG"] {
        let action = Action { locale: locale.into(), ..action() };
        let request = action.request(&Preset::SERVICE, &endpoint("https://shop-example.service.live")).expect(locale);
        assert_eq!(request.headers["service-locale"], locale);
    }
}
