//! A whole world in a few bytes: the resource, the remote, what is on its way, and what is still to happen.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{BuildHasherDefault, Hasher};

/// What a scenario contains, and how the remote behaves where its contract leaves it open.
#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a scenario")]
pub(super) struct Settings {
    /// What may still happen, at most so often.
    pub(super) budget: Budget,
    /// Begins with a live deployment that is applied.
    pub(super) live: bool,
    /// Begins with somebody's deployment, and `adoptionPolicy: Adopt`.
    pub(super) adopt: bool,
    /// Reads may show what was before the last write for 60 s.
    pub(super) lag: bool,
    /// What somebody else may do.
    pub(super) foreign: Foreign,
    /// When the build id of a redeploy changes.
    pub(super) build: Build,
    /// Visible values of a redeploy show only when it ended.
    pub(super) late_values: bool,
    /// The version grows with each status.
    pub(super) version_counts_statuses: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Build {
    #[default]
    WhenBusy,
    AtOnce,
    Never,
}

#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a scenario")]
pub(super) struct Foreign {
    pub(super) redeploys: bool,
    pub(super) deletes: bool,
    pub(super) recreates: bool,
    pub(super) creates: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) specs: u8,
    pub(super) secrets: u8,
    pub(super) requests: u8,
    pub(super) deletions: u8,
    pub(super) orphans: u8,
    pub(super) restores: u8,
    pub(super) crashes: u8,
    pub(super) lost: u8,
    pub(super) failures: u8,
    pub(super) foreign: u8,
    pub(super) versions: u8,
}

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
    pub(super) stranger: bool,
    pub(super) version: u8,
    pub(super) build: u8,
    pub(super) status: Status,
    /// Accepted, and for so many ticks more the old status may show.
    pub(super) pending: u8,
    pub(super) visible: u8,
    pub(super) secret: u8,
    pub(super) visible_before: u8,
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
    pub(super) id: u8,
    pub(super) version: u8,
    pub(super) visible: u8,
    pub(super) secret: u8,
    /// The redeploy request that it serves.
    pub(super) serves: u8,
}

/// What people are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Told {
    #[default]
    Unknown,
    Ready,
    ReadyUnverified,
    ReadyDrifted,
    Failed,
    KeyTaken,
    Disappeared,
    UndeployFailed,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Resource {
    pub(super) exists: bool,
    pub(super) deleting: bool,
    pub(super) orphan: bool,
    /// Doubles as the visible value that is wanted.
    pub(super) generation: u8,
    pub(super) request: u8,
    /// The annotation with the id of the remote deployment.
    pub(super) annotation: u8,
    pub(super) ledger: u32,
    pub(super) told: Told,
    pub(super) told_generation: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Stage {
    #[default]
    Idle,
    WriteOperation,
    LookAgain,
    Call,
    WriteStatus,
    Release,
}

/// A run of the operator between two of its steps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[allow(clippy::struct_excessive_bools, reason = "independent facts")]
pub(super) struct Run {
    pub(super) stage: Stage,
    pub(super) ledger: u32,
    pub(super) told: Told,
    /// The resource has not changed since it was read.
    pub(super) fresh: bool,
    /// What was desired was there when the run looked.
    pub(super) truth: bool,
    pub(super) first: bool,
    /// The redeploy is one that the two-minute rule allows beyond one for each change.
    pub(super) extra: bool,
    pub(super) call: Request,
    pub(super) gone: u8,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct World {
    pub(super) resource: Resource,
    pub(super) memory: u32,
    pub(super) secret: u8,
    pub(super) remote: Deployment,
    /// What a lagging read may show for so many ticks.
    pub(super) before: Deployment,
    pub(super) lag: u8,
    pub(super) next_id: u8,
    pub(super) flying: [Request; 2],
    pub(super) run: Run,
    pub(super) budget: Budget,
    pub(super) redeploys: u8,
    pub(super) allowed: u8,
    /// A redeploy request that no call has carried yet.
    pub(super) owed: bool,
    pub(super) adopted: bool,
    pub(super) foreign_recent: u8,
    pub(super) broken: Option<Broken>,
}

/// Properties that can break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Broken {
    /// Somebody else's deployment was redeployed or taken down.
    Stranger,
    /// `Ready=True` though the remote has not what is desired.
    ReadyWrong,
    /// More redeploys than changes.
    TooMany,
    /// The resource is gone, our deployment stays.
    Orphan,
    /// Our own deployment is called somebody else's.
    Forgotten,
    /// No good state can be reached without new events.
    Stuck,
}

/// A hash that is quick without optimisation: worlds are many small fields.
#[derive(Default)]
pub(super) struct Quick(u64);

impl Hasher for Quick {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 29)
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u8(*byte);
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    // Discriminants of enumerations come as this.
    fn write_isize(&mut self, value: isize) {
        self.write_u64(value.cast_unsigned() as u64);
    }
}

pub(super) type Map<K, V> = HashMap<K, V, BuildHasherDefault<Quick>>;

/// Values by small numbers, so that worlds are cheap to compare.
pub(super) struct Pool<T> {
    numbers: HashMap<String, u32>,
    items: Vec<T>,
}

impl<T: Debug + Clone> Pool<T> {
    pub(super) fn new(first: &T) -> Self {
        let mut pool = Self { numbers: HashMap::new(), items: Vec::new() };
        pool.number(first);
        pool
    }

    pub(super) fn number(&mut self, item: &T) -> u32 {
        let next = u32::try_from(self.items.len()).expect("there are not so many");
        *self.numbers.entry(format!("{item:?}")).or_insert_with(|| {
            self.items.push(item.clone());
            next
        })
    }

    pub(super) fn get(&self, number: u32) -> &T {
        &self.items[number as usize]
    }
}
