//! Registry and staged connectors: the client drives the dev server.

use connect_api::model::{
    Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorStatus, ConnectorUpdate, ConnectorUpdateAction,
    IsPreviewable, Repository,
};
use connect_api::{StagedApi as _, paging};
use futures::TryStreamExt as _;

use super::*;
use crate::prelude::*;

const KIT: &str = "https://github.com/example/demo-kit.git";

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
    let draft: ConnectorStagedDraft = serde_json::from_value(json!({
        "key": "mine", "name": "Mine", "creator": {"email": "dev@example.com"}, "integrationTypes": ["tax"],
        "repository": {"url": KIT, "tag": "1.0.0"},
    }))
    .expect("a draft");
    let created = client.stage(&draft, no_hurry()).await.expect("it is created");
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
