//! `plan --local` as a process, against the dev server: no cluster is asked, and there is none.

use test_support::commands::with_input;
use tokio::process::Command;

use crate::prelude::*;

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");
const TOKEN: &str = "canary-token";
/// Credentials in the environment.
const CREDENTIALS: [(&str, &str); 3] =
    [("CTP_PROJECT_KEY", "demo"), ("CTP_CLIENT_ID", "dev-client"), ("CTP_CLIENT_SECRET", "dev-secret")];

/// The manifests of a shop: its project, the Secrets, and a deployment with these values.
struct Shop {
    dev: DevServer,
}

impl Shop {
    async fn open() -> Self {
        Self { dev: DevServer::usual().await }
    }

    fn project(&self) -> Value {
        let url = self.dev.url();
        resource(
            "ConnectProject",
            "shop",
            &json!({"projectKey": "demo", "region": "europe-west1.gcp", "apiUrl": url,
            "authUrl": url, "credentialsSecretRef": {"name": "login"}}),
        )
    }

    /// Plans these manifests with these variables; returns the exit code and the plan.
    async fn plan(&self, manifests: &[Value], variables: &[(&str, &str)]) -> (Option<i32>, Value) {
        let text: Vec<String> = manifests.iter().map(ToString::to_string).collect();
        let mut command = Command::new(PROGRAM);
        command
            .args(["plan", "--local", "--exit-code", "-o", "json", "-f", "-"])
            .env_clear()
            // Nothing is read from here.
            .env("KUBECONFIG", "/nowhere")
            .envs(variables.iter().copied());
        let ended = with_input(&mut command, &text.join("\n---\n")).await;
        let [output, error] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
        assert!(!output.contains("canary") && !error.contains("canary"), "{output}{error}");
        let plan = serde_json::from_str(&output).unwrap_or_else(|wrong| panic!("{wrong}: {output}{error}"));
        (ended.status.code(), plan)
    }
}

fn resource(kind: &str, name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "connect-operator.io/v1alpha1", "kind": kind, "metadata": {"name": name}, "spec": spec})
}

fn secret(name: &str, data: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, "stringData": data})
}

fn login() -> Value {
    secret("login", &json!({"clientId": "dev-client", "clientSecret": "dev-secret"}))
}

fn token() -> Value {
    secret("token", &json!({"token": TOKEN}))
}

fn tax(level: &Value) -> Value {
    let from = json!({"secretKeyRef": {"name": "token", "key": "token"}});
    let mut standard = json!({"key": "LOG_LEVEL"});
    let member = if level.is_string() { "value" } else { "valueFrom" };
    standard[member] = level.clone();
    resource(
        "ConnectorDeployment",
        "tax",
        &json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo-connector"},
        "configurations": [{"applicationName": "service", "standardConfiguration": [standard],
            "securedConfiguration": [{"key": "API_TOKEN", "valueFrom": from}]}]}),
    )
}

/// Returns the exit code, the action or the reason of the problem, and all notes of a plan with one deployment.
fn outcome((code, plan): &(Option<i32>, Value)) -> (i32, String, String) {
    let deployment = &plan["deployments"][0];
    let what = deployment["problem"]["reason"].as_str().or(deployment["action"].as_str());
    let text = format!("{} {} {} {}", deployment["notes"], deployment["problem"], plan["notes"], plan["invalid"]);
    (code.unwrap_or(-1), what.unwrap_or("invalid").to_owned(), text)
}

