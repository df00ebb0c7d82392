use std::time::Duration;

use connect_api::error::Failure;
use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::operator::remote::testing::{Factory, Mood, START, Service, id, metrics, object_ref, settings, until};
use crate::operator::remote::{NotAdmitted, PollRate};
use crate::operator::testing::failure;
use crate::patience::in_time;

struct Bench {
    clock: Clock,
    service: Arc<Service>,
    remotes: Arc<Remotes>,
    enqueued: UnboundedReceiver<ObjectRef>,
}

impl Bench {
    fn new() -> Self {
        let clock = Clock::stepped(START);
        let service = Service::new(&clock);
        service.world().deployments = (0..10).map(|number| (id(number), 1)).collect();
        let (enqueue, enqueued) = unbounded_channel();
        let remotes = Remotes::new(clock.clone(), Arc::new(Factory(service.clone())), enqueue, 16, 1, metrics(&clock));
        Self { clock, service, remotes, enqueued }
    }

    fn claim(&self, project: &ObjectRef, secret: &str, rate: u32) -> Arc<Remote> {
        self.remotes.claim(project, &settings(secret, rate)).expect("the settings are valid")
    }

    /// Returns the next object that is enqueued; fails if none is.
    async fn next(&mut self) -> ObjectRef {
        let next = in_time(self.enqueued.recv()).await;
        next.expect("an object is enqueued").expect("the registry is alive")
    }
}

fn project(name: &str) -> ObjectRef {
    ObjectRef::project("default", name)
}

#[tokio::test]
async fn no_project_uses_the_remote_of_another_one() {
    let bench = Bench::new();
    let neighbour = ObjectRef::project("elsewhere", "one");
    let first = bench.claim(&project("one"), "secret", 10);
    let second = bench.claim(&neighbour, "secret", 10);
    assert!(!Arc::ptr_eq(&first, &second), "even with the same credentials");
    assert!(Arc::ptr_eq(&bench.claim(&project("one"), "secret", 10), &first), "unchanged settings change nothing");
    for (case, changed) in [
        ("another secret", settings("new", 10)),
        ("another rate", settings("new", 5)),
        ("another API client", Settings { client_id: "another".into(), ..settings("new", 5) }),
    ] {
        let before = bench.remotes.of(&project("one")).expect(case);
        let after = bench.remotes.claim(&project("one"), &changed).expect(case);
        assert!(!Arc::ptr_eq(&before, &after), "{case}");
        assert!(bench.remotes.of(&project("one")).is_some_and(|now| Arc::ptr_eq(&now, &after)), "{case}");
        assert!(bench.remotes.of(&neighbour).is_some_and(|remote| Arc::ptr_eq(&remote, &second)), "{case}");
    }
    bench.remotes.release(&project("one"));
    assert!(bench.remotes.of(&project("one")).is_none() && bench.remotes.of(&neighbour).is_some());
}

#[tokio::test]
async fn a_changed_rate_is_no_new_login_and_ends_no_pause() {
    let mut bench = Bench::new();
    bench.service.world().mood = Mood::Fails(failure(Failure::CredentialsRefused));
    let before = bench.claim(&project("one"), "wrong", 10);
    assert_eq!(bench.next().await, project("one"));
    bench.service.world().mood = Mood::Works;
    let after = bench.claim(&project("one"), "wrong", 5);
    assert!(!Arc::ptr_eq(&before, &after));
    assert_eq!(after.login(), before.login(), "what was refused is not sent again");
    assert!(matches!(after.enter(&object_ref(2)).await, Err(NotAdmitted::CircuitOpen(_))));
}

#[tokio::test]
async fn a_remote_that_hangs_does_not_slow_another() {
    let mut bench = Bench::new();
    bench.service.world().mood = Mood::Hangs;
    let dead = bench.claim(&project("dead"), "secret", 10);
    assert!(dead.polled_record(&object_ref(1), &id(1), START).is_none());
    until(|| !bench.service.calls().is_empty()).await;
    bench.service.world().mood = Mood::Works;
    let mut other = settings("secret", 10);
    other.project_key = "other".into();
    let alive = bench.remotes.claim(&project("alive"), &other).expect("the settings are valid");
    assert!(alive.polled_record(&object_ref(2), &id(2), START).is_none());
    while bench.next().await != object_ref(2) {}
    assert!(alive.polled_record(&object_ref(2), &id(2), START).is_some());
    assert!(dead.polled_record(&object_ref(1), &id(1), START).is_none());
}

#[tokio::test]
async fn releasing_a_project_ends_its_poller_and_nobody_waits_there_for_ever() {
    let bench = Bench::new();
    let remote = bench.claim(&project("one"), "secret", 10);
    until(|| remote.has_answered()).await;
    remote.poll(&object_ref(1), &id(1), PollRate::Settled(Duration::from_mins(5)));
    let mut held = Vec::new();
    while let Some(Ok(permit)) = remote.enter(&object_ref(1)).now_or_never() {
        held.push(permit);
    }
    let far = object_ref(1);
    let mut waiting = Box::pin(remote.enter(&far));
    assert!(waiting.as_mut().now_or_never().is_none(), "all {} permits are held", held.len());
    bench.remotes.release(&project("one"));
    drop(held);
    assert!(matches!(waiting.await, Err(NotAdmitted::Moved)), "its reconcile begins again");
    assert!(matches!(remote.enter(&object_ref(2)).await, Err(NotAdmitted::Moved)));

    let ended = Arc::downgrade(&remote);
    drop(remote);
    until(|| ended.strong_count() == 0).await;
    bench.service.calls();
    bench.clock.step(Duration::from_hours(1));
    tokio::task::yield_now().await;
    assert_eq!(bench.service.calls(), []);
}

#[test]
fn settings_compare_all_fields_and_do_not_show_the_secret() {
    let base = settings("a recognisable secret", 10);
    assert_eq!(base, settings("a recognisable secret", 10));
    assert_ne!(base, settings("another secret", 10));
    assert_ne!(base, settings("a recognisable secret", 11));
    assert_ne!(base, Settings { scopes: Some("manage_connectors_deployments:demo".into()), ..base.clone() });
    assert!(!format!("{base:?}").contains("recognisable"));
}
