//! The official command line client.

use tokio::process::Command;

use super::{clients, run};
use crate::prelude::*;

/// The client, logged in to a dev server with a stopped clock.
struct Client {
    server: DevServer,
    home: tempfile::TempDir,
    entry: PathBuf,
}

impl Client {
    async fn new(entry: PathBuf, options: Options) -> Self {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let home = tempfile::tempdir().expect("there is room");
        // The login host of the client is fixed, so the dev server writes what a login would store.
        let options = Options { cli_credentials: Some(home.path().to_owned()), ..options };
        let server = DevServer::start(options, Clock::stepped(Timestamp::now())).await.expect("a port is free");
        Self { server, home, entry }
    }

    /// Runs `connect …`; returns whether it succeeded, and all its output.
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

/// Returns the client, unless Node is missing.
async fn client(options: Options) -> Option<Client> {
    let entry = clients().await?.join("node_modules/@commercetools/cli/bin/run.js");
    Some(Client::new(entry, options).await)
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
    // Everything ends at once: the client polls, and reads once before it waits.
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

/// Checks that the page on moving names every command of the client, and no other.
#[tokio::test]
async fn every_command_of_the_official_client_is_on_the_page_on_moving() {
    let Some(folder) = clients().await else { return };
    let commands = folder.join("node_modules/@commercetools/cli-topic-connect/dist/commands/connect");
    let mut there = BTreeSet::new();
    for topic in ["", "application", "connectorstaged", "deployment"] {
        for file in std::fs::read_dir(commands.join(topic)).expect("the client has commands") {
            let path = file.expect("a file").path();
            if path.extension().is_some_and(|end| end == "js") {
                let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
                there.insert(format!("{topic} {name}").trim().to_owned());
            }
        }
    }
    let page = include_str!("../../../docs/moving.md");
    let words = page.split("`commercetools connect ").skip(1).filter_map(|rest| rest.split('`').next());
    let command = |words: &str| {
        let words: Vec<_> = words.split(' ').filter(|word| !word.starts_with('-')).collect();
        let two = ["application", "connectorstaged", "deployment"].contains(&words[0]);
        words[..=usize::from(two)].join(" ")
    };
    let named: BTreeSet<_> = words.filter(|words| *words != "…").map(command).collect();
    assert_eq!(named, there);
}
