//! Annotations that a tenant can write, on resources whose project is missing or not allowed: they claim nothing.

use crate::prelude::*;
use crate::rules::sharing::{SHARED, closed, shared, shared_projects, sharing, until_shared};

/// The key that the forger wants to keep from others.
const KEY: &str = "wanted";

/// A resource with this name and the key, whose annotations say that it owns `id` and has begun to create it.
fn forged(manifest: Value, name: &str, id: &str) -> Value {
    let mut manifest = with_spec(manifest, &json!({"key": KEY}));
    let begun = json!({"id": id, "operation": {"type": "Create", "state": "Planned", "attempt": 1, "generation": 1,
        "startedAt": "2026-01-01T00:00:00Z"}});
    manifest["metadata"] = json!({"name": name, "annotations": {
        names::REMOTE_ID: id,
        names::REDEPLOY_REQUESTED_AT: "now",
        names::RECONCILE_REQUESTED_AT: "now",
        "connect-operator.io/pending-create": begun.to_string(),
        "connect-operator.io/state": begun.to_string(),
        "connect-operator.io/operation": begun["operation"].to_string(),
    }});
    manifest
}

async fn apply_forged(shop: &Shop, tenant: &Sandbox, id: &str) {
    let missing = with_spec(shop.deployment(), &json!({"projectRef": {"name": "nowhere"}}));
    for (name, manifest, reason) in
        [("missing", missing, "ProjectMissing"), ("forbidden", sharing(shop, &json!({})), "ProjectNotAllowed")]
    {
        tenant.apply(&forged(manifest, name, id)).await.unwrap();
        tenant.until_reason(name, reason).await;
    }
}

#[tokio::test]
async fn rules_4_and_24_forged_annotations_neither_block_a_key_nor_the_deletion_of_a_shared_project() {
    let (mut shop, _own) = closed().await;
    let tenant = shop.sandbox.another().await;
    shop.also_watched = vec![tenant.namespace.clone()];
    tenant.put_secret(SECRET, &[("token", "token-of-another-team")]).await;
    shop.start_operator();
    shop.sandbox.apply(&shared(&shop, &json!({"from": "Names", "names": [shop.sandbox.namespace]}))).await.unwrap();
    until_shared(&shop, "Available", "").await;

    // Older than the resource that they are to harm, whose id nobody can know yet.
    apply_forged(&shop, &tenant, "a-guess").await;
    let live = shop.apply_until(&sharing(&shop, &json!({"key": KEY})), "Deployed").await;
    let id = live.status.and_then(|status| status.id).expect("it is deployed");
    // Now they name its deployment, also across a restart, after which all of them are read anew.
    apply_forged(&shop, &tenant, &id).await;
    shop.restart_operator().await;
    shop.annotate(names::REDEPLOY_REQUESTED_AT, "served").await;
    shop.until("served by its owner", |object| status(object).handled_redeploy_request.as_deref() == Some("served"))
        .await;
    shop.until_reason("Deployed").await;
    for name in ["missing", "forbidden"] {
        let status = status(&tenant.objects().get(name).await.unwrap());
        assert_eq!((status.id, status.state), (None, None), "{name}: nothing of the annotations is in the status");
    }
    assert_eq!(shop.calls("createDeployment"), 1);

    shop.delete_wholly().await;
    assert_eq!(shop.calls("deleteDeploymentById"), 1);
    shared_projects(&shop).delete(SHARED, &DeleteParams::default()).await.unwrap();
    until_deleted(shared_projects(&shop), SHARED).await;
    tenant.until_reason("forbidden", "ProjectMissing").await;
    assert_eq!(shop.sandbox.kubectl(&["get", "cdep", NAME], "").await.status.code(), Some(1), "it is deleted");
}
