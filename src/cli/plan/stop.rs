//! Why a plan for a resource ends early. Pure.

use crate::operator::reporting::conditions::ConditionUpdate;

/// Why the plan for a resource ends before it is simulated.
pub(in crate::cli::plan) enum Stop {
    /// The operator would report this.
    Problem(ConditionUpdate),
    /// The remote is not asked, for this reason.
    NotAsked(String),
    /// The API server returned an error.
    Failed(kube::Error),
}

impl From<ConditionUpdate> for Stop {
    fn from(condition: ConditionUpdate) -> Self {
        Self::Problem(condition)
    }
}

impl From<kube::Error> for Stop {
    fn from(error: kube::Error) -> Self {
        Self::Failed(error)
    }
}
