//! Logs and traces of the operator, from its start.

use clock::Clock;

use super::{Args, RunError};
use crate::cli::authorities;
use crate::telemetry;
use crate::telemetry::otlp::Traces;

/// Filter of the log without `RUST_LOG`. Each reconcile has a span of ours; the span of the library would repeat it.
const LOG_FILTER: &str = "info,kube_runtime::controller=warn";

/// Starts logs, and traces if the environment names a collector. Follows the file with the filter of the log, if one is
/// given. A value of the environment that cannot be used is logged, and leaves traces off.
///
/// # Errors
/// If the certificates cannot be read.
pub(super) async fn start(args: &Args) -> Result<Option<Traces>, RunError> {
    let (traces, unusable) = match Traces::start(&authorities(args.ca_file.as_deref())?) {
        Ok(traces) => (traces, None),
        Err(error) => (None, Some(error)),
    };
    let mut filter = telemetry::start_with(args.log_format, LOG_FILTER, traces.as_ref().map(Traces::layer));
    if let Some(path) = &args.log_filter_file {
        filter.refresh(path).await;
        tokio::spawn(filter.follow(path.clone(), Clock::system()));
    }
    if let Some(error) = unusable {
        tracing::warn!(%error, "traces are not exported");
    } else if traces.is_some() {
        tracing::info!("traces are exported");
    }
    Ok(traces)
}
