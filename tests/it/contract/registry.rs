//! Registry and staged connectors: the client drives the dev server.

use connect_api::model::{
    Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorStatus, ConnectorUpdate, ConnectorUpdateAction,
    IsPreviewable, Repository,
};
use connect_api::{StagedApi as _, paging};
use dev_server::Catalogue;
use futures::TryStreamExt as _;

use super::*;

const KIT: &str = "https://github.com/example/demo-kit.git";

fn staged(key: &str, tag: &str) -> ConnectorStagedDraft {
    serde_json::from_value(json!({
        "key": key, "name": "Mine", "creator": {"email": "dev@example.com"}, "integrationTypes": ["tax"],
        "repository": {"url": KIT, "tag": tag},
    }))
    .expect("a draft")
}

impl Pair {
    async fn change(&self, old: &ConnectorStaged, actions: Vec<ConnectorUpdateAction>) -> ConnectorStaged {
        let update = ConnectorUpdate { version: old.version, actions };
        let selector = Selector::Id(old.id.clone());
        self.client.update(&selector, &update, no_hurry()).await.expect("accepted").expect("it is there")
    }

    async fn later(&self, id: &Selector) -> ConnectorStaged {
        self.clock.step(DEPLOYING);
        self.client.staged(id).await.expect("an answer").expect("it is there")
    }
}

#[tokio::test]
async fn a_staged_connector_is_previewed_certified_found_and_discarded() {
    let pair = Pair::start().await;
    let (client, key) = (&pair.client, Selector::Key("mine".into()));
    assert!(client.staged(&key).await.expect("an answer").is_none(), "it does not exist yet");
    let created = client.stage(&staged("mine", "1.0.0"), no_hurry()).await.expect("it is created");
    assert_eq!((&created.status, &created.is_previewable), (&ConnectorStatus::Draft, &IsPreviewable::NeverAsked));
    let id = Selector::Id(created.id.clone());

    let newer = Repository { url: KIT.into(), tag: "1.1.0".into() };
    let actions =
        vec![ConnectorUpdateAction::SetRepository(newer.clone().into()), ConnectorUpdateAction::UpdatePreviewable];
    let asked = pair.change(&created, actions).await;
    assert_eq!((&asked.repository, &asked.is_previewable), (&newer, &IsPreviewable::Pending));
    let previewable = pair.later(&id).await;
    assert_eq!(previewable.is_previewable, IsPreviewable::Yes);
    let publish = vec![ConnectorUpdateAction::Publish { certification: true }];
    assert_eq!(pair.change(&previewable, publish).await.status, ConnectorStatus::Processing);
    for status in [ConnectorStatus::ReadyForCertification, ConnectorStatus::InCertification] {
        assert_eq!(pair.later(&id).await.status, status);
    }
    let published = pair.later(&key).await;
    assert_eq!((&published.status, published.already_listed), (&ConnectorStatus::Published, true));
    assert!(!published.has_changes && !published.private);

    let query = vec![("integrationTypes", "tax".to_owned())];
    let found: Vec<Connector> = paging::connectors(client, &query).try_collect().await.expect("pages");
    let ours: Vec<_> = found.iter().filter(|found| found.key.as_deref() == Some("mine")).collect();
    assert!(ours.len() == 1 && ours[0].certified && ours[0].version == 1, "{found:?}");

    let discarded = client.discard(&key, no_hurry()).await.expect("accepted").expect("it was there");
    assert_eq!(discarded.id, created.id);
    for choice in ["body", "empty"] {
        pair.dev.world().variant.set(&format!("delete-not-found={choice}")).expect("it is a choice");
        assert!(client.discard(&key, no_hurry()).await.expect("an answer").is_none(), "gone is not an error");
    }
    assert!(client.connector(&key).await.expect("an answer").is_none());
}

#[tokio::test]
async fn refusals_of_the_registry_reach_the_client_with_their_codes() {
    let pair = Pair::start().await;
    let client = &pair.client;
    let created = client.stage(&staged("mine", "1.0.0"), no_hurry()).await.expect("it is created");
    for (key, tag, status, code) in [
        ("mine", "1.0.0", 400, ErrorCode::DuplicateField),
        ("other", "9.9.9", 422, ErrorCode::GitRepositoryNotReachable),
        ("other", "0.1.0-empty", 400, ErrorCode::ConnectorSpecificationFileNotFound),
        ("other", "0.2.0-broken", 400, ErrorCode::ConnectorSpecificationFileNotValid),
    ] {
        let error = client.stage(&staged(key, tag), no_hurry()).await.expect_err(tag);
        assert_eq!(error.failure, Failure::Answered { status, codes: vec![code] }, "{tag}");
    }
    let id = Selector::Id(created.id.clone());
    let publish = || vec![ConnectorUpdateAction::Publish { certification: false }];
    pair.change(&created, publish()).await;
    for (version, status, code) in [
        (created.version, 409, ErrorCode::ConcurrentModification),
        (created.version + 1, 400, ErrorCode::ConnectorStagedInCertification),
    ] {
        let update = ConnectorUpdate { version, actions: publish() };
        let error = client.update(&id, &update, no_hurry()).await.expect_err("it is being published");
        assert_eq!(error.failure, Failure::Answered { status, codes: vec![code] });
    }
}

#[tokio::test]
async fn all_of_a_large_registry_that_lists_can_reach_is_read() {
    let connectors: Vec<_> =
        (0..10_600).map(|number| json!({"key": format!("many-{number:05}"), "name": "Many"})).collect();
    let catalogue = Catalogue::parse(&json!({"connectors": connectors}).to_string()).expect("it is a catalogue");
    let options = Options { catalogue: Catalogue::built_in().and(catalogue), ..Options::default() };
    let pair = Pair::with(options).await;
    let query = vec![("text", "many".to_owned())];
    let found: Vec<Connector> = paging::connectors(&pair.client, &query).try_collect().await.expect("pages");
    assert_eq!(found.len(), 10_500);
}
