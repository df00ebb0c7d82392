//! The filter of the log, and the file that may hold it: a change of the file applies within [`INTERVAL`], without a
//! restart. Kubernetes updates a mounted ConfigMap by replacing links, so the content is compared, not watched.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clock::Clock;
use tracing_subscriber::EnvFilter;
use tracing_subscriber::layer::Filter;
use tracing_subscriber::registry::Registry;
use tracing_subscriber::reload::{self, Handle};

/// Pause between two reads of the file.
pub const INTERVAL: Duration = Duration::from_secs(5);

/// The filter of the log, which a file may change.
pub struct LogFilter {
    handle: Handle<EnvFilter, Registry>,
    /// The filter if the file has none.
    initial: String,
    /// The content of the file that was read last.
    known: Option<Result<String, ErrorKind>>,
}

/// Returns a filter with this text, in the form of `RUST_LOG`, and the means to change it. Invalid parts of the text are
/// ignored.
pub(super) fn new(initial: String) -> (impl Filter<Registry> + 'static, LogFilter) {
    let (filter, handle) = reload::Layer::new(EnvFilter::builder().parse_lossy(&initial));
    (filter, LogFilter { handle, initial, known: None })
}

impl LogFilter {
    /// Reads the file, and applies its filter if the content has changed.
    pub async fn refresh(&mut self, file: &Path) {
        let content = tokio::fs::read_to_string(file).await;
        self.take(file, content.map_err(|error| error.kind()));
    }

    /// Applies each change. Never ends.
    pub async fn follow(mut self, file: PathBuf, clock: Clock) {
        loop {
            clock.sleep(INTERVAL).await;
            self.refresh(&file).await;
        }
    }

    /// Applies a content that is new. An empty one stands for the initial filter; an invalid one changes nothing.
    fn take(&mut self, file: &Path, content: Result<String, ErrorKind>) {
        if self.known.as_ref() == Some(&content) {
            return;
        }
        let file = file.display();
        let filter = content.as_deref().map(|text| match text.trim() {
            "" => Ok(EnvFilter::builder().parse_lossy(&self.initial)),
            text => EnvFilter::builder().parse(text),
        });
        match filter {
            Ok(Ok(filter)) => {
                // It fails only if the process logs elsewhere, which happens in tests.
                let _ = self.handle.reload(filter);
                tracing::info!(
                    filter = content.as_deref().unwrap_or_default().trim(),
                    "the log has the filter of its file"
                );
            }
            Ok(Err(error)) => tracing::warn!(
                %file, %error,
                "the log filter in the file is invalid, and the current one stays: write it like RUST_LOG, such as \
                 info,connect_operator=debug"
            ),
            Err(error) => {
                tracing::warn!(%file, %error, "the file with the log filter cannot be read, and the current filter stays");
            }
        }
        self.known = Some(content);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

    use super::*;

    /// Collects the messages of events that pass the filter.
    #[derive(Clone, Default)]
    struct Messages(Arc<Mutex<Vec<String>>>);

    impl Layer<Registry> for Messages {
        fn on_event(&self, event: &tracing::Event<'_>, _: Context<'_, Registry>) {
            let mut text = String::new();
            event.record(&mut |field: &tracing::field::Field, value: &dyn std::fmt::Debug| {
                if field.name() == "message" {
                    text = format!("{value:?}");
                }
            });
            self.0.lock().expect("no holder of the lock panics").push(text);
        }
    }

    #[test]
    fn each_new_content_applies_and_an_invalid_one_is_reported_once() {
        let messages = Messages::default();
        let (filter, mut changes) = new("warn".to_owned());
        let subscriber = tracing_subscriber::registry().with(messages.clone().with_filter(filter));
        let (applied, invalid, unreadable) = ("the filter of its file", "is invalid", "cannot be read");
        tracing::subscriber::with_default(subscriber, || {
            for (case, content, debug, expected) in [
                ("the initial filter", Ok(""), false, None),
                ("debug", Ok("debug\n"), true, Some(applied)),
                ("the same", Ok("debug\n"), true, None),
                ("an unknown level", Ok("connect_operator=loud"), true, Some(invalid)),
                ("the same again", Ok("connect_operator=loud"), true, None),
                ("removed", Err(ErrorKind::NotFound), true, Some(unreadable)),
                ("still removed", Err(ErrorKind::NotFound), true, None),
                ("as before", Ok("debug"), true, Some(applied)),
                ("less", Ok("info"), false, Some(applied)),
                // The line about it is below this filter.
                ("empty again", Ok(" "), false, None),
            ] {
                messages.0.lock().expect("no holder of the lock panics").clear();
                changes.take(Path::new("filter"), content.map(str::to_owned));
                tracing::debug!("a line for debugging");
                let logged = messages.0.lock().expect("no holder of the lock panics").clone();
                assert_eq!(logged.iter().any(|line| line == "a line for debugging"), debug, "{case}: {logged:?}");
                let about = logged.iter().find(|line| *line != "a line for debugging");
                assert_eq!(about.is_some(), expected.is_some(), "{case}: {logged:?}");
                assert!(about.is_none_or(|line| line.contains(expected.unwrap_or_default())), "{case}: {logged:?}");
            }
        });
    }
}
