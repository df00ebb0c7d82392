//! Allocations of reconciles that change nothing. What the simulated cluster and remote allocate while they handle a request
//! counts too; without a request that is nothing.

use std::sync::atomic::{AtomicU64, Ordering};
use std::task::Poll;

use futures::future::poll_fn;

use crate::prelude::*;

/// Number and allocations of the reconciles of an operator.
#[derive(Default)]
pub(crate) struct Allocations {
    reconciles: AtomicU64,
    allocations: AtomicU64,
}

impl Allocations {
    /// Returns a reconcile that is counted.
    pub(crate) fn count<T>(
        self: Arc<Self>,
        reconcile: impl Future<Output = T> + Send,
    ) -> impl Future<Output = T> + Send {
        self.reconciles.fetch_add(1, Ordering::Relaxed);
        let mut reconcile = Box::pin(reconcile);
        poll_fn(move |context| {
            let mut polled = Poll::Pending;
            let counted = allocation_counter::measure(|| polled = reconcile.as_mut().poll(context));
            self.allocations.fetch_add(counted.count_total, Ordering::Relaxed);
            polled
        })
    }

    /// Number of reconciles that began since the last call, and of their allocations.
    fn take(&self) -> (u64, u64) {
        (self.reconciles.swap(0, Ordering::Relaxed), self.allocations.swap(0, Ordering::Relaxed))
    }
}

/// Maximum number of allocations for each change of a Secret that changes no value: of a reconcile that waits for a poll, and of
/// one that reads the record and the Secret and finds everything as it should be. Lower it whenever that becomes possible.
const SETTLED: u64 = 2_450;

/// Number of changes of a Secret that change no value.
const TIMES: usize = 10;

#[test]
fn a_reconcile_that_changes_nothing_allocates_little() {
    let (simulation, (reconciles, allocations)) =
        simulate(0, Reading::default(), async |simulation: &mut Simulation| {
            simulation.start(0, 0);
            simulation.write(RESOURCES[0], Shape::default());
            simulation.quiet().await.expect("it becomes live");
            // The annotation with the id follows at the next poll.
            simulation.pass(Duration::from_mins(6)).await;
            simulation.quiet().await.expect("it stays live");
            let counted = Arc::clone(&simulation.operators[0].as_ref().expect("it runs").allocations);
            counted.take();
            simulation.calls.clear();
            for number in 0..TIMES {
                simulation.unrelated(number);
                for _ in 0..6 {
                    simulation.rest().await;
                    simulation.pass(Duration::from_secs(10)).await;
                }
            }
            counted.take()
        });
    let writes: Vec<_> = simulation.calls.iter().filter(|(_, changes)| *changes).collect();
    assert!(writes.is_empty(), "nothing is to be written: {writes:?}");
    println!("{allocations} allocations of {reconciles} reconciles");
    assert!(reconciles >= TIMES as u64, "each change of the Secret causes one: {reconciles}");
    let each = allocations / TIMES as u64;
    assert!(each <= SETTLED, "{each} allocations for each change");
}
