//! What a scenario contains, and how the remote behaves where the contract is unspecified.

#[derive(Clone, Copy, Debug)]
#[allow(clippy::struct_excessive_bools, reason = "switches of a scenario")]
pub(super) struct Settings {
    /// What may still happen, and how often at most.
    pub(super) budget: Budget,
    /// How many operators work on the resource at once.
    pub(super) operators: usize,
    /// Two resources claim the same key, and each operator works on one of them, in the same process.
    pub(super) contested: bool,
    /// Begins with a running deployment to which everything was applied.
    pub(super) live: bool,
    /// Begins with another client's deployment, and `adoptionPolicy: Adopt`.
    pub(super) adopt: bool,
    /// `driftPolicy: Correct`.
    pub(super) correct: bool,
    /// Begins suspended.
    pub(super) suspended: bool,
    /// Begins with `managementPolicy: ObserveOnly`.
    pub(super) observed: bool,
    /// The secured value comes from a Secret, whose version is remembered.
    pub(super) sources: bool,
    /// For 60 s reads may show the state before the last write.
    pub(super) lag: bool,
    /// What another client may do.
    pub(super) foreign: Foreign,
    /// Edits go back and forth between two values.
    pub(super) back: bool,
    /// When the build id of a redeploy changes.
    pub(super) build: Build,
    /// Visible values of a redeploy show only after its end.
    pub(super) late_values: bool,
    /// The remote shows visible values differently than they were sent.
    pub(super) normalises: bool,
    /// There is a second value, which may be desired or not, and is applied at the beginning.
    pub(super) second: Second,
    /// A redeploy removes values that it does not carry, which the contract does not say.
    pub(super) replaces: bool,
    /// The version grows with each change of the status.
    pub(super) version_counts_statuses: bool,
    /// What happens to a response if the resource was changed since its operation was persisted.
    pub(super) conflict: Conflict,
    /// A rule that is broken.
    pub(super) without: Option<Rule>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            budget: Budget::default(),
            operators: 1,
            contested: false,
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
            conflict: Conflict::Compared,
            without: None,
        }
    }
}

impl Settings {
    /// Returns the number of redeploys that each new difference costs (rule 16).
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

/// What happens to a response if the resource has another version than the one on which its operation was persisted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Conflict {
    /// The response counts as lost.
    Lost,
    /// It is written if the resource, read again, has the same uid and contains exactly this operation.
    Compared,
    /// The same, whatever the uid is.
    ComparedWithoutUid,
    /// It is written, whatever the resource contains now.
    Forced,
}

/// A rule whose loss must be detected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Writes carry the resourceVersion that was read.
    ResourceVersions,
    /// An operation is persisted before its call.
    OperationFirst,
    /// A call leaves within the limit of its operation, or not at all.
    Deadline,
    /// Nothing is concluded from an absence before the quiet period is over.
    Calm,
    /// A deployment under the key belongs to the resource only if the persisted state says so.
    Identity,
    /// The result of a create whose response was lost is recognized by its visible values.
    Fit,
    /// A redeploy has ended only if it was observed busy.
    SeenBusy,
    /// A deployment is gone only after two 404.
    TwoAbsences,
    /// Giving up an operation forgets what was applied.
    ForgottenDigest,
    /// A deletion waits for a create that may still arrive.
    OutstandingCreate,
    /// A read with the version from before the last write is not used.
    OldReads,
    /// A redeploy request is served once.
    HandledRequest,
    /// A digest with another key is unknown, not different.
    UnknownDigest,
    /// Values that are no longer desired are remembered.
    Retained,
    /// Of two resources that claim the same key, one owns it.
    OneWinner,
    /// A create is announced in the same step in which it begins.
    Announcement,
    /// A 404 counts as the end of an undeploy only if a DELETE was accepted.
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
    /// The second value is no longer desired, or desired again.
    pub(super) removals: u8,
    pub(super) requests: u8,
    /// Edits of metadata that request nothing.
    pub(super) labels: u8,
    pub(super) deletions: u8,
    pub(super) orphans: u8,
    /// `suspend` is switched.
    pub(super) suspends: u8,
    /// `managementPolicy` is switched.
    pub(super) observes: u8,
    pub(super) restores: u8,
    /// The finalizer is removed manually from a resource that is being deleted.
    pub(super) releases: u8,
    /// A resource of the same name is created again.
    pub(super) recreations: u8,
    /// The digest key is lost, and the operators start again with a new one.
    pub(super) keys: u8,
    pub(super) crashes: u8,
    /// An operator's view of the cluster becomes stale.
    pub(super) stalls: u8,
    /// A caller gives up waiting for a response, and the call is still under way.
    pub(super) lost: u8,
    pub(super) failures: u8,
    pub(super) foreign: u8,
    pub(super) versions: u8,
}
