//! Connectors over HTTP: wrong input and missing rights, each with its code, and without breaking the server.

use dev_server::{Catalogue, Options};
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use super::Caller;
use super::registry::{KIT, codes, staged};

const DRAFTS: &str = "/connectors/drafts";
const MINE: &str = "/connectors/drafts/key=mine";
const WRONG: &str = "InvalidJsonInput";

/// A request, and the status and the code of its answer.
type Row = (&'static str, Method, &'static str, Option<Value>, u16, &'static str);

async fn are_refused(rows: Vec<Row>) {
    let caller = Caller::new(Options::default()).await;
    caller.post(DRAFTS, &staged("mine")).await;
    for (case, method, path, body, status, code) in rows {
        let (answered, body) = caller.call(method.clone(), path, body.as_ref()).await;
        assert_eq!(
            (answered.as_u16(), codes(&body).first().copied()),
            (status, Some(code)),
            "{case} {method} {path}: {body}"
        );
        assert_eq!(body["statusCode"], json!(status), "{case}");
        assert_eq!(body["message"], body["errors"][0]["message"], "{case}");
    }
    let (_, page) = caller.get("/connectors/drafts?sort=version+desc").await;
    assert_eq!((&page["total"], &page["results"][0]["version"]), (&json!(3), &json!(1)), "nothing changed");
}

#[tokio::test]
async fn wrong_queries_paths_and_drafts_are_refused_with_their_codes() {
    let with = |member: &str, value: Value| {
        let mut draft = staged("other");
        draft[member] = value;
        Some(draft)
    };
    are_refused(vec![
        ("limit", Method::GET, "/connectors/search?limit=501", None, 400, "InvalidQueryParam"),
        ("offset", Method::GET, "/connectors/drafts?offset=-1", None, 400, "InvalidQueryParam"),
        ("flag", Method::GET, "/connectors/search?private=maybe", None, 400, "InvalidQueryParam"),
        ("types", Method::GET, "/connectors/search?integrationTypes=moon", None, 400, "InvalidQueryParam"),
        ("isPrivate", Method::GET, "/connectors/drafts?isPrivate=1", None, 400, "InvalidQueryParam"),
        ("sort", Method::GET, "/connectors/search?sort=a+b+c", None, 400, "InvalidQueryParam"),
        ("key", Method::GET, "/connectors/drafts/key=a", None, 400, "InvalidPathParam"),
        ("dots", Method::GET, "/connectors/drafts/%2e%2e%2f", None, 404, "ResourceNotFound"),
        ("blanks", Method::GET, "/connectors/a%20b", None, 404, "ResourceNotFound"),
        ("taken", Method::POST, DRAFTS, Some(staged("mine")), 400, "DuplicateField"),
        ("of a published one", Method::POST, DRAFTS, Some(staged("demo-connector")), 400, "DuplicateField"),
        ("not an object", Method::POST, DRAFTS, Some(json!([])), 400, WRONG),
        ("no name", Method::POST, DRAFTS, with("name", json!(null)), 400, WRONG),
        ("key", Method::POST, DRAFTS, with("key", json!("a b")), 400, WRONG),
        ("no email", Method::POST, DRAFTS, with("creator", json!({})), 400, WRONG),
        (
            "contributors",
            Method::POST,
            DRAFTS,
            with("creator", json!({"email": "a", "noOfContributors": 1.5})),
            400,
            WRONG,
        ),
        ("repository", Method::POST, DRAFTS, with("repository", json!("here")), 400, WRONG),
        ("no tag", Method::POST, DRAFTS, with("repository", json!({"url": KIT})), 400, WRONG),
        ("region", Method::POST, DRAFTS, with("supportedRegions", json!(["moon"])), 400, WRONG),
        ("project", Method::POST, DRAFTS, with("privateProjects", json!(["demo"])), 400, WRONG),
        ("type", Method::POST, DRAFTS, with("integrationTypes", json!([7])), 400, WRONG),
        (
            "tag",
            Method::POST,
            DRAFTS,
            with("repository", json!({"url": KIT, "tag": "no"})),
            422,
            "GitRepositoryNotReachable",
        ),
        (
            "option",
            Method::POST,
            DRAFTS,
            with("repository", json!({"url": "--upload-pack=a", "tag": "--help"})),
            422,
            "GitRepositoryNotReachable",
        ),
        (
            "no file",
            Method::POST,
            DRAFTS,
            with("repository", json!({"url": KIT, "tag": "0.1.0-empty"})),
            400,
            "ConnectorSpecificationFileNotFound",
        ),
        (
            "broken file",
            Method::POST,
            DRAFTS,
            with("repository", json!({"url": KIT, "tag": "0.2.0-broken"})),
            400,
            "ConnectorSpecificationFileNotValid",
        ),
    ])
    .await;
}

#[tokio::test]
async fn wrong_updates_are_refused_with_their_codes() {
    let update = |action: Value| Some(json!({"version": 1, "actions": [action]}));
    are_refused(vec![
        (
            "no such",
            Method::POST,
            "/connectors/drafts/key=none",
            update(json!({"action": "unlist"})),
            404,
            "ResourceNotFound",
        ),
        ("no actions", Method::POST, MINE, Some(json!({"version": 1, "actions": []})), 400, WRONG),
        ("no version", Method::POST, MINE, Some(json!({"actions": [{"action": "unlist"}]})), 400, WRONG),
        ("version", Method::POST, MINE, Some(json!({"version": "1", "actions": [{"action": "unlist"}]})), 400, WRONG),
        ("action", Method::POST, MINE, update(json!({"action": "setKey", "key": "new"})), 400, WRONG),
        ("nameless", Method::POST, MINE, update(json!({})), 400, WRONG),
        ("text", Method::POST, MINE, update(json!({"action": "setName", "name": 7})), 400, WRONG),
        ("no member", Method::POST, MINE, update(json!({"action": "setName"})), 400, WRONG),
        (
            "none",
            Method::POST,
            MINE,
            update(json!({"action": "setCreatorNoOfContributors", "creatorNoOfContributors": 0})),
            400,
            WRONG,
        ),
        ("regions", Method::POST, MINE, update(json!({"action": "setSupportedRegions", "regions": []})), 400, WRONG),
        ("flag", Method::POST, MINE, update(json!({"action": "publish", "certification": "yes"})), 400, WRONG),
        (
            "project",
            Method::POST,
            MINE,
            update(json!({"action": "addPrivateProject", "privateProject": "a:b:c"})),
            400,
            WRONG,
        ),
        (
            "old",
            Method::POST,
            MINE,
            Some(json!({"version": 9, "actions": [{"action": "unlist"}]})),
            409,
            "ConcurrentModification",
        ),
    ])
    .await;
}

#[tokio::test]
async fn each_operation_needs_one_scope_of_its_list() {
    let scopes = ["view_connectors:demo", "manage_connectors:demo", "manage_connectors_deployments:demo"];
    let more = json!({"clients": [{"id": "many", "secret": "dev-secret", "scopes": scopes}]});
    let catalogue = Catalogue::built_in().and(Catalogue::parse(&more.to_string()).expect("it is a catalogue"));
    let mut caller = Caller::new(Options { catalogue, ..Options::default() }).await;
    let change = json!({"version": 1, "actions": [{"action": "setName", "name": "New"}]});
    for (scope, reads, manages) in [
        ("view_connectors:demo", 200, 403),
        ("manage_connectors:demo", 200, 201),
        ("manage_connectors_deployments:demo", 403, 403),
    ] {
        caller.token = caller.token_for("many", scope).await;
        for path in [
            "/connectors/search",
            "/connectors/drafts",
            "/connectors/key=demo-connector",
            "/connectors/drafts/key=demo-staged",
        ] {
            assert_eq!(caller.get(path).await.0.as_u16(), reads, "{scope} {path}");
        }
        assert_eq!(caller.post("/connectors/drafts", &staged("mine")).await.0.as_u16(), manages, "{scope}");
        assert_eq!(caller.post("/connectors/drafts/key=mine", &change).await.0.as_u16(), manages, "{scope}");
    }
    assert_eq!(caller.delete("/connectors/drafts/key=mine").await.0, StatusCode::FORBIDDEN);
    caller.token = "unknown".to_owned();
    for path in ["/connectors/search", "/connectors/drafts"] {
        assert_eq!(caller.get(path).await.0, StatusCode::UNAUTHORIZED, "{path}");
    }
}
