//! What `values.schema.json` and the templates reject, each with a message that names the value.

use std::path::Path;

use serde_json::Value;

use crate::helm::{self, CHART};

fn file(name: &str) -> Value {
    let text = std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(CHART).join(name)).unwrap();
    serde_saphyr::from_str(&text).unwrap()
}

/// Checks that each `set` is refused with a message that has the place and the expectation.
fn are_refused(rows: &[(&str, &str, &str, &str)]) {
    for &(case, set, place, expected) in rows {
        let refusal = helm::text(&["--set", set]).expect_err(case);
        assert!(refusal.contains(place) && refusal.contains(expected), "{case}: {refusal}");
    }
}

#[test]
fn wrong_and_unknown_values_are_refused_by_name() {
    are_refused(&[
        ("unknown", "replicas=2", "", "additional properties 'replicas' not allowed"),
        ("unknown below", "image.name=a", "image", "additional properties 'name' not allowed"),
        (
            "unknown below metrics",
            "metrics.serviceMonitor.enable=true",
            "metrics/serviceMonitor",
            "'enable' not allowed",
        ),
        ("a text for a number", "replicaCount=two", "replicaCount", "got string, want integer"),
        ("less than none", "replicaCount=-1", "replicaCount", "minimum: got -1, want 0"),
        ("too many", "replicaCount=11", "replicaCount", "maximum: got 11, want 10"),
        ("a text for a switch", "crds.enabled=yes", "crds/enabled", "got string, want boolean"),
        (
            "an odd pull policy",
            "image.pullPolicy=Sometimes",
            "image/pullPolicy",
            "one of 'Always', 'IfNotPresent', 'Never'",
        ),
        ("a digest without algorithm", "image.digest=abc", "image/digest", "does not match pattern"),
        ("a tag with a blank", "image.tag=a b", "image/tag", "does not match pattern"),
        ("one namespace as a text", "watchNamespaces=shop", "watchNamespaces", "got string, want array"),
        ("an invalid namespace name", "watchNamespaces={Shop}", "watchNamespaces/0", "does not match pattern"),
        ("two namespaces in one", "watchNamespaces={a b}", "watchNamespaces/0", "does not match pattern"),
        ("the same twice", "watchNamespaces={a,a}", "watchNamespaces", "items at 0 and 1 are equal"),
        (
            "a URL for a host",
            "allowedApiHosts={https://a.example/connect}",
            "allowedApiHosts/0",
            "does not match pattern",
        ),
        ("every host", "allowedApiHosts={*}", "allowedApiHosts/0", "does not match pattern"),
        ("no hosts", "allowedApiHosts=null", "allowedApiHosts", "missing property 'allowedApiHosts'"),
        ("a host with a comma", "allowedActionHosts={a\\,b}", "allowedActionHosts/0", "does not match pattern"),
        (
            "another deletion policy",
            "defaultDeletionPolicy=Keep",
            "defaultDeletionPolicy",
            "one of '', 'Delete', 'Orphan'",
        ),
        ("no concurrency", "concurrency=0", "concurrency", "minimum: got 0, want 1"),
        ("an unknown form", "logFormat=xml", "logFormat", "one of 'json', 'text'"),
        ("a Secret without name", "digestKeySecret=", "digestKeySecret", "minLength: got 0, want 1"),
        ("a proxy without scheme", "proxy.httpsProxy=proxy:3128", "proxy/httpsProxy", "does not match pattern"),
        ("a key with a slash", "caBundle.key=a/b", "caBundle/key", "does not match pattern"),
        ("a number as a label", "commonLabels.a=1", "commonLabels/a", "got number, want string"),
        ("memory without number", "resources.limits.memory=much", "resources/limits/memory", "does not match pattern"),
        ("an unknown resource", "resources.limits.mem=1Gi", "", "invalid propertyName 'mem'"),
        ("ends before a call does", "terminationGracePeriodSeconds=10", "terminationGracePeriodSeconds", "want 35"),
        ("nothing may be evicted", "podDisruptionBudget.maxUnavailable=0", "podDisruptionBudget", "want 1"),
        ("a name to listen on", "listenAddress=localhost", "listenAddress", "does not match pattern"),
        ("a port to listen on", "listenAddress=[::]:80", "listenAddress", "does not match pattern"),
        ("an argument without dashes", "extraArgs={run}", "extraArgs/0", "does not match pattern"),
        ("a variable without name", "extraEnv[0].value=a", "extraEnv/0", "missing property 'name'"),
        ("a mount without path", "extraVolumeMounts[0].name=a", "extraVolumeMounts/0", "missing property 'mountPath'"),
        ("an interval without unit", "metrics.serviceMonitor.interval=30", "serviceMonitor/interval", "want string"),
        ("an invalid port", "networkPolicy.apiServerPorts={70000}", "apiServerPorts/0", "want 65,535"),
        (
            "two without election",
            "leaderElection.enabled=false",
            "",
            "replicaCount above 1 needs leaderElection.enabled",
        ),
        ("two bundles", "caBundle.configMapName=a,caBundle.secretName=b", "", "configMapName or secretName, not both"),
    ]);
}

