//! What a scenario contains, and how the remote behaves where its contract leaves it open.

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a scenario")]
pub(super) struct Settings {
    /// What may still happen, at most so often.
    pub(super) budget: Budget,
    /// How many operators work on the resource at once.
    pub(super) operators: usize,
    /// Two resources want the same key, and each operator is the worker of one of them, in the same process.
    pub(super) rivals: bool,
    /// Begins with a live deployment that is applied.
    pub(super) live: bool,
    /// Begins with somebody's deployment, and `adoptionPolicy: Adopt`.
    pub(super) adopt: bool,
    /// `drift.policy: Correct`.
    pub(super) correct: bool,
    /// Begins suspended.
    pub(super) suspended: bool,
    /// Begins with `managementPolicy: ObserveOnly`.
    pub(super) observed: bool,
    /// The secured value comes from a Secret, whose version is remembered.
    pub(super) sources: bool,
    /// Reads may show what was before the last write for 60 s.
    pub(super) lag: bool,
    /// What somebody else may do.
    pub(super) foreign: Foreign,
    /// Edits go back and forth between two values.
    pub(super) back: bool,
    /// When the build id of a redeploy changes.
    pub(super) build: Build,
    /// Visible values of a redeploy show only when it ended.
    pub(super) late_values: bool,
    /// The remote shows visible values otherwise than they were sent.
    pub(super) normalises: bool,
    /// There is a second value, which may be wanted or not, and begins as it is wanted.
    pub(super) second: Second,
    /// A redeploy replaces what it does not carry, which the contract does not say.
    pub(super) replaces: bool,
    /// The version grows with each status.
    pub(super) version_counts_statuses: bool,
    /// After a redeploy the status before it may show for a while.
    pub(super) old_status: bool,
    /// What becomes of an answer if the resource was changed since its operation was written.
    pub(super) conflict: Conflict,
    /// A rule that is not kept.
    pub(super) without: Option<Rule>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            operators: 1,
            rivals: false,
            live: false,
            adopt: false,
            correct: false,
            suspended: false,
            observed: false,
            sources: false,
            lag: false,
            foreign: Foreign::default(),
            back: false,
            build: Build::WhenBusy,
            late_values: false,
            normalises: false,
            second: Second::None,
            replaces: false,
            version_counts_statuses: false,
            old_status: true,
            conflict: Conflict::Compared,
            without: None,
        }
    }
}

impl Settings {
    /// Redeploys that each new difference costs (rule 16).
    pub(super) fn corrections(&self) -> u8 {
        u8::from(self.correct && self.normalises)
    }
}

/// The second value of a scenario.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Second {
    None,
    /// A plain one.
    Plain,
    /// A secured one; the record lists its key.
    Secured,
    /// A secured one, and the record lists no keys.
    Hidden,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Build {
    WhenBusy,
    AtOnce,
    Never,
}

/// An answer came, and the resource has another version than the one that its operation was written on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// The answer counts as lost.
    Lost,
    /// It is written if the resource, read again, has the same uid and holds the very operation.
    Compared,
    /// The same, whatever the uid is.
    ComparedWithoutUid,
    /// It is written, whatever the resource holds now.
    Forced,
}

/// A rule whose loss has to be noticed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Writes carry the resourceVersion that was read.
    ResourceVersions,
    /// An operation is stored before its call.
    OperationFirst,
    /// A call leaves within the limit of its operation, or not at all.
    Deadline,
    /// Nothing is concluded from what is not seen before it is calm.
    Calm,
    /// A deployment under the key is ours only if something that is stored says so.
    Identity,
    /// A create whose answer was lost is known again by its visible values.
    Fit,
    /// A redeploy has ended only if it was seen busy.
    SeenBusy,
    /// Gone is what answers 404 twice.
    TwoAbsences,
    /// Giving up an operation forgets what was applied.
    ForgottenDigest,
    /// A deletion waits for a create that may still arrive.
    OutstandingCreate,
    /// A read that shows the version from before our last write is not used.
    OldReads,
    /// A redeploy request is served once.
    HandledRequest,
    /// A digest under another key is unknown, not different.
    UnknownDigest,
    /// What is not wanted any more is remembered.
    Retained,
    /// Nothing is redeployed only to leave something out.
    LeavesOut,
    /// Of two resources that want the same key, one has it.
    OneWinner,
    /// Who begins a create says so in the same step.
    Announcement,
    /// A 404 counts as the end of an undeploy only if a DELETE was answered.
    AnsweredUndeploy,
}

#[derive(Clone, Copy, Debug, Default)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a scenario")]
pub(super) struct Foreign {
    pub(super) redeploys: bool,
    pub(super) deletes: bool,
    pub(super) recreates: bool,
    pub(super) creates: bool,
}

/// How often each of these may still happen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Budget {
    pub(super) specs: u8,
    pub(super) secrets: u8,
    /// The second value is wanted no more, or again.
    pub(super) removals: u8,
    pub(super) requests: u8,
    /// Edits of metadata that ask for nothing.
    pub(super) labels: u8,
    pub(super) deletions: u8,
    pub(super) orphans: u8,
    /// `suspend` is switched.
    pub(super) suspends: u8,
    /// `managementPolicy` is switched.
    pub(super) observes: u8,
    pub(super) restores: u8,
    /// The finalizer is removed by hand from a resource that is being deleted.
    pub(super) releases: u8,
    /// A resource of the same name is created again.
    pub(super) recreations: u8,
    /// The digest key is lost, and the operators start again with a new one.
    pub(super) keys: u8,
    pub(super) crashes: u8,
    /// An operator's view of the cluster stands still.
    pub(super) stalls: u8,
    /// A caller gives up on an answer, and the call is still on its way.
    pub(super) lost: u8,
    pub(super) failures: u8,
    pub(super) foreign: u8,
    pub(super) versions: u8,
}
