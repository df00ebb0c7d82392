use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;

use super::*;
use crate::operator::object_ref::ObjectRef;
use crate::operator::remote::testing::{Bench, START, object_ref};
use crate::operator::remote::{ConcurrencyPermit, NotAdmitted};

/// A rate that limits nothing.
const FAST: Rate = Rate::per_second(1_000);

/// Waiting reconciles, and those that have a permit.
struct Reconciles {
    bench: Bench,
    waiting: Vec<(String, BoxFuture<'static, Result<ConcurrencyPermit, NotAdmitted>>)>,
    running: Vec<(String, ConcurrencyPermit)>,
}

impl Reconciles {
    fn new(permits: usize) -> Self {
        let bench = Bench::new(0, permits);
        bench.remote.change(|state| {
            state.concurrency_limiter = ConcurrencyLimiter::new(permits, FAST);
            state.counted = Some((0, START));
        });
        Self { bench, waiting: Vec::new(), running: Vec::new() }
    }

    /// Begins a reconcile. `a1` is an object of namespace `a`.
    fn begin(&mut self, name: &str) {
        let (remote, object_ref) = (Arc::clone(&self.bench.remote), ObjectRef::deployment(&name[..1], name));
        self.waiting.push((name.to_owned(), async move { remote.enter(&object_ref).await }.boxed()));
        self.run();
    }

    /// Ends the oldest reconcile with a permit.
    fn end(&mut self) {
        drop(self.running.remove(0));
        self.run();
    }

    /// Lets the reconciles that got a permit go on.
    fn run(&mut self) {
        for (name, mut waiting) in std::mem::take(&mut self.waiting) {
            match waiting.as_mut().now_or_never() {
                Some(admission) => self.running.push((name, admission.expect("there is no outage"))),
                None => self.waiting.push((name, waiting)),
            }
        }
    }
}

#[tokio::test]
async fn rule_27_namespaces_take_turns_at_a_remote() {
    for (case, begun, expected) in [
        ("one namespace", "a1 a2 a3", "a1 a2 a3"),
        ("a namespace with many objects", "a1 a2 a3 a4 a5 b1", "a1 b1 a2 a3 a4 a5"),
        ("three namespaces", "a1 a2 a3 b1 b2 c1 a4", "a1 b1 c1 a2 b2 a3 a4"),
    ] {
        let mut reconciles = Reconciles::new(1);
        reconciles.begin("x0");
        begun.split_whitespace().for_each(|name| reconciles.begin(name));
        let mut order = Vec::new();
        while !reconciles.waiting.is_empty() {
            reconciles.end();
            order.extend(reconciles.running.iter().map(|(name, _)| name.clone()));
        }
        assert_eq!(order.join(" "), expected, "{case}: one permit, so one at a time");
    }
}

#[tokio::test]
async fn rule_27_a_namespace_that_always_has_another_object_keeps_no_other_waiting() {
    let mut reconciles = Reconciles::new(1);
    (0..11).for_each(|number| reconciles.begin(&format!("a{number}")));
    for number in 0..10 {
        reconciles.begin(&format!("b{number}"));
        let mut namespaces = Vec::new();
        for _ in 0..2 {
            reconciles.end();
            namespaces.extend(reconciles.running.iter().map(|(name, _)| name[..1].to_owned()));
        }
        namespaces.sort();
        assert_eq!(namespaces, ["a", "b"], "turn {number}");
    }
}

#[tokio::test]
async fn rule_4_nobody_enters_before_the_project_has_answered() {
    let bench = Bench::new(0, 1);
    let one = object_ref(1);
    let mut waiting = Box::pin(bench.remote.enter(&one));
    assert!(waiting.as_mut().now_or_never().is_none());
    bench.settle().await;
    assert!(matches!(waiting.now_or_never(), Some(Ok(_))));
}

#[tokio::test]
async fn a_reconcile_that_ended_while_it_waited_passes_its_permit_on() {
    let mut reconciles = Reconciles::new(1);
    for name in ["a0", "a1", "a2", "a3"] {
        reconciles.begin(name);
    }
    // One ends before its turn, and one after it but before it noticed.
    drop(reconciles.waiting.remove(0));
    drop(reconciles.running.remove(0));
    drop(reconciles.waiting.remove(0));
    reconciles.run();
    let running: Vec<_> = reconciles.running.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(running, ["a3"]);
    // An object that waits again gets one permit.
    reconciles.begin("a1");
    drop(reconciles.waiting.remove(0));
    reconciles.begin("a1");
    reconciles.end();
    assert_eq!((reconciles.running.len(), reconciles.waiting.len()), (1, 0));
}

#[tokio::test]
async fn a_low_rate_leaves_few_permits() {
    for (most, rate, expected) in
        [(16, 1, 2), (16, 2, 4), (16, 10, 16), (16, 1_000, 16), (1, 1, 1), (1, 1_000, 1), (0, 1, 1)]
    {
        let limiter = ConcurrencyLimiter::new(most, Rate::per_second(rate));
        assert_eq!(limiter.permits.available_permits(), expected, "{most} at {rate} a second");
    }
}
