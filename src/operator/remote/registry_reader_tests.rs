use connect_api::Selector;
use connect_api::error::Failure;
use connect_api::model::{Connector, ConnectorStaged, IsPreviewable};
use futures::future;

use super::*;
use crate::operator::remote::PollRate;
use crate::operator::remote::testing::{Bench, Call, Mood, START, id, object_ref, until};
use crate::operator::testing::{answered, failure, retry_after};

const INTERVAL: Duration = Duration::from_mins(5);

fn name(number: usize) -> RegistryKey {
    RegistryKey { selector: Selector::Key(format!("connector-{number}")), staged: false }
}

fn call(number: usize) -> Call {
    Call::Connector(format!("connector-{number}"))
}

fn publish(bench: &Bench, number: usize, version: i64) {
    bench.service.world().connectors.insert(format!("connector-{number}"), version);
}

/// Takes the entry of a connector for an object, read at `newer_than` or later.
async fn entry(bench: &Bench, object: usize, number: usize, newer_than: Timestamp) -> Result<RegistryEntry, ApiError> {
    bench.remote.registry_entry(&object_ref(object), &name(number), INTERVAL, newer_than).await
}

fn version(entry: &RegistryEntry) -> Option<i64> {
    if let RegistryAnswer::There(found) = &entry.found { Some(found.version) } else { None }
}

#[tokio::test]
async fn one_read_serves_all_that_wait_and_only_a_change_enqueues_them_later() {
    let mut bench = Bench::new(0, 16);
    publish(&bench, 0, 1);
    bench.settle().await;
    bench.service.calls();
    let all = future::join_all((0..3).map(|object| entry(&bench, object, 0, START))).await;
    assert!(all.iter().flatten().all(|entry| version(entry) == Some(1)), "{all:?}");
    assert_eq!((bench.service.calls(), bench.enqueued()), (vec![call(0)], vec![]));
    for (case, published, enqueued) in [
        ("no change", Some(1), 0),
        ("another version", Some(2), 3),
        ("gone", None, 3),
        ("still gone", None, 0),
        ("there again", Some(3), 3),
    ] {
        match published {
            Some(version) => publish(&bench, 0, version),
            None => bench.service.world().connectors.clear(),
        }
        bench.pass(INTERVAL.mul_f64(1.1)).await;
        assert_eq!(bench.enqueued().len(), enqueued, "{case}");
        let calls = bench.service.calls().into_iter().filter(|asked| *asked == call(0)).count();
        assert_eq!(calls, 1, "{case}");
        let entry = entry(&bench, 0, 0, START).await.expect("nothing is held back");
        assert_eq!(version(&entry), published, "{case}");
    }
}

#[tokio::test]
async fn an_entry_that_becomes_unreadable_stays_but_is_not_current() {
    for (case, error) in [
        ("it is broken", answered(503)),
        ("it does not answer", failure(Failure::NoAnswer)),
        ("it may not be read", answered(403)),
    ] {
        let mut bench = Bench::new(0, 16);
        publish(&bench, 0, 1);
        let first = entry(&bench, 0, 0, START).await.expect("it is read");
        bench.clock.step(Duration::from_secs(9));
        let now = bench.clock.now();
        bench.service.world().mood = Mood::Fails(error);
        let kept = entry(&bench, 0, 0, now).await.expect("an answer, if no good one");
        assert_eq!(kept, RegistryEntry { at: now, current: false, ..first.clone() }, "{case}");
        let unread = entry(&bench, 1, 1, now).await.expect("an answer, if no good one");
        assert_eq!(unread.found, RegistryAnswer::Unreadable, "{case}");
        bench.service.world().mood = Mood::Works;
        bench.pass(INTERVAL.mul_f64(1.1)).await;
        assert_eq!(bench.enqueued(), [object_ref(1)], "{case}: it can be read now");
    }
}

