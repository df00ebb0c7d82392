//! The election on a real Lease. Each replica has a clock of its own, which runs twenty times as fast as the machine's
//! and stands still while a request of a replica is in flight: the seconds of the Lease are those of the clocks, so
//! that a slow API server does not end a lead.

use std::ops::Deref;
use std::sync::atomic::AtomicUsize;

use connect_api::Fence;
use connect_operator::leader::scope::Labels;
use connect_operator::leader::{Election, LeaseName, Lost, Timing, fenced};
use http::Response;
use k8s_openapi::api::coordination::v1::LeaseSpec;

use crate::prelude::*;

const LEASE: &str = "tax";

/// A replica that campaigns.
struct Replica {
    election: Option<Election>,
    fence: Fence,
    clock: Clock,
    ticking: JoinHandle<()>,
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.ticking.abort();
    }
}

/// The namespace of a test, and the requests of its replicas.
struct Stage {
    sandbox: Sandbox,
    /// The client that replicas call the API server with.
    client: Client,
    /// Number of their requests without a response so far.
    under_way: Arc<AtomicUsize>,
}

impl Deref for Stage {
    type Target = Sandbox;

    fn deref(&self) -> &Sandbox {
        &self.sandbox
    }
}

/// Counts a request until its response is complete.
struct UnderWay(Arc<AtomicUsize>);

impl UnderWay {
    fn one(counter: &Arc<AtomicUsize>) -> Self {
        counter.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(counter))
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Stage {
    async fn new() -> Self {
        let sandbox = Sandbox::new().await;
        let under_way = Arc::new(AtomicUsize::new(0));
        let (inner, counter) = (sandbox.client.clone(), Arc::clone(&under_way));
        let service = tower::service_fn(move |request: Request<kube::client::Body>| {
            let (inner, counter) = (inner.clone(), Arc::clone(&counter));
            async move {
                let _counted = UnderWay::one(&counter);
                let (head, body) = inner.send(request).await?.into_parts();
                // A Lease is short, so its response is complete when its whole body was read.
                let body = axum::body::to_bytes(Body::new(body), usize::MAX).await?;
                Ok::<_, BoxError>(Response::from_parts(head, Body::from(body)))
            }
        });
        let client = Client::new(service, sandbox.namespace.clone());
        Self { sandbox, client, under_way }
    }

    /// Returns a new clock, and the task that drives it.
    fn fast(&self) -> (Clock, JoinHandle<()>) {
        let clock = Clock::stepped(Timestamp::now());
        let (driven, under_way) = (clock.clone(), Arc::clone(&self.under_way));
        let ticking = tokio::spawn(async move {
            loop {
                tokio::time::sleep(Duration::from_millis(5)).await;
                if under_way.load(Ordering::SeqCst) == 0 {
                    driven.step(Duration::from_millis(100));
                }
            }
        });
        (clock, ticking)
    }
}

fn labels() -> Labels {
    Scope::default().labels()
}

impl Replica {
    fn start(stage: &Stage, identity: &str) -> Self {
        let (clock, ticking) = stage.fast();
        Self::with(stage, stage.client.clone(), identity, clock, ticking)
    }

    fn with(sandbox: &Sandbox, client: Client, identity: &str, clock: Clock, ticking: JoinHandle<()>) -> Self {
        let lease = LeaseName { namespace: sandbox.namespace.clone(), name: LEASE.to_owned() };
        let fence = Fence::closed(clock.clone());
        let election =
            Election::start(client, &lease, labels(), identity.to_owned(), Timing::default(), &clock, &fence);
        Self { election: Some(election), fence, clock, ticking }
    }

    async fn leads(stage: &Stage, identity: &str) -> Self {
        let mut replica = Self::start(stage, identity);
        replica.until_it_leads().await;
        replica
    }

    async fn until_it_leads(&mut self) {
        in_time(self.election().won()).await.expect("it leads in time").expect("nothing is lost");
        assert!(self.fence.holds());
    }

