//! Terminal output, with colours on a terminal only.
//!
//! Observations go to standard error, results to standard output. A reader may stop early: a failed write is ignored.

use std::io::Write;
use std::time::Duration;

use anstyle::{AnsiColor, Style};
use connect_api::text::clean;

const GOOD: Style = AnsiColor::Green.on_default().bold();
const TITLE: Style = Style::new().bold();
const DETAIL: Style = Style::new().dimmed();

/// Prints an observation during a step to standard error.
pub(super) fn detail(text: &str) {
    let _ = writeln!(anstream::stderr(), "{DETAIL}         {}{DETAIL:#}", clean(text));
}

/// Prints a completed step, with the seconds that it took, to standard output.
pub(super) fn done(text: &str, took: Duration) {
    let seconds = took.as_secs_f64();
    let _ = writeln!(anstream::stdout(), "{GOOD}{seconds:>6.1} s{GOOD:#} {}", clean(text));
}

/// Prints a title to standard output.
pub(super) fn title(text: &str) {
    let _ = writeln!(anstream::stdout(), "\n{TITLE}{}{TITLE:#}", clean(text));
}

/// Prints a result, such as a command to copy, to standard output.
pub(super) fn result(text: &str) {
    let _ = writeln!(anstream::stdout(), "{}", clean(text));
}
