//! Steps the clock while a test waits, and counts calls by it.

use std::pin::pin;

use crate::prelude::*;

/// Real time between two steps.
const BEAT: Duration = Duration::from_millis(10);
/// Small enough for everything that counts seconds: at most 25 times as fast as real time.
pub(crate) const FINE: Duration = Duration::from_millis(250);
/// For seconds in which the API server has to answer: at most twice as fast as real time.
pub(crate) const SLOW: Duration = Duration::from_millis(20);
/// For hours: at most 500 times as fast as real time.
pub(crate) const COARSE: Duration = Duration::from_secs(5);

/// Calls that serve all resources of a project.
const SHARED: [&str; 2] = ["token", "getConnectorByKey"];

/// A clock that only these functions advance.
pub(crate) fn stepped() -> Clock {
    Clock::stepped("2026-01-01T00:00:00Z".parse().expect("a time"))
}

/// Lets time pass in small steps until `awaited` is ready.
pub(crate) async fn meanwhile<T>(clock: &Clock, step: Duration, awaited: impl Future<Output = T>) -> T {
    let mut awaited = pin!(awaited);
    loop {
        tokio::select! {
            biased;
            result = &mut awaited => return result,
            () = tokio::time::sleep(BEAT) => clock.step(step),
        }
    }
}

/// Lets this much time pass.
pub(crate) async fn pass(clock: &Clock, step: Duration, time: Duration) {
    meanwhile(clock, step, clock.sleep(time)).await;
}

/// Lets time pass until one of these operations was called this many times; fails with the counts otherwise.
pub(crate) async fn until_called(shop: &Shop, operation: &str, times: u64) {
    until_called_at(shop, FINE, operation, times).await;
}

/// The same in steps of another size.
pub(crate) async fn until_called_at(shop: &Shop, step: Duration, operation: &str, times: u64) {
    let called = async || shop.calls(operation) >= times;
    until(shop, step, &format!("{operation} is called {times} times"), called).await;
}

/// Lets time pass until this holds; fails with the counts of the calls otherwise.
pub(crate) async fn until(shop: &Shop, step: Duration, what: &str, is: impl AsyncFn() -> bool) {
    let holds = async {
        while !is().await {
            shop.clock.sleep(step).await;
        }
    };
    let patient = in_time(meanwhile(&shop.clock, step, holds)).await;
    assert!(patient.is_ok(), "not in time: {what}: {:?}", shop.dev.counts());
}

/// Maximum number of calls for one resource within any 10 s from `since` on. Tokens and reads of the registry are
/// shared by all resources, and not counted.
pub(crate) fn most_in_10_seconds(calls: &[Call], since: Timestamp) -> usize {
    let mut times: Vec<_> =
        calls.iter().filter(|call| !SHARED.contains(&call.operation) && call.at >= since).map(|call| call.at).collect();
    times.sort();
    times
        .iter()
        .enumerate()
        .map(|(first, start)| {
            times[first..].iter().take_while(|at| between(*start, **at) < Duration::from_secs(10)).count()
        })
        .max()
        .unwrap_or_default()
}

/// The calls from `since` on, one per line.
pub(crate) fn call_lines(calls: &[Call], since: Timestamp) -> String {
    let line = |call: &Call| format!("{:?} {} {}\n", between(since, call.at), call.operation, call.status);
    calls.iter().filter(|call| call.at >= since).map(line).collect()
}
