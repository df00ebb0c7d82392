//! The official command line client (npm package `@commercetools/cli`) against the dev server.
//!
//! Runs where Node is; says so where it is not, and fails there if `REQUIRE_NODE` is set. The client is installed from
//! the lock file in `tests/clients`, without scripts, once for each state of that file.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use connect_operator::clock::Clock;
use connect_operator::dev_server::{DevServer, Options};
use jiff::Timestamp;
use serde_json::{Value, json};
use tokio::process::Command;
use tokio::sync::OnceCell;

/// Time for one command; the first installation is the longest.
const LIMIT: Duration = Duration::from_mins(5);

/// Runs a command to its end.
async fn run(command: &mut Command) -> Output {
    let output = command.stdin(Stdio::null()).kill_on_drop(true).output();
    let output = tokio::time::timeout(LIMIT, output).await.expect("the command ends in time");
    output.expect("the command starts")
}

async fn is_there(program: &str) -> bool {
    let version = Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().await;
    version.is_ok_and(|status| status.success())
}

/// Installs the client, unless that was done before with the same lock file; returns its entry point.
async fn installed() -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clients");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clients");
    let lock = std::fs::read(source.join("package-lock.json")).expect("the lock file is part of the project");
    let mark = folder.join("installed-from.json");
    if std::fs::read(&mark).ok().as_ref() != Some(&lock) {
        std::fs::create_dir_all(&folder).expect("the target folder can be written");
        for name in ["package.json", "package-lock.json"] {
            std::fs::copy(source.join(name), folder.join(name)).expect("the target folder can be written");
        }
        let arguments = ["ci", "--ignore-scripts", "--no-audit", "--no-fund"];
        let output = run(Command::new("npm").args(arguments).current_dir(&folder)).await;
        assert!(output.status.success(), "npm ci: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::write(mark, lock).expect("the target folder can be written");
    }
    folder.join("node_modules/@commercetools/cli/bin/run.js")
}

/// The client, logged in to a dev server whose clock stands still.
struct Client {
    server: DevServer,
    home: tempfile::TempDir,
    entry: PathBuf,
}

impl Client {
    async fn new(entry: PathBuf, options: Options) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let server = DevServer::start(options, Clock::stepped(Timestamp::now())).await.expect("a port is free");
        let request = reqwest::Client::builder().no_proxy().build().expect("the settings are right");
        let request =
            request.post(format!("{}/oauth/token", server.url())).basic_auth("dev-client", Some("dev-secret"));
        let answer = request.form(&[("grant_type", "client_credentials")]).send().await.expect("it answers");
        let body = answer.bytes().await.expect("the body is whole");
        let token: Value = serde_json::from_slice(&body).expect("it is JSON");
        // The login host of the client is fixed, so what a login would store is written here.
        let credentials = json!({
            "authentication": "client-credentials",
            "clientId": "dev-client",
            "clientSecret": "dev-secret",
            "projectKey": "demo",
            "scope": "manage_project:demo",
            "region": "europe-west1.gcp",
            "accessToken": token["access_token"],
            "refreshToken": null,
            "issuedAt": Timestamp::now().as_millisecond(),
            "expiresAt": Timestamp::now().as_millisecond() + 86_400_000,
        });
        let home = tempfile::tempdir().expect("there is room");
        let folder = home.path().join(".commercetools");
        std::fs::create_dir(&folder).expect("there is room");
        std::fs::write(folder.join("credentials"), credentials.to_string()).expect("there is room");
        Self { server, home, entry }
    }

    /// Runs `connect …`: whether it went well, and all that it wrote.
    async fn connect(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new("node");
        command.arg(&self.entry).arg("connect").args(arguments);
        command.current_dir(self.home.path()).env("HOME", self.home.path()).env("NO_COLOR", "1");
        command.env("CTP_CLI_CONNECT_API_URL", self.server.url());
        let output = run(&mut command).await;
        let text = [output.stdout, output.stderr].concat();
        (output.status.success(), String::from_utf8_lossy(&text).into_owned())
    }

    async fn works(&self, arguments: &[&str]) -> String {
        let (well, text) = self.connect(arguments).await;
        assert!(well, "{arguments:?}: {text}");
        text
    }
}

