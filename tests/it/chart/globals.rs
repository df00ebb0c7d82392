//! What the chart takes over from `global`, how it adapts to `OpenShift`, and the chart as a part of another one.

use std::process::Command;

use serde_json::{Value, json};

use super::renders::{container, pod};
use crate::helm::{self, CHART, identity};

#[test]
fn a_global_registry_replaces_that_of_the_image() {
    for (case, set, expected) in [
        ("none", "image.tag=1", "ghcr.io/connect-operator/connect-operator:1"),
        (
            "a mirror",
            "image.tag=1,global.imageRegistry=mirror.example:5000",
            "mirror.example:5000/connect-operator/connect-operator:1",
        ),
        ("with a path", "image.tag=1,global.imageRegistry=a.example/b,image.repository=c.example/d", "a.example/b/d:1"),
        (
            "of an image without one",
            "image.tag=1,global.imageRegistry=a.example,image.repository=b/c",
            "a.example/b/c:1",
        ),
        ("of one name", "image.tag=1,global.imageRegistry=a.example,image.repository=bc", "a.example/bc:1"),
        ("of this machine", "image.tag=1,global.imageRegistry=a.example,image.repository=localhost/b", "a.example/b:1"),
    ] {
        assert_eq!(container(set)["image"], expected, "{case}");
    }
}

#[test]
fn pull_secrets_come_from_all_charts_and_from_this_one() {
    for (set, expected) in [
        ("replicaCount=2", Value::Null),
        ("imagePullSecrets[0].name=a", json!([{"name": "a"}])),
        ("global.imagePullSecrets={a}", json!([{"name": "a"}])),
        ("global.imagePullSecrets[0].name=a", json!([{"name": "a"}])),
        ("global.imagePullSecrets={a,b},imagePullSecrets[0].name=a", json!([{"name": "a"}, {"name": "b"}])),
    ] {
        assert_eq!(pod(set)["imagePullSecrets"], expected, "{set}");
    }
}

#[test]
fn global_labels_are_on_every_object_and_give_way_to_those_of_this_chart() {
    let set = "global.commonLabels.team=a,global.commonLabels.app\\.kubernetes\\.io/name=x,commonLabels.stage=b";
    for manifest in helm::manifests(&["--set", &format!("{set},global.commonLabels.stage=c")]) {
        let labels = &manifest["metadata"]["labels"];
        assert_eq!((&labels["team"], &labels["stage"]), (&json!("a"), &json!("b")), "{}", identity(&manifest));
        assert_eq!(labels["app.kubernetes.io/name"], "connect-operator", "{}", identity(&manifest));
    }
}

#[test]
fn on_openshift_the_ids_come_from_the_range_of_the_namespace() {
    const SET: &str = "podSecurityContext.fsGroup=1,securityContext.runAsUser=2,\
                       global.compatibility.openshift.adaptSecurityContext";
    const OPENSHIFT: &[&str] = &["--api-versions", "security.openshift.io/v1"];
    for (choice, api, adapted) in [
        ("auto", OPENSHIFT, true),
        ("auto", &[], false),
        ("force", &[], true),
        ("force", OPENSHIFT, true),
        ("disabled", OPENSHIFT, false),
        ("disabled", &[], false),
    ] {
        let manifests = helm::manifests(&[&["--set", &format!("{SET}={choice}")], api].concat());
        let deployment = manifests.iter().find(|it| it["kind"] == "Deployment").unwrap();
        let spec = &deployment["spec"]["template"]["spec"];
        let case = format!("{choice} with {api:?}");
        let (pod, container) = (&spec["securityContext"], &spec["containers"][0]["securityContext"]);
        let ids = [&pod["runAsUser"], &pod["runAsGroup"], &pod["fsGroup"], &container["runAsUser"]];
        assert!(ids.iter().all(|id| id.is_null() == adapted), "{case}: {ids:?}");
        assert_eq!(pod["runAsNonRoot"], true, "{case}");
        assert_eq!(pod["seccompProfile"]["type"], "RuntimeDefault", "{case}");
        assert_eq!(container["readOnlyRootFilesystem"], true, "{case}");
    }
}

#[test]
fn the_chart_can_be_a_part_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("charts");
    std::fs::create_dir(&parts).unwrap();
    let mut copy = Command::new("cp");
    let copied = copy.arg("-r").arg(format!("{}/{CHART}", env!("CARGO_MANIFEST_DIR"))).arg(&parts).status();
    assert!(copied.unwrap().success());
    let part = format!(
        "{{name: connect-operator, version: {}, condition: connect-operator.enabled}}",
        env!("CARGO_PKG_VERSION")
    );
    let chart = format!("apiVersion: v2\nname: platform\nversion: 1.0.0\ndependencies: [{part}]\n");
    std::fs::write(folder.path().join("Chart.yaml"), chart).unwrap();
    let rendered = |set: &str| {
        let path = folder.path().to_str().unwrap();
        let output = helm::helm(&["template", "platform", path, "--kube-version", helm::KUBE_VERSION, "--set", set]);
        assert!(output.status.success(), "{set}: {}", String::from_utf8_lossy(&output.stderr));
        helm::read(&String::from_utf8(output.stdout).unwrap())
    };
    assert!(rendered("connect-operator.enabled=false").is_empty());
    let set = "connect-operator.enabled=true,global.imageRegistry=a.example,global.storageClass=fast";
    let manifests = rendered(set);
    let operator = manifests.iter().find(|it| it["kind"] == "Deployment").expect("the operator");
    assert_eq!(operator["metadata"]["name"], "platform-connect-operator");
    let image = &operator["spec"]["template"]["spec"]["containers"][0]["image"];
    assert!(image.as_str().unwrap().starts_with("a.example/connect-operator/connect-operator:"), "{image}");
}
