//! The memory of the operator as a process, while one namespace does its worst: the largest manifests, checks and
//! responses that are possible, all at once.

use futures::TryStreamExt as _;

use super::hostile_remote::{APPLICATIONS, HostileRemote, VALUES, application_of, key_of};
use crate::prelude::*;

/// The number of deployments.
struct Deployments {
    /// With few values, each as long as the schema allows. With many more, all of them reconciled at once, the API server of
    /// a small machine does not answer in time.
    long: usize,
    /// With as many values as fit. Half of each is in `managedFields`, of which a single write costs the API server 200 MB.
    wide: usize,
}

impl Deployments {
    /// A few beside other tests; with `MEMORY=full` as many as a machine for itself can serve.
    fn of_this_run() -> Self {
        if std::env::var("MEMORY").as_deref() == Ok("full") {
            Self { long: 16, wide: 1 }
        } else {
            Self { long: 4, wide: 0 }
        }
    }

    fn all(&self) -> usize {
        self.long + self.wide
    }
}

/// More than are reconciled at once.
const CHECKS: usize = 20;
/// Size of the annotations of each object: the API server allows 256 KiB.
const ANNOTATIONS: usize = 250 << 10;
/// Size of each Secret and ConfigMap: the API server allows 1 MiB.
const SOURCE: usize = 1000 << 10;

/// Returns the memory limit of the chart, in KiB.
fn limit() -> u64 {
    let values = yaml_of("charts/connect-operator/values.yaml");
    let limit = values["resources"]["limits"]["memory"].as_str().expect("the chart has a limit");
    limit.strip_suffix("Mi").and_then(|limit| limit.parse::<u64>().ok()).expect("in MiB") * 1024
}

/// The operator as a process that watches both namespaces.
struct Operator {
    process: Child,
    folder: TempDir,
}

impl Operator {
    fn start(shop: &Shop, hostile: &Sandbox) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let namespaces = format!("{},{}", shop.sandbox.namespace, hostile.namespace);
        // `ulimit -d` limits the memory that the process may write, as the limit of the chart limits what it has written.
        let process = Command::new("sh")
            .args(["-c", r#"ulimit -d "$0" && exec "$@""#, &limit().to_string()])
            .arg(env!("CARGO_BIN_EXE_connect-operator"))
            .args(["run", "--watch-namespaces", &namespaces, "--operator-namespace", "default"])
            .args(["--allowed-api-hosts", "http://127.0.0.1:*", "--allowed-action-hosts", "http://127.0.0.1:*"])
            .args(["--log-format", "text"])
            .env("KUBECONFIG", shop.sandbox.kubeconfig())
            .env("RUST_LOG", "info")
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("the operator starts");
        Self { process, folder }
    }

    /// Returns the peak of its resident memory, in KiB (proc(5)), without the pages of its program file: they depend on
    /// the build, and the kernel drops them when memory is short.
    fn peak(&mut self) -> u64 {
        let ended = self.process.try_wait().unwrap();
        let log = std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default();
        assert_eq!(ended, None, "it still runs, for the first time since it was started; log: {log}");
        let id = self.process.id().expect("it runs");
        let status = std::fs::read_to_string(format!("/proc/{id}/status")).unwrap();
        let kibibytes = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect(name);
            line.trim().trim_end_matches("kB").trim().parse::<u64>().expect("a number")
        };
        kibibytes("VmHWM:") - kibibytes("RssFile:")
    }
}

/// Returns the soft limit of a process for memory that it may write, in KiB (proc(5)).
fn limit_of(process: &Child) -> u64 {
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", process.id().expect("it runs"))).unwrap();
    let line = limits.lines().find_map(|line| line.strip_prefix("Max data size")).expect("it has the limit");
    line.split_whitespace().next().and_then(|bytes| bytes.parse::<u64>().ok()).expect("in bytes") / 1024
}

fn annotations(size: usize) -> Value {
    json!({"example.com/notes": "n".repeat(size)})
}

/// A deployment about as large as etcd accepts.
fn deployment(shop: &Shop, number: usize, wide: bool) -> Value {
    let (applications, values, length) = if wide { (APPLICATIONS, VALUES, 24) } else { (1, 36, 32_000) };
    let value = |key: usize| json!({"key": key_of(key), "value": "v".repeat(length)});
    let applications: Vec<Value> = (0..applications)
        .map(|application| {
            json!({"applicationName": application_of(application),
                "standardConfiguration": (0..values).map(value).collect::<Vec<_>>()})
        })
        .collect();
    let spec = json!({"configurations": applications,
        "configurationFrom": [{"configMapRef": {"name": "large"}}, {"secretRef": {"name": "large"}}]});
    let mut manifest = with_spec(shop.deployment(), &spec);
    // Room for the annotation that the operator writes before a create: it has a digest of each value.
    let size = if wide { ANNOTATIONS / 2 } else { ANNOTATIONS };
    manifest["metadata"] = json!({"name": format!("large-{number:02}"), "annotations": annotations(size)});
    manifest
}

