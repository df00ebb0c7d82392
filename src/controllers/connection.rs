//! The connection to the cluster: nothing is waited for without end, also if packets are lost and nobody says so.
//!
//! The library's own clients wait for an answer for as long as it takes. A connection whose other end has gone without a sign
//! would hold up the run that asked, and a watch would see nothing any more.

use std::time::Duration;

use http::Request;
use kube::client::Body;
use kube::{Client, Config};
use tower::BoxError;

/// How long is waited, in real time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until the head of an answer is there, unless it is that of a watch. Default: 65 s; the API server itself gives up after
    /// 60 s (`--request-timeout` of kube-apiserver).
    pub answer: Duration,
    /// For the next part of any answer. Default: 295 s, longer than the quiet times of a watch, which the API server is asked
    /// to end before that.
    pub silence: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { answer: Duration::from_secs(65), silence: Duration::from_secs(295) }
    }
}

/// No answer came. The run that asked is done again; a write may have happened.
#[derive(Debug, thiserror::Error)]
#[error("the API server did not answer within {0:?}")]
struct NoAnswer(Duration);

/// A client of the cluster that keeps to the limits.
///
/// # Errors
/// When `config` makes no client: certificates or tokens that cannot be read.
pub fn client(mut config: Config, limits: Limits) -> Result<Client, kube::Error> {
    config.read_timeout = Some(limits.silence);
    // A connection that is kept is not silent because nobody asks.
    config.reset_reader_on_write = true;
    let namespace = config.default_namespace.clone();
    let inner = Client::try_from(config)?;
    let service = tower::service_fn(move |request: Request<Body>| {
        let inner = inner.clone();
        async move {
            if is_watch(&request) {
                return inner.send(request).await.map_err(BoxError::from);
            }
            match tokio::time::timeout(limits.answer, inner.send(request)).await {
                Ok(answer) => answer.map_err(BoxError::from),
                Err(_) => Err(NoAnswer(limits.answer).into()),
            }
        }
    });
    Ok(Client::new(service, namespace))
}

/// A watch goes on for minutes; only its silence counts.
fn is_watch(request: &Request<Body>) -> bool {
    request.uri().query().is_some_and(|query| query.split('&').any(|pair| pair == "watch=true"))
}
