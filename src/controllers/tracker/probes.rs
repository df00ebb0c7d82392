//! What the probes ask: whether everything was listed, and whether anything hangs. Next: `cli/run/health.rs`, which asks.

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::{LONGEST_PAUSE, LONGEST_SILENCE, ReconcileTracker, Running};
use crate::controllers::object_ref::Kind;

impl ReconcileTracker {
    /// Whether every first list is there that the API server does not refuse, or how many are.
    ///
    /// # Errors
    /// What is missing, for people.
    pub fn lists(&self) -> Result<(), String> {
        let state = self.lock();
        if !state.started {
            return Err("the controllers have not started".to_owned());
        }
        if state.lists.are_awaited() {
            let (there, all) = state.lists.progress();
            return Err(format!("{there} of {all} first lists are there"));
        }
        Ok(())
    }

    /// Whether the main loop is alive.
    ///
    /// # Errors
    /// For how long it was not, for people.
    pub fn loop_alive(&self) -> Result<(), String> {
        let beat = Duration::from_millis(self.beat.load(Ordering::Relaxed));
        let pause = self.clock.elapsed().saturating_sub(beat);
        if self.lock().started && pause > LONGEST_PAUSE {
            return Err(format!("the main loop was not run for {} s", pause.as_secs()));
        }
        Ok(())
    }

    /// Whether whatever has begun goes on.
    ///
    /// # Errors
    /// What does not, for people.
    pub fn runs_go_on(&self) -> Result<(), String> {
        let now = self.clock.elapsed();
        let silent = |running: &Running| {
            let enqueued = Duration::from_millis(running.enqueued.load(Ordering::Relaxed));
            Some(now.saturating_sub(enqueued)).filter(|silence| *silence > LONGEST_SILENCE)
        };
        let state = self.lock();
        let hung: Vec<_> =
            state.running.values().filter_map(|running| Some((silent(running)?, &running.what))).collect();
        let Some((silence, what)) = hung.iter().max() else { return Ok(()) };
        Err(format!("{what} has been waiting for {} s ({} in all)", silence.as_secs(), hung.len()))
    }

    /// Whether events are followed by runs.
    ///
    /// # Errors
    /// Of which kind they are not, for people.
    pub fn events_are_followed(&self) -> Result<(), String> {
        if self.lists().is_err() {
            // Nothing runs before the first lists, which depend on the API server.
            return Ok(());
        }
        let now = self.clock.elapsed();
        let state = self.lock();
        for kind in Kind::ALL {
            let still = state.kinds.get(&kind).filter(|it| it.waiting > 0 && it.running == 0).map(|it| it.moved);
            let Some(moved) = still else { continue };
            let waiting =
                state.waiting.iter().filter(|(object_ref, _)| object_ref.kind == kind).map(|(_, since)| *since);
            let since = waiting.min().unwrap_or(now).max(moved);
            let silence = now.saturating_sub(since);
            if silence > LONGEST_SILENCE {
                return Err(format!("events of {} wait for {} s, and nothing runs", kind.as_str(), silence.as_secs()));
            }
        }
        Ok(())
    }
}
