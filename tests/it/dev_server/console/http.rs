//! The console over HTTP: who gets it, and what it contains.

use super::*;

#[tokio::test]
async fn browsers_get_the_page_and_others_what_the_api_answers() {
    let caller = Caller::new(Options::default()).await;
    let url = format!("{}/", caller.server.url());
    for (case, method, accept, expected) in [
        ("a browser", Method::GET, "text/html,application/xhtml+xml,*/*;q=0.8", 200),
        ("curl", Method::GET, "*/*", 404),
        ("a client of the API", Method::GET, "application/json", 404),
        ("a form", Method::POST, "text/html", 404),
    ] {
        let answer = caller.http.request(method, &url).header("Accept", accept).send().await.expect("it answers");
        assert_eq!(answer.status().as_u16(), expected, "{case}");
        if expected == 404 {
            assert_eq!(whole(answer).await.1["errors"][0]["code"], "ResourceNotFound", "{case}");
            continue;
        }
        assert_eq!(answer.headers()["vary"], "accept");
        assert!(answer.text().await.expect("it is text").starts_with("<!doctype html>"));
    }
    let operations: Vec<_> = caller.server.calls().iter().map(|call| call.operation).collect();
    assert_eq!(operations, ["token", "none", "none", "none"], "requests of the console are not counted");
}

#[tokio::test]
async fn every_response_of_the_console_is_protected() {
    let caller = Caller::new(Options::default()).await;
    let (_, created) = caller.post("/demo/deployments", &draft("tax")).await;
    let logs = format!("/_console/logs/{}", created["id"].as_str().expect("it is a string"));
    for (path, media_type) in [
        ("/", "text/html; charset=utf-8"),
        ("/_console/console.js", "text/javascript; charset=utf-8"),
        ("/_console/console.css", "text/css; charset=utf-8"),
        ("/_console/icon.svg", "image/svg+xml"),
        ("/_console/state", "application/json; charset=utf-8"),
        (&logs, "application/json; charset=utf-8"),
    ] {
        let url = format!("{}{path}", caller.server.url());
        let answer = caller.http.get(url).header("Accept", "text/html").send().await.expect("it answers");
        assert_eq!(answer.status(), StatusCode::OK, "{path}");
        let header = |name: &str| answer.headers()[name].to_str().expect("it is text").to_owned();
        assert_eq!(header("content-type"), media_type, "{path}");
        assert_eq!(header("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(header("cache-control"), "no-store", "{path}");
        assert_eq!(header("cross-origin-resource-policy"), "same-origin", "{path}");
        let policy = header("content-security-policy");
        for part in ["default-src 'none'", "script-src 'self'", "style-src 'self'", "frame-ancestors 'none'"] {
            assert!(policy.split("; ").any(|found| found == part), "{path}: {policy}");
        }
    }
    assert_eq!(caller.get("/_console/logs/nothing").await, (StatusCode::OK, json!({"lines": []})));
}

#[tokio::test]
async fn the_state_is_bounded_and_has_no_values_and_no_tokens() {
    let caller = Caller::new(Options::default()).await;
    for number in 0..201 {
        let (status, _) = caller.post("/demo/deployments", &draft(&format!("tax-{number}"))).await;
        assert_eq!(status, StatusCode::CREATED);
    }
    let (status, state) = caller.get("/_console/state").await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(state["control"], false);
    let deployments = &state["deployments"];
    assert_eq!((&deployments["total"], deployments["items"].as_array().map(Vec::len)), (&json!(201), Some(200)));
    let newest = &deployments["items"][0];
    assert_eq!(newest["key"], json!("tax-200"));
    assert_eq!(newest["project"], json!("demo"));
    assert_eq!(newest["status"], json!("Deploying"));
    let calls = state["calls"].as_array().expect("it is a list");
    assert_eq!(calls.len(), 100);
    let expected = ["at", "correlationId", "durationMs", "method", "operation", "path", "status", "userAgent"];
    assert_eq!(members(&calls[0]), expected);
    assert_eq!((&calls[0]["path"], &calls[0]["status"]), (&json!("/demo/deployments"), &json!(201)));
    let text = state.to_string();
    for absent in ["canary-41", "LOG_LEVEL", "API_TOKEN", &caller.token, "dev-secret"] {
        assert!(!text.contains(absent), "{absent}");
    }
}
