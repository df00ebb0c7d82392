//! Logs and traces of the operator, from its start to its end.

#[cfg(feature = "otlp")]
use crate::cli::authorities;
#[cfg(feature = "otlp")]
use crate::telemetry::otlp::{self, Traces, Unusable};

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
    /// Starts logs, and traces if a collector is named. Settings of the environment that cannot be used are logged, and
    /// leave traces off.
    ///
    /// # Errors
    /// If the certificates cannot be read.
    #[cfg(feature = "otlp")]
    pub(super) async fn start(args: &Args) -> Result<Self, RunError> {
        let authorities = authorities(args.ca_file.as_deref())?;
        let settings = otlp::settings(args.otlp_endpoint.as_deref(), |name| std::env::var(name).ok());
        let started = settings.and_then(|settings| {
            let Some(settings) = settings else { return Ok(None) };
            let traces = Traces::start(&settings, &authorities)?;
            Ok::<_, Unusable>(Some((settings, traces)))
        });
        let layer = started.as_ref().ok().and_then(Option::as_ref).map(|(_, traces)| traces.layer());
        start_log(args, layer).await;
        let traces = match started {
            Ok(Some((settings, traces))) => {
                tracing::info!(collector = settings.endpoint.url().host_str(), "traces are exported");
                Some(traces)
            }
            Ok(None) => None,
            Err(error) => {
                tracing::warn!(%error, "traces are not exported");
                None
            }
        };
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
