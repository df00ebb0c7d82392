//! A whole world in a few bytes: the resource, the operators, the remote, the calls under way, and what may still
//! happen.

use std::hash::{Hash, Hasher};

use super::pool::Quick;
use super::settings::Budget;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Status {
    #[default]
    Busy,
    Deployed,
    Failed,
    Undeploying,
    UndeployFailed,
}

/// The actual state of the remote; id 0: no deployment exists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Deployment {
    pub(super) id: u8,
    /// Uid of the resource for which it was created; 0: created by another client.
    pub(super) owner: u8,
    pub(super) version: u8,
    pub(super) build: u8,
    pub(super) status: Status,
    /// Number of ticks for which the old status may still show after the call was accepted.
    pub(super) pending: u8,
    pub(super) visible: u8,
    pub(super) secret: u8,
    pub(super) visible_before: u8,
    /// Whether it has the second value.
    pub(super) second: bool,
}

impl Deployment {
    pub(super) fn busy(&self) -> bool {
        self.pending > 0 || matches!(self.status, Status::Busy | Status::Undeploying)
    }

    pub(super) fn has(&self, visible: u8, secret: u8) -> bool {
        self.id != 0
            && self.status == Status::Deployed
            && self.pending == 0
            && (self.visible, self.secret) == (visible, secret)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Verb {
    #[default]
    None,
    Create,
    Redeploy,
    Undeploy,
}

/// A call, under way or about to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) verb: Verb,
    /// Uid of the resource for which it is sent.
    pub(super) owner: u8,
    pub(super) id: u8,
    pub(super) version: u8,
    pub(super) visible: u8,
    pub(super) secret: u8,
    /// Whether it carries the second value.
    pub(super) second: bool,
    /// The redeploy request that it serves.
    pub(super) serves: u8,
}

/// The Ready condition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum ConditionUpdate {
    #[default]
    Unknown,
    Ready,
    ReadyUnverified,
    ReadyDrifted,
    /// The deployment shows other values than were sent.
    NotApplied,
    Failed,
    KeyTaken,
    KeyConflict,
    Disappeared,
    UndeployFailed,
    Suspended,
    Observed,
    NothingToObserve,
}

/// The resource, as the API server stores it or as somebody has read it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Resource {
    pub(super) exists: bool,
    pub(super) uid: u8,
    pub(super) deleting: bool,
    /// `deletionPolicy: Orphan`.
    pub(super) orphan: bool,
    pub(super) suspended: bool,
    pub(super) observed: bool,
    pub(super) generation: u8,
    /// The desired visible value.
    pub(super) value: u8,
    /// Whether the second value is desired too.
    pub(super) second: bool,
    pub(super) request: u8,
    pub(super) labels: u8,
    /// The annotation with the id of the remote deployment.
    pub(super) annotation: u8,
    pub(super) persisted: u32,
    pub(super) condition: ConditionUpdate,
    pub(super) reported_generation: u8,
}

/// A resource that was read, and whether it has not changed since, which the API server knows by its resourceVersion.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Reading {
    pub(super) resource: Resource,
    pub(super) fresh: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    #[default]
    Idle,
    WriteOperation,
    LookAgain,
    Call,
    /// Writes the result of the call.
    WriteAnswer,
    WriteStatus,
    Release,
}

/// A reconcile of an operator between two of its steps; while it is idle, all other fields are empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct InProgress {
    pub(super) stage: Stage,
    /// The resource that it works on; after its first write, what it has written.
    pub(super) read: Reading,
    /// What it writes next.
    pub(super) persisted: u32,
    /// What it keeps in memory after that write.
    pub(super) transient: u32,
    pub(super) condition: ConditionUpdate,
    /// Whether the remote had what was desired when the reconcile observed it.
    pub(super) truth: bool,
    /// Whether the redeploy is one that the two-minute rule allows in addition to one for each change.
    pub(super) extra: bool,
    pub(super) call: Request,
    pub(super) gone: u8,
    /// Whether it has announced that it creates or takes over something (rule 4).
    pub(super) announced: bool,
}

