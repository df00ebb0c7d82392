//! A user's own connector: its connect.yaml in a local Git repository, by tag.

use test_support::git_repository::git;

use super::{apply, change, change_until, record, until_reason};
use crate::prelude::*;

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

    let refused = change_until(&shop, &json!({"spec": {"repository": {"tag": "v3"}}}), "RepositoryInvalid").await;
    let reported = message(&refused);
    assert!(
        reported.contains("connect.yaml at tag 'v3'") && reported.contains("line 1"),
        "the message names the mistake: {reported}"
    );
    assert_eq!(record(&shop).repository.tag, "v2", "the record stays");
}
