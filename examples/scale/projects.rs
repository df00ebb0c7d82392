//! The cost of a ConnectProject that nothing uses: each has its own project key and Secret, and an address where
//! nothing listens. It measures what the operator keeps for each: its client with TLS, limiter and poller.

use std::time::Duration;

use connect_operator::crd::ConnectProject;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use local_control_plane::LocalCluster;
use serde_json::json;

use crate::process::Operator;
use crate::report::{Report, rounded};
use crate::{NAMESPACE, Outcome, WATCHED, install, ratio};

/// An address that refuses connections at once.
const REFUSING: &str = "https://127.0.0.1:9";

pub(crate) async fn measure(
    cluster: &LocalCluster,
    binary: &str,
    projects: usize,
    settled: Duration,
) -> Outcome<Report> {
    let settings = json!({"projects": projects, "settled_seconds": settled.as_secs()});
    let mut report = Report::begin("projects", &settings);
    let client = cluster.client()?;
    install(&client).await?;
    let operator = Operator::start(cluster, binary, &WATCHED)?;
    apply(&client, 0).await?;
    until_reported(&client, 1).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let before = operator.kibibytes("VmRSS:")?;
    report.phase("one_project");
    report.figure("memory with one project, MiB", rounded(ratio(before, 1024), 1));

    stream::iter(1..projects).map(|number| apply(&client, number)).buffer_unordered(16).try_collect::<()>().await?;
    until_reported(&client, projects).await?;
    report.phase("until_reported");
    operator.figures(&mut report, projects)?;
    tokio::time::sleep(settled).await;
    report.phase("settled");
    operator.figures(&mut report, projects)?;
    let more = operator.kibibytes("VmRSS:")?.saturating_sub(before);
    report.figure("memory for each project, KiB", rounded(ratio(more, projects), 1));
    operator.stop().await?;
    Ok(report)
}

async fn apply(client: &Client, number: usize) -> Outcome {
    let name = format!("shop-{number:05}");
    let parameters = PatchParams::apply("scale");
    let data = json!({"clientId": name, "clientSecret": format!("secret-of-{name}-and-some-more-of-it")});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    Api::<Secret>::namespaced(client.clone(), NAMESPACE).patch(&name, &parameters, &Patch::Apply(secret)).await?;
    let project = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectProject", "metadata": {"name": name},
        "spec": {"projectKey": name, "region": "europe-west1.gcp", "apiUrl": REFUSING, "authUrl": REFUSING,
            "credentialsSecretRef": {"name": name}},
    });
    let projects = Api::<ConnectProject>::namespaced(client.clone(), NAMESPACE);
    projects.patch(&name, &parameters, &Patch::Apply(project)).await?;
    Ok(())
}

/// Returns once that many projects report that the service is unavailable.
async fn until_reported(client: &Client, projects: usize) -> Outcome {
    let api = Api::<ConnectProject>::namespaced(client.clone(), NAMESPACE);
    loop {
        let listed = api.list(&ListParams::default()).await?;
        let reported = listed.iter().filter(|project| {
            let conditions = project.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            conditions.iter().any(|condition| condition.type_ == "Ready" && condition.reason == "ServiceUnavailable")
        });
        if reported.count() >= projects {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