/// A check with the largest body, and with an expectation that costs much over the largest answer.
fn hostile_check(shop: &Shop, remote: &HostileRemote, number: usize) -> Value {
    let elements: Vec<Value> = (0..64).map(|number| json!({"a": {"a": {"a": number}}})).collect();
    let expected = json!({"cartId": elements}).to_string();
    let body = format!(r#"{{"text": "{}"}}"#, "x".repeat(16_384 - 12));
    let spec = json!({"frontend": {"url": remote.url}, "body": body, "expect": {"body": expected}});
    let mut manifest = with_spec(check(shop), &spec);
    manifest["metadata"] = json!({"name": format!("hostile-{number:02}"), "annotations": annotations(ANNOTATIONS)});
    manifest
}

async fn create(hostile: &Sandbox, manifest: Value) -> Result<(), kube::Error> {
    let object: DynamicObject = serde_json::from_value(manifest.clone()).unwrap();
    hostile.api(&manifest).create(&PostParams::default(), &object).await.map(|_| ())
}

/// Creates everything that the namespace needs for its worst.
async fn fill(shop: &Shop, hostile: &Sandbox, remote: &HostileRemote, deployments: &Deployments) {
    let data: serde_json::Map<_, _> =
        (0..100).map(|at| (format!("unknown-{at}"), json!("v".repeat(SOURCE / 100)))).collect();
    for (kind, member) in [("Secret", "stringData"), ("ConfigMap", "data")] {
        let source = json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": "large"}, member: data});
        hostile.succeed(&["create", "--filename", "-"], &source.to_string()).await;
    }
    hostile.put_credentials("dev-client").await;
    let mut project = with_spec(shop.project(), &json!({"apiUrl": remote.url, "authUrl": remote.url}));
    project["metadata"]["annotations"] = annotations(ANNOTATIONS);
    let manifests = (0..deployments.all())
        .map(|number| deployment(shop, number, number >= deployments.long))
        .chain((0..CHECKS).map(|number| hostile_check(shop, remote, number)))
        .chain([project]);
    stream::iter(manifests.map(|manifest| create(hostile, manifest)))
        .buffer_unordered(4)
        .try_collect::<()>()
        .await
        .unwrap();
}

/// Returns how many deployments have each Ready reason.
async fn reasons(hostile: &Sandbox) -> BTreeMap<String, usize> {
    let api = hostile.objects::<ConnectorDeployment>();
    let mut reasons = BTreeMap::new();
    for object in api.list(&ListParams::default()).await.unwrap() {
        let conditions = object.status.map(|status| status.conditions).unwrap_or_default();
        let ready = conditions.into_iter().find(|condition| condition.type_ == names::READY);
        *reasons.entry(ready.map_or_else(String::new, |ready| ready.reason)).or_default() += 1;
    }
    reasons
}

/// Returns once the create of each deployment has ended.
async fn until_all_have_ids(hostile: &Sandbox, many: usize) {
    let has_id = |object: &&ConnectorDeployment| object.status.as_ref().is_some_and(|status| status.id.is_some());
    until("each create ends", async || {
        // Each list is large.
        tokio::time::sleep(Duration::from_millis(200)).await;
        let objects = hostile.objects().list(&ListParams::default()).await.unwrap().items;
        objects.iter().filter(has_id).count() == many
    })
    .await;
}

#[tokio::test]
async fn hostile_manifests_checks_and_responses_need_less_memory_than_the_chart_allows() {
    let deployments = Deployments::of_this_run();
    let remote = HostileRemote::start().await;
    let shop = Shop::without_operator(Options::default(), Clock::system()).await;
    let hostile = shop.sandbox.another().await;
    fill(&shop, &hostile, &remote, &deployments).await;

    // They exist before the operator starts, so that all lists are read at once, and all reconciles begin.
    let mut operator = Operator::start(&shop, &hostile);
    shop.put_project_and_secrets().await;
    shop.deploy().await;
    eprintln!("a deployment of another namespace is ready: {} KiB at most", operator.peak());

    remote.until_asked("action", CHECKS).await;
    remote.until_asked("create", deployments.all()).await;
    // While everything above continues. It starts with more to read than the first one.
    until_all_have_ids(&hostile, deployments.all()).await;
    let peak = operator.peak();
    eprintln!("before it is killed: {peak} KiB at most");
    assert!(peak < limit(), "{peak} KiB, and the chart allows {}", limit());
    operator.process.kill().await.unwrap();
    let connectors = remote.counts()["connector"];
    let mut operator = Operator::start(&shop, &hostile);
    // The deployments may have failed before. It has read all objects once their reconciles read the registry.
    remote.until_asked("connector", connectors + 1).await;
    let failed = async {
        while reasons(&hostile).await.get("DeploymentFailed").is_none_or(|failed| *failed < deployments.all() / 2) {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    let in_time = in_time(failed).await.is_ok();
    assert!(in_time, "not in time: {:?}, {:?}", reasons(&hostile).await, remote.counts());
    // Not before: the shell sets the limit and becomes the operator.
    assert_eq!(limit_of(&operator.process), limit(), "the limit is in effect");
    let peak = operator.peak();
    eprintln!("after that: {peak} KiB at most, of {}; answered: {:?}", limit(), remote.counts());
    assert!(peak < limit(), "{peak} KiB, and the chart allows {}", limit());
}