#[test]
fn wrong_settings_of_pods_are_refused_by_name() {
    are_refused(&[
        ("nothing may stay", "podDisruptionBudget.minAvailable=0", "podDisruptionBudget/minAvailable", "want 1"),
        ("all have to stay", "podDisruptionBudget.minAvailable=2", "", "leave one pod of replicaCount"),
        ("rounded up, all have to stay", "podDisruptionBudget.minAvailable=51%", "", "leave one pod of replicaCount"),
        ("no percentage", "podDisruptionBudget.minAvailable=100%", "minAvailable", "does not match pattern"),
        ("the former name", "crds.install=true", "crds", "additional properties 'install' not allowed"),
        ("an unknown field of a probe", "livenessProbe.period=1", "livenessProbe", "'period' not allowed"),
        ("a probe without end", "readinessProbe.timeoutSeconds=0", "readinessProbe/timeoutSeconds", "want 1"),
        ("an unknown hook", "lifecycle.prestop.sleep.seconds=1", "lifecycle", "'prestop' not allowed"),
        ("an unknown DNS setting", "dnsConfig.search={a}", "dnsConfig", "'search' not allowed"),
        ("an unknown strategy", "strategy.type=OnDelete", "strategy/type", "one of 'Recreate', 'RollingUpdate'"),
        ("a strategy of another kind", "strategy.partition=1", "strategy", "'partition' not allowed"),
        (
            "two pods without election for a while",
            "replicaCount=1,leaderElection.enabled=false,strategy.type=RollingUpdate",
            "",
            "only type Recreate",
        ),
        ("a negative history", "revisionHistoryLimit=-1", "revisionHistoryLimit", "want 0"),
        ("a sidecar without image", "extraContainers[0].name=a", "extraContainers/0", "missing property 'image'"),
        ("an init container without name", "initContainers[0].image=a", "initContainers/0", "missing property 'name'"),
        ("variables of nothing", "envFrom[0].prefix=A_", "envFrom/0", "missing property 'configMapRef'"),
        ("an object as a number", "extraObjects={1}", "extraObjects/0", "got number, want string or object"),
        ("a label as a number", "serviceAccount.labels.a=1", "serviceAccount/labels/a", "want string"),
        ("a registry as a URL", "global.imageRegistry=https://a", "global/imageRegistry", "does not match pattern"),
        ("a global Secret without name", "global.imagePullSecrets[0].nam=a", "imagePullSecrets/0", "'nam' not allowed"),
        (
            "an odd choice for OpenShift",
            "global.compatibility.openshift.adaptSecurityContext=yes",
            "adaptSecurityContext",
            "one of 'auto', 'force', 'disabled'",
        ),
    ]);
}

