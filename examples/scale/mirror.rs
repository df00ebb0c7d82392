//! The mirror of a registry with many connectors.

use std::time::{Duration, Instant};

use clock::Clock;
use connect_operator::crd::Connector;
use dev_server::{Catalogue, DevServer, Options};
use kube::Api;
use kube::api::ListParams;
use local_control_plane::LocalCluster;
use serde_json::json;

use crate::process::Operator;
use crate::report::{Report, rounded};
use crate::requests::Requests;
use crate::{LATENCY, NAMESPACE, Outcome, WATCHED, calls, delayed, install, prepare};

pub(crate) async fn measure(
    cluster: &LocalCluster,
    binary: &str,
    connectors: usize,
    settled: Duration,
) -> Outcome<Report> {
    let settings = json!({"connectors": connectors, "settled_seconds": settled.as_secs()});
    let mut report = Report::begin("mirror", &settings);
    let client = cluster.client()?;
    install(&client).await?;
    let dev = DevServer::start(remote(connectors), Clock::system()).await?;
    let operator = Operator::start(cluster, binary, &WATCHED)?;

    report.phase("until_mirrored");
    let requests = Requests::begin(&client).await?;
    let started = Instant::now();
    let registry = json!({"registry": {"text": "Numbered", "maxObjects": connectors, "interval": "30s"}});
    prepare(&client, NAMESPACE, "demo", &dev.url(), registry).await?;
    let mirrored = Api::<Connector>::namespaced(client.clone(), NAMESPACE);
    while listed(&mirrored).await? < connectors {
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    report.figure("seconds until all are mirrored", rounded(started.elapsed().as_secs_f64(), 1));
    requests.end(&client, &mut report, "until mirrored", connectors).await?;
    operator.figures(&mut report, connectors)?;

    report.phase("settled");
    let (requests, before) = (Requests::begin(&client).await?, dev.counts());
    tokio::time::sleep(settled).await;
    report.figure("calls while settled", calls(&dev, &before));
    requests.end(&client, &mut report, "while settled", connectors).await?;
    operator.figures(&mut report, connectors)?;
    operator.stop().await?;
    dev.stop().await?;
    Ok(report)
}

/// A remote whose registry has so many connectors more.
fn remote(connectors: usize) -> Options {
    let mut catalogue = Catalogue::built_in();
    let one = catalogue.connectors.first().cloned();
    let numbered = |number: usize| {
        let mut connector = one.clone()?;
        (connector.key, connector.name) = (format!("numbered-{number:05}"), format!("Numbered {number}"));
        connector.id = format!("00000000-0000-4000-8000-{number:012}");
        Some(connector)
    };
    let connectors = (0..connectors).filter_map(numbered).collect();
    catalogue = catalogue.and(Catalogue { connectors, ..Catalogue::default() });
    Options { catalogue, faults: vec![delayed(LATENCY, None)], ..Options::default() }
}

/// Returns how many objects there are.
async fn listed(api: &Api<Connector>) -> Outcome<usize> {
    let one = api.list_metadata(&ListParams::default().limit(1)).await?;
    let rest = one.metadata.remaining_item_count.unwrap_or_default();
    Ok(one.items.len() + usize::try_from(rest)?)
}
