//! What the fence blocks: every call that changes something, and no read; the check is right before the call is sent.

use connect_api::model::{ConnectorStagedDraft, ConnectorUpdate};
use connect_api::{Fence, StagedApi};
use serde_json::value::to_raw_value;

use super::remote::{Remote, action, action_client, answer, draft, endpoint, no_hurry};
use crate::prelude::*;

/// Returns a client of a remote that refuses everything, behind a closed fence.
async fn fenced() -> (Remote, HttpConnect, Fence, Clock) {
    let remote = Remote::start(|_| answer(500, "")).await;
    let clock = Clock::system();
    let fence = Fence::closed(clock.clone());
    let api = HttpConnect::new(remote.settings(), around(&clock, &fence)).expect("a client");
    (remote, api, fence, clock)
}

fn around(clock: &Clock, fence: &Fence) -> ClientContext {
    ClientContext { fence: fence.clone(), ..ClientContext::plain(clock.clone()) }
}

fn failure<T>(result: Result<T, ApiError>) -> Failure {
    result.map(|_| ()).expect_err("no answer is a success").failure
}

/// Makes every call that changes something; returns the results by name.
async fn change(api: &HttpConnect) -> Vec<(&'static str, Failure)> {
    let id = Selector::Id("42".to_owned());
    let staged: ConnectorStagedDraft =
        serde_json::from_value(json!({"key": "mine", "name": "Mine", "description": "It",
        "creator": {"email": "dev@example.com"}, "repository": {"url": "git@example.com:a.git", "tag": "v1"},
        "supportedRegions": []}))
        .expect("a draft");
    let update = ConnectorUpdate { version: 1, actions: Vec::new() };
    vec![
        ("create", failure(api.create(&draft("s"), no_hurry()).await)),
        ("redeploy", failure(api.redeploy(&id, 3, &RedeployAction::default(), no_hurry()).await)),
        ("undeploy", failure(api.undeploy(&id, no_hurry()).await)),
        ("stage", failure(api.stage(&staged, no_hurry()).await)),
        ("update", failure(api.update(&id, &update, no_hurry()).await)),
        ("discard", failure(api.discard(&id, no_hurry()).await)),
    ]
}

#[tokio::test]
async fn rule_25_changes_are_sent_only_while_the_fence_permits_them() {
    let (remote, api, fence, clock) = fenced().await;
    for (call, failure) in change(&api).await {
        assert_eq!(failure, Failure::NotSent, "{call}");
    }
    assert_eq!(remote.seen().len(), 0, "nothing left");

    fence.hold_until(clock.elapsed() + Duration::from_mins(1));
    for (call, failure) in change(&api).await {
        assert_ne!(failure, Failure::NotSent, "{call}");
    }
    assert_eq!(remote.seen().len(), 6);

    // A deadline that has just passed.
    fence.hold_until(clock.elapsed());
    for (call, failure) in change(&api).await {
        assert_eq!(failure, Failure::NotSent, "{call}");
    }
    assert_eq!(remote.seen().len(), 6, "nothing more was sent");
}

#[tokio::test]
async fn reads_are_sent_whoever_leads() {
    let (remote, api, ..) = fenced().await;
    let key = Selector::Key("tax".to_owned());
    let page = PageRequest { limit: 1, offset: 0 };
    assert_ne!(failure(api.deployments(page).await), Failure::NotSent);
    assert_ne!(failure(api.deployment(&key).await), Failure::NotSent);
    assert_ne!(failure(api.staged(&key).await), Failure::NotSent);
    assert_eq!(remote.seen().len(), 3);
}

#[tokio::test]
async fn actions_are_called_only_while_the_fence_permits_them() {
    let remote = Remote::start(|_| answer(200, "{}")).await;
    let clock = Clock::system();
    let fence = Fence::closed(clock.clone());
    let client = action_client(&remote.url(), &Authorities::default(), around(&clock, &fence));
    let action = action(ActionMethod::Post(to_raw_value(&json!({})).expect("it is JSON")), &[]);
    let endpoint = endpoint(&remote.url());
    let request = || action.request(&Preset::SERVICE, &endpoint).expect("the request is valid");
    assert_eq!(failure(client.send(request(), Some(no_hurry())).await), Failure::NotSent);
    assert_eq!(remote.seen().len(), 0);
    fence.hold_until(clock.elapsed() + Duration::from_mins(1));
    client.send(request(), Some(no_hurry())).await.expect("it is sent");
    assert_eq!(remote.seen().len(), 1);
}
