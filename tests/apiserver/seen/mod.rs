//! Observability of the operator: metrics that count what happened, probes, reconciles that do not end, and log lines
//! with a common trace id.

#![allow(clippy::float_cmp, reason = "counts are whole numbers")]

mod counted;
mod hanging;
mod kube_state_metrics;
mod prometheus;
mod spans;
mod traced;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use crate::prelude::*;

/// Returns the samples of a scrape by name and labels, as Prometheus writes them.
pub(crate) fn scrape(metrics: &Metrics) -> BTreeMap<String, f64> {
    let page = metrics.encode();
    let samples = page.lines().filter(|line| !line.starts_with('#'));
    samples
        .map(|line| {
            let (name, value) = line.rsplit_once(' ').expect("a value");
            (name.to_owned(), value.parse().expect("a number"))
        })
        .collect()
}

/// Returns a scrape once it satisfies the condition.
pub(crate) async fn until(
    metrics: &Metrics,
    what: &str,
    is: impl Fn(&BTreeMap<String, f64>) -> bool,
) -> BTreeMap<String, f64> {
    let wanted = async {
        loop {
            let samples = scrape(metrics);
            if is(&samples) {
                return samples;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    in_time(wanted).await.unwrap_or_else(|_| panic!("not in time: {what}\n{:#?}", scrape(metrics)))
}

/// Returns the raw response of a server to a GET.
pub(crate) async fn get(address: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.0\r\nHost: localhost\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

/// A sample; 0 if it is missing.
pub(crate) fn value(samples: &BTreeMap<String, f64>, name: &str) -> f64 {
    samples.get(name).copied().unwrap_or_default()
}
