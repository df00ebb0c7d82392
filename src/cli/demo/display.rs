//! What the terminal shows: a spinner and colours where people look, plain lines elsewhere.
//!
//! Messages go to standard error, results to standard output, each in one piece past the spinner. Whoever reads may
//! stop early: a line that cannot be written is no error. Knows nothing of what is shown.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use indicatif::{ProgressBar, ProgressStyle};

/// Pause between two pictures of the spinner.
const TICK: Duration = Duration::from_millis(100);

const GOOD: Style = AnsiColor::Green.on_default().bold();
const TITLE: Style = Style::new().bold();
const DETAIL: Style = Style::new().dimmed();

/// The terminal, or what stands in its place.
#[derive(Clone, Debug)]
pub(super) struct Display {
    /// Hidden by itself where standard error is no terminal.
    spinner: ProgressBar,
}

impl Display {
    /// Nothing is shown yet.
    pub(super) fn new() -> Self {
        let spinner = ProgressBar::new_spinner();
        // `wide_msg` cuts to the width of the terminal.
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed:>4}  {wide_msg}") {
            spinner.set_style(style);
        }
        // Shown by `busy` only.
        spinner.finish_and_clear();
        Self { spinner }
    }

    /// Something that people should know, on standard error.
    pub(super) fn say(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{text}");
        });
    }

    /// What was seen while something runs, on standard error.
    pub(super) fn detail(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stderr(), "{DETAIL}         {text}{DETAIL:#}");
        });
    }

    /// A step that was done, with the seconds that it took, on standard output.
    pub(super) fn done(&self, text: &str, took: Duration) {
        let seconds = took.as_secs_f64();
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stdout(), "{GOOD}{seconds:>6.1} s{GOOD:#} {text}");
        });
    }

    /// The title of what follows, on standard output.
    pub(super) fn title(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stdout(), "\n{TITLE}{text}{TITLE:#}");
        });
    }

    /// Something to use, such as a line to copy, on standard output.
    pub(super) fn result(&self, text: &str) {
        self.spinner.suspend(|| {
            let _ = writeln!(anstream::stdout(), "{text}");
        });
    }

    /// Shows on a terminal that something runs, until the answer is dropped.
    pub(super) fn busy(&self, text: &str) -> Busy {
        self.spinner.set_message(text.to_owned());
        self.spinner.reset();
        self.spinner.enable_steady_tick(TICK);
        Busy(self.spinner.clone())
    }
}

/// Something runs.
#[must_use]
pub(super) struct Busy(ProgressBar);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.disable_steady_tick();
        self.0.finish_and_clear();
    }
}
