//! The figures of a run: printed as they come, and all of them once more as one line of JSON at the end.
//!
//! The JSON names a figure as the text does, so both have its unit: `memory now, MiB` is `memory_now_mib`, in the object of
//! its phase.

use std::process::Command;

use serde_json::{Map, Value, json};

/// Collects the figures of a run.
pub(crate) struct Report {
    run: Map<String, Value>,
    phase: &'static str,
}

impl Report {
    /// Begins with what distinguishes this run from others. `scale`: which form of the program it is; `settings`: an object
    /// with its arguments.
    pub(crate) fn begin(scale: &str, settings: &Value) -> Self {
        let mut run = Map::new();
        run.insert("scale".to_owned(), json!(scale));
        run.insert("commit".to_owned(), json!(commit()));
        run.insert("settings".to_owned(), settings.clone());
        Self { run, phase: "start" }
    }

    /// Begins a phase: the figures that follow belong to it.
    pub(crate) fn phase(&mut self, name: &'static str) {
        self.phase = name;
    }

    /// Prints a figure, and keeps it. `what` names it, with its unit.
    pub(crate) fn figure(&mut self, what: &str, figure: impl Into<Value>) {
        let figure = figure.into();
        println!("{what}: {figure}");
        let phase = self.run.entry(self.phase).or_insert_with(|| json!({}));
        phase[name(what)] = figure;
    }

    /// Prints all figures in one line.
    pub(crate) fn print(&self) {
        println!("{}", json!(self.run));
    }
}

/// Returns a number with this many digits after the point.
pub(crate) fn rounded(number: f64, digits: i32) -> f64 {
    let scale = 10_f64.powi(digits);
    (number * scale).round() / scale
}

/// Returns the name of a figure in JSON: its words, with `_` between them.
fn name(what: &str) -> String {
    let words = what.split(|sign: char| !sign.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("_")
}

/// Returns the commit that is measured: the value of `COMMIT`, otherwise that of the working tree, with `-dirty` if it was
/// changed since. `None`: not known.
fn commit() -> Option<String> {
    std::env::var("COMMIT").ok().or_else(|| {
        let arguments = ["describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"];
        let described = Command::new("git").args(arguments).output().ok()?;
        let text = String::from_utf8(described.stdout).ok().filter(|_| described.status.success())?;
        Some(text.trim().to_owned())
    })
}
