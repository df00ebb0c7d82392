//! A user's own connector: its connect.yaml in a local Git repository, by tag.

use std::path::Path;
use std::process::Command;

use super::{apply, change, record, until_reason};
use crate::prelude::*;

fn git(folder: &Path, arguments: &[&str]) {
    let identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.com", "-c", "commit.gpgsign=false"];
    let output = Command::new("git").arg("-C").arg(folder).args(identity).args(arguments).output().unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Commits a connect.yaml and tags it.
fn tag(folder: &Path, name: &str, connect_yaml: &str) {
    std::fs::write(folder.join("connect.yaml"), connect_yaml).unwrap();
    git(folder, &["add", "connect.yaml"]);
    git(folder, &["commit", "--quiet", "--message", name]);
    git(folder, &["tag", name]);
}

#[tokio::test]
async fn a_tag_of_a_local_repository_is_read_published_and_followed() {
    let folder = tempfile::tempdir().unwrap();
    let repository = folder.path().join("mine");
    std::fs::create_dir(&repository).unwrap();
    git(&repository, &["init", "--quiet"]);
    let service = "deployAs:\n  - {name: service, applicationType: service, endpoint: /service, configuration: \
                   {standardConfiguration: [{key: LOG_LEVEL, description: How much is logged}]}}\n";
    tag(&repository, "v1", service);
    tag(
        &repository,
        "v2",
        &format!(
            "{service}  - {{name: hourly, applicationType: job, endpoint: /job, properties: {{schedule: \"0 * * * *\"}}}}\n"
        ),
    );
    tag(&repository, "v3", "deployAs: nothing\n");
    let options = Options {
        deploy_duration: Duration::from_millis(400),
        repositories: Some(folder.path().to_owned()),
        ..Options::default()
    };
    let shop = Shop::with(options, fast()).await;
    let url = "https://git.example.com/dev/mine.git";
    apply(&shop, &json!({"publishPolicy": "Private", "repository": {"url": url, "tag": "v1"}})).await;
    until_reason(&shop, "Published").await;
    let names = || {
        let applications = record(&shop).configurations.unwrap_or_default();
        applications.into_iter().map(|application| application.application_name).collect::<Vec<_>>()
    };
    assert_eq!(names(), ["service"]);

    change(&shop, &json!({"spec": {"repository": {"tag": "v2"}}})).await;
    shop.until_object("kit", "the next tag", |object: &ConnectorStaged| {
        object.status.as_ref().is_some_and(|status| status.published_tag.as_deref() == Some("v2"))
    })
    .await;
    assert_eq!(names(), ["service", "hourly"]);

    change(&shop, &json!({"spec": {"repository": {"tag": "v3"}}})).await;
    let refused = until_reason(&shop, "RepositoryInvalid").await;
    let reported = message(&refused);
    assert!(
        reported.contains("connect.yaml at tag 'v3'") && reported.contains("line 1"),
        "the message names the mistake: {reported}"
    );
    assert_eq!(record(&shop).repository.tag, "v2", "the record stays");
}
