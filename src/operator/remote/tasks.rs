//! The tasks of a remote: the poller, and what reads connectors again. Neither waits for a call of the other one.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use connect_api::trace;
use futures::{FutureExt, future};
use tracing::Instrument as _;

use super::Remote;
use super::jitter::LONGEST_PAUSE;

/// Pause between two looks for connectors that are due: the shortest interval of a resource.
pub(super) const REGISTRY: Duration = Duration::from_secs(30);

impl Remote {
    /// Runs the tasks for ever.
    pub(super) async fn run(self: Arc<Self>) {
        let poller = async {
            let mut changes = self.changes.subscribe();
            loop {
                changes.mark_unchanged();
                match self.guarded("poll", self.round()).await {
                    Some(Some(until)) => tokio::select! {
                        // In order, so that the same events have the same effect each time a test runs.
                        biased;
                        () = self.clock.sleep_until(until) => {}
                        _ = changes.changed() => {}
                    },
                    Some(None) => {}
                    None => self.clock.sleep(LONGEST_PAUSE).await,
                }
            }
        };
        let registry = async {
            loop {
                self.clock.sleep(REGISTRY).await;
                self.guarded("registry", self.refresh_registry()).await;
            }
        };
        future::join(poller, registry).await;
    }

    /// Runs one round of a task under a trace id of its own; returns `None` if it panicked, which ends its round, not the
    /// task.
    async fn guarded<T>(&self, task: &'static str, round: impl Future<Output = T>) -> Option<T> {
        let (project, trace_id) = (&self.settings().project_key, trace::Id::random());
        let span = tracing::info_span!("round", task, project, %trace_id);
        let ended = AssertUnwindSafe(trace::within(trace_id, round).instrument(span)).catch_unwind().await;
        if ended.is_err() {
            self.metrics.panicked("remote");
            tracing::error!(task, "a task of a remote project panicked, which is a bug; it continues after a pause");
        }
        ended.ok()
    }
}
