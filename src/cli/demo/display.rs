//! Terminal output: a spinner and colours on a terminal, plain lines elsewhere.
//!
//! Messages go to standard error, results to standard output, each written in one piece past the spinner. A reader may
//! stop early: a failed write is ignored. Knows nothing of the content.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use connect_api::text::{clean, one_line};
use indicatif::{ProgressBar, ProgressStyle};

/// Pause between two frames of the spinner.
const TICK: Duration = Duration::from_millis(100);

const GOOD: Style = AnsiColor::Green.on_default().bold();
const TITLE: Style = Style::new().bold();
const DETAIL: Style = Style::new().dimmed();

/// The terminal, or the stream in its place.
#[derive(Clone, Debug)]
pub(super) struct Display {
    /// Hidden automatically if standard error is not a terminal.
    spinner: ProgressBar,
}

impl Display {
    /// Returns a display that shows nothing yet.
    pub(super) fn new() -> Self {
        let spinner = ProgressBar::new_spinner();
        // `wide_msg` truncates to the width of the terminal.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4}  {wide_msg}") {
            spinner.set_style(style);
        }
        // Only `busy` shows it.
        spinner.finish_and_clear();
        Self { spinner }
    }

    /// Prints a message for the user to standard error.
    pub(super) fn line(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{}", clean(text));
        });
    }

    /// Prints an observation during a step to standard error.
    pub(super) fn detail(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{DETAIL}         {}{DETAIL:#}", clean(text));
        });
    }

    /// Prints a completed step, with the seconds that it took, to standard output.
    pub(super) fn done(&self, text: &str, took: Duration) {
        let seconds = took.as_secs_f64();
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stdout(), "{GOOD}{seconds:>6.1} s{GOOD:#} {}", clean(text));
        });
    }

    /// Prints a title to standard output.
    pub(super) fn title(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stdout(), "\n{TITLE}{}{TITLE:#}", clean(text));
        });
    }

    /// Prints a result, such as a command to copy, to standard output.
    pub(super) fn result(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stdout(), "{}", clean(text));
        });
    }

    /// Shows the spinner on a terminal until the returned guard is dropped.
    pub(super) fn busy(&self, text: &str) -> Busy {
        self.spinner.set_message(one_line(text));
        self.spinner.reset();
        self.spinner.enable_steady_tick(TICK);
        Busy(self.spinner.clone())
    }
}

/// A visible spinner; dropping it hides it.
#[must_use]
pub(super) struct Busy(ProgressBar);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.disable_steady_tick();
        self.0.finish_and_clear();
    }
}