#[tokio::test]
async fn a_registry_that_hangs_delays_no_poll() {
    let bench = Bench::new(50, 16);
    for number in 0..20 {
        assert!(entry(&bench, number, number, START).await.is_ok());
    }
    bench.settle().await;
    bench.service.world().mood = Mood::RegistryHangs;
    bench.clock.step(INTERVAL * 2);
    bench.remote.poll(&object_ref(0), &id(0), PollRate::Busy { since: bench.clock.now() });
    bench.service.calls();
    let tasks = tokio::spawn(Arc::clone(&bench.remote).run());
    let mut calls = Vec::new();
    until(|| {
        bench.clock.step(Duration::from_secs(1));
        calls.extend(bench.service.calls());
        calls.iter().filter(|call| **call == Call::Get(id(0))).count() >= 12
    })
    .await;
    let hanging = calls.iter().filter(|call| matches!(call, Call::Connector(_))).count();
    assert_eq!(hanging, READS_AT_ONCE, "and it is not asked for everything at once");
    tasks.abort();
}

#[tokio::test]
async fn a_read_that_is_held_back_is_no_answer() {
    for (case, mood) in
        [("by the circuit breaker", None), ("by the client", Some(retry_after(failure(Failure::HeldBack), 7_000)))]
    {
        let bench = Bench::new(0, 16);
        bench.settle().await;
        publish(&bench, 0, 1);
        if let Some(error) = mood {
            bench.service.world().mood = Mood::Fails(error);
        } else {
            bench.service.world().mood = Mood::Fails(retry_after(answered(503), 7_000));
            assert!(bench.remote.api().deployment(&Selector::Key("tax".into())).await.is_err());
        }
        assert!(entry(&bench, 0, 0, START).await.is_err_and(|error| error.is_held_back()), "{case}");
        assert!(bench.remote.outage().is_some(), "{case}: so the next permit has to be waited for");
        bench.service.world().mood = Mood::Works;
        bench.pass(Duration::from_secs(8)).await;
        assert!(entry(&bench, 0, 0, START).await.is_ok(), "{case}");
    }
}

#[tokio::test]
async fn an_object_that_names_another_connector_or_is_gone_is_not_kept() {
    let mut bench = Bench::new(0, 16);
    for (object, number) in [(0, 0), (1, 0), (0, 1)] {
        assert!(entry(&bench, object, number, START).await.is_ok());
    }
    publish(&bench, 0, 1);
    bench.pass(INTERVAL * 2).await;
    assert_eq!(bench.enqueued(), [object_ref(1)], "the other one names another connector");
    bench.remote.forget(&object_ref(1));
    bench.service.calls();
    bench.pass(INTERVAL * 2).await;
    let calls = bench.service.calls();
    assert!(calls.contains(&call(1)) && !calls.contains(&call(0)), "{calls:?}");
    assert_eq!(bench.remote.object_refs(), [object_ref(0)]);
    bench.remote.forget_registry_entry(&object_ref(0));
    assert_eq!(bench.remote.object_refs(), []);
}

#[test]
fn a_staged_connector_differs_from_a_published_one_by_whether_it_is_previewable() {
    let record = serde_json::json!({
        "id": "1", "key": "tax", "version": 3, "name": "Tax", "creator": {"email": "dev@example.com"}, "status": "Draft",
        "repository": {"url": "https://example.com/tax.git", "tag": "2"}, "isPreviewable": "true",
        "supportedRegions": ["a.b"], "configurations": [], "globalConfiguration": {}, "apiClient": {"scopes": ["x"]},
    });
    let published = RegistryConnector::from(serde_json::from_value::<Connector>(record.clone()).expect("a connector"));
    let staged = RegistryConnector::from(serde_json::from_value::<ConnectorStaged>(record).expect("a connector"));
    assert_eq!((published.tag.as_str(), published.version), ("2", 3));
    assert_eq!(staged, RegistryConnector { previewable: Some(IsPreviewable::Yes), ..published });
}
