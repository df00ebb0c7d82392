//! What a deployment still has although it is no longer desired: a redeploy merges its values into the existing ones,
//! so that leaving a value out does not remove it (contract section 6.1).

use super::super::persisted::{Applied, ObservedDeployment};
use super::DesiredPayload;
use crate::controllers::values::digest::Comparison;
use crate::controllers::values::tags::{FOREIGN, GLOBAL, Item, Kind, NOTHING, Tags};

/// Returns what is retained if only `wanted` is desired. A value that this resource sent counts as long as the
/// deployment may have it; a value that another client sent counts if it is visible, declared, and not the default.
pub(super) fn retained(applied: &Applied, wanted: &Tags, observed: &ObservedDeployment) -> Tags {
    let held = applied.sent.iter().chain([&applied.retained]).flat_map(Tags::iter);
    let left = |item: &Item| !wanted.has(item) && !item.is_replaced_by(wanted);
    let ours = held.filter(|(item, tag)| *tag != FOREIGN && left(item) && may_be_there(item, tag, observed));
    let mut retained: Tags = ours.map(|(item, tag)| (item.clone(), tag.to_owned())).collect();
    for item in unwanted(wanted, observed) {
        if !retained.has(&item) {
            retained.set(item, FOREIGN);
        }
    }
    retained
}

/// Whether this resource sent some of it.
pub(super) fn has_own(applied: &Applied, wanted: &Tags, observed: &ObservedDeployment) -> bool {
    retained(applied, wanted, observed).iter().any(|(_, tag)| tag != FOREIGN)
}

/// Whether a value that was sent and is no longer desired may still be in force.
fn may_be_there(item: &Item, tag: &str, observed: &ObservedDeployment) -> bool {
    let place = item.application == GLOBAL || observed.values.applications.contains_key(&item.application);
    place
        && match item.kind {
            // A record need not list the keys of secured values, so only one that lists some proves that another is
            // gone.
            Kind::Secured => observed.secured.is_empty() || observed.shows(item),
            // If none was sent, the record shows the schedule of the connector.
            Kind::Schedule => observed.tag(item) == tag,
            // The same, but the record need not show one at all.
            Kind::RetryPolicy => [NOTHING, tag].contains(&observed.tag(item).as_str()),
            Kind::Standard => observed.shows(item) && !shows_default(item, observed),
        }
}

fn shows_default(item: &Item, observed: &ObservedDeployment) -> bool {
    let values = if item.application == GLOBAL {
        Some(&observed.values.global)
    } else {
        observed.values.applications.get(&item.application).map(|application| &application.standard)
    };
    let value = values.and_then(|values| values.get(&item.key));
    value.is_some_and(|value| observed.is_default(&item.application, &item.key, value))
}

/// Returns visible values that the connector declares and that are not desired.
fn unwanted(wanted: &Tags, observed: &ObservedDeployment) -> Vec<Item> {
    let Some(declared) = &observed.declared else { return Vec::new() };
    let applications = declared.applications.iter().map(|(name, keys)| (name.as_str(), keys));
    let places = applications.chain([(GLOBAL, &declared.global)]);
    places
        .flat_map(|(place, keys)| {
            let standard = keys.standard.iter().map(move |key| Item::standard(place, key));
            standard.chain(keys.secured.iter().map(move |key| Item::secured(place, key)))
        })
        .filter(|item| !wanted.has(item) && observed.shows(item) && !shows_default(item, observed))
        .collect()
}

/// Whether the deployment has every desired value as it was sent, so that a redeploy would change nothing: the only
/// differences are values that are no longer desired, or that are desired again and were retained.
pub(super) fn is_all_there(applied: &Applied, wanted: &DesiredPayload, observed: &ObservedDeployment) -> bool {
    let Some(sent) = &applied.sent else { return false };
    let tags = &wanted.payload.tags;
    if sent.iter().any(|(item, _)| !tags.has(item) && item.is_replaced_by(tags)) {
        return false;
    }
    let mut differs = sent.iter().any(|(item, _)| !tags.has(item));
    for (item, tag) in tags.iter() {
        if let Some(before) = sent.get(item) {
            if before != tag {
                return false;
            }
            continue;
        }
        differs = true;
        let shows = item.kind == Kind::Secured || observed.tag(item) == tag;
        if applied.retained.get(item) != Some(tag) || !shows {
            return false;
        }
    }
    differs
}

/// Whether every desired value was applied, as far as that can be determined without the remote. More may have been
/// applied, such as defaults in place of removed values.
#[must_use]
pub fn holds(applied: &Applied, wanted: &DesiredPayload) -> bool {
    let Some(digest) = &applied.digest else { return false };
    let sent = |(item, tag): (&Item, &str)| applied.sent.as_ref().is_some_and(|sent| sent.get(item) == Some(tag));
    match digest.compare(&wanted.payload.digest) {
        Comparison::Same => true,
        Comparison::Different => wanted.payload.tags.iter().all(sent),
        Comparison::Unknown => false,
    }
}
