//! Resources for the tests of this folder.

use json_patch::merge;
use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::kind::{Resource, ResourceType};

/// Returns a `ConnectorDeployment` into which `change` is merged.
pub(super) fn deployment(change: &Value) -> Resource {
    let spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"}});
    resource(ResourceType::Deployment, "tax", &spec, change)
}

/// Returns a `ConnectorStaged` into which `change` is merged.
pub(super) fn staged(change: &Value) -> Resource {
    let spec = json!({
        "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
        "repository": {"url": "https://example.com/kit.git", "tag": "v2"}, "preview": "Request", "publishPolicy": "Private",
    });
    resource(ResourceType::Staged, "kit", &spec, change)
}

/// Returns a `ConnectProject` into which `change` is merged.
pub(super) fn project(change: &Value) -> Resource {
    let spec =
        json!({"projectKey": "my-shop", "region": "europe-west1.gcp", "credentialsSecretRef": {"name": "login"}});
    resource(ResourceType::Project, "shop", &spec, change)
}

/// Returns a `ClusterConnectProject` into which `change` is merged.
pub(super) fn cluster_project(change: &Value) -> Resource {
    let spec =
        json!({"projectKey": "my-shop", "region": "europe-west1.gcp", "credentialsSecretRef": {"name": "login"}});
    resource(ResourceType::ClusterProject, "shop", &spec, change)
}

/// Returns an `ActionCheck` into which `change` is merged.
pub(super) fn check(change: &Value) -> Resource {
    let spec = json!({
        "frontend": {"url": "https://shop.example.com"}, "action": {"namespace": "cart", "name": "getCart"},
        "method": "GET", "locale": "en-GB", "extensionVersion": "1.0.0",
    });
    resource(ResourceType::Check, "cart", &spec, change)
}

/// Returns the Ready condition, and another one of the same reason that is true if its type is given.
pub(super) fn conditions((ready, reason, other): (&str, &str, &str)) -> Value {
    let condition = |kind: &str, status: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "because",
            "lastTransitionTime": "2026-11-23T09:00:00Z"})
    };
    let other = (!other.is_empty()).then(|| condition(other, "True"));
    std::iter::once(condition("Ready", ready)).chain(other).collect()
}

fn resource(resource_type: ResourceType, name: &str, spec: &Value, change: &Value) -> Resource {
    let mut object = json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": resource_type.kind(), "spec": spec,
        "metadata": {"name": name, "namespace": "shop", "uid": "u-1", "resourceVersion": "7", "generation": 3,
            "creationTimestamp": "2026-11-23T08:00:00Z"},
    });
    if resource_type.is_cluster_scoped()
        && let Some(metadata) = object["metadata"].as_object_mut()
    {
        metadata.remove("namespace");
    }
    merge(&mut object, change);
    let object: DynamicObject = serde_json::from_value(object).expect("an object");
    Resource::of(resource_type, object).expect("a resource of this type")
}
