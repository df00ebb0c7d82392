use std::time::Duration;

use connect_api::Rate;
use connect_api::error::Failure;
use futures::FutureExt;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::*;
use crate::operator::remote::testing::{
    Factory, Mood, START, Service, failure, id, metrics, object_ref, settings, until,
};
use crate::operator::remote::{Health, NotAdmitted, OutageKind, PollRate};
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

    /// Drops the objects enqueued so far.
    fn quiet(&mut self) {
        while self.enqueued.try_recv().is_ok() {}
    }

    /// Returns the secret of each client that was made.
    fn clients(&self) -> Vec<String> {
        use secrecy::ExposeSecret;
        let world = self.service.world();
        world.clients.iter().map(|settings| settings.client_secret.expose_secret().to_owned()).collect()
    }

    fn rates(&self) -> Vec<Rate> {
        self.service.world().rates.clone()
    }
}

fn project(name: &str) -> ObjectRef {
    ObjectRef::project("default", name)
}

#[tokio::test]
async fn projects_share_a_remote_and_the_lowest_rate_counts_as_long_as_it_is_claimed() {
    let bench = Bench::new();
    let one = bench.claim(&project("one"), "secret", 10);
    let two = bench.claim(&project("two"), "secret", 4);
    let three = bench.claim(&project("three"), "secret", 20);
    assert!(Arc::ptr_eq(&one, &two) && Arc::ptr_eq(&one, &three));
    bench.claim(&project("two"), "secret", 4);
    bench.remotes.release(&project("two"));
    assert_eq!(bench.clients(), ["secret"], "one client, so one token");
    assert_eq!(bench.rates(), [4, 10].map(Rate::per_second));
    assert!(bench.remotes.of(&project("two")).is_none());

    let mut other = settings("secret", 10);
    other.client_id = "another".into();
    let another = bench.remotes.claim(&project("one"), &other).expect("the settings are valid");
    assert!(!Arc::ptr_eq(&one, &another));
    assert!(bench.remotes.of(&project("one")).is_some_and(|remote| Arc::ptr_eq(&remote, &another)));
    assert_eq!(bench.rates(), [4, 10, 20].map(Rate::per_second), "only the third one is left");
}

#[tokio::test]
async fn no_project_uses_credentials_that_only_another_project_has() {
    let bench = Bench::new();
    let stranger = ObjectRef::project("elsewhere", "one");
    let mut other_server = settings("right", 10);
    other_server.auth_url = "http://auth.elsewhere.test".into();
    let mut narrower = settings("right", 10);
    narrower.scopes = Some("view_connectors:demo".into());
    for (case, other) in [
        ("another secret", settings("wrong", 10)),
        ("another authorization server", other_server),
        ("other scopes", narrower),
    ] {
        let first = bench.claim(&project("one"), "right", 10);
        let second = bench.remotes.claim(&stranger, &other).expect("the settings are valid");
        assert!(!Arc::ptr_eq(&first, &second), "{case}: a client id alone gives no access");
        let login = first.login();
        // Whichever project claims again or changes its settings, neither gets the other's client.
        bench.claim(&project("one"), "right", 5);
        bench.remotes.claim(&stranger, &other).expect("the settings are valid");
        assert!(bench.remotes.of(&stranger).is_some_and(|remote| Arc::ptr_eq(&remote, &second)), "{case}");
        assert_eq!(first.login(), login, "{case}: the first project keeps its client");
        bench.remotes.release(&project("one"));
        bench.remotes.release(&stranger);
    }
}

#[tokio::test]
async fn projects_that_rotate_one_after_the_other_share_a_remote_again() {
    let bench = Bench::new();
    let old = bench.claim(&project("one"), "old", 10);
    bench.claim(&project("two"), "old", 10);
    let new = bench.claim(&project("one"), "new", 10);
    assert!(!Arc::ptr_eq(&old, &new), "the other project still has the old secret");
    assert!(Arc::ptr_eq(&bench.claim(&project("two"), "new", 10), &new));
    assert_eq!(bench.clients(), ["old", "new"]);
    assert!(bench.remotes.of(&project("one")).is_some_and(|remote| Arc::ptr_eq(&remote, &new)));
}

