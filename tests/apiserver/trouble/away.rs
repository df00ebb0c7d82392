//! The remote requests a pause, or returns an unknown status.

use super::faults::lifecycle_with;
use crate::prelude::*;

/// Steps of the clock within which a call may have been in flight when the pause was requested.
const UNDER_WAY: Duration = Duration::from_secs(1);

#[tokio::test]
async fn nothing_is_sent_before_retry_after_is_over() {
    let pause = Duration::from_secs(20);
    let asked = |status| FaultAnswer::text(status, "").with_header("Retry-After", "20");
    let rows = [("429", asked(429)), ("503", asked(503))];
    let lives = rows.map(|(case, answer)| async move {
        let calls = lifecycle_with((case, FaultEffect::Before, answer)).await;
        let answered: Vec<_> = calls.iter().filter(|call| call.status.to_string() == case).collect();
        assert!(answered.len() >= 5, "{case}: at each operation");
        for answered in answered {
            let too_early = |at| between(answered.at, at) > UNDER_WAY && between(answered.at, at) < pause;
            let early: Vec<_> = calls.iter().filter(|call| too_early(call.at)).collect();
            assert!(early.is_empty(), "{case} to {} at {}: {early:?}", answered.operation, answered.at);
        }
    });
    futures::future::join_all(lives).await;
}

#[tokio::test]
async fn an_unknown_status_is_shown_and_waited_for() {
    let shop = Shop::live().await;
    let id = shop.get().await.status.and_then(|status| status.id).unwrap();
    let unknown = DeploymentStatus::Other("Hibernating".to_owned());
    shop.dev.world().set_status(&id, unknown, shop.dev.now()).unwrap();
    shop.annotate(names::RECONCILE_REQUESTED_AT, "once").await;
    let shown = shop.until("shown", |object| {
        object.status.as_ref().and_then(|status| status.remote_state()) == Some("Hibernating")
    });
    let conditions = shown.await.status.unwrap().conditions;
    assert!(!conditions.iter().any(|condition| condition.type_ == "Ready" && condition.status == "True"));
    shop.dev.world().set_status(&id, DeploymentStatus::Deployed, shop.dev.now()).unwrap();
    shop.annotate(names::RECONCILE_REQUESTED_AT, "twice").await;
    shop.until_reason("Deployed").await;
    assert_eq!((shop.calls("createDeployment"), shop.calls("updateDeploymentById")), (1, 0));
}
