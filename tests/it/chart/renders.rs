//! What the chart renders as a whole for three sets of values, as a part of another chart, and beside another release.

use crate::helm::identity;
use crate::prelude::*;

pub(super) const FOLDER: &str = "tests/fixtures/chart";
/// The sets of values, each a file of that name.
const SETS: [&str; 3] = ["default", "one-namespace", "everything"];

#[test]
fn the_renders_are_the_committed_ones() {
    for set in SETS {
        let values = format!("{FOLDER}/{set}.values.yaml");
        // CRDs and what shows metrics have tests of their own.
        let monitoring = ["prometheusRule", "dashboard", "kubeStateMetrics"];
        let monitoring = monitoring.map(|values| format!("metrics.{values}.enabled=false"));
        let without = format!("crds.enabled=false,{}", monitoring.join(","));
        let render = helm::text(&["--values", &values, "--set", &without]).expect(set);
        assert_golden(&format!("{FOLDER}/{set}.yaml"), &render);
    }
}

#[test]
fn helm_lint_accepts_the_chart() {
    for set in SETS {
        let values = format!("{FOLDER}/{set}.values.yaml");
        let lint = helm::helm(&["lint", "--strict", "--kube-version", helm::KUBE_VERSION, "--values", &values, CHART]);
        assert!(lint.status.success(), "{set}: {}", String::from_utf8_lossy(&lint.stdout));
    }
}

/// Returns the only manifest of that kind, besides the ConfigMap with the filter of the log.
pub(super) fn only(kind: &str, set: &str) -> Value {
    let mut found = helm::manifests(&["--set", set]);
    found.retain(|it| it["kind"] == kind && it["data"]["filter"].is_null());
    assert_eq!(found.len(), 1, "{kind} with {set}");
    found.remove(0)
}

#[test]
fn the_program_accepts_the_arguments_of_each_set() {
    for set in SETS {
        let manifests = helm::manifests(&["--values", &format!("{FOLDER}/{set}.values.yaml")]);
        let deployment = manifests.iter().find(|it| it["kind"] == "Deployment").expect(set);
        let arguments = deployment["spec"]["template"]["spec"]["containers"][0]["args"].clone();
        let arguments: Vec<String> = serde_json::from_value(arguments).unwrap();
        let words = ["connect-operator".to_owned()].into_iter().chain(arguments);
        let parsed = connect_operator::cli::command().try_get_matches_from(words);
        assert!(parsed.is_ok(), "{set}: {parsed:?}");
    }
}

#[test]
fn alerts_and_dashboard_arrive_as_they_are_in_their_files() {
    let file = |name: &str| yaml_of(format!("{CHART}/files/{name}"));
    assert_eq!(only("PrometheusRule", "metrics.prometheusRule.enabled=true")["spec"], file("alerts.yaml"));
    let config_map = only("ConfigMap", "metrics.dashboard.enabled=true");
    let dashboard: Value = serde_json::from_str(config_map["data"]["connect-operator.json"].as_str().unwrap()).unwrap();
    assert_eq!(dashboard, file("dashboard.json"));
}

#[test]
fn two_releases_share_no_name() {
    let names = |release: &str, namespace: &str| {
        let set = ["--set", "crds.enabled=false,watchNamespaces={shop}"];
        helm::read(&helm::text_of([release, namespace], &set).unwrap()).iter().map(identity).collect::<Vec<_>>()
    };
    let (one, other) = (names("connect-operator", "a"), names("connect-operator", "b"));
    assert!(one.len() > 8 && one.iter().all(|name| !other.contains(name)), "{one:?} {other:?}");
    let other = names("second", "a");
    assert!(one.iter().all(|name| !other.contains(name)), "{one:?} {other:?}");
}

/// Copies the chart.
pub(super) fn copy_chart(to: &Path) {
    let from = format!("{}/{CHART}", env!("CARGO_MANIFEST_DIR"));
    assert!(Command::new("cp").arg("-r").arg(from).arg(to).status().unwrap().success());
}

#[test]
fn the_chart_can_be_a_part_of_another_one() {
    let folder = tempfile::tempdir().unwrap();
    let parts = folder.path().join("charts");
    std::fs::create_dir(&parts).unwrap();
    copy_chart(&parts.join("connect-operator"));
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
