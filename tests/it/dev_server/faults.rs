//! Faults and `/_dev` (design section 6).

use std::error::Error as _;

use super::*;
use crate::prelude::*;

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
    assert_eq!(read["status"], json!("Failed"));
    assert_eq!(read["details"]["build"]["report"]["entries"][0]["title"], json!("Broken"));
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
