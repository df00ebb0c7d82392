//! What the mirror of the registry needs of its project.

use kube::ResourceExt as _;

use super::desired::Owner;
use crate::controllers::context::mirrors::MirrorReport;
use crate::controllers::kinds::project_object::ProjectObject;
use crate::controllers::reporting::conditions;
use crate::controllers::tracking::inventory::ReportedState;
use crate::crd::{ConnectProjectSpec, ConnectProjectStatus, ProjectRef};
use crate::names;

/// Returns the owner of the objects.
pub(super) fn owner<P: ProjectObject>(project: &P) -> Owner {
    let reference = ProjectRef { kind: P::REFERENCE_KIND, name: project.name_any() };
    Owner { project: reference, uid: project.uid().unwrap_or_default() }
}

/// Whether there may be Connector objects of the project.
pub(super) fn may_have_objects<P: ProjectObject>(project: &P) -> bool {
    project.reported().is_some_and(|status| status.registry.is_some())
}

/// Whether the status of the project has the reason of this report. Another replica may have written another one meanwhile.
pub(super) fn reports<P: ProjectObject>(project: &P, report: &MirrorReport) -> bool {
    let shown = project.reported().and_then(|status| conditions::reason(&status.conditions, names::REGISTRY_MIRRORED));
    shown == Some(report.condition.reason.as_str())
}

/// Returns what the status of the project reports of its mirror, for metrics; `None`: it mirrors nothing, and has no
/// objects.
#[must_use]
pub fn reported_state(spec: &ConnectProjectSpec, status: Option<&ConnectProjectStatus>) -> Option<ReportedState> {
    let status = status.filter(|status| spec.registry.is_some() || status.registry.is_some())?;
    Some(ReportedState::of(&status.conditions, names::REGISTRY_MIRRORED, None))
}
