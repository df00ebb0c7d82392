//! Connectors over HTTP: searching, and staged connectors from their creation to a deployment of them.

use super::Caller;
use crate::prelude::*;

pub(super) const KIT: &str = "https://github.com/example/demo-kit.git";

pub(super) fn staged(key: &str) -> Value {
    json!({
        "key": key, "name": "Mine", "description": "A connector of our own", "integrationTypes": ["tax"],
        "creator": {"email": "dev@example.com", "company": "Example"},
        "repository": {"url": KIT, "tag": "1.0.0"},
        "privateProjects": ["europe-west1.gcp:demo"],
    })
}

fn deployment(key: &str, connector: &Value) -> Value {
    json!({
        "key": key, "connector": connector, "region": "europe-west1.gcp",
        "configurations": [{"applicationName": "service", "standardConfiguration": [],
            "securedConfiguration": [{"key": "API_TOKEN", "value": "canary-41"}]}],
    })
}

pub(super) fn codes(body: &Value) -> Vec<&str> {
    let errors = body["errors"].as_array().into_iter().flatten();
    errors.filter_map(|error| error["code"].as_str()).collect()
}

impl Caller {
    /// Updates the staged connector `mine` from its current version.
    async fn change(&self, actions: Value) -> (StatusCode, Value) {
        let (_, read) = self.get("/connectors/drafts/key=mine").await;
        self.post("/connectors/drafts/key=mine", &json!({"version": read["version"], "actions": actions})).await
    }

    pub(super) async fn delete(&self, path: &str) -> (StatusCode, Value) {
        self.call(Method::DELETE, path, None).await
    }

    async fn keys(&self, path: &str) -> (i64, Vec<String>) {
        let (status, page) = self.get(path).await;
        assert_eq!(status, StatusCode::OK, "{path}: {page}");
        let results = page["results"].as_array().expect(path);
        let keys = results.iter().map(|found| found["key"].as_str().expect(path).to_owned());
        (page["total"].as_i64().expect(path), keys.collect())
    }
}

#[tokio::test]
async fn searches_and_lists_respect_every_parameter() {
    let more = Catalogue::parse(
        "connectors:
- {key: ours, name: Ours, private: true, privateProjects: [demo], creator: {email: a, company: Private}, integrationTypes: [psp]}
- {key: theirs, name: Theirs, private: true, privateProjects: [other]}",
    );
    let catalogue = Catalogue::built_in().and(more.expect("it is a catalogue"));
    let caller = Caller::new(Options { catalogue, ..Options::default() }).await;
    let all: Vec<_> = caller.keys("/connectors/search").await.1;
    assert_eq!(all.len(), 7, "{all:?}");
    let (_, ours) = caller.get("/connectors/key=ours").await;
    let id = ours["id"].as_str().expect("it is a string");
    for (query, expected) in [
        ("text=ORDERS", vec![]),
        ("text=pipeline", vec!["demo-pipeline"]),
        ("text=event+service", vec!["demo-pipeline"]),
        ("text=&key=ours", vec!["ours"]),
        ("private=true", vec!["ours"]),
        ("private=false&key=ours&key=demo-connector", vec!["demo-connector", "ours"]),
        ("creator.company=Private", vec!["ours"]),
        ("creator.company=private", vec![]),
        ("integrationTypes=tax&integrationTypes=psp", vec!["demo-us-only", "ours"]),
        ("integrationTypes=tax&key=ours", vec![]),
        (&format!("id={id}&id=unknown"), vec!["ours"]),
        ("key=demo-staged", vec![]),
        ("key=theirs", vec![]),
        ("sort=key+desc&limit=2", vec!["ours", "demo-warning"]),
        ("sort=certified&sort=name&offset=5", vec!["demo-api-client", "ours"]),
        ("offset=10000", vec![]),
        ("limit=0", vec![]),
        ("somethingElse=1&limit=1", vec!["demo-connector"]),
    ] {
        let (total, mut found) = caller.keys(&format!("/connectors/search?{query}")).await;
        if !query.contains("sort") {
            found.sort();
        }
        assert_eq!(found, expected, "{query}");
        assert!(total >= i64::try_from(expected.len()).expect("few"), "{query}");
    }
    caller.post("/connectors/drafts", &staged("mine")).await;
    for (query, expected) in [
        ("isPrivate=true", vec!["mine"]),
        ("isPrivate=false", vec!["demo-staged", "demo-staged-hidden"]),
        ("integrationTypes=tax&integrationTypes=erp", vec!["mine"]),
        ("sort=key+desc", vec!["mine", "demo-staged-hidden", "demo-staged"]),
        ("limit=1&offset=2", vec!["mine"]),
    ] {
        assert_eq!(caller.keys(&format!("/connectors/drafts?{query}")).await.1, expected, "{query}");
    }
}

