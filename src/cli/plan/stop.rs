//! Why a plan for a resource ends early. Pure.

use serde::Serialize;

use crate::operator::reporting::conditions::ConditionUpdate;

/// What a user has to correct first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Problem {
    /// The reason of the condition that the operator would report.
    pub(super) reason: &'static str,
    /// Its message.
    pub(super) message: String,
}

impl From<ConditionUpdate> for Problem {
    fn from(condition: ConditionUpdate) -> Self {
        Self { reason: condition.reason.as_str(), message: condition.message }
    }
}

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
