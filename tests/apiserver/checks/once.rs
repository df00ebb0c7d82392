//! A POST or PUT is sent at most once for each cause, wherever the operator is killed; a GET is sent at its interval.

use tokio::io::AsyncReadExt as _;

use super::{apply_until, last_call, outcome, reading, until_reason};
use crate::prelude::*;

/// A frontend that accepts requests and never responds.
struct Silent {
    url: String,
    asked: watch::Receiver<u64>,
}

impl Silent {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let (asking, asked) = watch::channel(0);
        tokio::spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut connection, _)) = listener.accept().await {
                if connection.read(&mut [0; 1024]).await.is_ok_and(|length| length > 0) {
                    asking.send_modify(|asked| *asked += 1);
                }
                open.push(connection);
            }
        });
        Self { url, asked }
    }

    /// Returns once it has received this many requests.
    async fn until_asked(&mut self, times: u64) {
        in_time(self.asked.wait_for(|asked| *asked >= times))
            .await
            .expect("the requests arrive")
            .expect("the frontend listens");
    }
}

/// A shop whose operator meets this failure of the API server after so many writes of a status, and a check in it.
async fn failing(spared: u64, wrong: Wrong) -> (Shop, Unreliable) {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let (cluster, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    cluster.begin_after(spared, Which::StatusWrites, wrong);
    shop.start_operator_as(client);
    shop.sandbox.apply(&check(&shop)).await.unwrap();
    (shop, cluster)
}

/// Number of write calls that the dev server received.
fn sent(shop: &Shop) -> u64 {
    shop.calls("writeFrontasticActionPost") + shop.calls("writeFrontasticActionPut")
}

#[tokio::test]
async fn a_write_is_sent_once_for_each_generation_and_survives_a_restart() {
    let mut shop = Shop::open().await;
    let passed = apply_until(&shop, &check(&shop), "CheckPassed").await;
    let call = last_call(&passed).unwrap();
    assert_eq!((call.http_status, call.outcome), (Some(200), CheckOutcome::Passed));
    assert!(passed.status.unwrap().checked_at.is_some());
    assert_eq!(sent(&shop), 1);

    // A change outside the spec sends nothing, nor does another operator.
    shop.sandbox.change(&check(&shop), &json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap();
    shop.revive_operator().await;
    let change = json!({"spec": {"method": "PUT", "body": r#"{"variant": {"sku": "B2", "count": 2}}"#}});
    shop.sandbox.change(&check(&shop), &change).await.unwrap();
    let again = until_reason(&shop, "CheckPassed").await;
    assert_eq!(last_call(&again).unwrap().cause.generation, 2);
    assert_eq!((shop.calls("writeFrontasticActionPost"), shop.calls("writeFrontasticActionPut")), (1, 1));
}

#[tokio::test]
async fn killed_before_the_intent_is_written_it_is_sent_once() {
    let (mut shop, cluster) = failing(0, Wrong::Away).await;
    cluster.until_met(1).await;
    shop.kill_operator().await;
    assert_eq!(sent(&shop), 0, "nothing is sent before its intent is stored");
    shop.start_operator();
    until_reason(&shop, "CheckPassed").await;
    assert_eq!(sent(&shop), 1);
}

#[tokio::test]
async fn killed_after_the_intent_is_written_it_is_never_sent_again() {
    // The write of the intent is stored, and the operator does not receive the response.
    let (mut shop, _cluster) = failing(0, Wrong::Late(Duration::from_hours(1))).await;
    shop.until_object(CHECK, "the intent", |object: &ActionCheck| outcome(object) == Some(CheckOutcome::Sent)).await;
    shop.revive_operator().await;
    let lost = until_reason(&shop, "AnswerLost").await;
    assert!(has(&lost, "Stalled") && message(&lost).contains("change the spec"), "{}", message(&lost));
    assert_eq!(sent(&shop), 0);
    shop.sandbox.change(&check(&shop), &json!({"spec": {"locale": "de-DE"}})).await.unwrap();
    until_reason(&shop, "CheckPassed").await;
    assert_eq!(sent(&shop), 1);
}

#[tokio::test]
async fn a_call_whose_intent_is_stored_is_sent_although_the_response_to_that_write_is_lost() {
    let (shop, cluster) = failing(0, Wrong::Lost).await;
    cluster.until_met(1).await;
    cluster.end();
    until_reason(&shop, "CheckPassed").await;
    assert_eq!(sent(&shop), 1);
}

#[tokio::test]
async fn killed_while_the_answer_is_awaited_it_is_never_sent_again() {
    let mut shop = Shop::open().await;
    let mut silent = Silent::start().await;
    let check = with_spec(check(&shop), &json!({"frontend": {"url": silent.url}}));
    shop.sandbox.apply(&check).await.unwrap();
    silent.until_asked(1).await;
    shop.revive_operator().await;
    until_reason(&shop, "AnswerLost").await;
    // Only a change of the spec sends it again; a request without one would have arrived earlier.
    shop.sandbox.change(&check, &json!({"spec": {"locale": "de-DE"}})).await.unwrap();
    silent.until_asked(2).await;
    assert_eq!(*silent.asked.borrow(), 2);
}

#[tokio::test]
async fn killed_after_the_answer_it_is_never_sent_again() {
    // The intent is stored, and the result is not.
    let (mut shop, cluster) = failing(1, Wrong::Away).await;
    cluster.until_met(1).await;
    assert_eq!(sent(&shop), 1, "the call was answered");
    shop.revive_operator().await;
    until_reason(&shop, "AnswerLost").await;
    assert_eq!(sent(&shop), 1);
}

#[tokio::test]
async fn an_answer_is_written_even_if_labels_changed_or_the_cluster_failed_meanwhile() {
    let (shop, cluster) = failing(1, Wrong::Refused(500, "InternalError")).await;
    shop.until_object(CHECK, "the intent", |object: &ActionCheck| outcome(object) == Some(CheckOutcome::Sent)).await;
    shop.sandbox.change(&check(&shop), &json!({"metadata": {"labels": {"a": "b"}}})).await.unwrap();
    cluster.until_met(1).await;
    cluster.end();
    until_reason(&shop, "CheckPassed").await;
    assert_eq!(sent(&shop), 1);
}

#[tokio::test]
async fn a_check_after_a_deployment_is_sent_once_each_time_the_deployment_was_applied() {
    let shop = Shop::open().await;
    let after = with_spec(check(&shop), &json!({"deploymentRef": {"name": "tax"}}));
    let waiting = apply_until(&shop, &after, "DeploymentNotReady").await;
    assert!(message(&waiting).contains("tax is missing") && has(&waiting, "Reconciling"));
    shop.put_token("first-token-of-the-shop").await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let first = last_call(&until_reason(&shop, "CheckPassed").await).unwrap().cause;
    assert!(first.deployment_digest.is_some() && first.deployment_applied_at.is_some());
    assert_eq!(sent(&shop), 1);

    shop.put_token("second-token-of-the-shop").await;
    shop.until_object(CHECK, "sent for the second token", |object: &ActionCheck| {
        last_call(object).is_some_and(|call| call.outcome == CheckOutcome::Passed && call.cause != first)
    })
    .await;
    assert_eq!(sent(&shop), 2);
}

#[tokio::test]
async fn a_read_is_sent_at_its_interval_also_after_a_restart_and_recorded_once_an_hour() {
    let clock = Clock::stepped("2026-03-01T12:00:00Z".parse().unwrap());
    let mut shop = Shop::with(quick(), clock).await;
    shop.sandbox.apply(&with_spec(reading(&shop), &json!({"interval": "1m"}))).await.unwrap();
    let checked_at = |object: &ActionCheck| object.status.as_ref().and_then(|status| status.checked_at.clone());
    until_reason(&shop, "CheckPassed").await;
    let mut reads = 1;
    for locale in ["de-DE", "fr-FR"] {
        shop.clock.step(Duration::from_secs(59));
        // A new generation is read immediately; a read that came too early would have arrived by then.
        shop.sandbox.change(&reading(&shop), &json!({"spec": {"locale": locale}})).await.unwrap();
        let recorded = checked_at(&until_reason(&shop, "CheckPassed").await);
        reads += 1;
        assert_eq!(shop.calls("readFrontasticAction"), reads, "no read before its interval");
        shop.clock.step(Duration::from_mins(1));
        reads += 1;
        until("the next read", async || shop.calls("readFrontasticAction") >= reads).await;
        shop.revive_operator().await;
        assert_eq!(checked_at(&shop.api().get(CHECK).await.unwrap()), recorded, "it found the same");
    }
    let last = checked_at(&shop.api().get(CHECK).await.unwrap());
    let again = shop.until_object(CHECK, "recorded again", |object: &ActionCheck| checked_at(object) != last);
    let again = checked_at(&meanwhile(&shop.clock, Duration::from_mins(1), again).await);
    assert!(again.unwrap().0 >= later(last.unwrap().0, Duration::from_hours(1)));
}

#[tokio::test]
async fn a_call_that_was_not_sent_is_sent_later() {
    let clock = Clock::stepped("2026-03-01T12:00:00Z".parse().unwrap());
    let shop = Shop::with(quick(), clock).await;
    let (nobody, held) = addresses::closed();
    let elsewhere = with_spec(check(&shop), &json!({"frontend": {"url": format!("http://{nobody}")}}));
    let waiting = apply_until(&shop, &elsewhere, "FrontendUnavailable").await;
    assert_eq!(outcome(&waiting), Some(CheckOutcome::NotSent));
    assert!(message(&waiting).starts_with("The request could not be sent: "), "{}", message(&waiting));
    assert!(has(&waiting, "Reconciling"));
    let listener = held.listen(16).unwrap();
    let late = dev_server::DevServer::start_on(listener, quick(), fast()).await.unwrap();
    // Not in one step: the pause may begin only after the status that was awaited above.
    meanwhile(&shop.clock, FINE, until_reason(&shop, "CheckPassed")).await;
    assert_eq!(late.counts()["writeFrontasticActionPost"], 1);
}
