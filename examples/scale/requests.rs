//! Counts the requests to the API server by its own metrics, so that reads count too.

use std::collections::BTreeMap;

use http::Request;
use kube::Client;
use serde_json::json;

use crate::report::{Report, rounded};
use crate::{Outcome, ratio};

/// What each request is counted under: verb, resource and subresource.
type Counts = BTreeMap<String, usize>;

/// The requests of a phase.
pub(crate) struct Requests(Counts);

impl Requests {
    /// Begins a phase.
    pub(crate) async fn begin(client: &Client) -> Outcome<Self> {
        Ok(Self(counts(client).await?))
    }

    /// Reports the requests since the phase began, and how many reads and writes there were for each resource. The
    /// manifests that this program applies count under `APPLY`, and in none of the two; lists and watches are left out.
    pub(crate) async fn end(&self, client: &Client, report: &mut Report, phase: &str, deployments: usize) -> Outcome {
        let now = counts(client).await?;
        let since: Counts = now
            .into_iter()
            .map(|(what, count)| (what.clone(), count - self.0.get(&what).copied().unwrap_or_default()))
            .filter(|(_, count)| *count > 0)
            .collect();
        let sum = |of: fn(&str) -> bool| since.iter().filter(|(what, _)| of(what)).map(|(_, count)| count).sum();
        let reads: usize = sum(|what| what.starts_with("GET "));
        let writes: usize = sum(|what| !what.starts_with("GET ") && !what.starts_with("APPLY "));
        let (reads, writes) = (rounded(ratio(reads, deployments), 2), rounded(ratio(writes, deployments), 2));
        report.figure(&format!("requests to the API server {phase}"), json!(since));
        report.figure(&format!("reads for each resource {phase}"), reads);
        report.figure(&format!("writes for each resource {phase}, Events included"), writes);
        Ok(())
    }
}

async fn counts(client: &Client) -> Outcome<Counts> {
    const RESOURCES: [&str; 7] = [
        "connectordeployments",
        "connectorstageds",
        "connectprojects",
        "secrets",
        "configmaps",
        "events",
        "namespaces",
    ];
    let page = client.request_text(Request::get("/metrics").body(Vec::new())?).await?;
    let mut counts = Counts::new();
    for line in page.lines().filter_map(|line| line.strip_prefix("apiserver_request_total{")) {
        let Some((labels, count)) = line.rsplit_once("} ") else { continue };
        let label = |name: &str| {
            let (_, rest) = labels.split_once(&format!("{name}=\""))?;
            rest.split_once('"').map(|(value, _)| value)
        };
        let (verb, resource) = (label("verb").unwrap_or_default(), label("resource").unwrap_or_default());
        if !RESOURCES.contains(&resource) || ["LIST", "WATCH"].contains(&verb) {
            continue;
        }
        let path = match label("subresource").unwrap_or_default() {
            "" => resource.to_owned(),
            subresource => format!("{resource}/{subresource}"),
        };
        *counts.entry(format!("{verb} {path}")).or_default() += whole(count)?;
    }
    Ok(counts)
}

/// Parses a counter, which a large one writes with an exponent.
#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a counter is a whole number")]
fn whole(count: &str) -> Outcome<usize> {
    Ok(count.parse::<f64>()? as usize)
}
