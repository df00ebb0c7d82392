//! The last line of a terminal during a long command: what is pending, and for how long. Nothing in a pipe.

use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use clock::Clock;
use connect_api::text::clean;
use jiff::Timestamp;

use super::printing::{print, tell};
use super::text::age;

/// Pause between two updates of the elapsed time.
pub(super) const TICK: Duration = Duration::from_secs(1);

/// Clears the line of the cursor (ECMA-48, EL).
const CLEAR: &str = "\r\u{1b}[K";

/// The line; absent unless standard error is a terminal.
pub(super) struct Live<'a> {
    clock: &'a Clock,
    started: Timestamp,
    columns: Option<usize>,
}

impl<'a> Live<'a> {
    pub(super) fn start(clock: &'a Clock) -> Self {
        let terminal = io::stderr().is_terminal();
        let columns = terminal_size::terminal_size_of(io::stderr()).map(|(width, _)| usize::from(width.0));
        Self { clock, started: clock.now(), columns: columns.filter(|_| terminal) }
    }

    pub(super) fn is_shown(&self) -> bool {
        self.columns.is_some()
    }

    /// Shows a name and a state while the work lasts; the line stays.
    pub(super) async fn during<T>(&self, name: &str, state: impl Fn() -> String, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        loop {
            self.show(std::iter::once((name, state().as_str())));
            tokio::select! {
                done = work.as_mut() => return done,
                () = self.clock.sleep(TICK), if self.is_shown() => {}
            }
        }
    }

    /// Replaces the line by the names and states of what is pending.
    pub(super) fn show<'p>(&self, pending: impl Iterator<Item = (&'p str, &'p str)>) {
        if let Some(columns) = self.columns {
            let line = line(&pending.collect::<Vec<_>>(), &age(self.started, self.clock.now()), columns);
            // A terminal that is gone is not the command's failure.
            let _ = write!(io::stderr().lock(), "{CLEAR}{line}");
        }
    }

    /// Removes the line.
    pub(super) fn clear(&self) {
        if self.is_shown() {
            let _ = write!(io::stderr().lock(), "{CLEAR}");
        }
    }

    /// Prints a change of a state.
    pub(super) fn change(&self, text: &str) {
        self.clear();
        tell!("{text}");
    }

    /// Prints a result.
    ///
    /// # Errors
    /// If standard output cannot be written.
    pub(super) fn result(&self, text: &str) -> io::Result<()> {
        self.clear();
        print(text)
    }
}

/// Shows on a terminal what is done and how far it is while the work lasts, with the elapsed time. Most work is done before
/// the first [`TICK`], and shows nothing.
pub(super) async fn during<T>(name: &str, state: impl Fn() -> String, work: impl Future<Output = T>) -> T {
    let clock = Clock::system();
    let live = Live::start(&clock);
    let mut work = std::pin::pin!(work);
    tokio::select! {
        done = work.as_mut() => return done,
        () = clock.sleep(TICK) => {}
    }
    let done = live.during(name, state, work).await;
    live.clear();
    done
}

/// Returns the line, at most one column narrower than the terminal so that it never wraps.
fn line(pending: &[(&str, &str)], elapsed: &str, columns: usize) -> String {
    let text = match pending {
        [(name, state)] => format!("{elapsed} {name}: {state}"),
        several => {
            let names: Vec<_> = several.iter().map(|(name, _)| *name).collect();
            format!("{elapsed} waiting for {}: {}", several.len(), names.join(", "))
        }
    };
    let text = clean(text.lines().next().unwrap_or_default());
    text.chars().take(columns.saturating_sub(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pending_fits_into_one_line() {
        let one = ("deployment/tax", "Redeploying: Version 2\nis deployed");
        let two = [one, ("staged/kit", "Publishing")];
        assert_eq!(line(&[one], "80s", 80), "80s deployment/tax: Redeploying: Version 2");
        assert_eq!(line(&two, "2m", 80), "2m waiting for 2: deployment/tax, staged/kit");
        assert_eq!(line(&two, "2m", 12), "2m waiting ");
        assert_eq!(line(&two, "2m", 0), "");
    }
}
