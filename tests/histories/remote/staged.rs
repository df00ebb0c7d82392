//! The API of staged connectors at the remote, from their creation to their publication.

use connect_api::model::{ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, ConnectorUpdateAction};
use connect_api::registry::StagedApi;

use super::{Asked, Line, PROJECT, Segment as _, StagedVerb, found};
use crate::prelude::*;

/// Returns the projects of the caller.
fn projects() -> [String; 1] {
    [PROJECT.to_owned()]
}

impl StagedApi for Line {
    fn stage<'a>(&'a self, draft: &'a ConnectorStagedDraft, send_before: Timestamp) -> Answer<'a, ConnectorStaged> {
        let draft = draft.clone();
        let name = format!("stage {}", draft.key.as_deref().unwrap_or_default());
        let effect = move |world: &mut World, now| world.stage_known(PROJECT, draft, now);
        self.change("createConnectorStaged", name, send_before, Asked::Staged(StagedVerb::Stage), effect, |made| {
            made.id.clone()
        })
    }

    fn update<'a>(
        &'a self,
        selector: &'a Selector,
        update: &'a ConnectorUpdate,
        send_before: Timestamp,
    ) -> Answer<'a, Option<ConnectorStaged>> {
        let (selector, update) = (selector.clone(), update.clone());
        let actions: Vec<_> = update.actions.iter().map(called).collect();
        let name = format!("update {} from {}: {}", selector.segment(), update.version, actions.join(", "));
        let asked =
            StagedVerb::Update { id: selector.segment(), version: update.version, actions: update.actions.clone() };
        let asked = Asked::Staged(asked);
        let effect = move |world: &mut World, now| world.update_staged_known(&projects(), &selector, &update, now);
        let done = self.change("updateConnectorStagedById", name, send_before, asked, effect, |made| made.id.clone());
        Box::pin(async move { found(done.await) })
    }

    fn discard<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<ConnectorStaged>> {
        let selector = selector.clone();
        let name = format!("discard {}", selector.segment());
        let asked = Asked::Staged(StagedVerb::Discard { id: selector.segment() });
        let effect = move |world: &mut World, now| world.delete_staged(&projects(), &selector, now);
        let done = self.change("deleteConnectorStagedById", name, send_before, asked, effect, |made| made.id.clone());
        Box::pin(async move { found(done.await) })
    }
}

/// Returns the name of an action, as it is sent.
fn called(action: &ConnectorUpdateAction) -> String {
    let sent = serde_json::to_value(action).unwrap_or_default();
    sent["action"].as_str().unwrap_or_default().to_owned()
}
