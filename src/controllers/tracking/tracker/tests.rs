//! Tests of queue and reconcile tracking, and of the detection of hangs.

use std::future;

use jiff::Timestamp;
use tokio::sync::oneshot;

use super::*;
use crate::controllers::references::Named;
use crate::controllers::tracking::inventory::ReportedState;

fn tracker() -> (Clock, Arc<ReconcileTracker>) {
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let tracker = ReconcileTracker::new(clock.clone(), Metrics::new(clock.now()));
    tracker.start([list(Kind::Deployment)]);
    tracker.listed(&list(Kind::Deployment));
    (clock, tracker)
}

fn list(kind: Kind) -> List {
    List { kind, namespace: Some("shop".to_owned()) }
}

fn tax() -> ObjectRef {
    ObjectRef::deployment("shop", "tax")
}

/// Returns the lines of a scrape that begin with `start`.
fn scraped(tracker: &ReconcileTracker, start: &str) -> Vec<String> {
    let page = tracker.metrics().encode();
    let mut lines: Vec<_> = page.lines().filter(|line| line.starts_with(start)).map(str::to_owned).collect();
    lines.sort();
    lines
}

#[tokio::test]
async fn a_resource_is_queued_from_its_first_event_until_its_reconcile_begins() {
    let (clock, tracker) = tracker();
    let deployments = "connect_operator_workqueue_depth{kind=\"ConnectorDeployment\"}";
    tracker.event(&tax());
    clock.step(Duration::from_secs(3));
    tracker.event(&tax());
    tracker.event(&ObjectRef::deployment("shop", "other"));
    assert_eq!(scraped(&tracker, deployments), [format!("{deployments} 2")]);
    clock.step(Duration::from_secs(1));
    let depth = tracker
        .begin(&tax())
        .run(async { (scraped(&tracker, deployments), ReconcileOutcome::Reported(Some(Reason::Deployed))) })
        .await;
    assert_eq!(depth, [format!("{deployments} 1")]);
    let wait = "connect_operator_workqueue_wait_seconds_";
    assert!(scraped(&tracker, wait).contains(&format!("{wait}sum{{kind=\"ConnectorDeployment\"}} 4.0")));
    tracker.gone(&ObjectRef::deployment("shop", "other"));
    assert_eq!(scraped(&tracker, deployments), [format!("{deployments} 0")]);
    assert!(tracker.object_refs().is_empty());
}

#[tokio::test]
async fn reconciles_are_counted_by_their_result() {
    let (clock, tracker) = tracker();
    for (ended, times) in [
        (ReconcileOutcome::Reported(Some(Reason::Deployed)), 2),
        (ReconcileOutcome::Reported(None), 1),
        (ReconcileOutcome::Gone, 1),
        (ReconcileOutcome::Conflict, 1),
        (ReconcileOutcome::ClusterError, 3),
    ] {
        for _ in 0..times {
            tracker
                .begin(&tax())
                .run(async {
                    clock.step(Duration::from_secs(1));
                    ((), ended)
                })
                .await;
        }
    }
    let counts = scraped(&tracker, "connect_operator_reconciles_total");
    let expected = [("ClusterError", 3), ("Conflict", 1), ("Deployed", 2), ("Gone", 1), ("None", 1)];
    let expected = expected.map(|(reason, count)| {
        format!("connect_operator_reconciles_total{{kind=\"ConnectorDeployment\",reason=\"{reason}\"}} {count}")
    });
    assert_eq!(counts, expected);
    let took = "connect_operator_reconcile_duration_seconds_sum{kind=\"ConnectorDeployment\"} 8.0";
    assert_eq!(scraped(&tracker, took), [took]);
}

