//! Values of resources with characters that nobody sees, as the operator reported them: `doctor` reads no Secret.

use std::collections::BTreeSet;

use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};

use super::finding::{Finding, Level};
use crate::controllers::reporting::event_reason::EventReason;

pub(super) const CHECK: &str = "Values";

/// Returns a finding for each resource and note.
pub(super) async fn invisible(client: &Client, namespace: Option<&str>) -> Result<Vec<Finding>, kube::Error> {
    let client = client.clone();
    let events: Api<Event> =
        namespace.map_or_else(|| Api::all(client.clone()), |it| Api::namespaced(client.clone(), it));
    let only = format!("reason={}", EventReason::InvisibleCharacters.as_str());
    let found = events.list(&ListParams::default().fields(&only)).await?.items;
    let message = |event: Event| {
        let regarding = event.regarding?;
        let (kind, namespace, name) = (regarding.kind?, regarding.namespace?, regarding.name?);
        Some(format!("{kind} {namespace}/{name}: {}", event.note?))
    };
    let messages: BTreeSet<String> = found.into_iter().filter_map(message).collect();
    let remedy = "The operator reports this once. If the value was corrected since, the Event ends within an hour.";
    Ok(messages.into_iter().map(|message| Finding::new(Level::Warning, CHECK, message, remedy)).collect())
}
