//! What each operation sends, and how it interprets a success.

use super::remote::{Remote, answer, deployment, draft, error_answer, id, json_answer, no_hurry};
use crate::prelude::*;

fn key() -> Selector {
    Selector::Key("tax".to_owned())
}

/// Sends every operation once, in a fixed order.
async fn send_all(api: &dyn ConnectApi) {
    let redeploy = RedeployAction::default();
    let _ = api.deployments(PageRequest { limit: 100, offset: 200 }).await;
    let _ = api.deployment(&id()).await;
    let _ = api.deployment(&key()).await;
    let _ = api.create(&draft("s"), no_hurry()).await;
    let _ = api.redeploy(&id(), 3, &redeploy, no_hurry()).await;
    let _ = api.redeploy(&key(), 3, &redeploy, no_hurry()).await;
    let _ = api.undeploy(&id(), no_hurry()).await;
    let _ = api.undeploy(&key(), no_hurry()).await;
    let _ = api.connector(&id()).await;
    let _ = api.connector(&key()).await;
}

#[tokio::test]
async fn requests_state_who_calls_and_what_they_accept_and_bodies_are_those_of_the_contract() {
    let remote = Remote::start(|_| answer(500, "")).await;
    send_all(&remote.client()).await;
    let seen = remote.seen();
    let mut ids = std::collections::BTreeSet::new();
    for seen in seen.iter().chain(&remote.tokens()) {
        assert_eq!(seen.header("accept"), "application/json", "{}", seen.line);
        assert_eq!(seen.header("user-agent"), concat!("connect-operator/", env!("CARGO_PKG_VERSION")));
        let id = seen.header("x-correlation-id").strip_prefix("connect-operator-").expect("the operator's own id");
        assert!(uuid::Uuid::parse_str(id).is_ok() && ids.insert(id.to_owned()), "a fresh id: {id}");
    }
    for seen in &seen {
        assert_eq!(seen.token(), 1);
        let content_type = if seen.line.starts_with("POST") { "application/json" } else { "" };
        assert_eq!(seen.header("content-type"), content_type, "{}", seen.line);
        assert_eq!(seen.body.is_empty(), content_type.is_empty(), "{}", seen.line);
    }
    let body = |line: &str| -> Value {
        let seen = seen.iter().find(|seen| seen.line == line).expect("that request was sent");
        serde_json::from_str(&seen.body).expect("JSON")
    };
    assert_eq!(
        body("POST /demo/deployments"),
        json!({"key": "tax", "connector": {"key": "demo-connector"}, "region": "europe-west1.gcp",
            "configurations": [{"applicationName": "service", "standardConfiguration": [{"key": "A", "value": "b"}],
                "securedConfiguration": [{"key": "S", "value": "s"}]}]})
    );
    assert_eq!(
        body("POST /demo/deployments/42"),
        json!({"version": 3, "actions": [{"action": "redeploy", "skipScripts": false, "updateConnector": false}]})
    );
}

#[tokio::test]
async fn an_undeploy_whose_success_cannot_be_read_is_followed_by_a_read() {
    for (case, read, expected) in [
        ("still there", json_answer(200, &deployment("42")), Ok(true)),
        ("gone", error_answer(404, "ResourceNotFound", "gone"), Ok(false)),
        ("not known", answer(500, ""), Err(Failure::Unreadable)),
    ] {
        let read = std::sync::Mutex::new(Some(read));
        let remote = Remote::start(move |seen| {
            if seen.line.starts_with("DELETE") {
                return answer(204, "");
            }
            read.lock().expect("not poisoned").take().expect("one read")
        })
        .await;
        let outcome = remote.client().undeploy(&id(), no_hurry()).await;
        assert_eq!(outcome.map(|left| left.is_some()).map_err(|error| error.failure), expected, "{case}");
    }
}

#[tokio::test]
async fn records_that_cannot_be_read_are_left_out_of_a_page_and_counted() {
    let remote = Remote::start(|_| {
        let odd =
            json!({"id": "odd", "version": 1, "status": "Resting", "new": {"a": 1}, "key": null, "details": null});
        let results = json!([deployment("1"), {"id": 7}, null, odd, "text"]);
        json_answer(200, &json!({"limit": 100, "offset": 0, "count": 5, "total": 5, "results": results}))
    })
    .await;
    let api = remote.client();
    let page = api.deployments(PageRequest { limit: 100, offset: 0 }).await.expect("a page");
    let ids: Vec<_> = page.results.iter().map(|deployment| deployment.id.as_str()).collect();
    assert_eq!((ids, page.count), (vec!["1", "odd"], 5));
    assert_eq!(page.results[1].status, DeploymentStatus::Other("Resting".to_owned()));
}
