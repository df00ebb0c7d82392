//! Formats a log line as one flat JSON object: the fields of the event and of its spans, such as the trace id of the
//! reconcile, all on one level, so that `grep` and any collector find them. `docs/operations/logs.md` lists the
//! members.

use std::fmt;

use connect_api::text::escaped;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormattedFields};
use tracing_subscriber::registry::{LookupSpan, Scope};

/// Formats log lines.
pub(super) struct Flat;

impl<S> FormatEvent<S, JsonFields> for Flat
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, JsonFields>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut members = Members(Map::new());
        for span in context.event_scope().into_iter().flat_map(Scope::from_root) {
            let extensions = span.extensions();
            let fields = extensions.get::<FormattedFields<JsonFields>>().map(|fields| fields.fields.as_str());
            // The library itself wrote this text, so it parses.
            if let Some(Ok(fields)) = fields.map(serde_json::from_str::<Map<String, Value>>) {
                members.0.extend(fields);
            }
        }
        event.record(&mut members);
        let mut time = String::new();
        SystemTime.format_time(&mut Writer::new(&mut time))?;
        let meta = event.metadata();
        let message = members.0.remove("message").unwrap_or_default();
        // What users read first comes first; a field cannot replace one of these members.
        let first = [
            ("timestamp", Value::from(time)),
            ("level", Value::from(meta.level().as_str())),
            ("message", message),
            ("target", Value::from(meta.target())),
        ];
        let rest = members.0.into_iter().filter(|(name, _)| first.iter().all(|(own, _)| own != name));
        let text = |value: &Value| escaped(&value.to_string()).into_owned();
        let mut line = String::from("{");
        for (name, value) in first.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).chain(rest) {
            let comma = if line.len() > 1 { "," } else { "" };
            fmt::Write::write_fmt(&mut line, format_args!("{comma}{}:{}", text(&Value::from(name)), text(&value)))?;
        }
        writeln!(writer, "{line}}}")
    }
}

/// The fields of an event.
struct Members(Map<String, Value>);

impl Members {
    fn set(&mut self, field: &Field, value: impl Into<Value>) {
        self.0.insert(field.name().to_owned(), value.into());
    }
}

impl Visit for Members {
    fn record_f64(&mut self, field: &Field, value: f64) {
        self.set(field, value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.set(field, value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        self.set(field, value);
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.set(field, value);
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.set(field, value);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.set(field, format!("{value:?}"));
    }
}
