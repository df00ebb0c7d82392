//! Applications under development behind the address of a record; and the login of the official command line client.

use axum::Router;
use axum::extract::Request;
use axum::response::IntoResponse as _;
use dev_server::parse_application;

use super::*;

/// Starts a process that answers with the request that it received. Returns its address.
async fn process() -> String {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("a bound address");
    let router = Router::new().fallback(|request: Request| async move {
        let (parts, body) = request.into_parts();
        if parts.uri.path() == "/large" {
            return vec![b' '; 17 * 1024 * 1024].into_response();
        }
        let body = axum::body::to_bytes(body, usize::MAX).await.expect("a whole body");
        let mine = parts.headers.get("x-mine").and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned();
        let text = format!("{} {} {mine} {}", parts.method, parts.uri, String::from_utf8_lossy(&body));
        (StatusCode::IM_A_TEAPOT, [("x-theirs", "yes")], text).into_response()
    });
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

#[tokio::test]
async fn the_address_of_a_record_leads_to_the_process_under_development() {
    let target = process().await;
    let (nobody, _held) = crate::addresses::closed();
    let named = [format!("intake={target}"), format!("order-events={target}"), format!("nobody=http://{nobody}")];
    let applications = named.iter().map(|text| parse_application(text).expect("the address is local")).collect();
    let caller = Caller::new(Options { applications, ..Options::default() }).await;
    let (status, created) = caller.post("/demo/deployments", &pipeline("pipe")).await;
    assert_eq!((status, &created["applications"][0]["url"]), (StatusCode::CREATED, &Value::Null));
    caller.step(5);
    let (_, read) = caller.get("/demo/deployments/key=pipe").await;
    let base = format!("{}/_applications", caller.server.url());
    assert_eq!(read["applications"][0]["url"], format!("{base}/intake/intake"), "with the endpoint of connect.yaml");
    assert_eq!(read["applications"][1]["url"], Value::Null, "an event application has no address, named or not");

    let url = format!("{}/orders?a=1&b=%20", read["applications"][0]["url"].as_str().expect("it is live"));
    let answer = caller.http.put(url).header("X-Mine", "one").body("body").send().await.expect("it answers");
    assert_eq!((answer.status(), &answer.headers()["x-theirs"]), (StatusCode::IM_A_TEAPOT, &"yes".parse().unwrap()));
    assert_eq!(answer.text().await.expect("it is whole"), "PUT /intake/orders?a=1&b=%20 one body");

    for (case, path, status) in [
        ("nobody listens", "/nobody/x", StatusCode::BAD_GATEWAY),
        ("another name", "/nightly-export", StatusCode::NOT_FOUND),
        ("an answer that is too long", "/intake/large", StatusCode::BAD_GATEWAY),
    ] {
        let answer = caller.http.get(format!("{base}{path}")).send().await.expect("it answers");
        assert_eq!(answer.status(), status, "{case}");
    }
}

#[tokio::test]
async fn the_login_of_the_command_line_client_works_and_another_one_is_kept() {
    let home = tempfile::tempdir().expect("there is room");
    let file = home.path().join(".commercetools/credentials");
    let options = Options { cli_credentials: Some(home.path().to_owned()), ..Options::default() };
    for _ in 0..2 {
        let mut caller = Caller::new(options.clone()).await;
        let written: Value =
            serde_json::from_slice(&std::fs::read(&file).expect("it was written")).expect("it is JSON");
        assert_eq!((&written["clientId"], &written["projectKey"]), (&json!("dev-client"), &json!("demo")));
        caller.token = written["accessToken"].as_str().expect("a token").to_owned();
        assert_eq!(caller.get("/demo/deployments").await.0, StatusCode::OK);
    }
    let other = r#"{"clientId": "somebody"}"#;
    std::fs::write(&file, other).expect("it can be written");
    let error = DevServer::start(options, Clock::system()).await.expect_err("the file belongs to another login");
    assert!(error.to_string().contains("another login"), "{error}");
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), other);
}
