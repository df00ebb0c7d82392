//! What the probes ask: whether all first lists are complete, and whether anything hangs. Next: `cli/run/health.rs`,
//! which calls this.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{LONGEST_PAUSE, LONGEST_SILENCE, ReconcileTracker, Running};
use crate::controllers::object_ref::Kind;

impl ReconcileTracker {
    /// Whether every first list that the API server does not refuse is complete.
    ///
    /// # Errors
    /// How many are complete, for users.
    pub fn lists(&self) -> Result<(), String> {
        let state = self.state.lock();
        if !state.started {
            return Err("the controllers have not started".to_owned());
        }
        if state.lists.are_awaited() {
            let (there, all) = state.lists.progress();
            return Err(format!("{there} of {all} first lists are complete"));
        }
        Ok(())
    }

    /// Whether the main loop is alive.
    ///
    /// # Errors
    /// How long it has not run, for users.
    pub fn loop_alive(&self) -> Result<(), String> {
        let beat = Duration::from_millis(self.beat.load(Ordering::Relaxed));
        let pause = self.clock.elapsed().saturating_sub(beat);
        if self.state.lock().started && pause > LONGEST_PAUSE {
            return Err(format!("the main loop was not run for {} s", pause.as_secs()));
        }
        Ok(())
    }

    /// Whether all running reconciles make progress.
    ///
    /// # Errors
    /// The reconcile that has been silent for the longest time, for users.
    pub fn runs_go_on(&self) -> Result<(), String> {
        let now = self.clock.elapsed();
        let silent = |running: &Running| {
            let enqueued = Duration::from_millis(running.enqueued.load(Ordering::Relaxed));
            Some(now.saturating_sub(enqueued)).filter(|silence| *silence > LONGEST_SILENCE)
        };
        let state = self.state.lock();
        let hung: Vec<_> =
            state.running.values().filter_map(|running| Some((silent(running)?, &running.what))).collect();
        let Some((silence, what)) = hung.iter().max() else { return Ok(()) };
        Err(format!("{what} has been waiting for {} s ({} in all)", silence.as_secs(), hung.len()))
    }

    /// Whether events lead to reconciles.
    ///
    /// # Errors
    /// The kind of which they do not, for users.
    pub fn events_are_followed(&self) -> Result<(), String> {
        if self.lists().is_err() {
            // Nothing is reconciled before the first lists are complete, which depends on the API server.
            return Ok(());
        }
        let now = self.clock.elapsed();
        let state = self.state.lock();
        for kind in Kind::ALL {
            let still = state.kinds.get(&kind).filter(|it| it.waiting > 0 && it.running == 0).map(|it| it.moved);
            let Some(moved) = still else { continue };
            let waiting =
                state.waiting.iter().filter(|(object_ref, _)| object_ref.kind == kind).map(|(_, since)| *since);
            let since = waiting.min().unwrap_or(now).max(moved);
            let silence = now.saturating_sub(since);
            if silence > LONGEST_SILENCE {
                return Err(format!(
                    "events of {} wait for {} s, and no reconcile runs",
                    kind.as_str(),
                    silence.as_secs()
                ));
            }
        }
        Ok(())
    }
}