#[tokio::test]
async fn a_change_is_timed_until_it_is_sent_unless_it_waits_for_a_user() {
    const NEVER: Option<u64> = None;
    for (case, says, expected) in [
        ("sent by the next reconcile after one that waited for an observation", None, Some(20)),
        ("after one that waited for a slot", Some(Reason::Queued), Some(20)),
        ("during another operation", Some(Reason::Redeploying), Some(20)),
        ("after the remote was unavailable", Some(Reason::ServiceUnavailable), Some(20)),
        ("nothing to send", Some(Reason::Deployed), NEVER),
        ("a user must create a Secret", Some(Reason::SecretMissing), NEVER),
        ("a user must act", Some(Reason::RequestRejected), NEVER),
    ] {
        let (clock, tracker) = tracker();
        tracker.changed(&tax());
        clock.step(Duration::from_secs(10));
        tracker.changed(&tax());
        tracker
            .begin(&tax())
            .run(async {
                if let Some(reason) = says {
                    tracker.settled(&tax(), reason);
                }
                ((), ReconcileOutcome::Reported(Some(Reason::Deployed)))
            })
            .await;
        clock.step(Duration::from_secs(10));
        tracker
            .begin(&tax())
            .run(async {
                tracker.sent(&tax());
                ((), ReconcileOutcome::Reported(Some(Reason::Redeploying)))
            })
            .await;
        tracker.sent(&tax());
        let name = "connect_operator_change_to_sent_seconds_";
        let count = usize::from(expected.is_some());
        assert_eq!(scraped(&tracker, &format!("{name}count")), [format!("{name}count {count}")], "{case}");
        let sum = expected.map_or("0.0".to_owned(), |seconds| format!("{seconds}.0"));
        assert_eq!(scraped(&tracker, &format!("{name}sum")), [format!("{name}sum {sum}")], "{case}");
    }
}

#[tokio::test]
async fn a_change_during_a_reconcile_is_not_forgotten_with_it() {
    let (clock, tracker) = tracker();
    tracker.changed(&tax());
    clock.step(Duration::from_secs(1));
    tracker
        .begin(&tax())
        .run(async {
            tracker.sent(&tax());
            clock.step(Duration::from_secs(1));
            tracker.changed(&tax());
            tracker.settled(&tax(), Reason::Deployed);
            ((), ReconcileOutcome::Reported(Some(Reason::Deployed)))
        })
        .await;
    clock.step(Duration::from_secs(1));
    tracker.sent(&tax());
    let counted = scraped(&tracker, "connect_operator_change_to_sent_seconds_count");
    assert_eq!(counted, ["connect_operator_change_to_sent_seconds_count 2"]);
}

#[tokio::test]
async fn a_reconcile_that_is_not_polled_hangs_and_one_that_makes_progress_does_not() {
    let (clock, tracker) = tracker();
    let hung = tokio::spawn({
        let tracker = Arc::clone(&tracker);
        async move { tracker.begin(&tax()).run(future::pending::<((), ReconcileOutcome)>()).await }
    });
    tokio::task::yield_now().await;
    clock.step(LONGEST_SILENCE);
    assert_eq!(tracker.runs_go_on(), Ok(()), "not yet");
    clock.step(Duration::from_secs(1));
    let why = tracker.runs_go_on().expect_err("it hangs");
    assert_eq!(why, "the reconcile of ConnectorDeployment shop/tax has been waiting for 901 s (1 in all)");
    hung.abort();
    assert!(hung.await.is_err());
    assert_eq!(tracker.runs_go_on(), Ok(()), "a cancelled reconcile does not hang");

    let slow = tokio::spawn({
        let (clock, tracker) = (clock.clone(), Arc::clone(&tracker));
        let calls = async move {
            for _ in 0..100 {
                clock.sleep(Duration::from_mins(5)).await;
            }
            ((), ReconcileOutcome::Reported(None))
        };
        async move { tracker.begin(&tax()).run(calls).await }
    });
    while !slow.is_finished() {
        clock.step(Duration::from_mins(5));
        for _ in 0..10 {
            tokio::task::yield_now().await;
        }
        assert_eq!(tracker.runs_go_on(), Ok(()), "each of its calls is answered, although slowly");
    }
}

