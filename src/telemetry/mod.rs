//! Logs: to standard error, as text or JSON, without secrets. Traces: to a collector, if one is set (`otlp`).
//!
//! The filter in `RUST_LOG` decides what is logged, except that libraries that would print headers or bodies are capped whatever it says.

pub mod otlp;

use std::io::{self, Write};

use connect_api::text::{escaped, one_line};
use connect_api::trace;
use tracing::Level;
use tracing::Subscriber;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::field::MakeExt as _;
use tracing_subscriber::filter::{FilterExt, filter_fn};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{Format, Json, JsonFields, debug_fn};
use tracing_subscriber::layer::{Filter, SubscriberExt};
use tracing_subscriber::registry::{LookupSpan, Registry};
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{EnvFilter, Layer, fmt};

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum LogFormat {
    /// One JSON object in each line.
    Json,
    /// Lines for reading in a terminal.
    Text,
}

/// Libraries that print whole messages, which may contain Secrets, at level `trace`; they are capped at `debug`.
const CAPPED: [&str; 5] = ["hyper", "hyper_util", "h2", "rustls", "tower"];

/// Log target that prints a response of the API server in full, at level `warn`, if it cannot be decoded. Such a
/// response may be a Secret, so this target is disabled; the caller gets the error.
const SILENT: &str = "kube_client::client";

/// Receives the spans that may be exported.
pub type TraceLayer = Box<dyn Layer<Registry> + Send + Sync>;

/// Starts logging; `default` is the filter if `RUST_LOG` is not set. A second start changes nothing.
pub fn start(format: LogFormat, default: &str) {
    start_with(format, default, None);
}

/// Starts logging like [`start`], and passes spans to `traces`. Invalid parts of the filter are ignored.
pub fn start_with(format: LogFormat, default: &str, traces: Option<TraceLayer>) {
    let text = std::env::var("RUST_LOG").ok().filter(|text| !text.is_empty()).unwrap_or_else(|| default.to_owned());
    let layer = match format {
        LogFormat::Json => json().with_writer(|| Escaped(io::stderr())).boxed(),
        LogFormat::Text => lines().with_ansi(shows_colours()).with_writer(std::io::stderr).boxed(),
    };
    let filter = EnvFilter::builder().parse_lossy(text);
    let layers: Vec<_> = std::iter::once(layer.with_filter(capped(filter)).boxed()).chain(traces).collect();
    // Only the first start counts, in tests too.
    let _ = tracing_subscriber::registry().with(layers).try_init();
}

/// Whether text lines have colours: on a terminal, unless the environment says otherwise (`NO_COLOR`), and never in a
/// file or a pipe.
fn shows_colours() -> bool {
    anstream::AutoStream::choice(&std::io::stderr()) != anstream::ColorChoice::Never
}

/// Returns the layer that formats lines for reading.
fn lines<S>() -> fmt::Layer<S, impl for<'writer> FormatFields<'writer> + 'static>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let fields = debug_fn(|writer, field, value| {
        // A value may be a text of others. The colours of the line are no part of it.
        let value = one_line(&format!("{value:?}"));
        if field.name() == "message" { write!(writer, "{value}") } else { write!(writer, "{field}={value}") }
    });
    fmt::layer().fmt_fields(fields.delimited(" "))
}

/// Returns the layer that formats lines as JSON objects: the fields of the event, and below `span` those of its span.
fn json<S>() -> fmt::Layer<S, JsonFields, Format<Json>>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fmt::layer().json().flatten_event(true).with_span_list(false)
}

/// Writes lines of JSON without characters that a terminal obeys, or that nobody sees.
struct Escaped<W>(W);

impl<W: Write> Write for Escaped<W> {
    /// Writes a whole line: the layer writes each at once.
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        self.0.write_all(escaped(&String::from_utf8_lossy(line)).as_bytes())?;
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Returns the filter with the caps applied, and without the spans of traces.
fn capped(filter: impl Filter<Registry> + 'static) -> impl Filter<Registry> + 'static {
    let caps = filter_fn(|event| {
        let library = event.target().split("::").next().unwrap_or_default();
        let allowed = *event.level() < Level::TRACE || !CAPPED.contains(&library);
        allowed && ![SILENT, trace::EXPORTED].contains(&event.target())
    });
    filter.and(caps.with_max_level_hint(LevelFilter::TRACE))
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no holder of the lock panics").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Page {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().expect("no holder of the lock panics").clone()).expect("text")
        }
    }

