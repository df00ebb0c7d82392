//! What a deployment still has although it is no longer desired: a redeploy merges its values into the existing ones,
//! so that leaving a value out does not remove it (contract section 6.1).

use super::super::persisted::{Applied, ObservedDeployment};
use super::DesiredPayload;
use crate::operator::values::digest::Comparison;
use crate::operator::values::names::{GLOBAL, Item, Kind, Names};

/// Returns what this resource has sent and does not desire any more.
pub(super) fn left(applied: &Applied, wanted: &Names) -> Names {
    let sent = applied.names.iter().chain([&applied.retained]).flat_map(Names::iter);
    sent.filter(|item| !wanted.has(item) && !item.is_replaced_by(wanted)).cloned().collect()
}

/// Returns what the deployment retains if only `wanted` is desired. A value that this resource sent counts as long as the
/// deployment may have it; a value that another client sent counts if it is visible, declared, and not the default.
pub fn retained(applied: &Applied, wanted: &Names, observed: &ObservedDeployment) -> Names {
    let ours = own(applied, wanted, observed).into_iter();
    ours.chain(unwanted(wanted, observed).cloned()).collect()
}

/// Whether this resource sent some of it, and the version that runs still declares it, as far as is known.
pub(super) fn has_own(applied: &Applied, wanted: &Names, observed: &ObservedDeployment) -> bool {
    own(applied, wanted, observed).iter().any(|item| observed.may_read(item))
}

fn own(applied: &Applied, wanted: &Names, observed: &ObservedDeployment) -> Vec<Item> {
    left(applied, wanted).iter().filter(|item| may_be_there(item, observed)).cloned().collect()
}

/// Whether a value that was sent and is no longer desired may still be in force.
fn may_be_there(item: &Item, observed: &ObservedDeployment) -> bool {
    let place = item.application == GLOBAL || observed.applications.contains(&item.application);
    place
        && match item.kind {
            // A record need not list the keys of secured values, so only one that lists some proves that another is
            // gone.
            Kind::Secured => observed.secured.is_empty() || observed.shows(item),
            Kind::Schedule => observed.shows(item),
            // The record need not show one at all.
            Kind::RetryPolicy => true,
            Kind::Standard => observed.shows(item) && !observed.shows_default(item),
        }
}

/// Returns visible values that the connector declares and that are not desired.
fn unwanted<'o>(wanted: &Names, observed: &'o ObservedDeployment) -> impl Iterator<Item = &'o Item> {
    let declared = observed.declared.iter().flat_map(|declared| declared.keys.keys());
    declared.filter(|item| !wanted.has(item) && observed.shows(item) && !observed.shows_default(item))
}

/// Whether every desired value was applied, as far as that can be determined without the remote.
pub fn holds(applied: &Applied, wanted: &DesiredPayload) -> bool {
    applied.digest.as_ref().is_some_and(|digest| digest.compare(&wanted.payload.digest) == Comparison::Same)
}