#[tokio::test]
async fn files_and_the_registry_are_enough_for_a_plan() {
    let shop = Shop::open().await;
    let info = || tax(&json!("info"));
    let mut misspelt = info();
    misspelt["spec"]["configurations"][0]["standardConfiguration"][0]["key"] = json!("LOG_LEVLE");
    let mut unknown_field = info();
    unknown_field["spec"]["conector"] = json!({});
    let from_map = tax(&json!({"configMapKeyRef": {"name": "levels", "key": "level"}}));
    let half = || secret("login", &json!({"clientId": "dev-client"}));
    let other = || secret("token", &json!({"other": "a"}));
    let (assumes, remote) = ("a local plan does not read the cluster. It assumes", || [login(), shop.project()]);
    let with = |more: &[Value]| [&remote()[..], more].concat();
    for (case, manifests, expected, words) in [
        ("everything is there", with(&[token(), info()]), (2, "create"), assumes),
        ("without the Secret of a value", with(&[info()]), (2, "create"), "Secret token is not among"),
        ("no ConfigMap", with(&[token(), from_map.clone()]), (2, "create"), "ConfigMap levels is not among the files"),
        ("a misspelt key", with(&[misspelt]), (1, "ConfigurationInvalid"), "has no key LOG_LEVLE (it has "),
        ("a field too many", with(&[unknown_field]), (1, "invalid"), "spec.conector: there is no such field"),
        ("no credentials", vec![shop.project(), token(), info()], (2, "notKnown"), "have credentials of shop"),
        ("no project", vec![token(), info()], (2, "notKnown"), "ConnectProject shop is not among the files"),
        ("half", vec![half(), shop.project(), info()], (1, "ProjectNotReady"), "lacks the key clientSecret"),
        ("a key that its Secret lacks", vec![other(), info()], (2, "notKnown"), "has no key token"),
    ] {
        let (code, what, text) = outcome(&shop.plan(&manifests, &[]).await);
        assert_eq!((code, what.as_str()), expected, "{case}: {text}");
        assert!(text.contains(words), "{case}: {text}");
        assert!(!text.contains("in this namespace"), "{case}: there is no namespace without a cluster: {text}");
    }

    // The environment has credentials in place of the files, for its own project only.
    let mut variables = CREDENTIALS;
    let without = [shop.project(), info()];
    assert_eq!(outcome(&shop.plan(&without, &variables).await).1, "create");
    for (at, wrong) in [(0, "other"), (0, ""), (2, "")] {
        variables = CREDENTIALS;
        variables[at].1 = wrong;
        assert_eq!(outcome(&shop.plan(&without, &variables).await).1, "notKnown", "{variables:?}");
    }

    // What exists under the key is that of the resource.
    // Under the key of the deployment in the namespace `default`.
    shop.dev.deploy("default_tax", &json!([{"key": "LOG_LEVEL", "value": "info"}]), TOKEN);
    for (case, manifests, expected) in [
        ("nothing differs that can be compared", vec![login(), shop.project(), token(), info()], (2, "unknown")),
        ("a plain value", vec![login(), shop.project(), token(), tax(&json!("debug"))], (2, "redeploy")),
        ("a plain value that is not known", vec![login(), shop.project(), token(), from_map], (2, "unknown")),
    ] {
        let planned = shop.plan(&manifests, &[]).await;
        let (code, what, text) = outcome(&planned);
        assert_eq!((code, what.as_str()), expected, "{case}: {text}");
        let differences = planned.1["deployments"][0]["differences"].to_string();
        assert_eq!(differences.contains("\"after\":\"debug\""), what == "redeploy", "{case}: {differences}");
    }
}

#[tokio::test]
async fn a_staged_connector_is_planned_without_a_cluster() {
    let shop = Shop::open().await;
    let kit = resource(
        "ConnectorStaged",
        "kit",
        &json!({"projectRef": {"name": "shop"}, "key": "kit", "name": "Kit",
        "creator": {"email": "dev@example.com"}, "integrationTypes": ["tax"], "preview": "Request",
        "repository": {"url": "https://github.com/example/demo-kit.git", "tag": "1.0.0"}}),
    );
    let mut follower = tax(&json!("info"));
    follower["spec"]["connector"] = json!({"stagedRef": {"name": "kit"}});
    let (code, plan) = shop.plan(&[login(), shop.project(), token(), kit.clone(), follower.clone()], &[]).await;
    assert_eq!(plan["staged"][0]["action"], "create", "{plan:#}");
    assert_eq!((code, plan["deployments"][0]["problem"].is_null()), (Some(2), true), "{plan:#}");
    let (code, plan) = shop.plan(&[shop.project(), kit], &[]).await;
    assert_eq!((code, &plan["staged"][0]["action"]), (Some(2), &json!("notKnown")), "{plan:#}");
    let (_, plan) = shop.plan(&[login(), shop.project(), token(), follower], &[]).await;
    assert_eq!(plan["deployments"][0]["action"], "notKnown", "{plan:#}");
}