    fn logged(text: &str) -> String {
        let page = Page::default();
        let writer = page.clone();
        let layer = super::lines().with_ansi(false).with_writer(move || writer.clone());
        let filter = EnvFilter::builder().parse_lossy(text);
        let subscriber = tracing_subscriber::registry().with(layer.with_filter(capped(filter)));
        tracing::subscriber::with_default(subscriber, || {
            let _exported = tracing::info_span!(target: trace::EXPORTED, "exported", field = "of-a-trace").entered();
            tracing::info!(target: "connect_operator::cli", "operator-info");
            tracing::trace!(target: "connect_operator::cli", "operator-trace");
            tracing::debug!(target: "hyper_util::client", "library-debug");
            tracing::trace!(target: "hyper_util::client", "library-trace");
            tracing::warn!(target: "kube_client::client", "a-response");
            tracing::debug!(target: "kube_client::client::builder", "a-request");
        });
        page.text()
    }

    #[test]
    fn a_line_is_one_object_with_its_fields_and_those_of_its_span() {
        let page = Page::default();
        let writer = page.clone();
        let layer = json().with_writer(move || Escaped(writer.clone()));
        tracing::subscriber::with_default(tracing_subscriber::registry().with(layer), || {
            let _run = tracing::info_span!("run", kind = "ConnectProject", trace_id = "0123456789abcdef").entered();
            tracing::warn!(status = 503_u16, error = %"it answered \"no\"\nand closed", "the remote {}", "failed");
        });
        let text = page.text();
        assert_eq!(text.lines().count(), 1, "{text}");
        let line: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let time = line["timestamp"].as_str().expect("a time");
        assert!(time.parse::<jiff::Timestamp>().is_ok(), "{time}");
        let expected = serde_json::json!({
            "timestamp": time, "level": "WARN", "message": "the remote failed", "target": module_path!(),
            "status": 503, "error": "it answered \"no\"\nand closed",
            "span": {"name": "run", "kind": "ConnectProject", "trace_id": "0123456789abcdef"},
        });
        assert_eq!(line, expected);
        assert!(text.starts_with("{\"timestamp\":"), "{text}");
    }

    #[test]
    fn no_line_has_what_a_terminal_obeys() {
        const HOSTILE: &str = "a\u{1b}]52;c;AA==\u{7}\u{9b}31m\u{202e}\u{200b}\r\nINFO b\u{7f}";
        let (in_lines, in_json) = (Page::default(), Page::default());
        let (first, second) = (in_lines.clone(), in_json.clone());
        let layers = [
            lines().with_ansi(false).with_writer(move || first.clone()).boxed(),
            json().with_writer(move || Escaped(second.clone())).boxed(),
        ];
        let subscriber = tracing_subscriber::registry().with(layers.into_iter().collect::<Vec<_>>());
        tracing::subscriber::with_default(subscriber, || {
            let _span = tracing::info_span!("run", key = HOSTILE).entered();
            tracing::info!(text = HOSTILE, error = %HOSTILE, "the service: {HOSTILE}");
        });
        for page in [in_lines, in_json] {
            let text = page.text();
            assert!(text.matches("]52;c;AA==").count() == 4 && text.lines().count() == 1, "{text}");
            assert!(!text.trim_end().contains(connect_api::text::is_unsafe), "{text:?}");
        }
    }

    #[test]
    fn libraries_that_print_messages_are_capped_and_nothing_is_added() {
        for (text, expected) in [
            ("info", &["operator-info"][..]),
            ("hyper_util=debug", &["library-debug"]),
            ("trace", &["operator-info", "operator-trace", "library-debug", "a-request"]),
            ("kube_client=trace", &["a-request"]),
            ("hyper_util=trace", &["library-debug"]),
        ] {
            let log = logged(text);
            let words = "operator-info operator-trace library-debug library-trace a-response a-request of-a-trace";
            for word in words.split(' ') {
                assert_eq!(log.contains(word), expected.contains(&word), "{text}: {log}");
            }
        }
    }
}
