//! `Retry-After`, and the time before which a changing call has to leave.

use futures::FutureExt as _;
use tokio::sync::Semaphore;

use super::remote::{Remote, answer, deployment, draft, id, json_answer, later, stepped, token, with_header};
use crate::prelude::*;

#[tokio::test]
async fn nothing_is_sent_inside_retry_after_not_even_for_a_token() {
    for (case, status, header, pause) in [
        ("429, seconds", 429, "30", 30),
        ("503, seconds", 503, "90", 90),
        ("503, a date by the server's own clock", 503, "Thu, 01 Jan 2015 00:01:00 GMT", 60),
    ] {
        let remote = Remote::start_slow(
            later(move |seen| match seen.before {
                0 => with_header(
                    with_header(answer(status, ""), "retry-after", header),
                    "date",
                    "Thu, 01 Jan 2015 00:00:00 GMT",
                ),
                _ => json_answer(200, &deployment("42")),
            }),
            // The token expires during the pause.
            later(|_| json_answer(200, &serde_json::json!({"access_token": "token-1", "expires_in": 20}))),
        )
        .await;
        let (clock, now) = stepped();
        let api = remote.client_with(clock.clone(), |_| {});
        let pause = Duration::from_secs(pause);
        let error = api.deployment(&id()).await.expect_err(case);
        assert_eq!((error.status(), error.retry_after), (Some(status), Some(pause)), "{case}");

        clock.step(pause.saturating_sub(Duration::from_secs(1)));
        let end = now + Duration::from_hours(1);
        for error in [
            api.deployment(&id()).await.map(drop).expect_err(case),
            api.create(&draft("s"), end).await.map(drop).expect_err(case),
        ] {
            assert_eq!(error.failure, Failure::HeldBack, "{case}");
            assert_eq!(error.retry_after, Some(Duration::from_secs(1)), "{case}");
            assert_eq!(error.effect(), Effect::None, "{case}");
        }
        assert_eq!((remote.seen().len(), remote.tokens().len()), (1, 1), "{case}");

        clock.step(Duration::from_secs(1));
        api.deployment(&id()).await.expect(case);
        assert_eq!((remote.seen().len(), remote.tokens().len()), (2, 2), "{case}");
    }
}

#[tokio::test]
async fn retry_after_of_the_token_endpoint_delays_everything_too() {
    let remote = Remote::start_slow(
        later(|_| json_answer(200, &deployment("42"))),
        later(|seen| match seen.before {
            0 => with_header(answer(429, ""), "retry-after", "5"),
            before => token(before),
        }),
    )
    .await;
    let (clock, _) = stepped();
    let api = remote.client_with(clock.clone(), |_| {});
    let error = api.deployment(&id()).await.expect_err("throttled");
    assert_eq!((error.failure, error.retry_after), (Failure::NotSent, Some(Duration::from_secs(5))));
    assert!(error.message.contains("/oauth/token"), "{}", error.message);
    let error = api.deployment(&id()).await.expect_err("held back");
    assert_eq!((error.failure, error.retry_after), (Failure::HeldBack, Some(Duration::from_secs(5))));
    assert_eq!(remote.tokens().len(), 1);
    clock.step(Duration::from_secs(5));
    api.deployment(&id()).await.expect("sent again");
}

#[tokio::test]
async fn a_changing_call_does_not_leave_when_its_time_is_over() {
    let remote = Remote::start(|_| json_answer(200, &deployment("42"))).await;
    let (clock, now) = stepped();
    let api = remote.client_with(clock.clone(), |_| {});
    let redeploy = RedeployAction::default();
    for error in [
        api.create(&draft("s"), now).await.map(drop).expect_err("over"),
        api.redeploy(&id(), 1, &redeploy, now).await.map(drop).expect_err("over"),
        api.undeploy(&id(), now).await.map(drop).expect_err("over"),
    ] {
        assert_eq!(error.failure, Failure::NotSent);
    }
    assert!(remote.seen().is_empty());
    clock.step(Duration::from_secs(10));
    api.create(&draft("s"), now + Duration::from_secs(11)).await.expect("a second is left");
}

#[tokio::test]
async fn time_that_passes_while_waiting_for_a_token_counts() {
    let released = Arc::new(Semaphore::new(0));
    let remote = Remote::start_slow(later(|_| json_answer(200, &deployment("42"))), {
        let released = Arc::clone(&released);
        Arc::new(move |seen| {
            let released = Arc::clone(&released);
            Box::pin(async move {
                released.acquire().await.expect("the semaphore is open").forget();
                token(seen.before + 1)
            })
        })
    })
    .await;
    let (clock, now) = stepped();
    let api = remote.client_with(clock.clone(), |_| {});
    let draft = draft("s");
    let call = api.create(&draft, now + Duration::from_secs(30));
    futures::pin_mut!(call);
    assert!(call.as_mut().now_or_never().is_none());
    clock.step(Duration::from_secs(30));
    released.add_permits(1);
    assert_eq!(call.await.expect_err("too late").failure, Failure::NotSent);
    assert!(remote.seen().is_empty());
}

#[tokio::test]
async fn time_that_passes_while_waiting_for_the_rate_limiter_counts() {
    let remote = Remote::start(|_| json_answer(200, &deployment("42"))).await;
    let (clock, now) = stepped();
    let api = remote.client_with(clock.clone(), |settings| settings.requests_per_second = Rate::per_second(1));
    api.deployment(&id()).await.expect("the rate limiter permits the first call");
    let draft = draft("s");
    let call = api.create(&draft, now + Duration::from_secs(1));
    futures::pin_mut!(call);
    assert!(call.as_mut().now_or_never().is_none());
    clock.step(Duration::from_secs(1));
    assert_eq!(call.await.expect_err("too late").failure, Failure::NotSent);
    assert_eq!(remote.seen().len(), 1);
}

#[tokio::test]
async fn the_second_sending_after_a_401_has_the_same_end() {
    let (clock, now) = stepped();
    let slow = clock.clone();
    let remote = Remote::start(move |_| {
        slow.step(Duration::from_secs(30));
        answer(401, "")
    })
    .await;
    let api = remote.client_with(clock, |_| {});
    let error = api.create(&draft("s"), now + Duration::from_secs(30)).await.expect_err("too late");
    assert_eq!((error.failure, remote.seen().len()), (Failure::NotSent, 1));
}
