//! Connectors over HTTP: wrong input, each with its code, and without breaking the server.

use super::Caller;
use super::registry::{KIT, codes, staged};
use crate::prelude::*;

const DRAFTS: &str = "/connectors/drafts";
const MINE: &str = "/connectors/drafts/key=mine";
const WRONG: &str = "InvalidJsonInput";

/// A case, a request (method, path and body), and the status and the code of its answer.
type Row = (&'static str, Method, &'static str, Option<Value>, u16, &'static str);

async fn are_refused(rows: impl IntoIterator<Item = Row>) {
    let caller = Caller::new(Options::default()).await;
    caller.post(DRAFTS, &staged("mine")).await;
    for (case, method, path, body, status, code) in rows {
        let (answered, body) = caller.call(method.clone(), path, body.as_ref()).await;
        assert_eq!(answered.as_u16(), status, "{case} {method} {path}: {body}");
        assert_eq!(codes(&body).first().copied(), Some(code), "{case} {method} {path}: {body}");
        assert_eq!(body["statusCode"], json!(status), "{case}");
        assert_eq!(body["message"], body["errors"][0]["message"], "{case}");
    }
    let (_, page) = caller.get("/connectors/drafts?sort=version+desc").await;
    assert_eq!((&page["total"], &page["results"][0]["version"]), (&json!(3), &json!(1)), "nothing changed");
}

#[tokio::test]
async fn wrong_queries_and_paths_are_refused_with_their_codes() {
    let rows = [
        ("limit", "/connectors/search?limit=501", 400, "InvalidQueryParam"),
        ("offset", "/connectors/drafts?offset=-1", 400, "InvalidQueryParam"),
        ("flag", "/connectors/search?private=maybe", 400, "InvalidQueryParam"),
        ("types", "/connectors/search?integrationTypes=moon", 400, "InvalidQueryParam"),
        ("isPrivate", "/connectors/drafts?isPrivate=1", 400, "InvalidQueryParam"),
        ("sort", "/connectors/search?sort=a+b+c", 400, "InvalidQueryParam"),
        ("key", "/connectors/drafts/key=a", 400, "InvalidPathParam"),
        ("dots", "/connectors/drafts/%2e%2e%2f", 404, "ResourceNotFound"),
        ("blanks", "/connectors/a%20b", 404, "ResourceNotFound"),
    ];
    are_refused(rows.map(|(case, path, status, code)| (case, Method::GET, path, None, status, code))).await;
}

#[tokio::test]
async fn wrong_drafts_are_refused_with_their_codes() {
    let repository = |url: &str, tag: &str| json!({"url": url, "tag": tag});
    // A draft that is right, apart from one member.
    let rows = [
        ("taken", "key", json!("mine"), 400, "DuplicateField"),
        ("of a published one", "key", json!("demo-connector"), 400, "DuplicateField"),
        ("no name", "name", json!(null), 400, WRONG),
        ("key", "key", json!("a b"), 400, WRONG),
        ("no email", "creator", json!({}), 400, WRONG),
        ("contributors", "creator", json!({"email": "a", "noOfContributors": 1.5}), 400, WRONG),
        ("repository", "repository", json!("here"), 400, WRONG),
        ("no tag", "repository", json!({"url": KIT}), 400, WRONG),
        ("region", "supportedRegions", json!(["moon"]), 400, WRONG),
        ("project", "privateProjects", json!(["demo"]), 400, WRONG),
        ("type", "integrationTypes", json!([7]), 400, WRONG),
        ("tag", "repository", repository(KIT, "no"), 422, "GitRepositoryNotReachable"),
        ("option", "repository", repository("--upload-pack=a", "--help"), 422, "GitRepositoryNotReachable"),
        ("no file", "repository", repository(KIT, "0.1.0-empty"), 400, "ConnectorSpecificationFileNotFound"),
        ("broken file", "repository", repository(KIT, "0.2.0-broken"), 400, "ConnectorSpecificationFileNotValid"),
    ];
    let rows = rows.map(|(case, member, value, status, code)| {
        let mut draft = staged("other");
        draft[member] = value;
        (case, Method::POST, DRAFTS, Some(draft), status, code)
    });
    are_refused(rows).await;
    are_refused([("not an object", Method::POST, DRAFTS, Some(json!([])), 400, WRONG)]).await;
}

#[tokio::test]
async fn wrong_updates_are_refused_with_their_codes() {
    let unlist = json!({"action": "unlist"});
    let rows = [
        ("no actions", json!({"version": 1, "actions": []}), 400, WRONG),
        ("no version", json!({"actions": [unlist]}), 400, WRONG),
        ("version", json!({"version": "1", "actions": [unlist]}), 400, WRONG),
        ("old", json!({"version": 9, "actions": [unlist]}), 409, "ConcurrentModification"),
    ];
    are_refused(rows.map(|(case, body, status, code)| (case, Method::POST, MINE, Some(body), status, code))).await;
    let update = |action: Value| Some(json!({"version": 1, "actions": [action]}));
    let actions = [
        ("action", json!({"action": "setKey", "key": "new"})),
        ("nameless", json!({})),
        ("text", json!({"action": "setName", "name": 7})),
        ("no member", json!({"action": "setName"})),
        ("none", json!({"action": "setCreatorNoOfContributors", "creatorNoOfContributors": 0})),
        ("regions", json!({"action": "setSupportedRegions", "regions": []})),
        ("flag", json!({"action": "publish", "certification": "yes"})),
        ("project", json!({"action": "addPrivateProject", "privateProject": "a:b:c"})),
    ];
    are_refused(actions.map(|(case, action)| (case, Method::POST, MINE, update(action), 400, WRONG))).await;
    let nowhere = "/connectors/drafts/key=none";
    are_refused([("no such", Method::POST, nowhere, update(unlist), 404, "ResourceNotFound")]).await;
}