/// An operator: what it keeps in memory, what it sees of the cluster, and its reconcile.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Operator {
    /// The resource that it works on.
    pub(super) on: u8,
    pub(super) transient: u32,
    /// Number of the digest key that it has loaded.
    pub(super) key: u8,
    /// The stale resource that it sees; `None`: its view is current.
    pub(super) stalled: Option<Reading>,
    /// Whether it has written since, and reads the resource itself until its view shows that.
    pub(super) wrote: bool,
    pub(super) run: InProgress,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct World {
    /// The resource, and another one that claims the same key, if the scenario has one.
    pub(super) resources: [Resource; 2],
    pub(super) operators: [Operator; 2],
    pub(super) secret: u8,
    /// Number of the digest key in the cluster.
    pub(super) key: u8,
    pub(super) remote: Deployment,
    /// What a lagging read may show for so many ticks.
    pub(super) before: Deployment,
    pub(super) lag: u8,
    pub(super) next_id: u8,
    pub(super) flying: [Request; 2],
    pub(super) budget: Budget,
    pub(super) redeploys: u8,
    pub(super) allowed: u8,
    /// Uids, as bits, of the resources whose create was accepted and whose deployment no other client has deleted.
    pub(super) created: u8,
    /// Uids, as bits, of the resources that were orphaned on purpose.
    pub(super) let_go: u8,
    /// A redeploy request that no call has carried yet.
    pub(super) owed: bool,
    pub(super) adopted: bool,
    pub(super) foreign_recent: u8,
    pub(super) broken: Option<Broken>,
}

impl Hash for World {
    /// Hashes one number, and skips empty parts: the derived hash is slow for many small fields without optimization,
    /// and most worlds are mostly empty.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut quick = Quick::default();
        let Self { resources: [resource, other], operators, secret, key, remote, before, .. } = self;
        let Self { lag, next_id, flying, budget, .. } = self;
        let Self { redeploys, allowed, created, let_go, owed, adopted, foreign_recent, broken, .. } = self;
        (resource, other.exists, secret, key, remote.id, before.id, lag, next_id, budget).hash(&mut quick);
        (redeploys, allowed, created, let_go, owed, adopted, foreign_recent, broken).hash(&mut quick);
        if other.exists {
            other.hash(&mut quick);
        }
        for Operator { on: _, transient, key, stalled, wrote, run } in operators {
            (transient, key, stalled, wrote, run.stage).hash(&mut quick);
            if run.stage != Stage::Idle {
                run.hash(&mut quick);
            }
        }
        for call in flying {
            call.verb.hash(&mut quick);
            if call.verb != Verb::None {
                call.hash(&mut quick);
            }
        }
        for deployment in [remote, before] {
            if deployment.id != 0 {
                deployment.hash(&mut quick);
            }
        }
        state.write_u64(quick.finish());
    }
}

impl World {
    /// Returns the resource that this operator works on.
    pub(super) fn of(&self, who: usize) -> &Resource {
        &self.resources[usize::from(self.operators[who].on)]
    }

    /// Whether the remote has what this resource desires; it may have more.
    pub(super) fn has_what_is_wanted(&self, resource: &Resource) -> bool {
        self.remote.has(resource.value, self.secret) && (self.remote.second || !resource.second)
    }

    /// Changes the resourceVersion of a resource, so that what others have read is stale.
    pub(super) fn changed(&mut self, which: usize, by: Option<usize>) {
        for (number, operator) in self.operators.iter_mut().enumerate() {
            if usize::from(operator.on) != which {
                continue;
            }
            if Some(number) != by {
                operator.run.read.fresh = false;
            }
            if let Some(stalled) = &mut operator.stalled {
                stalled.fresh = false;
            }
        }
    }

    /// Removes a resource. `let_go`: the remote deployment may stay.
    pub(super) fn vanish(&mut self, which: usize, let_go: bool) {
        let Resource { uid, value, second, .. } = self.resources[which];
        self.let_go |= u8::from(let_go) << uid;
        // A resource that is created again is created from the same manifest.
        self.resources[which] = Resource { uid, value, second, ..Resource::default() };
        self.owed = false;
        self.changed(which, None);
        for operator in self.operators.iter_mut().filter(|operator| usize::from(operator.on) == which) {
            operator.transient = 0;
        }
    }

    pub(super) fn calm(&self) -> bool {
        self.flying.iter().all(|call| call.verb == Verb::None)
            && self.operators.iter().all(|operator| operator.run.stage == Stage::Idle)
    }
}

/// Properties that can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Broken {
    /// Another client's deployment was redeployed or deleted, or another resource took it over.
    Stranger,
    /// `Ready=True` although the remote does not have what is desired.
    ReadyWrong,
    /// More redeploys than changes.
    TooMany,
    /// A second create for one resource.
    CreatedTwice,
    /// The resource is gone, and its deployment stays.
    Orphan,
    /// The deployment of the resource is reported as another client's, or as gone.
    Forgotten,
}
