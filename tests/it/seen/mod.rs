//! The tools of operators on duty: alerts, dashboard and runbooks, which use only served metrics; and the listener that
//! serves them.

mod listener;
mod promtool;
mod queries;

use std::path::{Path, PathBuf};

/// Returns the path of a file of the chart.
fn chart(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/connect-operator/files").join(name)
}
