//! What the chart renders from values: as a whole for three sets of them, and for each option.

use std::process::Command;

use serde_json::{Value, json};

use crate::golden::assert_golden;
use crate::helm::{self, CHART, identity};

const FOLDER: &str = "tests/fixtures/chart";
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

/// Returns all manifests but the ConfigMap with the filter of the log, which every render has.
pub(super) fn without_log_filter(set: &str) -> Vec<Value> {
    let mut manifests = helm::manifests(&["--set", set]);
    manifests.retain(|it| it["data"]["filter"].is_null());
    manifests
}

/// Returns the only manifest of that kind.
pub(super) fn only(kind: &str, set: &str) -> Value {
    let mut found = without_log_filter(set);
    found.retain(|it| it["kind"] == kind);
    assert_eq!(found.len(), 1, "{kind} with {set}");
    found.remove(0)
}

pub(super) fn pod(set: &str) -> Value {
    only("Deployment", set)["spec"]["template"]["spec"].clone()
}

pub(super) fn container(set: &str) -> Value {
    pod(set)["containers"][0].clone()
}

#[test]
fn each_option_of_the_operator_becomes_its_argument() {
    for (set, expected) in [
        ("watchNamespaces={shop,blog}", "--watch-namespaces=shop,blog"),
        ("selector=team in (a\\,b)", "--selector=team in (a,b)"),
        ("allowedApiHosts={*.example.com,127.0.0.1:8787}", "--allowed-api-hosts=*.example.com,127.0.0.1:8787"),
        ("allowedActionHosts={a.example}", "--allowed-action-hosts=a.example"),
        ("defaultDeletionPolicy=Orphan", "--default-deletion-policy=Orphan"),
        ("concurrency=4", "--concurrency=4"),
        ("logFormat=text", "--log-format=text"),
        ("replicaCount=1", "--log-filter-file=/etc/connect-operator/log/filter"),
        ("digestKeySecret=key", "--digest-key-secret=key"),
        ("leaderElection.leaseName=blue", "--lease-name=blue"),
        ("fullnameOverride=blue", "--lease-name=blue"),
        ("caBundle.secretName=ours", "--ca-file=/etc/connect-operator/ca/ca.crt"),
        ("secrets.requireLabel=true", "--require-secret-label"),
        ("clusterProjects.enabled=true", "--cluster-projects"),
        ("extraArgs={--concurrency=1}", "--concurrency=1"),
        ("replicaCount=1", "--leader-elect"),
        ("replicaCount=1", "--operator-namespace=connect-operator"),
        ("replicaCount=1", "--metrics-listen=[::]:8080"),
        ("replicaCount=1", "--health-listen=[::]:8081"),
        ("listenAddress=127.0.0.1", "--metrics-listen=127.0.0.1:8080"),
        ("listenAddress=fd00::7", "--health-listen=[fd00::7]:8081"),
    ] {
        let arguments = container(set)["args"].clone();
        assert!(arguments.as_array().unwrap().contains(&json!(expected)), "{set}: {arguments}");
    }
    for (set, absent) in [
        ("replicaCount=1", "--watch-namespaces"),
        ("replicaCount=1", "--selector"),
        ("replicaCount=1", "--ca-file"),
        ("replicaCount=1", "--require-secret-label"),
        ("clusterProjects.enabled=false", "--cluster-projects"),
        ("replicaCount=1,leaderElection.enabled=false", "--leader-elect"),
        ("metrics.enabled=false", "--metrics-listen"),
    ] {
        let arguments = container(set)["args"].to_string();
        assert!(!arguments.contains(absent), "{set}: {arguments}");
    }
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
fn each_option_of_the_pods_arrives_where_it_belongs() {
    for (set, pointer, expected) in [
        ("image.tag=1", "/containers/0/image", json!("ghcr.io/connect-operator/connect-operator:1")),
        ("image.repository=a/b,image.tag=1", "/containers/0/image", json!("a/b:1")),
        ("image.pullPolicy=Never", "/containers/0/imagePullPolicy", json!("Never")),
        ("imagePullSecrets[0].name=registry", "/imagePullSecrets/0/name", json!("registry")),
        ("replicaCount=1", "/dnsConfig/options", json!([{"name": "ndots", "value": "1"}])),
        ("dnsConfig.options[0].name=edns0", "/dnsConfig/options", json!([{"name": "edns0"}])),
        ("priorityClassName=high", "/priorityClassName", json!("high")),
        ("nodeSelector.disk=fast", "/nodeSelector/disk", json!("fast")),
        ("tolerations[0].operator=Exists", "/tolerations/0/operator", json!("Exists")),
        ("affinity.nodeAffinity.a=b", "/affinity/nodeAffinity/a", json!("b")),
        ("terminationGracePeriodSeconds=90", "/terminationGracePeriodSeconds", json!(90)),
        ("serviceAccount.name=robot", "/serviceAccountName", json!("robot")),
        ("serviceAccount.create=false", "/serviceAccountName", json!("default")),
        ("logFilter=debug", "/volumes/0/configMap/name", json!("connect-operator-log")),
        ("logFilter=debug", "/containers/0/volumeMounts/0/mountPath", json!("/etc/connect-operator/log")),
        ("proxy.noProxy=a\\,b", "/containers/0/env/0", json!({"name": "NO_PROXY", "value": "a,b"})),
        ("extraEnv[0].name=A,extraEnv[0].value=b", "/containers/0/env/0", json!({"name": "A", "value": "b"})),
        ("extraVolumes[0].name=a", "/volumes/0/name", json!("a")),
        (
            "extraVolumeMounts[0].name=a,extraVolumeMounts[0].mountPath=/a",
            "/containers/0/volumeMounts/0/mountPath",
            json!("/a"),
        ),
        ("envFrom[0].secretRef.name=proxy", "/containers/0/envFrom/0/secretRef/name", json!("proxy")),
        ("initContainers[0].name=a,initContainers[0].image=b", "/initContainers/0/image", json!("b")),
        ("extraContainers[0].name=a,extraContainers[0].image=b", "/containers/1/image", json!("b")),
        ("extraContainers[0].name=a,extraContainers[0].image=b", "/containers/0/name", json!("operator")),
        ("lifecycle.preStop.sleep.seconds=5", "/containers/0/lifecycle/preStop/sleep/seconds", json!(5)),
        ("livenessProbe.periodSeconds=20", "/containers/0/livenessProbe/periodSeconds", json!(20)),
        ("livenessProbe.initialDelaySeconds=5", "/containers/0/livenessProbe/initialDelaySeconds", json!(5)),
        ("livenessProbe.periodSeconds=20", "/containers/0/livenessProbe/failureThreshold", json!(6)),
        ("livenessProbe.periodSeconds=20", "/containers/0/livenessProbe/httpGet/path", json!("/livez")),
        ("readinessProbe.timeoutSeconds=9", "/containers/0/readinessProbe/timeoutSeconds", json!(9)),
        ("readinessProbe.timeoutSeconds=9", "/containers/0/readinessProbe/httpGet/path", json!("/readyz")),
        ("caBundle.configMapName=ours,caBundle.key=b", "/volumes/0/configMap/items/0/key", json!("b")),
        ("caBundle.secretName=ours", "/volumes/0/secret/secretName", json!("ours")),
        ("caBundle.secretName=ours", "/containers/0/volumeMounts/0/mountPath", json!("/etc/connect-operator/ca")),
        ("resources.limits.memory=1Gi", "/containers/0/resources/limits/memory", json!("1Gi")),
        (
            "replicaCount=1",
            "/topologySpreadConstraints/0/labelSelector/matchLabels/app.kubernetes.io~1instance",
            json!("connect-operator"),
        ),
    ] {
        assert_eq!(pod(set).pointer(pointer), Some(&expected), "{set}: {pointer}");
    }
    let digest = format!("sha256:{}", "ab".repeat(32));
    let image = container(&format!("image.tag=1,image.digest={digest}"))["image"].clone();
    assert_eq!(image, format!("ghcr.io/connect-operator/connect-operator@{digest}"));
}

#[test]
fn with_an_election_the_next_pod_comes_first_and_without_one_it_comes_last() {
    let strategy = |set| only("Deployment", set)["spec"]["strategy"].clone();
    let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}});
    assert_eq!(strategy("replicaCount=2"), rolling);
    let recreate = json!({"type": "Recreate"});
    assert_eq!(strategy("replicaCount=1,leaderElection.enabled=false"), recreate);
    assert_eq!(strategy("replicaCount=1,leaderElection.enabled=false,strategy.type=Recreate"), recreate);
    assert_eq!(strategy("strategy.type=Recreate"), recreate);
    let half = "strategy.type=RollingUpdate,strategy.rollingUpdate.maxUnavailable=50%";
    assert_eq!(strategy(half), json!({"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "50%"}}));
    for (set, expected) in [("replicaCount=2", 3), ("revisionHistoryLimit=0", 0)] {
        assert_eq!(only("Deployment", set)["spec"]["revisionHistoryLimit"], expected, "{set}");
    }
}

#[test]
fn the_disruption_budget_counts_the_pods_that_go_or_those_that_stay() {
    for (set, field, expected) in [
        ("replicaCount=2", "maxUnavailable", json!(1)),
        ("podDisruptionBudget.maxUnavailable=50%", "maxUnavailable", json!("50%")),
        ("podDisruptionBudget.minAvailable=1", "minAvailable", json!(1)),
        ("podDisruptionBudget.minAvailable=50%", "minAvailable", json!("50%")),
        ("replicaCount=4,podDisruptionBudget.minAvailable=75%", "minAvailable", json!("75%")),
    ] {
        let spec = only("PodDisruptionBudget", set)["spec"].clone();
        assert_eq!(spec[field], expected, "{set}");
        let both = ["minAvailable", "maxUnavailable"].iter().all(|field| !spec[*field].is_null());
        assert!(!both, "{set}: the API server accepts one of them only");
    }
}

#[test]
fn additional_objects_are_templates() {
    let folder = tempfile::tempdir().unwrap();
    let values = folder.path().join("values.yaml");
    let text = "extraObjects:\n\
        - {apiVersion: v1, kind: Secret, metadata: {name: '{{ include \"connect-operator.fullname\" . }}-a'}}\n\
        - |\n  apiVersion: v1\n  kind: Secret\n  metadata:\n    name: b\n    namespace: {{ .Release.Namespace }}\n";
    std::fs::write(&values, text).unwrap();
    let manifests = helm::manifests(&["--values", values.to_str().unwrap()]);
    let secrets = manifests.iter().filter(|it| it["kind"] == "Secret").map(identity).collect::<Vec<_>>();
    assert_eq!(secrets, ["Secret//connect-operator-a", "Secret/connect-operator/b"]);
    assert!(helm::manifests(&[]).iter().all(|it| it["kind"] != "Secret"));
}

#[test]
fn optional_objects_exist_only_if_enabled() {
    for (kind, without, with) in [
        ("PodDisruptionBudget", "replicaCount=1", "replicaCount=2"),
        ("PodDisruptionBudget", "podDisruptionBudget.enabled=false", "podDisruptionBudget.maxUnavailable=1"),
        ("ServiceAccount", "serviceAccount.create=false", "serviceAccount.name=robot"),
        ("NetworkPolicy", "networkPolicy.enabled=false", "replicaCount=2"),
        ("Service", "metrics.enabled=false", "replicaCount=2"),
        ("ServiceMonitor", "replicaCount=2", "metrics.serviceMonitor.enabled=true"),
        ("PodMonitor", "metrics.serviceMonitor.enabled=true", "metrics.podMonitor.enabled=true"),
        ("PodMonitor", "metrics.enabled=false,metrics.podMonitor.enabled=true", "metrics.podMonitor.enabled=true"),
        ("PrometheusRule", "replicaCount=2", "metrics.prometheusRule.enabled=true"),
        ("ConfigMap", "replicaCount=2", "metrics.dashboard.enabled=true"),
        (
            "ServiceMonitor",
            "metrics.enabled=false,metrics.serviceMonitor.enabled=true",
            "metrics.serviceMonitor.enabled=true",
        ),
    ] {
        assert!(without_log_filter(without).iter().all(|it| it["kind"] != kind), "{kind} with {without}");
        only(kind, with);
    }
}

#[test]
fn the_network_policy_admits_only_the_named_sources_and_restricts_calls_only_if_configured() {
    let spec = |set: &str| only("NetworkPolicy", set)["spec"].clone();
    let monitoring = "networkPolicy.metricsFrom[0].namespaceSelector.matchLabels.name=monitoring";
    let metrics = json!({"ports": [{"port": "metrics", "protocol": "TCP"}],
        "from": [{"namespaceSelector": {"matchLabels": {"name": "monitoring"}}}]});
    for (case, set, ingress) in [
        ("default, nobody", "replicaCount=2".to_owned(), json!([])),
        ("a named source", monitoring.to_owned(), json!([metrics])),
        ("no metrics", format!("metrics.enabled=false,{monitoring}"), json!([])),
    ] {
        let spec = spec(&set);
        assert_eq!(spec["ingress"], ingress, "{case}");
        assert_eq!((&spec["policyTypes"], &spec["egress"]), (&json!(["Ingress"]), &Value::Null), "{case}");
    }
    let restricted = spec("networkPolicy.egress=true,networkPolicy.apiServerPorts={16443}");
    assert_eq!(restricted["policyTypes"], json!(["Ingress", "Egress"]));
    let ports =
        restricted["egress"][1]["ports"].as_array().unwrap().iter().map(|it| it["port"].as_u64()).collect::<Vec<_>>();
    assert_eq!(ports, [Some(16443), Some(443)]);
}

#[test]
fn another_log_filter_changes_no_pod() {
    let filters = |set: &str| {
        let all = helm::manifests(&["--set", set]).into_iter().map(|it| it["data"]["filter"].clone());
        all.filter(|filter| !filter.is_null()).collect::<Vec<_>>()
    };
    assert_eq!((filters("replicaCount=2"), filters("logFilter=debug")), (vec![json!("")], vec![json!("debug")]));
    assert_eq!(pod("replicaCount=2"), pod("logFilter=debug"));
}

#[test]
fn alerts_and_dashboard_arrive_as_they_are_in_their_files() {
    let file = |name: &str| {
        std::fs::read_to_string(format!("{}/{CHART}/files/{name}", env!("CARGO_MANIFEST_DIR"))).expect(name)
    };
    let alerts: Value = serde_saphyr::from_str(&file("alerts.yaml")).unwrap();
    assert_eq!(only("PrometheusRule", "metrics.prometheusRule.enabled=true")["spec"], alerts);
    let config_map = only("ConfigMap", "metrics.dashboard.enabled=true");
    let dashboard: Value = serde_json::from_str(config_map["data"]["connect-operator.json"].as_str().unwrap()).unwrap();
    assert_eq!(dashboard, serde_json::from_str::<Value>(&file("dashboard.json")).unwrap());
}

#[test]
fn user_labels_arrive_and_do_not_replace_selector_labels() {
    let sets =
        ["--set-string", "commonLabels.team=a,podLabels.color=blue", "--set", "podLabels.app\\.kubernetes\\.io/name=x"];
    for manifest in helm::manifests(&sets) {
        let labels = &manifest["metadata"]["labels"];
        assert_eq!(labels["app.kubernetes.io/instance"], "connect-operator", "{}", identity(&manifest));
        assert_eq!(labels["team"], "a", "{}", identity(&manifest));
        if manifest["kind"] == "Deployment" {
            let labels = &manifest["spec"]["template"]["metadata"]["labels"];
            assert_eq!(
                (&labels["color"], &labels["app.kubernetes.io/name"]),
                (&json!("blue"), &json!("connect-operator"))
            );
            let selector = manifest["spec"]["selector"]["matchLabels"].as_object().unwrap();
            assert!(selector.iter().all(|(name, value)| labels[name] == *value), "{selector:?}");
        }
    }
}

#[test]
fn two_releases_share_no_name() {
    let names = |release: &str, namespace: &str| {
        let output = helm::helm(&[
            "template",
            release,
            CHART,
            "--namespace",
            namespace,
            "--kube-version",
            helm::KUBE_VERSION,
            "--set",
            "crds.enabled=false,watchNamespaces={shop}",
        ]);
        helm::read(&String::from_utf8(output.stdout).unwrap()).iter().map(identity).collect::<Vec<_>>()
    };
    let (one, other) = (names("connect-operator", "a"), names("connect-operator", "b"));
    assert!(one.len() > 8 && one.iter().all(|name| !other.contains(name)), "{one:?} {other:?}");
    let other = names("second", "a");
    assert!(one.iter().all(|name| !other.contains(name)), "{one:?} {other:?}");
}

#[test]
fn the_notes_describe_the_next_step_of_this_install() {
    // Helm shows notes only with a cluster; so a template in a copy of the chart renders the same text.
    let folder = tempfile::tempdir().unwrap();
    let chart = folder.path().join("chart");
    let mut copy = Command::new("cp");
    let copied = copy.arg("-r").arg(format!("{}/{CHART}", env!("CARGO_MANIFEST_DIR"))).arg(&chart).status();
    assert!(copied.unwrap().success());
    let notes = std::fs::read_to_string(chart.join("templates/NOTES.txt")).unwrap();
    let template =
        format!("{{{{- define \"notes\" }}}}{notes}{{{{ end }}}}notes: {{{{ include \"notes\" . | toJson }}}}\n");
    std::fs::write(chart.join("templates/notes.yaml"), template).unwrap();
    let chart = chart.to_str().unwrap();
    for (set, said, unsaid) in [
        ("replicaCount=2", "works in all namespaces", "are not part of this release"),
        ("replicaCount=2", "kubectl --namespace default apply", "on resources with the labels"),
        ("replicaCount=2", "leaves the CustomResourceDefinitions", "Warning"),
        ("watchNamespaces={shop,blog}", "works in shop, blog", "all namespaces"),
        ("watchNamespaces={shop,blog}", "kubectl --namespace shop wait ctp/shop", "--namespace default"),
        ("selector=team=a", "on resources with the labels team=a", "Warning"),
        ("crds.enabled=false", "are not part of this release", "Uninstalling"),
        ("crds.keep=false", "Warning: uninstalling this release deletes", "leaves the Custom"),
        ("replicaCount=2", "can read every Secret of the cluster", "(secrets.requireLabel)."),
        ("watchNamespaces={shop}", "may not write ConfigMaps for spec.outputs", "can read every Secret of the cluster"),
        (
            "secrets.requireLabel=true",
            "label secret shop-credentials connect-operator.io/use=true",
            "set secrets.requireLabel",
        ),
        ("outputs.enabled=true", "set networkPolicy.metricsFrom", "outputs.enabled is false"),
        ("networkPolicy.enabled=false", "outputs.enabled is false", "networkPolicy.metricsFrom"),
        ("rbac.create=false", "docs/security.md to the service account connect-operator", "Warning"),
    ] {
        let arguments =
            ["template", "connect-operator", chart, "--namespace", "operators", "--kube-version", helm::KUBE_VERSION];
        let output = helm::helm(&[&arguments[..], &["--show-only", "templates/notes.yaml", "--set", set]].concat());
        assert!(output.status.success(), "{set}: {}", String::from_utf8_lossy(&output.stderr));
        let document = helm::read(&String::from_utf8(output.stdout).unwrap()).remove(0);
        let notes = document["notes"].as_str().unwrap();
        assert!(notes.contains(said) && !notes.contains(unsaid), "{set}: {notes}");
    }
}
