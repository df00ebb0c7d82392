//! What a ConnectProject costs that nobody uses: each of them names a project key and a Secret of its own, at an address
//! where nobody listens. What is measured is what the operator keeps for each: its client with TLS, limiter and poller.

use std::time::Duration;

use connect_operator::crd::ConnectProject;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, Client};
use local_control_plane::LocalCluster;
use serde_json::json;

use crate::process::Operator;
use crate::{NAMESPACE, Outcome, install, ratio, say};

/// An address of which a connection is refused at once.
const NOBODY: &str = "https://127.0.0.1:9";

pub(crate) async fn measure(cluster: &LocalCluster, binary: &str, projects: usize, settled: Duration) -> Outcome {
    let client = cluster.client()?;
    install(&client).await?;
    let most = projects.to_string();
    let operator = Operator::start(cluster, binary, &["--max-projects-per-namespace", &most, "--max-projects", &most])?;
    apply(&client, 0).await?;
    until_looked_at(&client, 1).await?;
    tokio::time::sleep(Duration::from_secs(10)).await;
    let before = operator.kibibytes("VmRSS:")?;
    say("memory with one project, MiB", format!("{:.1}", ratio(before, 1024)));

    stream::iter(1..projects).map(|number| apply(&client, number)).buffer_unordered(16).try_collect::<()>().await?;
    until_looked_at(&client, projects).await?;
    operator.tell(projects)?;
    tokio::time::sleep(settled).await;
    operator.tell(projects)?;
    let more = operator.kibibytes("VmRSS:")?.saturating_sub(before);
    say("memory for each project, KiB", format!("{:.1}", ratio(more, projects)));
    operator.stop().await
}

async fn apply(client: &Client, number: usize) -> Outcome {
    let name = format!("shop-{number:05}");
    let parameters = PatchParams::apply("scale");
    let data = json!({"clientId": name, "clientSecret": format!("secret-of-{name}-and-some-more-of-it")});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data});
    Api::<Secret>::namespaced(client.clone(), NAMESPACE).patch(&name, &parameters, &Patch::Apply(secret)).await?;
    let project = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectProject", "metadata": {"name": name},
        "spec": {"projectKey": name, "region": "europe-west1.gcp", "apiUrl": NOBODY, "authUrl": NOBODY,
            "credentialsSecretRef": {"name": name}},
    });
    let projects = Api::<ConnectProject>::namespaced(client.clone(), NAMESPACE);
    projects.patch(&name, &parameters, &Patch::Apply(project)).await?;
    Ok(())
}

/// Returns once so many projects say that nobody answers.
async fn until_looked_at(client: &Client, projects: usize) -> Outcome {
    let api = Api::<ConnectProject>::namespaced(client.clone(), NAMESPACE);
    loop {
        let listed = api.list(&ListParams::default()).await?;
        let looked_at = listed.iter().filter(|project| {
            let conditions = project.status.as_ref().map(|status| status.conditions.as_slice()).unwrap_or_default();
            conditions.iter().any(|condition| condition.type_ == "Ready" && condition.reason == "ServiceUnavailable")
        });
        if looked_at.count() >= projects {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}
