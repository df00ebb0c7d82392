//! Frontend actions (contract section 11), also as the official client calls them.

use dev_server::ActionFile;
use reqwest::header::HeaderMap;

use super::*;
use crate::prelude::*;

const SERVICE: [(&str, &str); 3] =
    [("Accept", "application/json"), ("Service-Locale", "en-GB"), ("Service-Frontend-Extension-Version", "1.4.0")];
/// The headers of the official client: no page path, and a locale with a currency.
const OFFICIAL: [(&str, &str); 6] = [
    ("Accept", "application/json"),
    ("Content-Type", "application/json"),
    ("Frontastic-Locale", "en_US@EUR"),
    ("Frontastic-Currency", "USD"),
    ("X-Frontastic-Access-Token", "APIKEY"),
    ("Commercetools-Frontend-Extension-Version", "1.0.0"),
];

struct Answered {
    status: u16,
    headers: HeaderMap,
    body: Value,
}

async fn server(options: Options) -> Caller {
    Caller::new(options).await
}

async fn ask(caller: &Caller, method: Method, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answered {
    let mut request = caller.http.request(method, format!("{}{path}", caller.server.url()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    if let Some(body) = body {
        request = request.body(body.to_owned());
    }
    let answer = request.send().await.expect("it answers");
    let (status, headers) = (answer.status().as_u16(), answer.headers().clone());
    let (_, body) = whole(answer).await;
    Answered { status, headers, body }
}

fn session(answered: &Answered) -> String {
    answered.headers["Frontastic-Session"].to_str().expect("it is text").to_owned()
}

#[tokio::test]
async fn a_cart_adds_up_over_http() {
    let caller = server(Options::default()).await;
    let (add, get) = ("/service/action/cart/addToCart", "/service/action/cart/getCart");
    let one = r#"{"variant": {"sku": "A1", "count": 1}}"#;
    let first = ask(&caller, Method::POST, add, &SERVICE, Some(one)).await;
    assert_eq!(first.status, 200, "{}", first.body);
    let id = session(&first);
    assert_eq!(first.body["cartId"], json!(id));
    let by_query = format!("{add}?cartId={id}");
    let two = r#"{"variant": {"sku": "B2", "count": 2}}"#;
    let second = ask(&caller, Method::PUT, &by_query, &SERVICE, Some(two)).await;
    let cents = |value: &Value| value["centAmount"].as_u64().expect("an amount");
    let prices: Vec<_> =
        second.body["lineItems"].as_array().expect("a list").iter().map(|i| cents(&i["price"])).collect();
    assert_eq!(cents(&second.body["sum"]), prices[0] + 2 * prices[1]);

    let mut with_session = SERVICE.to_vec();
    with_session.push(("Frontastic-Session", &id));
    let read = ask(&caller, Method::GET, get, &with_session, None).await;
    assert_eq!((read.status, &read.body), (200, &second.body), "reading changes nothing");
    let nobody = ask(&caller, Method::GET, get, &SERVICE, None).await;
    assert_eq!((nobody.status, &nobody.body["lineItems"]), (200, &json!([])), "a new session has an empty cart");
    let gone = ask(&caller, Method::GET, &format!("{get}?cartId=none"), &SERVICE, None).await;
    assert_eq!((gone.status, &gone.body["ok"]), (404, &json!(false)));
    assert_eq!(caller.server.counts()["writeActionPost"], 1);
    assert_eq!(caller.server.counts()["readAction"], 3);
    caller.server.reset();
    let read = ask(&caller, Method::GET, get, &with_session, None).await;
    assert_eq!(read.body["lineItems"], json!([]), "a reset removes the carts");
}

#[tokio::test]
async fn calls_of_the_official_client_are_accepted() {
    let caller = server(Options::default()).await;
    let path = "/frontastic/action/cart/addToCart?list[0]=a&list[1]=b";
    let added = ask(&caller, Method::POST, path, &OFFICIAL, Some(r#"{"variant": {"sku": "A1", "count": 1}}"#)).await;
    assert_eq!((added.status, &added.body["sum"]["currencyCode"]), (200, &json!("USD")), "{}", added.body);
    assert!(added.headers.contains_key("Frontastic-Request-Id"));
    let id = session(&added);
    let mut again = OFFICIAL.to_vec();
    again.extend([("Frontastic-Session", id.as_str()), ("coFE-Custom-Configuration", "x")]);
    let more = ask(&caller, Method::POST, path, &again, Some(r#"{"variant": {"sku": "A1", "count": 2}}"#)).await;
    assert_eq!((session(&more), &more.body["lineItems"][0]["count"]), (id, &json!(3)));
    let empty = ask(&caller, Method::POST, path, &OFFICIAL, Some("{}")).await;
    assert_eq!((empty.status, members(&empty.body)), (400, vec!["message", "ok"]), "it has nothing to add");
    let mut locale = OFFICIAL.to_vec();
    locale[2].1 = "en_US";
    locale.push(("Frontastic-Path", "/cart"));
    let with_path = ask(&caller, Method::GET, "/frontastic/action/cart/getCart", &locale, None).await;
    assert_eq!(with_path.status, 200);
}

#[tokio::test]
async fn wrong_requests_are_answered_as_action_errors() {
    let caller = server(Options::default()).await;
    let (add, other_add) = ("/service/action/cart/addToCart", "/frontastic/action/cart/addToCart");
    let of_page = [OFFICIAL.as_slice(), &[("Frontastic-Path", "cart")]].concat();
    let without = |missing: usize| -> Vec<(&str, &str)> {
        SERVICE.iter().enumerate().filter(|(at, _)| *at != missing).map(|(_, header)| *header).collect()
    };
    let of_locale = |locale| [SERVICE[0], ("Service-Locale", locale), SERVICE[2]].to_vec();
    let all = SERVICE.to_vec();
    for (case, method, path, headers, body, status, expected) in [
        ("unknown action", Method::POST, "/service/action/cart/none", all.clone(), Some("{}"), 400, "cart/none"),
        ("unknown namespace", Method::GET, "/service/action/tax/getCart", all.clone(), None, 400, "tax/getCart"),
        ("no locale", Method::POST, add, without(1), Some("{}"), 400, "service-locale"),
        ("no version", Method::POST, add, without(2), Some("{}"), 400, "service-frontend-extension-version"),
        ("no headers of this prefix", Method::POST, other_add, all.clone(), None, 400, "frontastic-locale"),
        ("an empty locale", Method::POST, add, of_locale(""), Some("{}"), 400, "service-locale"),
        ("no locale at all", Method::POST, add, of_locale("not a locale"), Some("{}"), 400, "service-locale"),
        ("an invalid page path", Method::GET, "/frontastic/action/cart/getCart", of_page, None, 400, "frontastic-path"),
        ("not JSON", Method::POST, add, all.clone(), Some("<html>"), 400, "JSON"),
        ("no body", Method::PUT, add, all.clone(), None, 400, "variant"),
        ("a list", Method::POST, add, all.clone(), Some("[]"), 400, "variant"),
        ("reading by a write", Method::POST, "/service/action/cart/getCart", all.clone(), Some("{}"), 405, "GET"),
        ("writing by a read", Method::GET, add, all.clone(), None, 405, "POST, PUT"),
        ("a method that actions do not have", Method::DELETE, add, all, None, 405, "GET, POST, PUT"),
    ] {
        let answered = ask(&caller, method, path, &headers, body).await;
        assert_eq!((answered.status, members(&answered.body)), (status, vec!["message", "ok"]), "{case}");
        assert_eq!(answered.body["ok"], json!(false), "{case}");
        let message = answered.body["message"].as_str().expect(case);
        assert!(message.contains(expected), "{case}: {message}");
        assert_eq!(answered.headers.contains_key("Allow"), status == 405, "{case}");
    }
    let mut html = SERVICE.to_vec();
    html[0].1 = "text/html";
    let answered = ask(&caller, Method::GET, "/service/action/cart/getCart", &html, None).await;
    assert_eq!(answered.status, 400);
    assert!(answered.body["message"].as_str().expect("a text").contains("Accept"));
}

#[tokio::test]
async fn actions_of_a_file_answer_with_status_headers_and_a_filled_body() {
    let file = r#"
actions:
- namespace: tax
  name: rate
  methods: [GET, POST]
  status: 203
  headers: {Cache-Control: no-store}
  body: {list: "{{query.list}}", sku: "{{body.variant.sku}}", text: "{{method}} in {{locale}}"}
- {namespace: tax, name: page, headers: {Content-Type: text/html}, text: "<html>"}
- {namespace: cart, name: getCart, body: {mine: true}}
"#;
    let actions = ActionFile::parse(file).expect(file);
    let caller = server(Options { actions, ..Options::default() }).await;
    let path = "/service/action/tax/rate?list[0]=a&list[1]=b";
    let answered = ask(&caller, Method::POST, path, &SERVICE, Some(r#"{"variant": {"sku": "A1"}}"#)).await;
    assert_eq!(answered.status, 203);
    assert_eq!(answered.headers["Cache-Control"], "no-store");
    assert_eq!(answered.body, json!({"list": ["a", "b"], "sku": "A1", "text": "POST in en-GB"}));
    let wrong = ask(&caller, Method::PUT, path, &SERVICE, Some("{}")).await;
    assert_eq!((wrong.status, wrong.headers["Allow"].to_str().ok()), (405, Some("GET, POST")));
    let replaced = ask(&caller, Method::GET, "/service/action/cart/getCart", &SERVICE, None).await;
    assert_eq!(replaced.body, json!({"mine": true}));
    let page = caller.http.get(format!("{}/service/action/tax/page", caller.server.url()));
    let page = SERVICE.iter().fold(page, |page, (name, value)| page.header(*name, *value)).send().await;
    let page = page.expect("it answers");
    assert_eq!(page.headers()["Content-Type"], "text/html");
    assert_eq!(page.text().await.expect("whole"), "<html>");
}

#[tokio::test]
async fn faults_make_calls_of_actions_fail() {
    let caller = server(Options::default()).await;
    let answer = FaultAnswer { status: Some(503), ..FaultAnswer::default() };
    let fault = Fault { operation: Some("readAction".into()), count: Some(1), answer, ..Fault::default() };
    caller.server.fault(fault).expect("the fault is valid");
    let get = "/service/action/cart/getCart";
    assert_eq!(ask(&caller, Method::GET, get, &SERVICE, None).await.status, 503);
    assert_eq!(ask(&caller, Method::GET, get, &SERVICE, None).await.status, 200);
}
