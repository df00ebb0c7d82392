//! Staged connectors from real local Git repositories.

use test_support::git_repository::git;

use super::Caller;
use crate::prelude::*;

const GOOD: &str = "deployAs: [{name: local, applicationType: service, endpoint: /local}]\n";

/// Creates a repository `name` below the folder, with a commit and a tag for each file; `None`: without the file.
fn repository(folder: &Path, name: &str, tags: &[(&str, Option<&str>)]) {
    let place = folder.join(name);
    std::fs::create_dir_all(&place).expect("there is room");
    git(&place, &["init", "--quiet"]);
    for (tag, file) in tags {
        let path = place.join("connect.yaml");
        match file {
            Some(text) => std::fs::write(&path, text).expect("there is room"),
            None => drop(std::fs::remove_file(&path)),
        }
        git(&place, &["add", "--all"]);
        git(&place, &["commit", "--quiet", "--allow-empty", "--message", "A version"]);
        git(&place, &["tag", tag]);
    }
}

fn draft(key: &str, url: &str, tag: &str) -> Value {
    json!({"key": key, "name": key, "creator": {"email": "dev@example.com"}, "repository": {"url": url, "tag": tag}})
}

async fn with(folder: &TempDir) -> Caller {
    Caller::new(Options { repositories: Some(folder.path().to_owned()), ..Options::default() }).await
}

#[tokio::test]
async fn a_tag_of_a_real_repository_goes_all_the_way_to_a_deployment() {
    let folder = tempfile::tempdir().expect("there is room");
    repository(folder.path(), "own", &[("v1.0.0", Some(GOOD)), ("release/v2", Some(&GOOD.replace("local", "second")))]);
    git(&folder.path().join("own"), &["tag", "--annotate", "v3", "--message", "With a message", "v1.0.0"]);
    let caller = with(&folder).await;
    let url = "git@github.com:example/own.git";
    let (status, created) = caller.post("/connectors/drafts", &draft("own", url, "v1.0.0")).await;
    assert_eq!(status, StatusCode::CREATED, "{created}");
    assert_eq!(created["configurations"][0]["applicationName"], "local");
    let actions = json!([{"action": "setRepository", "url": url, "tag": "release/v2"}, {"action": "publish", "certification": false}]);
    let (status, updated) = caller.post("/connectors/drafts/key=own", &json!({"version": 1, "actions": actions})).await;
    assert_eq!(status, StatusCode::CREATED, "{updated}");
    caller.step(5);
    let deployment = json!({"key": "own", "connector": {"key": "own"}, "region": "europe-west1.gcp",
        "configurations": [{"applicationName": "second", "standardConfiguration": [], "securedConfiguration": []}]});
    let (status, deployed) = caller.post("/demo/deployments", &deployment).await;
    assert_eq!(status, StatusCode::CREATED, "{deployed}");
    caller.step(5);
    assert_eq!(caller.get("/demo/deployments/key=own").await.1["status"], "Deployed");
    let (status, annotated) = caller.post("/connectors/drafts", &draft("annotated", url, "v3")).await;
    assert_eq!((status, &annotated["configurations"][0]["applicationName"]), (StatusCode::CREATED, &json!("local")));
}

#[tokio::test]
async fn errors_of_a_repository_are_reported_and_nothing_else_is_read() {
    let folder = tempfile::tempdir().expect("there is room");
    let large = format!("{GOOD}# {}", "x".repeat(300_000));
    repository(
        folder.path(),
        "own",
        &[
            ("good", Some(GOOD)),
            ("none", None),
            ("broken", Some("deployAs: [{name: a}]")),
            ("large", Some(&large)),
            ("empty", Some("")),
        ],
    );
    let place = folder.path().join("own");
    std::fs::write(place.join("connect.yaml"), b"# caf\xe9\n").expect("there is room");
    git(&place, &["commit", "--quiet", "--all", "--message", "Not UTF-8"]);
    git(&place, &["tag", "latin"]);
    git(&place, &["branch", "a-branch", "good"]);
    git(folder.path(), &["clone", "--quiet", "--bare", "own", "bare.git"]);
    // A folder within a repository is not a repository itself.
    repository(folder.path(), "outer", &[("good", Some(GOOD))]);
    std::fs::create_dir_all(folder.path().join("outer/inner")).expect("there is room");
    let caller = Caller::new(Options { repositories: Some(folder.path().join("outer")), ..Options::default() }).await;
    let (_, inner) =
        caller.post("/connectors/drafts", &draft("inner", "https://github.com/example/inner.git", "good")).await;
    assert_eq!(inner["errors"][0]["code"], "GitRepositoryNotReachable", "{inner}");

    let caller = with(&folder).await;
    let own = "https://github.com/example/own.git";
    for (url, tag, code, text) in [
        (own, "none", "ConnectorSpecificationFileNotFound", "no connect.yaml at tag 'none'"),
        (own, "broken", "ConnectorSpecificationFileNotValid", "applicationType"),
        (own, "large", "ConnectorSpecificationFileNotValid", "more than 262144 bytes"),
        (own, "empty", "ConnectorSpecificationFileNotValid", "line 1"),
        (own, "latin", "ConnectorSpecificationFileNotValid", "is not UTF-8: save it as UTF-8"),
        (own, "v9", "GitRepositoryNotReachable", "no tag 'v9'"),
        (own, "a-branch", "GitRepositoryNotReachable", "no tag 'a-branch'"),
        (own, "HEAD", "GitRepositoryNotReachable", "no tag 'HEAD'"),
        (own, "good^{commit}", "GitRepositoryNotReachable", "cannot be the name of a Git tag"),
        (own, "good~1", "GitRepositoryNotReachable", "cannot be the name"),
        (own, "good:connect.yaml", "GitRepositoryNotReachable", "cannot be the name"),
        (own, "../heads/a-branch", "GitRepositoryNotReachable", "cannot be the name"),
        (own, "--help", "GitRepositoryNotReachable", "cannot be the name"),
        (own, "-h", "GitRepositoryNotReachable", "cannot be the name"),
        (own, "", "GitRepositoryNotReachable", "cannot be the name"),
        (own, "a\u{0}b", "GitRepositoryNotReachable", "cannot be the name"),
        ("https://github.com/example/..", "good", "GitRepositoryNotReachable", "cannot be reached"),
        ("https://github.com/example/.git", "good", "GitRepositoryNotReachable", "cannot be reached"),
        ("--git-dir=/tmp", "good", "GitRepositoryNotReachable", "cannot be reached"),
        ("https://github.com/example/elsewhere.git", "good", "GitRepositoryNotReachable", "cannot be reached"),
    ] {
        let (status, body) = caller.post("/connectors/drafts", &draft("mine", url, tag)).await;
        let expected = if code == "GitRepositoryNotReachable" { 422 } else { 400 };
        assert_eq!(status.as_u16(), expected, "{url} {tag}: {body}");
        assert_eq!(body["errors"][0]["code"].as_str(), Some(code), "{url} {tag}: {body}");
        let message = body["message"].as_str().expect("it is a string");
        assert!(message.contains(text), "{url} {tag}: {message}");
        assert!(!message.contains(&*folder.path().to_string_lossy()), "no path of this machine: {message}");
    }
    for url in ["https://github.com/example/bare.git", "https://github.com/example/own", "ssh://git@host/own.git/"] {
        let (status, body) = caller.post("/connectors/drafts", &draft("mine", url, "good")).await;
        assert_eq!(status, StatusCode::CREATED, "{url}: {body}");
        caller.call(reqwest::Method::DELETE, "/connectors/drafts/key=mine", None).await;
    }
}
