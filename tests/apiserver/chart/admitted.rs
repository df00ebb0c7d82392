//! Whether the API server accepts what the chart renders: each manifest with strict field validation, and each pod in a
//! namespace that enforces the Pod Security Standard `restricted`.

use crate::helm::identity;
use crate::prelude::*;

/// The sets of values whose rendered manifests are committed.
const SETS: [&str; 3] = ["default", "one-namespace", "everything"];
/// Kinds of the Prometheus Operator, whose CRDs this API server does not have.
const ELSEWHERE: [&str; 3] = ["ServiceMonitor", "PodMonitor", "PrometheusRule"];

/// A sandbox with the namespaces that the manifests name, one of them with the enforced standard.
async fn place() -> Sandbox {
    let sandbox = Sandbox::new().await;
    for name in ["connect-operator", "shop", "blog", "monitoring"] {
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let manifest = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}});
        sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &manifest.to_string()).await;
    }
    sandbox
}

fn text(manifests: &[Value]) -> String {
    manifests.iter().fold(String::new(), |all, manifest| format!("{all}---\n{manifest}\n"))
}

/// Applies the manifests with a server-side dry run.
async fn is_taken(sandbox: &Sandbox, case: &str, manifests: &[Value]) {
    let manifests: Vec<_> =
        manifests.iter().filter(|it| !ELSEWHERE.contains(&it["kind"].as_str().unwrap())).cloned().collect();
    let arguments = ["apply", "--server-side", "--force-conflicts", "--dry-run=server", "--validate=strict"];
    let arguments = [&["--namespace="][..], &arguments, &["--filename", "-"]].concat();
    let output = sandbox.kubectl(&arguments, &text(&manifests)).await;
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && !printed.contains("Warning"), "{case}: {printed}");
    let taken = String::from_utf8_lossy(&output.stdout).lines().filter(|line| line.contains("dry run")).count();
    assert_eq!(taken, manifests.len(), "{case}");
}

fn render(set: &str) -> Vec<Value> {
    helm::manifests(&["--values", &format!("tests/fixtures/chart/{set}.values.yaml")])
}

#[tokio::test]
async fn the_api_server_accepts_every_manifest_unchanged() {
    let sandbox = place().await;
    for set in SETS {
        is_taken(&sandbox, set, &render(set)).await;
    }
    let broken = json!([{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "spec": {"port": 1}}]);
    let arguments = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename", "-"];
    let refused = sandbox.kubectl(&arguments, &text(broken.as_array().unwrap())).await;
    assert!(!refused.status.success(), "strict validation refuses an unknown field");
}

#[tokio::test]
async fn every_pod_is_admitted_where_restricted_is_enforced() {
    let sandbox = place().await;
    for set in SETS {
        let deployment = render(set).into_iter().find(|it| it["kind"] == "Deployment").unwrap();
        let metadata = json!({"name": "of-template", "namespace": "connect-operator"});
        let spec = &deployment["spec"]["template"]["spec"];
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec});
        // This cluster has no such class.
        pod["spec"].as_object_mut().unwrap().remove("priorityClassName");
        let create = ["create", "--namespace=", "--dry-run=server", "--validate=strict", "--filename", "-"];
        sandbox.succeed(&create, &pod.to_string()).await;
        pod["spec"]["containers"][0]["securityContext"]["allowPrivilegeEscalation"] = json!(true);
        let refused = sandbox.kubectl(&create, &pod.to_string()).await;
        let printed = String::from_utf8_lossy(&refused.stderr);
        assert!(
            printed.contains("violates PodSecurity \"restricted:latest\""),
            "{set}: the standard is enforced: {printed}"
        );
    }
}

/// A manifest without what only Helm needs, and with sorted arguments: kustomize appends where Helm inserts.
fn bare(mut manifest: Value) -> Value {
    let of_helm = |name: &String| name.starts_with("helm.sh/") || name == "app.kubernetes.io/managed-by";
    for pointer in ["/metadata/labels", "/metadata/annotations", "/spec/template/metadata/labels"] {
        if let Some(Value::Object(words)) = manifest.pointer_mut(pointer) {
            words.retain(|name, _| !of_helm(name));
        }
    }
    if let Some(metadata) = manifest["metadata"].as_object_mut() {
        metadata.retain(|_, value| value.as_object().is_none_or(|words| !words.is_empty()));
    }
    if let Some(Value::Array(arguments)) = manifest.pointer_mut("/spec/template/spec/containers/0/args") {
        arguments.sort_by_key(Value::to_string);
    }
    manifest
}

fn sorted(manifests: Vec<Value>) -> Vec<Value> {
    let mut manifests: Vec<_> = manifests.into_iter().map(bare).collect();
    manifests.sort_by_key(identity);
    manifests
}

#[tokio::test]
async fn kustomize_builds_what_the_chart_renders() {
    let sandbox = place().await;
    let install = text_of("deploy/install.yaml");
    for (overlay, values) in [("cluster", "replicaCount=2"), ("namespace", "watchNamespaces={shop}")] {
        let made = sandbox
            .succeed(&["kustomize", in_checkout(format!("deploy/overlays/{overlay}")).to_str().unwrap()], "")
            .await;
        let made = sorted(helm::read(&made));
        let (namespaces, made): (Vec<_>, Vec<_>) = made.into_iter().partition(|it| it["kind"] == "Namespace");
        assert_eq!(namespaces.len(), 1, "{overlay}");
        let rendered = helm::manifests(&["--set", values]);
        let rendered = sorted(rendered);
        let names = |all: &[Value]| all.iter().map(identity).collect::<Vec<_>>();
        assert_eq!(names(&made), names(&rendered), "{overlay}");
        for (made, rendered) in made.iter().zip(&rendered) {
            assert!(made == rendered, "{overlay}, {}: {made:#} {rendered:#}", identity(made));
        }
        is_taken(&sandbox, overlay, &made).await;
        if overlay == "cluster" {
            let file = sorted(helm::read(&install));
            let file: Vec<_> = file.into_iter().filter(|it| it["kind"] != "Namespace").collect();
            assert!(file == made, "install.yaml is the overlay `cluster`");
        }
    }
}
