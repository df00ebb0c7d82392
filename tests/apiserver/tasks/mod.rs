//! Tasks of a new user, with the command line and kubectl only: each is a script in this folder. `demo.rs` has the first
//! one, the demo itself.

use crate::patience::patience;
use crate::prelude::*;

/// Runs a script in the namespace of a shop with a project and nothing else.
async fn run(name: &str, script: &str) {
    run_at(fast(), name, script).await;
}

async fn run_at(clock: Clock, name: &str, script: &str) {
    let repositories = tempfile::tempdir().unwrap();
    let options = Options {
        deploy_duration: Duration::from_millis(200),
        repositories: Some(repositories.path().to_owned()),
        ..Options::default()
    };
    let shop = Shop::with(options, clock).await;
    let variables = [
        ("PATIENCE", format!("{}s", patience().as_secs())),
        ("NAMESPACE", shop.sandbox.namespace.clone()),
        ("REPOSITORIES", repositories.path().display().to_string()),
    ];
    let variables = variables.map(|(name, value)| format!("{name}='{value}'\n")).concat();
    Shell::of(&shop).await.run(name, &(variables + script), 0).await;
}

#[tokio::test]
async fn a_deployment_of_ones_own() {
    run("own.sh", include_str!("own.sh")).await;
}

#[tokio::test]
async fn three_failures_and_their_causes() {
    run("failures.sh", include_str!("failures.sh")).await;
}

#[tokio::test]
async fn rotate_suspend_orphan_and_adopt() {
    let clock = stepped();
    // An adoption waits until nothing has changed for a minute.
    meanwhile(&clock, FINE, run_at(clock.clone(), "operate.sh", include_str!("operate.sh"))).await;
}

#[tokio::test]
async fn publish_from_a_local_repository() {
    run("publish.sh", include_str!("publish.sh")).await;
}