#[tokio::test]
async fn private_connectors_are_visible_only_to_their_projects() {
    let mut caller = Caller::new(Options::default()).await;
    caller.post("/connectors/drafts", &staged("mine")).await;
    caller.change(json!([{"action": "updatePreviewable"}, {"action": "publish", "certification": false}])).await;
    caller.step(5);
    let own = caller.token.clone();
    caller.token = caller.token_for("production-client", "").await;
    let (_, taken) = caller.post("/connectors/drafts", &staged("mine")).await;
    assert_eq!(codes(&taken), ["DuplicateField"], "a key is unique among all projects");
    for path in ["/connectors/key=mine", "/connectors/drafts/key=mine"] {
        assert_eq!(caller.get(path).await.0, StatusCode::NOT_FOUND, "{path}");
    }
    assert_eq!(caller.delete("/connectors/drafts/key=mine").await.0, StatusCode::NOT_FOUND);
    assert_eq!(caller.keys("/connectors/search?private=true").await.0, 0);
    let foreign = deployment("dd", &json!({"key": "mine", "staged": true}));
    let (_, refused) = caller.post("/demo-production/deployments", &foreign).await;
    assert_eq!(codes(&refused), ["ConnectorReferenceNotFound"]);
    caller.token = own;
    caller.change(json!([{"action": "addPrivateProject", "privateProject": "europe-west1.gcp:demo-production"}])).await;
    caller.token = caller.token_for("production-client", "").await;
    assert_eq!(caller.post("/demo-production/deployments", &foreign).await.0, StatusCode::CREATED, "it is listed");
}

#[tokio::test]
async fn an_unlisted_connector_stays_deployed_and_cannot_be_deployed_again() {
    let caller = Caller::new(Options::default()).await;
    caller.post("/connectors/drafts", &staged("mine")).await;
    caller.change(json!([{"action": "publish", "certification": true}])).await;
    caller.step(15);
    caller.post("/demo/deployments", &deployment("old", &json!({"key": "mine"}))).await;
    caller.step(5);
    let (status, unlisted) = caller.change(json!([{"action": "unlist"}])).await;
    assert_eq!((status, &unlisted["alreadyListed"]), (StatusCode::CREATED, &json!(false)));
    assert_eq!(caller.keys("/connectors/search?key=mine").await.0, 0);
    assert_eq!(caller.get("/connectors/key=mine").await.0, StatusCode::OK);
    let (_, refused) = caller.post("/demo/deployments", &deployment("new", &json!({"key": "mine"}))).await;
    assert_eq!(codes(&refused), ["ConnectorReferenceNotFound"]);
    let again = json!({"version": 1, "actions": [{"action": "redeploy", "updateConnector": true}]});
    assert_eq!(caller.post("/demo/deployments/key=old", &again).await.0, StatusCode::CREATED);
}

#[tokio::test]
async fn publishing_twice_at_once_publishes_once() {
    let caller = Caller::new(Options::default()).await;
    caller.post("/connectors/drafts", &staged("mine")).await;
    let publish = json!({"version": 1, "actions": [{"action": "publish", "certification": false}]});
    let path = "/connectors/drafts/key=mine";
    let (first, second) = tokio::join!(caller.post(path, &publish), caller.post(path, &publish));
    let mut statuses = [first.0.as_u16(), second.0.as_u16()];
    statuses.sort_unstable();
    assert_eq!(statuses, [201, 409]);
    let (status, busy) = caller.change(json!([{"action": "publish", "certification": false}])).await;
    assert_eq!((status.as_u16(), codes(&busy)), (400, vec!["ConnectorStagedInCertification"]));
    assert_eq!(caller.delete(path).await.0.as_u16(), 400);
    caller.step(5);
    assert_eq!(caller.get("/connectors/key=mine").await.1["version"], 1);
}

#[tokio::test]
async fn other_clients_and_the_certifier_act_through_the_control() {
    let caller = Caller::new(Options { control: true, ..Options::default() }).await;
    caller.server.may_answer("Paused");
    let (_, created) = caller.post("/connectors/drafts", &staged("mine")).await;
    let path = format!("/_dev/staged/{}", created["id"].as_str().expect("it is a string"));
    let failure = json!({"fails": true, "entries": [{"type": "Error", "title": "Not good enough"}]});
    caller.change(json!([{"action": "publish", "certification": true}])).await;
    for (body, pointer, expected) in [
        (json!({"action": "plan", "outcomes": {"certification": failure}}), "/status", json!("Processing")),
        (
            json!({"action": "comment", "userId": "market", "comment": "Too short"}),
            "/certificationInfo/comments/0/userId",
            json!("market"),
        ),
        (json!({"action": "finish"}), "/publishingReport/entries/0/title", json!("Not good enough")),
        (json!({"action": "bumpVersion"}), "/version", json!(3)),
        (json!({"action": "update", "actions": [{"action": "setName", "name": "Theirs"}]}), "/name", json!("Theirs")),
        (
            json!({"action": "update", "actions": [{"action": "setRepository", "tag": "1.1.0"}]}),
            "/repository/tag",
            json!("1.1.0"),
        ),
        (json!({"action": "setStatus", "status": "Paused"}), "/status", json!("Paused")),
    ] {
        let (status, answer) = caller.post(&path, &body).await;
        assert_eq!(status, StatusCode::OK, "{body}: {answer}");
        let (_, read) = caller.get("/connectors/drafts/key=mine").await;
        assert_eq!(read.pointer(pointer), Some(&expected), "{body}: {read}");
    }
    let (_, all) = caller.get("/_dev/staged").await;
    assert_eq!(all.as_array().map(Vec::len), Some(3));
    assert_eq!(caller.post(&path, &json!({"action": "remove"})).await.0, StatusCode::OK);
    assert_eq!(caller.get("/connectors/drafts/key=mine").await.0, StatusCode::NOT_FOUND);
    assert_eq!(caller.post(&path, &json!({"action": "finish"})).await.0, StatusCode::NOT_FOUND);
    assert_eq!(caller.post(&path, &json!({"action": "dance"})).await.0, StatusCode::BAD_REQUEST);
}
