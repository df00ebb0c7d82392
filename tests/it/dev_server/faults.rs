//! Faults and `/_dev` (design section 6).

use std::error::Error as _;

use dev_server::{Fault, FaultAnswer};

use super::*;

#[tokio::test]
async fn faults_hit_before_or_after_the_effect() {
    let caller = Caller::new(Options::default()).await;
    let failing = Fault::of("createDeployment", FaultAnswer::error(500, "General")).times(1);
    caller.server.fault(failing.clone()).expect("it can work");
    let (status, body) = caller.post("/demo/deployments", &draft("before")).await;
    assert_eq!((status.as_u16(), &body["errors"][0]["code"]), (500, &json!("General")));
    assert_eq!(caller.get("/demo/deployments/key=before").await.0, StatusCode::NOT_FOUND);
    caller.server.fault(failing.after_the_effect()).expect("it can work");
    assert_eq!(caller.post("/demo/deployments", &draft("after")).await.0.as_u16(), 500);
    assert_eq!(caller.get("/demo/deployments/key=after").await.0, StatusCode::OK);
    assert_eq!(caller.post("/demo/deployments", &draft("once")).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn faults_give_the_configured_answers() {
    let caller = Caller::new(Options::default()).await;
    let list = |answer: FaultAnswer| Fault::of("queryDeployments", answer).times(1);
    let send = async |answer: FaultAnswer| {
        caller.server.fault(list(answer)).expect("it can work");
        caller.send(Method::GET, "/demo/deployments", None).await
    };
    let throttled = send(FaultAnswer::text(429, "slow down").with_header("Retry-After", "7")).await;
    assert_eq!((throttled.status().as_u16(), &throttled.headers()["retry-after"]), (429, &"7".parse().expect("text")));
    let html = send(FaultAnswer::text(502, "<html>")).await;
    assert_eq!(html.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(html.text().await.expect("it is whole"), "<html>");
    let long = send(FaultAnswer { status: Some(200), body_bytes: Some(100_000), ..FaultAnswer::default() }).await;
    assert_eq!(long.bytes().await.expect("it is whole").len(), 100_000);
    let mut endless = send(FaultAnswer { status: Some(200), endless: true, ..FaultAnswer::default() }).await;
    for _ in 0..3 {
        assert!(endless.chunk().await.expect("it goes on").is_some());
    }
    let late = send(FaultAnswer { delay_ms: 1, ..FaultAnswer::default() }).await;
    assert_eq!(late.status(), StatusCode::OK);
    let other = send(FaultAnswer::with_the_right_body(206).with_header("Content-Type", "text/plain")).await;
    assert_eq!(
        (other.status().as_u16(), &other.headers()["content-type"]),
        (206, &"text/plain".parse().expect("text"))
    );
    assert!(other.text().await.expect("it is whole").starts_with('{'));
    let cut = send(FaultAnswer { cut_at: Some(5), ..FaultAnswer::default() }).await;
    assert_eq!(cut.status(), StatusCode::OK);
    assert!(cut.bytes().await.is_err(), "the body is incomplete");
    let mut silent = send(FaultAnswer { stall_at: Some(5), ..FaultAnswer::default() }).await;
    assert_eq!(silent.chunk().await.expect("it begins").map(|bytes| bytes.len()), Some(5));
    assert!(futures::poll!(std::pin::pin!(silent.chunk())).is_pending());
}

#[tokio::test]
async fn a_cut_answer_ends_the_connection_and_the_next_call_works() {
    for (case, answer, reset) in [("closed", FaultAnswer::dropped(), false), ("reset", FaultAnswer::reset(), true)] {
        let caller = Caller::new(Options::default()).await;
        let fault = Fault::of("createDeployment", answer).times(1).after_the_effect();
        caller.server.fault(fault).expect("it can work");
        let url = format!("{}/demo/deployments", caller.server.url());
        let request = caller.http.post(url).bearer_auth(&caller.token).body(draft("tax").to_string());
        let error = request.send().await.expect_err(case);
        let mut causes = std::iter::successors(error.source(), |error| (*error).source());
        let said = causes.any(|cause| {
            let cause = cause.downcast_ref::<std::io::Error>();
            cause.is_some_and(|cause| cause.kind() == std::io::ErrorKind::ConnectionReset)
        });
        assert_eq!(said, reset, "{case}: {error:?}");
        assert_eq!(caller.get("/demo/deployments/key=tax").await.0, StatusCode::OK, "{case}");
        assert_eq!(caller.server.calls()[1].status, 0, "{case}");
    }
}

#[tokio::test]
async fn control_does_over_http_what_tests_do_in_process() {
    let caller = Caller::new(Options { control: true, ..Options::default() }).await;
    caller.server.may_answer("Strange");
    let (_, created) = caller.post("/demo/deployments", &draft("tax")).await;
    let act = format!("/_dev/deployments/{}", created["id"].as_str().expect("it is a string"));
    let entry = json!({"type": "Error", "title": "Broken", "message": "on purpose", "application": "service"});
    let planned = json!({"action": "planOutcome", "outcome": {"fails": true, "entries": [entry]}});
    assert_eq!(caller.post(&act, &planned).await.0, StatusCode::OK);
    let (status, clock) = caller.post("/_dev/clock", &json!({"step": "5s"})).await;
    assert_eq!((status, &clock["now"]), (StatusCode::OK, &json!("2026-03-01T12:00:05Z")));
    let (_, read) = caller.get("/demo/deployments/key=tax").await;
    assert_eq!(
        (&read["status"], &read["details"]["build"]["report"]["entries"][0]["title"]),
        (&json!("Failed"), &json!("Broken"))
    );
    for (action, expected) in [
        (json!({"action": "redeploy"}), "Deploying"),
        (json!({"action": "finish"}), "Deployed"),
        (json!({"action": "bumpVersion"}), "Deployed"),
        (json!({"action": "setStatus", "status": "Strange"}), "Strange"),
    ] {
        let (status, body) = caller.post(&act, &action).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(caller.get("/demo/deployments/key=tax").await.1["status"], expected);
    }
    let live = json!({"action": "redeploy", "redeploy": {"configurationValues": [{"applicationName": "service",
        "standardConfiguration": [{"key": "LOG_LEVEL", "value": "warn"}], "securedConfiguration": []}]}});
    let level = |read: &Value| read["applications"][0]["standardConfiguration"][0]["value"].clone();
    for (action, expected) in [
        (json!({"action": "setStatus", "status": "Deployed"}), "debug"),
        (live, "warn"),
        (json!({"action": "finish"}), "warn"),
        (json!({"action": "rollback"}), "debug"),
        (json!({"action": "finish"}), "debug"),
    ] {
        let (status, body) = caller.post(&act, &action).await;
        assert_eq!(status, StatusCode::OK, "{body}");
        assert_eq!(level(&caller.get("/demo/deployments/key=tax").await.1), expected, "{action}");
    }
    let log = json!({"action": "writeLog", "applicationName": "service", "severity": "INFO", "text": "/tax",
        "type": "HTTP_REQUEST"});
    assert_eq!(caller.post(&act, &log).await.0, StatusCode::OK);
    let (_, logs) = caller.get("/demo/deployments/key=tax/logs").await;
    let last = logs["data"].as_array().and_then(|data| data.last()).expect("it was written");
    assert_eq!((&last["type"], &last["details"]["requestUrl"]), (&json!("HTTP_REQUEST"), &json!("/tax")));
    let (_, raised) = caller.post("/_dev/connectors/demo-connector/versions", &json!({})).await;
    assert_eq!(raised["version"], 2);
    assert_eq!(caller.get("/connectors/key=demo-connector").await.1["version"], 2);
    let fault = json!({"operation": "queryDeployments", "count": 1, "answer": {"code": "BadGateway"}});
    assert_eq!(caller.post("/_dev/faults", &fault).await.0, StatusCode::CREATED);
    assert_eq!(caller.get("/demo/deployments").await.0, StatusCode::BAD_GATEWAY);
    let (status, body) = caller.post("/_dev/faults", &json!({"operation": "create"})).await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(body["message"].as_str().is_some_and(|text| text.contains("createDeployment")), "{body}");
    let (status, _) = caller.call(Method::PUT, "/_dev/variant", Some(&json!({"readLag": "1s"}))).await;
    assert_eq!(status, StatusCode::OK);
    assert_eq!(caller.get("/_dev/variant").await.1["readLag"], "1000ms");
    assert_eq!(caller.get("/_dev/calls").await.1["counts"]["createDeployment"], 1);
    assert_eq!(caller.get("/_dev/reset").await.0, StatusCode::METHOD_NOT_ALLOWED);
    caller.post("/_dev/reset", &json!({})).await;
    assert_eq!(caller.get("/demo/deployments").await.1["total"], 0);
}
