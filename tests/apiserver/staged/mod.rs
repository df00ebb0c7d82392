//! `ConnectorStaged`: a tag from Git to its preview and publication, on a real API server, against the dev server.

mod deploying;
mod git;
mod life;
mod owning;
mod proving;
mod refused;

use connect_api::model::ConnectorStaged as Record;

use crate::prelude::*;

/// Name of the resource, and key of the connector.
pub(crate) const KIT: &str = "kit";
/// A repository that the dev server has.
const REPOSITORY: &str = "https://github.com/example/demo-kit.git";

/// A staged connector that is neither previewed nor published.
pub(crate) fn kit() -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorStaged",
        "metadata": {"name": KIT},
        "spec": {
            "projectRef": {"name": PROJECT},
            "key": KIT,
            "name": "Kit",
            "creator": {"email": "dev@example.com"},
            "repository": {"url": REPOSITORY, "tag": "1.0.0"},
            "integrationTypes": ["tax"],
            "privateProjects": [{"region": "europe-west1.gcp", "projectKey": "demo"}],
            "interval": "30s",
        },
    })
}

/// A shop with a dev server whose previews and certifications end soon.
async fn open(variants: &[&str]) -> Shop {
    let mut variant = Variant::default();
    for choice in variants {
        variant.set(choice).unwrap();
    }
    let options = Options { deploy_duration: Duration::from_millis(400), variant, ..Options::default() };
    Shop::with(options, fast()).await
}

/// Applies the staged connector with `change` merged into its spec.
async fn apply(shop: &Shop, change: &Value) {
    shop.sandbox.apply(&with_spec(kit(), change)).await.unwrap();
}

/// Merges a change into the staged connector.
async fn change(shop: &Shop, change: &Value) {
    shop.sandbox.change(&kit(), change).await.unwrap();
}

/// Returns the staged connector once its Ready condition has this reason for its generation.
async fn until_reason(shop: &Shop, reason: &str) -> ConnectorStaged {
    shop.until_reason_of(KIT, reason).await
}

/// Applies the staged connector, and returns it once it reports this reason.
async fn apply_until(shop: &Shop, spec: &Value, reason: &str) -> ConnectorStaged {
    apply(shop, spec).await;
    until_reason(shop, reason).await
}

/// Changes the staged connector, and returns it once it reports this reason.
async fn change_until(shop: &Shop, patch: &Value, reason: &str) -> ConnectorStaged {
    change(shop, patch).await;
    until_reason(shop, reason).await
}

/// The staged connectors of the remote that have the key.
fn records(shop: &Shop) -> Vec<Record> {
    let now = shop.dev.now();
    let all = shop.dev.world().all_staged(now);
    all.into_iter().filter(|record| record.key.as_deref() == Some(KIT)).collect()
}

/// The only record.
fn record(shop: &Shop) -> Record {
    let mut records = records(shop);
    assert_eq!(records.len(), 1, "{records:#?}");
    records.remove(0)
}

fn updates(shop: &Shop) -> u64 {
    shop.calls("updateConnectorStagedById")
}