/// The client, unless Node is not there.
async fn client(options: Options) -> Option<Client> {
    if is_there("node").await && is_there("npm").await {
        // Once, also if several tests begin at the same time.
        static INSTALLED: OnceCell<PathBuf> = OnceCell::const_new();
        return Some(Client::new(INSTALLED.get_or_init(installed).await.clone(), options).await);
    }
    assert!(std::env::var_os("REQUIRE_NODE").is_none(), "REQUIRE_NODE is set, but node or npm is not there");
    // Past the capture of the test harness, so that it is seen.
    let _ = std::io::stderr().write_all(b"official client: not tried, node and npm are not there\n");
    None
}

#[tokio::test]
async fn the_official_client_creates_lists_describes_redeploys_and_reads_logs() {
    let Some(client) = client(Options::default()).await else { return };
    let create =
        ["deployment", "create", "--key", "tax", "--connector-key", "demo-connector", "--region", "europe-west1.gcp"];
    let secret = ["--configuration", "service.API_TOKEN=canary-41"];
    let created = client.works(&[&create[..], &secret].concat()).await;
    assert!(created.contains("successfully created"), "{created}");
    client.server.clock().step(Duration::from_secs(5));
    let listed = client.works(&["deployment", "list"]).await;
    assert!(listed.contains("tax") && listed.contains("Deployed"), "{listed}");
    let described = client.works(&["deployment", "describe", "--key", "tax"]).await;
    assert!(described.contains("demo-connector") && !described.contains("canary-41"), "{described}");

    let loud =
        ["deployment", "redeploy", "--key", "tax", "--configuration", "service.LOG_LEVEL=loud", "--updateConnector"];
    client.works(&loud).await;
    client.server.clock().step(Duration::from_secs(5));
    let described = client.works(&["deployment", "describe", "--key", "tax"]).await;
    assert!(described.contains("'Failed'") && described.contains("debug, info, warn, error"), "{described}");
    let logs = client.works(&["deployment", "logs", "--key", "tax"]).await;
    assert!(logs.contains("Listening on port 8080"), "{logs}");

    let (well, refused) = client.connect(&[&create[..], &secret].concat()).await;
    assert!(!well && refused.contains("DuplicateField"), "{refused}");
}

#[tokio::test]
async fn the_official_client_prepares_publishes_and_previews_a_connector() {
    // Everything is over at once: the client polls, and looks once before it waits.
    let options = Options { deploy_duration: Duration::ZERO, ..Options::default() };
    let Some(client) = client(options).await else { return };
    let of_mine = |command: &'static str| ["connectorstaged", command, "--key", "mine"];
    let repository = ["--repository-url", "https://github.com/example/demo-kit.git", "--repository-tag", "1.0.0"];
    let creator = ["--creator-email", "dev@example.com", "--name", "Mine"];
    client.works(&[&of_mine("create")[..], &repository, &creator].concat()).await;
    client.works(&[&of_mine("update")[..], &["--repository-tag", "1.1.0"]].concat()).await;
    let published = client.works(&of_mine("publish")).await;
    assert!(published.contains("succeeded") && published.contains("1.1.0"), "{published}");
    let target = ["--deployment-key", "preview", "--region", "europe-west1.gcp"];
    let token = ["--configuration", "service.API_TOKEN=canary-41"];
    let previewed = client.works(&[&of_mine("preview")[..], &target, &token].concat()).await;
    assert!(previewed.contains("nightly-export") && !previewed.contains("canary-41"), "{previewed}");
    let listed = client.works(&["connectorstaged", "list"]).await;
    assert!(listed.contains("mine") && listed.contains("Published"), "{listed}");
}
