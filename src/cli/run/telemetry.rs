//! Logs and traces of the operator, from its start to its end.

#[cfg(feature = "otlp")]
use crate::cli::authorities;
#[cfg(feature = "otlp")]
use crate::telemetry::otlp::Traces;

use clock::Clock;

use super::{Args, RunError};
use crate::telemetry;
use crate::telemetry::log_filter::LogFilterFile;

/// Filter of the log without `RUST_LOG`. Each reconcile has a span of ours; the span of the library would repeat it.
const LOG_FILTER: &str = "info,kube_runtime::controller=warn";

/// What has to be ended.
pub(super) struct Telemetry {
    #[cfg(feature = "otlp")]
    traces: Option<Traces>,
}

impl Telemetry {
    /// Starts logs, and traces if the environment names a collector. A value of the environment that cannot be used is
    /// logged, and leaves traces off.
    ///
    /// # Errors
    /// If the certificates cannot be read.
    #[cfg(feature = "otlp")]
    pub(super) async fn start(args: &Args) -> Result<Self, RunError> {
        let (traces, unusable) = match Traces::start(&authorities(args.ca_file.as_deref())?) {
            Ok(traces) => (traces, None),
            Err(error) => (None, Some(error)),
        };
        start_log(args, traces.as_ref().map(Traces::layer)).await;
        if let Some(error) = unusable {
            tracing::warn!(%error, "traces are not exported");
        } else if traces.is_some() {
            tracing::info!("traces are exported");
        }
        Ok(Self { traces })
    }

    /// Starts logs.
    #[cfg(not(feature = "otlp"))]
    pub(super) async fn start(args: &Args) -> Result<Self, RunError> {
        start_log(args, None).await;
        Ok(Self {})
    }

    /// Exports the last spans.
    #[cfg_attr(
        not(feature = "otlp"),
        allow(clippy::unused_async, clippy::unused_self, reason = "without the feature there are no spans")
    )]
    pub(super) async fn end(self) {
        #[cfg(feature = "otlp")]
        if let Some(traces) = self.traces {
            traces.flush().await;
        }
    }
}

/// Starts the log, and follows the file with its filter, if one is given.
async fn start_log(args: &Args, traces: Option<telemetry::TraceLayer>) {
    let filter = telemetry::start_with(args.log_format, LOG_FILTER, traces);
    if let Some(path) = &args.log_filter_file {
        let mut file = LogFilterFile::new(path.clone(), filter);
        file.refresh().await;
        tokio::spawn(async move { file.follow(&Clock::system()).await });
    }
}