#[tokio::test]
async fn events_without_a_reconcile_are_detected_but_not_before_the_first_lists() {
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let tracker = ReconcileTracker::new(clock.clone(), Metrics::new(clock.now()));
    tracker.start([list(Kind::Deployment), list(Kind::Project)]);
    tracker.event(&tax());
    tracker.listed(&list(Kind::Deployment));
    tracker.listed(&list(Kind::Deployment));
    clock.step(Duration::from_hours(9));
    assert_eq!(tracker.events_are_followed(), Ok(()), "the API server is unavailable");
    assert_eq!(tracker.lists(), Err("1 of 2 first lists are complete".to_owned()));
    tracker.listed(&list(Kind::Project));
    assert_eq!((tracker.lists(), tracker.events_are_followed()), (Ok(()), Ok(())), "nothing could reconcile until now");
    clock.step(LONGEST_SILENCE);
    let (end, ended) = oneshot::channel();
    let other = ObjectRef::deployment("shop", "other");
    let run = tracker.begin(&other).run(async { (ended.await.expect("the end"), ReconcileOutcome::Reported(None)) });
    let mut run = std::pin::pin!(run);
    assert!(futures::poll!(&mut run).is_pending());
    clock.step(LONGEST_SILENCE);
    assert_eq!(tracker.events_are_followed(), Ok(()), "all slots may be taken");
    end.send(()).expect("the reconcile waits");
    run.await;
    clock.step(LONGEST_SILENCE);
    assert_eq!(tracker.events_are_followed(), Ok(()));
    clock.step(Duration::from_secs(1));
    let why = tracker.events_are_followed().expect_err("nothing runs");
    assert_eq!(why, "events of ConnectorDeployment wait for 901 s, and no reconcile runs");
    tracker.begin(&tax()).run(async { ((), ReconcileOutcome::Gone) }).await;
    clock.step(Duration::from_hours(9));
    assert_eq!(tracker.events_are_followed(), Ok(()), "nothing is queued");
}

#[test]
fn a_refused_list_blocks_nothing_and_is_reported() {
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let tracker = ReconcileTracker::new(clock.clone(), Metrics::new(clock.now()));
    let yard = List { kind: Kind::Deployment, namespace: Some("yard".to_owned()) };
    tracker.start([list(Kind::Deployment), yard.clone()]);
    assert!(tracker.list_refused(&yard) && !tracker.list_refused(&yard));
    assert_eq!(tracker.lists(), Err("0 of 2 first lists are complete".to_owned()));
    assert!(tracker.listed(&list(Kind::Deployment)));
    assert_eq!(tracker.lists(), Ok(()));
    assert_eq!(tracker.refused_lists(), ["ConnectorDeployment in namespace yard"]);
    let refused = "connect_operator_lists_refused{kind=\"ConnectorDeployment\",namespace=\"yard\"} 1";
    assert_eq!(scraped(&tracker, "connect_operator_lists_refused{"), [refused]);

    tracker.event(&ObjectRef::deployment("yard", "tax"));
    clock.step(LONGEST_SILENCE * 2);
    assert_eq!(tracker.events_are_followed(), Ok(()), "its objects cannot reconcile");
    assert!(tracker.listed(&yard));
    assert_eq!(
        (tracker.refused_lists(), scraped(&tracker, "connect_operator_lists_refused{")),
        (Vec::new(), Vec::new())
    );
}

#[test]
fn a_refused_list_of_secrets_is_reported_and_awaited_by_nobody() {
    let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
    let tracker = ReconcileTracker::new(clock.clone(), Metrics::new(clock.now()));
    let secrets = SourceList { kind: Named::Secret, namespace: Some("yard".to_owned()) };
    tracker.start([list(Kind::Deployment)]);
    assert!(!tracker.source_listed(&secrets), "it was not refused");
    assert!(tracker.source_refused(&secrets) && !tracker.source_refused(&secrets), "reported once");
    tracker.source_refused(&SourceList { kind: Named::ConfigMap, namespace: None });
    assert_eq!(tracker.lists(), Err("0 of 1 first lists are complete".to_owned()));
    tracker.listed(&list(Kind::Deployment));
    assert_eq!(tracker.lists(), Ok(()));
    assert_eq!(tracker.refused_lists(), ["Secret in namespace yard", "ConfigMap"]);
    let metric = |kind: &str, namespace: &str| {
        format!("connect_operator_lists_refused{{kind=\"{kind}\",namespace=\"{namespace}\"}} 1")
    };
    let scrape = || scraped(&tracker, "connect_operator_lists_refused{");
    assert_eq!(scrape(), [metric("ConfigMap", ""), metric("Secret", "yard")]);
    assert!(tracker.source_listed(&secrets) && !tracker.source_listed(&secrets), "reported once");
    assert_eq!((tracker.refused_lists(), scrape()), (vec!["ConfigMap".to_owned()], vec![metric("ConfigMap", "")]));
}

