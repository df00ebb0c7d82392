//! The tools of operators on duty: alerts, dashboard and runbooks, which use only metrics of the operator and of
//! kube-state-metrics; and the listener that serves those of the operator.

mod by_resource;
mod families;
mod listener;
mod promtool;
mod queries;
pub(crate) mod resource_metrics;

use crate::prelude::*;

/// Returns the path of a file of the chart.
fn chart(name: &str) -> PathBuf {
    in_checkout(CHART).join("files").join(name)
}
