//! The kinds of operations on deployments that are interrupted, and the expected result of each. Those on staged
//! connectors are in `staged.rs`.

use super::staged::{StagedCounts, StagedKind};
use crate::prelude::*;

/// Index in [`crate::users::LEVELS`] of the value with which a deployment fails.
const FAILING: u8 = 4;

/// A kind of operation.
#[derive(Clone, Copy, Debug)]
pub(super) enum Kind {
    Create,
    RedeployBySpec,
    RedeployBySecret,
    RedeployByAnnotation,
    Undeploy,
    Orphan,
    Adoption,
    Restore,
    DriftCorrection,
    Failure,
    Repair,
    RecreateAfterDisappearance,
    /// Deleted and created again, to remove a value (`removedValuesPolicy: Recreate`).
    Recreate,
    /// The POST of an `ActionCheck` that follows a deployment.
    CheckPost,
    Staged(StagedKind),
}

/// The expected result.
#[derive(Clone, Copy, Debug)]
pub(super) struct Expected {
    pub(super) creates: u64,
    pub(super) redeploys: u64,
    /// Number of POSTs of checks that arrived, if nothing is interrupted; otherwise it may be less.
    pub(super) actions: u64,
    /// Number of deployments at the remote at the end.
    pub(super) there: usize,
    /// What was done to staged connectors.
    pub(super) staged: StagedCounts,
}

impl Kind {
    /// Whether it is also stopped a second time. A new tag takes the same path as every other change of a staged
    /// connector, so it stands for all of them.
    pub(super) fn is_stopped_twice(self) -> bool {
        match self {
            Self::Staged(kind) => matches!(kind, StagedKind::Create | StagedKind::NewTag | StagedKind::Delete),
            _ => true,
        }
    }

    /// Whether it consists of operations that are stopped at each call in both ways anyway.
    pub(super) fn has_parts(self) -> bool {
        matches!(self, Self::Recreate)
    }

    const DEPLOYMENTS: [Self; 14] = [
        Self::Create,
        Self::RedeployBySpec,
        Self::RedeployBySecret,
        Self::RedeployByAnnotation,
        Self::Undeploy,
        Self::Orphan,
        Self::Adoption,
        Self::Restore,
        Self::DriftCorrection,
        Self::Failure,
        Self::Repair,
        Self::RecreateAfterDisappearance,
        Self::Recreate,
        Self::CheckPost,
    ];

    pub(super) fn all() -> Vec<Self> {
        Self::DEPLOYMENTS.into_iter().chain(StagedKind::ALL.map(Self::Staged)).collect()
    }

    /// Returns its index among all kinds.
    pub(super) fn number(self) -> u64 {
        let named = format!("{self:?}");
        Self::all().iter().take_while(|kind| format!("{kind:?}") != named).count() as u64
    }

    pub(super) fn expected(self) -> Expected {
        let (creates, redeploys, there) = match self {
            Self::Create | Self::Failure | Self::RecreateAfterDisappearance | Self::Recreate => (1, 0, 1),
            Self::RedeployBySpec
            | Self::RedeployBySecret
            | Self::RedeployByAnnotation
            | Self::Adoption
            | Self::DriftCorrection
            | Self::Repair => (0, 1, 1),
            Self::Undeploy => (0, 0, 0),
            Self::Orphan | Self::Restore | Self::CheckPost => (0, 0, 1),
            Self::Staged(kind) => return kind.expected(),
        };
        let actions = u64::from(matches!(self, Self::CheckPost));
        Expected { creates, redeploys, actions, there, staged: StagedCounts::default() }
    }

    /// Whether what was done to staged connectors is what was expected.
    pub(super) fn is_as_expected(self, staged: StagedCounts) -> bool {
        match self {
            Self::Staged(kind) => kind.is_as_expected(staged),
            _ => staged == StagedCounts::default(),
        }
    }

    fn shape(self) -> Shape {
        Shape {
            level: if matches!(self, Self::Failure | Self::Repair) { FAILING } else { 0 },
            // Sent again, so that one redeploy corrects what another client wrote there.
            config: matches!(self, Self::DriftCorrection | Self::Recreate),
            adopt: matches!(self, Self::Adoption),
            orphan: matches!(self, Self::Orphan),
            correct: matches!(self, Self::DriftCorrection | Self::RecreateAfterDisappearance),
            recreate: matches!(self, Self::Recreate),
            ..Shape::default()
        }
    }

    /// Creates the initial state; the operator runs, and everything is settled.
    pub(super) async fn prepare(self, simulation: &mut Simulation) -> Result<(), String> {
        simulation.start(0, 0);
        match self {
            Self::Create | Self::Failure => {}
            Self::Staged(kind) => kind.prepare(simulation).await?,
            Self::Adoption => {
                simulation.stranger(RESOURCES[0], Foreign::Create, 0);
                simulation.pass(Duration::from_secs(100)).await;
            }
            _ => simulation.write(RESOURCES[0], self.shape()),
        }
        simulation.settle(Duration::ZERO, 0).await?;
        if matches!(self, Self::Restore) {
            simulation.stop(0).await;
            simulation.restore(RESOURCES[0]);
        }
        Ok(())
    }

    /// Makes the change that starts the operation.
    pub(super) async fn act(self, simulation: &mut Simulation) {
        let name = RESOURCES[0];
        match self {
            Self::Create | Self::Failure | Self::Adoption => simulation.write(name, self.shape()),
            Self::RedeployBySpec | Self::Repair => simulation.write(name, Shape { level: 1, ..self.shape() }),
            Self::RedeployBySecret => simulation.secret(2),
            Self::RedeployByAnnotation => simulation.annotate(name, names::REDEPLOY_REQUESTED_AT, 1),
            Self::Undeploy | Self::Orphan => simulation.delete(name),
            Self::DriftCorrection => simulation.stranger(name, Foreign::Visible, 1),
            Self::RecreateAfterDisappearance => simulation.stranger(name, Foreign::Remove, 1),
            Self::Restore => simulation.start(0, 0),
            Self::Recreate => simulation.write(name, Shape { config: false, ..self.shape() }),
            Self::CheckPost => {
                simulation.write_check(&stored(0), CheckShape { method: 1, after: true, ..CheckShape::default() });
            }
            Self::Staged(kind) => kind.act(simulation).await,
        }
    }
}