#[tokio::test]
async fn a_main_loop_that_is_not_run_is_detected() {
    let (clock, tracker) = tracker();
    clock.step(LONGEST_PAUSE + Duration::from_secs(1));
    assert_eq!(tracker.loop_alive(), Err("the main loop was not run for 121 s".to_owned()));
    let mut beat = std::pin::pin!(tracker.beat());
    assert!(futures::poll!(&mut beat).is_pending());
    assert_eq!(tracker.loop_alive(), Ok(()));
    let idle = ReconcileTracker::new(clock.clone(), Metrics::new(clock.now()));
    clock.step(Duration::from_hours(1));
    assert_eq!(idle.loop_alive(), Ok(()), "nothing has started: this process is a standby");
}

#[tokio::test]
async fn resources_are_counted_by_state_and_reason_until_they_are_deleted() {
    let (clock, tracker) = tracker();
    let says = |reason, operation| Some(ReportedState { reason: Some(reason), operation });
    let (one, other, project) = (tax(), ObjectRef::deployment("shop", "other"), ObjectRef::project("shop", "demo"));
    tracker.inventory.seen(&one, Some(ReportedState::default()));
    tracker.inventory.seen(&one, says(Reason::Creating, Some(clock.now())));
    tracker.inventory.seen(&other, says(Reason::Creating, None));
    tracker.inventory.seen(&project, says(Reason::Available, None));
    tracker.inventory.used(&project);
    // A project of another install, which polls it itself.
    let foreign = ObjectRef::project("shop", "foreign");
    tracker.inventory.used(&foreign);
    tracker.inventory.unused(&foreign);
    let resources = "connect_operator_resources";
    let creating = "connect_operator_resources{kind=\"ConnectorDeployment\",state=\"Progressing\",reason=\"Creating\"}";
    let available = "connect_operator_resources{kind=\"ConnectProject\",state=\"Ready\",reason=\"Available\"} 1";
    assert_eq!(scraped(&tracker, resources), [available.to_owned(), format!("{creating} 2")]);
    clock.step(Duration::from_secs(90));
    let oldest = "connect_operator_oldest_operation_seconds{kind=\"ConnectorDeployment\"}";
    let since = "connect_operator_project_seconds_since_response";
    assert_eq!(scraped(&tracker, oldest), [format!("{oldest} 90.0")]);
    assert_eq!(scraped(&tracker, since), [format!("{since}{{namespace=\"shop\",project=\"demo\"}} 90.0")]);
    tracker.inventory.polled(&project, clock.now());
    tracker.inventory.polled(&ObjectRef::project("shop", "unknown"), clock.now());
    clock.step(Duration::from_secs(5));
    tracker.inventory.seen(&one, says(Reason::Deployed, None));
    assert_eq!(scraped(&tracker, oldest), [format!("{oldest} 0.0")]);
    assert_eq!(scraped(&tracker, since), [format!("{since}{{namespace=\"shop\",project=\"demo\"}} 5.0")]);
    for object_ref in [&one, &other, &project] {
        tracker.gone(object_ref);
    }
    assert_eq!((scraped(&tracker, resources), scraped(&tracker, since)), (Vec::new(), Vec::new()));
    assert!(tracker.object_refs().is_empty());
}

/// The size of a scrape depends on the states and reasons that occur, not on the number of resources.
#[tokio::test]
async fn ten_thousand_resources_make_no_more_series_than_one() {
    let sizes = [1, 10_000].map(|number| {
        let (clock, tracker) = tracker();
        for number in 0..number {
            let object_ref = ObjectRef::deployment("shop", &format!("tax-{number}"));
            let says = ReportedState { reason: Some(Reason::Deployed), operation: Some(clock.now()) };
            tracker.inventory.seen(&object_ref, Some(says));
            tracker.event(&object_ref);
            tracker.changed(&object_ref);
        }
        let start = Clock::system();
        let lines = tracker.metrics().encode().lines().count();
        // For `--nocapture`: the time of a scrape on this machine.
        println!("{number} resources: {lines} lines in {:?}", start.elapsed());
        lines
    });
    assert_eq!(sizes[0], sizes[1]);
}
