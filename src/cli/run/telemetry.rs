//! Logs and traces of the operator, from its start.

use super::{Args, RunError};
use crate::cli::authorities;
use crate::telemetry;
use crate::telemetry::otlp::Traces;

/// Filter of the log without `RUST_LOG`. Each reconcile has a span of ours; the span of the library would repeat it.
const LOG_FILTER: &str = "info,kube_runtime::controller=warn";

/// Starts logs, and traces if the environment names a collector. A value of the environment that cannot be
/// used is logged, and leaves traces off.
///
/// # Errors
/// If the certificates cannot be read.
pub(super) fn start(args: &Args) -> Result<Option<Traces>, RunError> {
    let (traces, unusable) = match Traces::start(&authorities(args.ca_file.as_deref())?) {
        Ok(traces) => (traces, None),
        Err(error) => (None, Some(error)),
    };
    telemetry::start_with(args.log_format, LOG_FILTER, traces.as_ref().map(Traces::layer));
    if let Some(error) = unusable {
        tracing::warn!(%error, "traces are not exported");
    } else if traces.is_some() {
        tracing::info!("traces are exported");
    }
    Ok(traces)
}
