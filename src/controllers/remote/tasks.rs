//! The tasks of a remote: the poller, and what reads connectors again. Neither waits for a call of the other one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use clock::later;
use connect_api::trace;
use futures::{FutureExt, future};
use jiff::Timestamp;
use tokio::sync::Notify;
use tracing::Instrument as _;

use super::Remote;

/// Shortest interval of a resource: nothing that is not known yet is due earlier.
const SHORTEST_INTERVAL: Duration = Duration::from_secs(30);

impl Remote {
    /// Runs the tasks for ever.
    pub(super) async fn run(self: Arc<Self>) {
        let poller = self.repeat("poll", &self.notify, || self.round());
        let never = Notify::new();
        let registry = self.repeat("registry", &never, async || {
            let next = self.refresh_registry().await;
            Some(next.min(later(self.clock.now(), SHORTEST_INTERVAL)))
        });
        future::join(poller, registry).await;
    }

    /// Runs rounds for ever, and rests until the time that a round returns or until notified. A panic ends its round, not
    /// the task.
    async fn repeat<F>(self: &Arc<Self>, task: &'static str, notify: &Notify, round: impl Fn() -> F)
    where
        F: Future<Output = Option<Timestamp>>,
    {
        loop {
            let until = match AssertUnwindSafe(self.traced(task, round())).catch_unwind().await {
                Ok(Some(until)) => until,
                Ok(None) => continue,
                Err(_) => {
                    self.metrics.panicked("remote");
                    tracing::error!(
                        task,
                        "a task of a remote project panicked, which is a bug; it continues after a pause"
                    );
                    let now = self.clock.now();
                    self.change(|state| later(now, state.jitter.growing(u32::MAX)))
                }
            };
            tokio::select! {
                // In order, so that the same events have the same effect each time a test runs.
                biased;
                () = self.clock.sleep_until(until) => {}
                () = notify.notified() => {}
            }
        }
    }

    /// Runs one round under a trace id of its own.
    async fn traced(
        self: &Arc<Self>,
        task: &'static str,
        round: impl Future<Output = Option<Timestamp>>,
    ) -> Option<Timestamp> {
        let (project, trace_id) = (self.project_key(), trace::Id::random());
        let span = tracing::info_span!("round", task, project, %trace_id);
        trace::within(trace_id, round).instrument(span).await
    }
}
