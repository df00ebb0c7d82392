//! A whole world in a few bytes: the resource, the operators, the remote, what is on its way, and what is still to
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

/// The remote's truth; id 0: there is none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Deployment {
    pub(super) id: u8,
    /// Uid of the resource that it was created for; 0: a stranger's.
    pub(super) owner: u8,
    pub(super) version: u8,
    pub(super) build: u8,
    pub(super) status: Status,
    /// Accepted, and for so many ticks more the old status may show.
    pub(super) pending: u8,
    pub(super) visible: u8,
    pub(super) secret: u8,
    pub(super) visible_before: u8,
    /// It has the second value.
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

/// A call, on its way or about to be sent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) verb: Verb,
    /// Uid of the resource that it is sent for.
    pub(super) owner: u8,
    pub(super) id: u8,
    pub(super) version: u8,
    pub(super) visible: u8,
    pub(super) secret: u8,
    /// It carries the second value.
    pub(super) second: bool,
    /// The redeploy request that it serves.
    pub(super) serves: u8,
}

/// What people are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum ConditionUpdate {
    #[default]
    Unknown,
    Ready,
    ReadyUnverified,
    ReadyDrifted,
    /// It shows other values than were sent.
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

/// The resource, as it is stored or as somebody has read it.
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
    /// The visible value that is wanted.
    pub(super) value: u8,
    /// The second value is wanted too.
    pub(super) second: bool,
    pub(super) request: u8,
    pub(super) labels: u8,
    /// The annotation with the id of the remote deployment.
    pub(super) annotation: u8,
    pub(super) persisted: u32,
    pub(super) condition: ConditionUpdate,
    pub(super) told_generation: u8,
}

/// A resource that was read, and whether it has not changed since: what its resourceVersion tells the API server.
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
    /// Writes what came of the call.
    WriteAnswer,
    WriteStatus,
    Release,
}

/// A run of an operator between two of its steps; while it is idle there is nothing else in it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Run {
    pub(super) stage: Stage,
    /// What it works on; after its first write, what it has written.
    pub(super) read: Reading,
    /// What is to be written next.
    pub(super) persisted: u32,
    /// What is to be remembered once that is written.
    pub(super) transient: u32,
    pub(super) condition: ConditionUpdate,
    /// What was desired was there when the run looked.
    pub(super) truth: bool,
    pub(super) first: bool,
    /// The redeploy is one that the two-minute rule allows beyond one for each change.
    pub(super) extra: bool,
    pub(super) call: Request,
    pub(super) gone: u8,
    /// It has said that it begins to own or to create something (rule 4).
    pub(super) announced: bool,
}

/// An operator: what it remembers, what it sees of the cluster, and its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Operator {
    /// Which of the resources it works on.
    pub(super) on: u8,
    pub(super) transient: u32,
    /// Number of the digest key that it has loaded.
    pub(super) key: u8,
    /// Its view of the cluster stands still at this, if at anything.
    pub(super) stalled: Option<Reading>,
    /// It has written since, and reads the resource itself until its view shows that.
    pub(super) wrote: bool,
    pub(super) run: Run,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct World {
    /// The resource, and another one that wants the same key, if the scenario has one.
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
    /// Uids, as bits, of the resources whose create was accepted and whose deployment nobody else has taken down.
    pub(super) created: u8,
    /// Uids, as bits, of the resources that were let go on purpose.
    pub(super) let_go: u8,
    /// A redeploy request that no call has carried yet.
    pub(super) owed: bool,
    pub(super) adopted: bool,
    pub(super) foreign_recent: u8,
    pub(super) broken: Option<Broken>,
}

impl Hash for World {
    /// One number, and what is not there is left out: the checker's own hash is slow for many small fields when
    /// nothing is optimised, and most worlds are mostly empty.
    fn hash<H: Hasher>(&self, state: &mut H) {
        let mut quick = Quick::default();
        let Self {
            resources: [resource, other],
            operators,
            secret,
            key,
            remote,
            before,
            lag,
            next_id,
            flying,
            budget,
            ..
        } = self;
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
    /// The resource that this operator works on.
    pub(super) fn of(&self, who: usize) -> &Resource {
        &self.resources[usize::from(self.operators[who].on)]
    }

    /// Whether the remote has what this resource wants; of what it does not want it may have more.
    pub(super) fn has_what_is_wanted(&self, resource: &Resource) -> bool {
        self.remote.has(resource.value, self.secret) && (self.remote.second || !resource.second)
    }

    /// A resource has another resourceVersion now: what others have read is old.
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

    /// A resource is gone. `let_go`: the remote deployment may stay.
    pub(super) fn vanish(&mut self, which: usize, let_go: bool) {
        let Resource { uid, value, second, .. } = self.resources[which];
        self.let_go |= u8::from(let_go) << uid;
        // What is created again is created from the same manifest.
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
    /// Somebody else's deployment was redeployed or taken down, or is taken for its own by the other resource.
    Stranger,
    /// `Ready=True` though the remote has not what is desired.
    ReadyWrong,
    /// More redeploys than changes.
    TooMany,
    /// A second create for one resource.
    CreatedTwice,
    /// The resource is gone, our deployment stays.
    Orphan,
    /// Our own deployment is called somebody else's, or gone.
    Forgotten,
}
