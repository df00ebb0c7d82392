//! kube-state-metrics as it is released, with the configuration and the rights of the chart: it shows every metric of
//! each kind, and nothing that other controllers write.

use super::get;
use crate::manifests::FULL;
use crate::prelude::*;

/// The `ServiceAccount` that the chart gives the rights to, by default.
const ACCOUNT: &str = "kube-state-metrics";
/// In the messages of all conditions; no metric may contain it.
const MESSAGE: &str = "a message that nobody may see";

/// A running kube-state-metrics.
pub(crate) struct KubeStateMetrics {
    pub(crate) address: SocketAddr,
    /// The configuration of the chart.
    config: String,
    folder: tempfile::TempDir,
    _process: Child,
}

impl KubeStateMetrics {
    /// Starts it in a sandbox, as the chart describes it.
    pub(crate) async fn start(sandbox: &Sandbox) -> Self {
        sandbox.succeed(&["create", "serviceaccount", ACCOUNT], "").await;
        let release = ["connect-operator", sandbox.namespace.as_str()];
        let render = helm::text_of(release, &["--set", "metrics.kubeStateMetrics.enabled=true"]).unwrap();
        let name = format!("connect-operator:{}:kube-state-metrics", sandbox.namespace);
        let mut config = None;
        for manifest in helm::read(&render) {
            if manifest["metadata"]["name"] == name.as_str() {
                sandbox.kubectl_apply(&manifest).await;
            }
            config = config.or_else(|| manifest["data"]["config.yaml"].as_str().map(str::to_owned));
        }
        let (config, folder) = (config.expect("a ConfigMap"), tempfile::tempdir().unwrap());
        std::fs::write(folder.path().join("config.yaml"), &config).unwrap();
        let kubeconfig = folder.path().join("kubeconfig");
        std::fs::write(&kubeconfig, kubeconfig_of(sandbox).await.to_string()).unwrap();
        let (address, telemetry) = (addresses::free(), addresses::free());
        let program: PathBuf = go_tools::built("kube-state-metrics", "k8s.io/kube-state-metrics/v2");
        let process = Command::new(program)
            .arg("--custom-resource-state-only")
            .arg(format!("--custom-resource-state-config-file={}", folder.path().join("config.yaml").display()))
            .arg(format!("--kubeconfig={}", kubeconfig.display()))
            .args(["--host=127.0.0.1", "--telemetry-host=127.0.0.1"])
            .arg(format!("--port={}", address.port()))
            .arg(format!("--telemetry-port={}", telemetry.port()))
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(folder.path().join("log")).unwrap())
            .kill_on_drop(true)
            .spawn()
            .expect("kube-state-metrics starts");
        let this = Self { address, config, folder, _process: process };
        let listens = async {
            while tokio::net::TcpStream::connect(address).await.is_err() {
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        in_time(listens).await.unwrap_or_else(|_| panic!("it does not listen: {}", this.log()));
        this
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Returns the names of the metrics that it is configured to show.
    fn configured(&self) -> BTreeSet<String> {
        let config: Value = serde_saphyr::from_str(&self.config).unwrap();
        let mut names = BTreeSet::new();
        for resource in config["spec"]["resources"].as_array().unwrap() {
            let prefix = resource["metricNamePrefix"].as_str().unwrap();
            let metrics = resource["metrics"].as_array().unwrap().iter();
            names.extend(metrics.map(|metric| format!("{prefix}_{}", metric["name"].as_str().unwrap())));
        }
        names
    }

    /// Returns its samples of a namespace, and of the object that has no namespace but its name, without the labels that
    /// all of them have.
    async fn samples(&self, namespace: &str) -> BTreeSet<String> {
        let page = get(self.address, "/metrics").await;
        let its = ["namespace", "name"].map(|label| format!("{label}=\"{namespace}\""));
        page.lines().filter_map(|line| its.iter().find_map(|label| sample(line, label))).collect()
    }
}

/// Returns a sample with the label `its`, without it and without the kind, which the name of the metric contains.
fn sample(line: &str, its: &str) -> Option<String> {
    let (name, rest) = line.split_once('{')?;
    let (labels, value) = rest.rsplit_once("} ")?;
    let labels: Vec<_> = labels.split(',').collect();
    let own = |label: &&&str| !label.starts_with("customresource_") && **label != its;
    let own: Vec<_> = labels.iter().filter(own).copied().collect();
    labels.contains(&its).then(|| format!("{name}{{{}}} {value}", own.join(",")))
}

/// Returns a kubeconfig with a token of the account.
async fn kubeconfig_of(sandbox: &Sandbox) -> Value {
    let token = sandbox.succeed(&["create", "token", ACCOUNT], "").await;
    let text = std::fs::read_to_string(sandbox.kubeconfig()).unwrap();
    let mut config: Value = serde_saphyr::from_str(&text).unwrap();
    for user in config["users"].as_array_mut().unwrap() {
        user["user"] = json!({"token": token.trim()});
    }
    config
}

fn condition(type_: &str, status: &str, reason: &str) -> Value {
    json!({"type": type_, "status": status, "reason": reason, "message": MESSAGE,
        "lastTransitionTime": "2026-01-02T03:04:05Z"})
}

/// Returns a status of this kind with everything that a metric shows.
fn status(kind: &str) -> Value {
    let mut conditions = vec![
        condition("Ready", "False", "SecretMissing"),
        condition("Reconciling", "True", "SecretMissing"),
        condition("Stalled", "True", "KeyTaken"),
        condition("Other", "True", "OfAnotherController"),
    ];
    let mut status = match kind {
        "ConnectorDeployment" => {
            conditions.extend([
                condition("Suspended", "True", "Suspended"),
                condition("Available", "True", "Serving"),
                condition("Drifted", "True", "ValuesDiffer"),
                condition("UpdateAvailable", "True", "NewerVersion"),
                condition("ValuesRetained", "True", "NotInSpec"),
                condition("SecretsUnverified", "True", "NotSentFromHere"),
                condition("Verified", "False", "NotFound"),
            ]);
            json!({"key": "shop_tax", "remote": {"apiUrl": "http://a", "projectKey": "p", "type": "sandbox", "state": "Deployed"}})
        }
        "ConnectorStaged" => {
            conditions.push(condition("Suspended", "True", "Suspended"));
            json!({"key": "my-connector", "remote": {"apiUrl": "http://a", "projectKey": "p", "state": "Draft"}})
        }
        "ActionCheck" => {
            conditions.push(condition("Suspended", "True", "Suspended"));
            json!({"checkedAt": "2026-01-02T03:04:05Z"})
        }
        _ => json!({}),
    };
    status["observedGeneration"] = 1.into();
    status["conditions"] = conditions.into();
    status
}

/// Creates an object of each kind that is being deleted.
async fn objects(sandbox: &Sandbox) {
    for mut manifest in documents(FULL).into_iter().filter(|it| it["metadata"]["name"] != "shared-by-url") {
        if manifest["kind"] == "ClusterConnectProject" {
            // Other tests see it.
            manifest["metadata"]["name"] = json!(sandbox.namespace);
        }
        let name = manifest["metadata"]["name"].as_str().unwrap().to_owned();
        manifest["metadata"]["finalizers"] = json!(["example.com/keep"]);
        sandbox.apply(&manifest).await.unwrap();
        let status = status(manifest["kind"].as_str().unwrap());
        sandbox.set_status(&manifest, &status).await.unwrap();
        sandbox.api(&manifest).delete(&name, &DeleteParams::default()).await.unwrap();
    }
}

#[tokio::test]
async fn kube_state_metrics_shows_every_metric_of_the_configuration() {
    let sandbox = Sandbox::new().await;
    objects(&sandbox).await;
    let program = KubeStateMetrics::start(&sandbox).await;
    let configured = program.configured();
    let names = |samples: &BTreeSet<String>| -> BTreeSet<String> {
        samples.iter().filter_map(|sample| sample.split_once('{')).map(|(name, _)| name.to_owned()).collect()
    };
    let all = async {
        loop {
            let samples = program.samples(&sandbox.namespace).await;
            if names(&samples) == configured {
                return samples;
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    let Ok(samples) = in_time(all).await else {
        let shown = names(&program.samples(&sandbox.namespace).await);
        let missing: Vec<_> = configured.difference(&shown).collect();
        panic!("not shown: {missing:?}\n{}", program.log());
    };
    let text = samples.iter().map(String::as_str).collect::<Vec<_>>().join("\n");
    for expected in [
        r#"kube_connectordeployment_info{connector="demo-connector",key="shop_tax",name="full-by-key",project="shop-full",type="sandbox"} 1"#,
        r#"kube_connectordeployment_status_ready{name="full-by-key",reason="SecretMissing",status="False"} 0"#,
        r#"kube_connectordeployment_status_stalled{name="full-by-key",reason="KeyTaken",status="True"} 1"#,
        r#"kube_connectordeployment_status_drifted{name="full-by-key",reason="ValuesDiffer",status="True"} 1"#,
        r#"kube_connectordeployment_status_update_available{name="full-by-key",reason="NewerVersion",status="True"} 1"#,
        r#"kube_connectordeployment_status_phase{name="full-by-key",phase="Deployed"} 1"#,
        r#"kube_connectordeployment_status_phase{name="full-by-key",phase="Failed"} 0"#,
        r#"kube_connectordeployment_status_ready_time{name="full-by-key",reason="SecretMissing",status="False"} 1.767323045e+09"#,
        r#"kube_clusterconnectproject_status_ready{reason="SecretMissing",status="False"} 0"#,
        r#"kube_actioncheck_info{action="addToCart",deployment="full-by-key",name="check-of-project"} 1"#,
    ] {
        assert!(samples.contains(expected), "{expected} is not in\n{text}");
    }
    for (what, word) in [("a message", "nobody"), ("a condition of another controller", "OfAnotherController")] {
        assert!(!text.contains(word), "{what}: {text}");
    }
}
