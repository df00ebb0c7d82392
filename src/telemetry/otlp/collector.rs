//! The HTTP client of the exporter. Requests run on the process's runtime; the thread of the exporter waits for them.

use std::error::Error;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use clock::Clock;
use connect_api::http::{Authorities, BuildError, collector_client};
use http::header::RETRY_AFTER;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use reqwest::Client;
use tokio::runtime::Handle;

use super::Settings;
use crate::mutex::Mutex;

/// Pause between two lines of the log about a collector that does not accept spans.
const REPORT_AGAIN: Duration = Duration::from_mins(10);

/// The connections to the collector.
#[derive(Debug)]
pub(super) struct Collector {
    client: Client,
    runtime: Handle,
    failures: Arc<Failures>,
}

/// Reports in the log that the collector does not accept spans.
#[derive(Debug)]
pub(super) struct Failures {
    clock: Clock,
    /// Host of the collector.
    host: String,
    outage: Mutex<Outage>,
}

impl Collector {
    /// Creates a client for the runtime of the caller.
    ///
    /// # Errors
    /// If the CA certificates cannot be read, or TLS cannot be set up.
    pub(super) fn new(settings: &Settings, authorities: &Authorities) -> Result<Self, BuildError> {
        Ok(Self {
            client: collector_client(&settings.endpoint, settings.timeout, authorities)?,
            runtime: Handle::current(),
            failures: Arc::new(Failures {
                clock: Clock::system(),
                host: settings.endpoint.url().host_str().unwrap_or_default().to_owned(),
                outage: Mutex::default(),
            }),
        })
    }

    /// Returns where failures are reported.
    pub(super) fn failures(&self) -> Arc<Failures> {
        Arc::clone(&self.failures)
    }

    /// Sends a request. Of the response only the status and the requested pause are used, so its body is not read.
    async fn send(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let client = self.client.clone();
        let answer = self.runtime.spawn(async move { client.execute(request).await }).await??;
        let mut response = Response::new(Bytes::new());
        *response.status_mut() = answer.status();
        if let Some(pause) = answer.headers().get(RETRY_AFTER) {
            response.headers_mut().insert(RETRY_AFTER, pause.clone());
        }
        Ok(response)
    }
}

impl Failures {
    /// Logs the first failure, then one line now and then, and the end of the outage. `error`: why spans were not accepted;
    /// `None`: they were.
    pub(super) fn report(&self, error: Option<String>) {
        let now = self.clock.elapsed();
        // A panic of another holder leaves at worst a wrong number.
        let mut outage = self.outage.lock();
        let collector = &self.host;
        match error {
            Some(error) => {
                if let Some(failures) = outage.failed(now) {
                    tracing::warn!(collector, error, failures, "traces cannot be exported; spans are dropped");
                }
            }
            None if outage.ended() => tracing::info!(collector, "traces are exported again"),
            None => {}
        }
    }
}

impl HttpClient for Collector {
    fn send_bytes<'a, 'f>(
        &'a self,
        request: Request<Bytes>,
    ) -> Pin<Box<dyn Future<Output = Result<Response<Bytes>, HttpError>> + Send + 'f>>
    where
        'a: 'f,
        Self: 'f,
    {
        Box::pin(async move {
            let answer = self.send(request).await;
            self.failures.report(match &answer {
                Ok(response) if response.status().is_success() => None,
                Ok(response) => Some(format!("status {}", response.status().as_u16())),
                Err(error) => Some(innermost(&**error)),
            });
            answer
        })
    }
}

/// Returns the message of the innermost cause; the outer ones only repeat that a request failed, with its URL.
fn innermost(error: &(dyn Error + 'static)) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

/// Failures in a row, and when the log mentioned them last.
#[derive(Debug, Default)]
struct Outage {
    failures: u64,
    reported: Option<Duration>,
}

impl Outage {
    /// Counts a failure; returns how many there were if the log should mention them now.
    fn failed(&mut self, now: Duration) -> Option<u64> {
        self.failures += 1;
        let due = self.reported.is_none_or(|reported| now.saturating_sub(reported) >= REPORT_AGAIN);
        due.then(|| {
            self.reported = Some(now);
            self.failures
        })
    }

    /// Records a success; returns whether it ends an outage.
    fn ended(&mut self) -> bool {
        std::mem::take(self).reported.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_reported_at_once_and_then_now_and_then() {
        let mut outage = Outage::default();
        assert!(!outage.ended(), "no outage");
        for (second, expected) in [(0, Some(1)), (5, None), (599, None), (600, Some(4)), (601, None)] {
            assert_eq!(outage.failed(Duration::from_secs(second)), expected, "after {second} s");
        }
        assert!(outage.ended() && !outage.ended(), "the end is reported once");
        assert_eq!(outage.failed(Duration::from_secs(602)), Some(1), "the next outage");
    }
}