#[tokio::test]
async fn a_shared_project_is_planned_with_the_labels_of_the_files() {
    let shop = Shop::open().await;
    let mut shared = shop.project();
    shared["kind"] = json!("ClusterConnectProject");
    shared["spec"]["allowedNamespaces"] = json!({"from": "Selector", "selector": {"matchLabels": {"team": "tax"}}});
    let mut deployment = tax(&json!("info"));
    deployment["spec"]["projectRef"] = json!({"kind": "ClusterConnectProject", "name": "shop"});
    let namespace = |team: &str| json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default", "labels": {"team": team}}});
    for (case, more, expected, words) in [
        ("no Namespace", vec![], "create", "the files do not contain the Namespace default"),
        ("with the label", vec![namespace("tax")], "create", ""),
        ("with another one", vec![namespace("oms")], "ProjectNotAllowed", "spec.allowedNamespaces"),
    ] {
        let manifests = [vec![shared.clone(), token(), deployment.clone()], more].concat();
        let (_, what, text) = outcome(&shop.plan(&manifests, &CREDENTIALS).await);
        assert_eq!(what, expected, "{case}: {text}");
        assert!(text.contains(words), "{case}: {text}");
    }
}

#[tokio::test]
async fn what_is_scaffolded_from_the_environment_is_accepted() {
    let shop = Shop::open().await;
    let url = shop.dev.url();
    let place = [("CTP_REGION", "europe-west1.gcp"), ("CTP_API_URL", &url), ("CTP_AUTH_URL", &url)];
    let variables = [&CREDENTIALS[..], &place].concat();
    let mut scaffold = Command::new(PROGRAM);
    scaffold.args(["scaffold", "demo-connector", "--name", "tax"]).env_clear().envs(variables.iter().copied());
    let ended = scaffold.output().await.unwrap();
    let [text, error] = [ended.stdout, ended.stderr].map(|text| String::from_utf8(text).unwrap());
    assert_eq!((ended.status.code(), error.as_str()), (Some(0), ""), "{text}");
    assert!(!text.contains("dev-client") && !text.contains("dev-secret"), "no credential is printed: {text}");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    let kinds: Vec<_> = documents.iter().map(|it| (it["kind"].as_str(), it["metadata"]["name"].as_str())).collect();
    let pair = |kind, name| (Some(kind), Some(name));
    let expected = [
        pair("Secret", "demo-credentials"),
        pair("ConnectProject", "demo"),
        pair("Secret", "tax"),
        pair("ConfigMap", "tax"),
        pair("ConnectorDeployment", "tax"),
    ];
    assert_eq!(kinds, expected);
    assert_eq!(documents[1]["spec"]["credentialsSecretRef"]["name"], "demo-credentials");
    assert_eq!(documents[0]["stringData"], json!({"clientId": "", "clientSecret": ""}));

    let (code, action, notes) = outcome(&shop.plan(&documents, &variables).await);
    assert_eq!((code, action.as_str()), (2, "create"), "with the credentials of the environment: {notes}");
    let (code, reason, notes) = outcome(&shop.plan(&documents, &[]).await);
    assert!(code == 1 && notes.contains("lacks the key clientId"), "unfilled: {reason} {notes}");
    let mut filled = documents.clone();
    filled[0]["stringData"] = json!({"clientId": "dev-client", "clientSecret": "dev-secret"});
    let (code, action, notes) = outcome(&shop.plan(&filled, &[]).await);
    assert_eq!((code, action.as_str()), (2, "create"), "{notes}");
}
