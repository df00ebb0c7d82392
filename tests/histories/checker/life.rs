//! What is known of one resource, from its creation to its end.

use std::collections::BTreeSet;

use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;

use super::allowed::Allowance;
use super::permitted::Written;
use crate::prelude::*;
use crate::remote::Values;

/// Plain values as they were sent, and as the remote shows them afterwards.
pub(super) type Difference = (BTreeMap<String, String>, BTreeMap<String, String>);

/// One desired state.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    /// `None`: a referenced object is missing.
    pub(crate) values: Option<Values>,
    /// Version of the connector.
    pub(super) version: Option<i64>,
    /// The last redeploy request that was set.
    pub(super) request: Option<String>,
    pub(super) since: Timestamp,
    /// Generation of the resource then, a hash of its spec, and whether the spec differs from the previous one.
    pub(super) generation: i64,
    pub(super) spec: u64,
    pub(super) edited: bool,
}

/// One resource, from its creation to its end.
#[derive(Debug)]
#[allow(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub(crate) struct Life {
    pub(crate) object_ref: ObjectRef,
    pub(crate) asks: Vec<Ask>,
    /// Index of the newest ask that was served.
    pub(super) served: Option<usize>,
    /// Index of the newest ask when the stored operation was written.
    pub(super) planned: usize,
    /// Version of the connector that runs, as far as the resource's own calls brought it there.
    pub(super) connector: i64,
    /// `updatePolicy` was `Latest` when the operation was written whose call arrived last.
    pub(super) follows: bool,
    pub(super) status: ConnectorDeploymentStatus,
    pub(super) allowed: BTreeSet<Allowance>,
    /// Every operation that was about to be sent, oldest first.
    pub(super) written: Vec<Written>,
    /// The plain values that were sent last.
    pub(super) sent: BTreeMap<String, String>,
    /// Names of all plain values that were ever sent to the deployment.
    pub(crate) ever_sent: BTreeSet<String>,
    /// The difference that the last operation left, and every difference after which the same values were sent to the
    /// deployment once more.
    pub(super) difference: Option<Difference>,
    pub(super) differences: BTreeSet<Difference>,
    /// `driftPolicy` was `Correct` at some time; a reconcile may still act on that.
    pub(super) corrected: bool,
    pub(crate) alive: bool,
    /// `ObserveOnly`, so that it claims nothing.
    pub(super) observes: bool,
    /// Its deployment may outlive it: a user wanted that, or removed the finalizer.
    pub(crate) may_leave: bool,
    /// The remote shows other values than those it was created with, or another client changed them before its id was
    /// known. A create whose answer was lost then does not look like the operator's own: rule 2 reports `KeyTaken` and
    /// leaves it alone, because it may belong to somebody else.
    pub(crate) disguised: bool,
}

impl Life {
    /// Whether a plain value was asked for when an operation was written: its call may have arrived, whatever the response.
    pub(crate) fn may_have_sent(&self, key: &str) -> bool {
        let planned = self.asks.iter().take(self.planned + 1);
        planned.filter_map(|ask| ask.values.as_ref()).any(|values| values.plain.contains_key(key))
    }

    pub(super) fn new(object_ref: ObjectRef) -> Self {
        Self {
            object_ref,
            asks: Vec::new(),
            served: None,
            planned: 0,
            connector: 0,
            follows: false,
            status: ConnectorDeploymentStatus::default(),
            allowed: BTreeSet::new(),
            written: Vec::new(),
            sent: BTreeMap::new(),
            ever_sent: BTreeSet::new(),
            difference: None,
            differences: BTreeSet::new(),
            alive: true,
            observes: false,
            may_leave: false,
            disguised: false,
            corrected: false,
        }
    }

    /// Returns the asks that may count as applied for a generation, for a reconcile that began then: none that a later
    /// edit of the spec introduced, and none that an edit up to that generation replaced.
    pub(super) fn asked_of(&self, generation: i64, began: Timestamp) -> impl Iterator<Item = &Ask> {
        let known = |ask: &&Ask| ask.generation <= generation || !ask.edited;
        let known: Vec<&Ask> = self.asks.iter().take_while(known).collect();
        let first = known.iter().rposition(|ask| ask.edited).unwrap_or(0);
        let ends = move |index: usize| self.asks.get(index + 1).map(|next| next.since);
        let asks = known.into_iter().enumerate().skip(first);
        asks.filter(move |(index, _)| ends(*index).is_none_or(|end| end >= began)).map(|(_, ask)| ask)
    }

    /// Whether the ask that is served now has another request or another version than the one that was served before
    /// it.
    pub(super) fn is_new_request(&self, before: Option<usize>) -> bool {
        let ask = |index: Option<usize>| self.asks.get(index?).map(|ask| (&ask.request, ask.version));
        ask(self.served) != ask(before)
    }

    /// Whether an ask differs from the one that was served last, and from all in between, by the version alone.
    pub(super) fn asks_for_a_version_only(&self, index: usize) -> bool {
        let Some(served) = self.served.and_then(|served| self.asks.get(served..=index)) else { return false };
        let [first, later @ ..] = served else { return false };
        later.iter().all(|ask| (&ask.values, &ask.request) == (&first.values, &first.request))
    }
}
