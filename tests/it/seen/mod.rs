//! What people on duty have: alerts, dashboard and runbooks, which name only what is served; and the listener that serves it.

mod listener;
mod promtool;
mod queries;

use std::path::{Path, PathBuf};

/// A file of the chart.
fn chart(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("charts/connect-operator/files").join(name)
}