#[test]
fn wrong_settings_of_the_monitoring_are_refused_by_name() {
    are_refused(&[
        (
            "two monitors",
            "metrics.serviceMonitor.enabled=true,metrics.podMonitor.enabled=true",
            "",
            "serviceMonitor or podMonitor, not both",
        ),
        ("a namespace as a list", "metrics.podMonitor.namespace={a}", "podMonitor/namespace", "want string"),
        (
            "an unknown relabeling",
            "metrics.podMonitor.metricRelabelings[0].source=a",
            "",
            "invalid propertyName 'source'",
        ),
        (
            "an unknown alert",
            "metrics.prometheusRule.alerts.ConnectIsDown.enabled=false",
            "",
            "invalid propertyName 'ConnectIsDown'",
        ),
        (
            "an unknown change of an alert",
            "metrics.prometheusRule.alerts.ConnectOperatorDown.severity=info",
            "alerts/ConnectOperatorDown",
            "'severity' not allowed",
        ),
        (
            "a duration without unit",
            "metrics.prometheusRule.alerts.ConnectOperatorDown.for=5",
            "ConnectOperatorDown/for",
            "want string",
        ),
        (
            "a threshold of an alert without one",
            "metrics.prometheusRule.enabled=true,metrics.prometheusRule.alerts.ConnectOperatorDown.threshold=5",
            "",
            "ConnectOperatorDown: this alert has no threshold",
        ),
        ("an invalid label of alerts", "metrics.prometheusRule.additionalRuleLabels.a-b=c", "", "propertyName 'a-b'"),
    ]);
}

#[test]
fn valid_user_values_are_accepted() {
    for set in [
        "global=null",
        "global.imageRegistry=example.com,global.storageClass=fast",
        "enabled=true",
        "livenessProbe=null,readinessProbe=null",
        "imagePullSecrets=null,commonLabels=null,podLabels=null",
        "image.tag=1",
        "image.tag=1.1.0",
        "allowedApiHosts={*.example.com,connect.*.example.com,http://127.0.0.1:*,http://[::1]:8080,https://connect.internal,a.internal:8443}",
        "podDisruptionBudget.maxUnavailable=50%",
        "proxy.httpsProxy=http://user:password@proxy.example:3128,proxy.noProxy=.example\\,10.0.0.0/8",
        "selector=team in (a\\,b)\\,!legacy",
        "leaderElection.enabled=false,replicaCount=1",
        "podSecurityContext=null",
        "resources.limits.cpu=0.5,resources.requests.cpu=1",
    ] {
        helm::text(&["--set", set]).expect(set);
    }
}

#[test]
fn the_schema_has_each_value_and_no_other() {
    let (values, schema) = (file("values.yaml"), file("values.schema.json"));
    compare("", &values, &schema);
}

/// Checks that wherever the schema lists members, they are those of the values, and that it accepts no others.
fn compare(path: &str, values: &Value, schema: &Value) {
    let Some(listed) = schema["properties"].as_object().filter(|_| schema["type"] == "object") else { return };
    // Below `global` other charts have values too.
    assert!(schema["additionalProperties"] == false || path.starts_with(".global"), "{path}");
    let Some(values) = values.as_object() else { panic!("{path} is no map in values.yaml") };
    // Requests, limits and claims belong to Kubernetes, and `enabled` to a chart of which this one is a part.
    let of_others = |name: &str| name == "claims" || (path.is_empty() && name == "enabled");
    let mut listed: Vec<_> = listed.keys().filter(|name| !of_others(name)).collect();
    let mut given: Vec<_> = values.keys().collect();
    listed.sort();
    given.sort();
    assert_eq!(listed, given, "members of {path}");
    for (name, value) in values {
        compare(&format!("{path}.{name}"), value, &schema["properties"][name]);
    }
}