#[tokio::test]
async fn rejected_settings_change_nothing() {
    let bench = Bench::new();
    let mut bad = settings("secret", 10);
    bad.api_url = "http://forbidden.test".into();
    assert!(bench.remotes.claim(&project("one"), &bad).is_err());
    assert!(bench.remotes.of(&project("one")).is_none());
    let remote = bench.claim(&project("one"), "secret", 10);
    assert!(bench.remotes.claim(&project("one"), &bad).is_err());
    assert!(bench.remotes.of(&project("one")).is_some_and(|now| Arc::ptr_eq(&now, &remote)));
}

#[tokio::test]
async fn new_credentials_are_tried_at_once_and_whoever_waited_is_enqueued() {
    let mut bench = Bench::new();
    bench.service.world().mood = Mood::Fails(failure(Failure::CredentialsRefused));
    let wrong = bench.claim(&project("one"), "wrong", 10);
    assert!(wrong.polled_record(&object_ref(1), &id(1), START).is_none());
    assert_eq!(bench.next().await, project("one"));
    assert_eq!(bench.next().await, object_ref(1), "it has to report why it waits");
    assert!(matches!(wrong.health(), Health::Failing(why) if why.kind == OutageKind::CredentialsRejected));
    assert!(matches!(wrong.enter(&object_ref(2)).await, Err(NotAdmitted::CircuitOpen(_))));

    bench.service.world().mood = Mood::Works;
    let right = bench.claim(&project("one"), "right", 10);
    assert_ne!(right.login(), wrong.login(), "what the former credentials were refused may be sent again");
    let mut enqueued = vec![bench.next().await, bench.next().await, bench.next().await];
    enqueued.sort();
    let mut expected = [object_ref(1), object_ref(2), project("one")];
    expected.sort();
    assert_eq!(enqueued, expected, "those that waited for the circuit breaker, and the project that reports it");
    assert!(matches!(right.health(), Health::Good { .. }));
    assert_eq!(bench.clients().len(), 2);
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
async fn releasing_the_last_claim_ends_the_poller_and_enqueues_every_object() {
    let mut bench = Bench::new();
    let remote = bench.claim(&project("one"), "secret", 10);
    let neighbour = ObjectRef::project("elsewhere", "one");
    bench.claim(&neighbour, "secret", 10);
    until(|| remote.has_answered()).await;
    bench.quiet();
    remote.poll(&object_ref(1), &id(1), PollRate::Settled(Duration::from_mins(5)));
    let far = ObjectRef::deployment("elsewhere", "tax");
    remote.poll(&far, &id(2), PollRate::Settled(Duration::from_mins(5)));

    let mut held = Vec::new();
    while let Some(Ok(permit)) = remote.enter(&far).now_or_never() {
        held.push(permit);
    }
    let mut waiting = Box::pin(remote.enter(&far));
    assert!(waiting.as_mut().now_or_never().is_none(), "all {} permits are held", held.len());

    bench.remotes.release(&project("one"));
    assert_eq!(bench.next().await, object_ref(1), "of this namespace");
    assert!(waiting.as_mut().now_or_never().is_none(), "it came through the other project");
    bench.remotes.release(&neighbour);
    assert_eq!(bench.next().await, far);
    drop(held);
    assert!(matches!(waiting.await, Err(NotAdmitted::Moved)), "its reconcile begins again");
    assert!(matches!(remote.enter(&far).await, Err(NotAdmitted::Moved)), "no object waits here for ever");
    assert!(remote.polled_record(&far, &id(2), START).is_none());
    assert_eq!(bench.next().await, far, "no object waits here for ever");

    let ended = Arc::downgrade(&remote);
    drop(remote);
    until(|| ended.strong_count() == 0).await;
    bench.service.calls();
    bench.clock.step(Duration::from_hours(1));
    tokio::task::yield_now().await;
    assert_eq!(bench.service.calls(), []);
}

#[tokio::test]
async fn releasing_a_shared_project_enqueues_the_objects_of_every_namespace() {
    let mut bench = Bench::new();
    let shared = ObjectRef::cluster_project("one");
    let remote = bench.claim(&shared, "secret", 10);
    bench.claim(&project("one"), "secret", 10);
    until(|| remote.has_answered()).await;
    bench.quiet();
    let far = ObjectRef::deployment("elsewhere", "tax");
    remote.poll(&far, &id(2), PollRate::Settled(Duration::from_mins(5)));
    bench.remotes.release(&shared);
    assert_eq!(bench.next().await, far, "its project may have other credentials now");
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