    fn election(&mut self) -> &mut Election {
        self.election.as_mut().expect("it was not given up")
    }

    /// As at the end of a process that received SIGTERM.
    async fn give_up(&mut self) {
        self.election.take().expect("it was not given up").give_up().await;
        assert!(!self.fence.holds());
    }

    async fn until_it_lost(&mut self) -> Lost {
        let lost = in_time(self.election().lost()).await.expect("it is lost in time");
        assert!(!self.fence.holds());
        lost
    }
}

async fn spec(sandbox: &Sandbox) -> LeaseSpec {
    sandbox.objects::<Lease>().get(LEASE).await.expect("a Lease").spec.expect("a record")
}

/// Returns once the Lease satisfies `is`.
async fn until(sandbox: &Sandbox, what: &str, is: impl Fn(&Lease) -> bool) -> Lease {
    let seen = awaited(sandbox.objects(), LEASE, |lease: Option<&Lease>| lease.is_some_and(&is));
    in_time(seen).await.unwrap_or_else(|_| panic!("not in time: {what}")).expect("a condition on a Lease")
}

#[tokio::test]
async fn one_of_many_replicas_leads_and_labels_the_lease() {
    let stage = Stage::new().await;
    let mut replicas: Vec<_> = (0..4).map(|number| Replica::start(&stage, &format!("replica-{number}"))).collect();
    let lease = until(&stage, "one replica leads", |lease| lease.spec.is_some()).await;
    for replica in &replicas {
        // Each has read it at least twice.
        let from = replica.clock.elapsed();
        while replica.clock.elapsed().saturating_sub(from) < Duration::from_secs(6) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    assert_eq!(replicas.iter().filter(|replica| replica.fence.holds()).count(), 1);
    assert_eq!(lease.labels(), &labels());
    let spec = spec(&stage).await;
    assert_eq!((spec.lease_duration_seconds, spec.lease_transitions), (Some(15), Some(0)));
    replicas.iter_mut().find(|replica| !replica.fence.holds()).expect("a follower").give_up().await;
    assert_eq!(self::spec(&stage).await.holder_identity, spec.holder_identity, "it releases nothing");
}

#[tokio::test]
async fn changes_of_the_lease_beside_the_record_do_not_end_the_lead() {
    let stage = Stage::new().await;
    let mut replica = Replica::leads(&stage, "first").await;
    let note =
        Patch::Merge(json!({"metadata": {"annotations": {"note": "mine"}, "labels": {names::MANAGED_BY: "changed"}}}));
    stage.objects::<Lease>().patch(LEASE, &PatchParams::default(), &note).await.unwrap();
    let put_right = |lease: &Lease| *lease.labels() == labels();
    let lease = until(&stage, "the leader renews it despite the change", put_right).await;
    assert_eq!(lease.annotations()["note"], "mine");
    stage.objects::<Lease>().delete(LEASE, &DeleteParams::default()).await.unwrap();
    until(&stage, "it is created again", |_| true).await;
    assert!(replica.fence.holds());
    let spec = spec(&stage).await;
    assert_eq!((spec.holder_identity.as_deref(), spec.lease_transitions), (Some("first"), Some(0)));
    replica.give_up().await;
}

#[tokio::test]
async fn a_leader_that_finds_another_holder_has_lost_at_once() {
    let stage = Stage::new().await;
    let mut replica = Replica::leads(&stage, "first").await;
    let other = Patch::Merge(json!({"spec": {"holderIdentity": "by-hand"}}));
    stage.objects::<Lease>().patch(LEASE, &PatchParams::default(), &other).await.unwrap();
    let lost = replica.until_it_lost().await;
    assert!(lost.to_string().contains("is held by by-hand now"), "{lost}");
    assert_eq!(spec(&stage).await.holder_identity.as_deref(), Some("by-hand"), "it writes nothing more");
}

#[tokio::test]
async fn rule_25_without_the_api_server_the_fence_closes_at_the_deadline_and_the_lead_is_lost() {
    for (case, wrong, why) in [
        ("no connection", Wrong::Away, "no connection"),
        ("it refuses", Wrong::Refused(503, "ServiceUnavailable"), "refused"),
        ("the API server hangs", Wrong::Late(Duration::from_mins(10)), "no answer within 5s"),
    ] {
        let stage = Stage::new().await;
        let (clock, ticking) = stage.fast();
        let (unreliable, client) = Unreliable::client(&stage.client, &clock);
        let mut replica = Replica::with(&stage, client, "first", clock.clone(), ticking);
        replica.until_it_leads().await;
        unreliable.begin(Which::All, wrong);
        unreliable.until_met(1).await;
        let from = clock.elapsed();
        let lost = replica.until_it_lost().await;
        let took = clock.elapsed().saturating_sub(from);
        // The last successful renewal was up to two seconds before the first failed one.
        assert!(took > Duration::from_secs(7) && took < Duration::from_secs(17), "{case}: {took:?}");
        assert!(lost.to_string().contains(why) && lost.to_string().contains("within 10s"), "{case}: {lost}");
        unreliable.end();
        assert_eq!(spec(&stage).await.holder_identity.as_deref(), Some("first"), "{case}: nothing is released");
    }
}

#[tokio::test]
async fn a_response_after_the_deadline_does_not_start_a_lead() {
    let stage = Stage::new().await;
    let (clock, ticking) = stage.fast();
    ticking.abort();
    let (unreliable, client) = Unreliable::client(&stage.client, &clock);
    unreliable.begin(Which::All, Wrong::Away);
    let replica = Replica::with(&stage, client, "first", clock.clone(), ticking);
    unreliable.until_met(1).await;
    // The API server creates the Lease, and the process is suspended until after its deadline before it receives the
    // response.
    unreliable.begin(Which::Writes, Wrong::Late(Duration::from_secs(2)));
    clock.step(Duration::from_secs(2));
    until(&stage, "it is created", |_| true).await;
    unreliable.begin(Which::Writes, Wrong::Away);
    clock.step(Duration::from_secs(11));
    // When it tries to write again, it has received the response or given up.
    let driven = async {
        loop {
            tokio::time::sleep(Duration::from_millis(20)).await;
            clock.step(Duration::from_secs(2));
        }
    };
    tokio::select! {
        () = unreliable.until_met(1) => {}
        () = driven => {}
    }
    assert!(!replica.fence.holds(), "the response came after the deadline");
}

#[tokio::test]
async fn rule_25_a_client_behind_a_closed_fence_reads_but_does_not_write() {
    let stage = Stage::new().await;
    let clock = Clock::stepped(Timestamp::now());
    let fence = Fence::closed(clock.clone());
    let client = fenced::client(stage.client.clone(), fence.clone());
    let api = Api::<ConfigMap>::namespaced(client, &stage.namespace);
    let metadata = ObjectMeta { name: Some("note".to_owned()), ..ObjectMeta::default() };
    let note = ConfigMap { metadata, ..ConfigMap::default() };
    fence.hold_until(clock.elapsed() + Duration::from_secs(10));
    api.create(&PostParams::default(), &note).await.expect("it may be written");
    clock.step(Duration::from_secs(10));
    let patch = Patch::Merge(json!({"data": {"a": "b"}}));
    let refused = [
        api.create(&PostParams::default(), &note).await.map(|_| ()),
        api.patch("note", &PatchParams::default(), &patch).await.map(|_| ()),
        api.replace("note", &PostParams::default(), &note).await.map(|_| ()),
        api.delete("note", &DeleteParams::default()).await.map(|_| ()),
    ];
    for (number, refused) in refused.into_iter().enumerate() {
        let error = refused.expect_err("it may not be written").to_string();
        assert!(error.contains("does not lead any more"), "{number}: {error}");
    }
    let read = api.get("note").await.expect("it may be read");
    assert_eq!(read.data, None);
}
