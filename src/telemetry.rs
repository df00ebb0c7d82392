//! Logs: to standard error, as text or JSON, without anything that must not be shown.
//!
//! What is logged is up to the filter in `RUST_LOG`; libraries that would print headers or bodies are capped whatever
//! it says.

use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// Form of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object in each line.
    Json,
    /// For people.
    Text,
}

/// Libraries that print whole messages, in which Secrets travel, at level `trace`; they are capped at `debug`.
const CAPPED: [&str; 5] = ["hyper=debug", "hyper_util=debug", "h2=debug", "rustls=debug", "tower=debug"];

/// Starts logging; `default` is the filter where `RUST_LOG` is not set. A second start changes nothing.
pub fn start(format: LogFormat, default: &str) {
    let filter = std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned());
    let mut filter = EnvFilter::builder().parse_lossy(filter);
    for directive in CAPPED {
        if let Ok(directive) = directive.parse() {
            filter = filter.add_directive(directive);
        }
    }
    let layer = match format {
        LogFormat::Json => fmt::layer().json().with_writer(std::io::stderr).boxed(),
        LogFormat::Text => fmt::layer().with_writer(std::io::stderr).boxed(),
    };
    // Only the first one counts, in tests too.
    let _ = tracing_subscriber::registry().with(layer.with_filter(filter)).try_init();
}
