//! The kinds of operations on staged connectors that are interrupted, and the expected result of each.

use super::kinds::Expected;
use crate::prelude::*;
use crate::staged::StagedChange;

/// Indexes in [`crate::staged::TAGS`].
const SECOND: u8 = 1;
const NOT_PREVIEWABLE: u8 = 2;
const NOT_PUBLISHED: u8 = 3;
const NOT_CERTIFIED: u8 = 4;

/// The next change of the remote arrives after its caller has given up.
const LATE: Armed = Armed { place: Callee::Remote, changes: true, skip: 0, trouble: Outage::Late(25) };

/// A kind of operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum StagedKind {
    Create,
    Change,
    /// Update, preview and publication of a new tag.
    NewTag,
    Certify,
    /// The same, where certification is refused.
    CertifyInVain,
    PreviewInVain,
    PublishInVain,
    Adopt,
    /// A name that another client changed is set back.
    SetBack,
    Delete,
    Orphan,
    /// Deleted while the create is in progress.
    DeleteAtOnce,
    /// A deployment follows a new tag, which is also published.
    Follow,
}

/// What was done, and what exists at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct StagedCounts {
    pub(super) stagings: u64,
    pub(super) updates: u64,
    pub(super) previews: u64,
    pub(super) publishes: u64,
    pub(super) discards: u64,
    pub(super) there: usize,
}

impl StagedKind {
    pub(super) const ALL: [Self; 13] = [
        Self::Create,
        Self::Change,
        Self::NewTag,
        Self::Certify,
        Self::CertifyInVain,
        Self::PreviewInVain,
        Self::PublishInVain,
        Self::Adopt,
        Self::SetBack,
        Self::Delete,
        Self::Orphan,
        Self::DeleteAtOnce,
        Self::Follow,
    ];

    pub(super) fn expected(self) -> Expected {
        let (stagings, updates, previews, publishes, discards, there) = match self {
            Self::Create => (1, 0, 0, 0, 0, 1),
            Self::Change | Self::SetBack | Self::Adopt => (0, 1, 0, 0, 0, 1),
            Self::NewTag | Self::PublishInVain | Self::Follow => (0, 1, 1, 1, 0, 1),
            Self::Certify => (0, 0, 0, 1, 0, 1),
            Self::CertifyInVain => (0, 1, 0, 1, 0, 1),
            Self::PreviewInVain => (0, 1, 1, 0, 0, 1),
            Self::Delete => (0, 0, 0, 0, 1, 0),
            Self::Orphan => (0, 0, 0, 0, 0, 1),
            Self::DeleteAtOnce => (1, 0, 0, 0, 1, 0),
        };
        let staged = StagedCounts { stagings, updates, previews, publishes, discards, there };
        let follows = matches!(self, Self::Follow);
        Expected { creates: 0, redeploys: u64::from(follows), actions: 0, there: usize::from(follows), staged }
    }

    /// Whether that is what was expected.
    pub(super) fn is_as_expected(self, staged: StagedCounts) -> bool {
        // If the operator is stopped before the call and the resource is deleted meanwhile, the connector is never
        // created.
        let never = matches!(self, Self::DeleteAtOnce) && staged == StagedCounts::default();
        never || staged == self.expected().staged
    }

    fn plan(self) -> Plan {
        Plan { delete: !matches!(self, Self::Orphan), ..Plan::default() }
    }

    /// Creates the initial state.
    pub(super) async fn prepare(self, simulation: &mut Simulation) -> Result<(), String> {
        match self {
            Self::Create | Self::DeleteAtOnce => {}
            Self::Adopt => {
                simulation.change_staged_elsewhere(StagedChange::Create, 0);
                simulation.pass(Duration::from_secs(100)).await;
            }
            Self::NewTag | Self::PublishInVain => {
                simulation.plan(Plan { previewable: true, publish: 1, ..self.plan() });
            }
            Self::Follow => {
                simulation.plan(Plan { previewable: true, ..self.plan() });
                simulation.follow();
            }
            _ => simulation.plan(self.plan()),
        }
        Ok(())
    }

    /// Makes the change that starts the operation.
    pub(super) async fn act(self, simulation: &mut Simulation) {
        let plan = self.plan();
        let ready = Plan { previewable: true, publish: 1, ..plan };
        match self {
            Self::Create => simulation.plan(plan),
            Self::Change => simulation.plan(Plan { words: 1, ..plan }),
            Self::NewTag | Self::Follow => simulation.plan(Plan { tag: SECOND, ..ready }),
            Self::Certify => simulation.plan(Plan { publish: 2, ..plan }),
            Self::CertifyInVain => simulation.plan(Plan { tag: NOT_CERTIFIED, publish: 2, ..plan }),
            Self::PreviewInVain => simulation.plan(Plan { tag: NOT_PREVIEWABLE, ..ready }),
            Self::PublishInVain => simulation.plan(Plan { tag: NOT_PUBLISHED, ..ready }),
            Self::Adopt => simulation.plan(Plan { adopt: true, ..plan }),
            Self::SetBack => {
                simulation.change_staged_elsewhere(StagedChange::Rename, 1);
                simulation.ask_again(connect_operator::names::RECONCILE_REQUESTED_AT, 1);
            }
            Self::Delete | Self::Orphan => simulation.drop_plan(),
            Self::DeleteAtOnce => {
                simulation.plan(plan);
                simulation.armed.push(LATE.clone());
                while !simulation.calls.iter().any(|(call, _)| call.starts_with("stage ")) {
                    if !simulation.micro().await {
                        break;
                    }
                }
                simulation.armed.clear();
                simulation.drop_plan();
            }
        }
    }
}
