//! Whether the mirror is wanted, and of this install; and what becomes of its objects if it is not.

use std::time::Duration;

use kube::ResourceExt as _;

use super::errors::RequestError;
use super::{Reconciler, act, observe, project};
use crate::controllers::context::foreign_installs::FOREIGN_AGAIN;
use crate::controllers::context::mirrors::Asked;
use crate::controllers::kinds::project_object::ProjectObject;
use crate::controllers::reconcile::is_deleting;
use crate::leader::LeaseName;

impl<P: ProjectObject> Reconciler<'_, P> {
    /// Leaves the mirror to another install. The objects of a shared project that this process has mirrored are removed once
    /// the other install has claimed the project, if it mirrors into another namespace: they would become
    /// outdated.
    pub(super) async fn leave(&self) -> Result<Option<Duration>, RequestError> {
        let foreign = &self.context.foreign_installs;
        if self.object_ref.namespace.is_empty() && self.context.mirrors.has_begun(self.object_ref) {
            let claimed = self.object.controller().filter(|claimed| foreign.mine().as_deref() != Some(&**claimed));
            match claimed.and_then(|claimed| claimed.parse::<LeaseName>().ok()) {
                Some(other) if other.namespace != self.context.copies.namespace() => {
                    act::remove_all(&self.objects, &self.owner).await?;
                }
                None if foreign.mine().is_some() => return Ok(Some(FOREIGN_AGAIN)),
                _ => {}
            }
        }
        self.context.mirrors.forget(self.object_ref);
        Ok(None)
    }

    /// Whether the project still requests this mirror, of this install. The reconcile started with an older object; a newer
    /// one enqueues the next.
    pub(super) async fn is_wanted(&self, asked: &Asked) -> Result<bool, RequestError> {
        let project = observe::project(&self.projects, &self.object_ref.name).await?;
        let foreign = &self.context.foreign_installs;
        let is_ours = |project: &P| {
            let claimed = project.controller();
            foreign.selects(project.labels())
                && (foreign.mine().is_none() || claimed.as_deref() == foreign.mine().as_deref())
        };
        Ok(project.is_some_and(|project| {
            is_ours(&project)
                && !is_deleting(&project)
                && project::may_have_objects(&project)
                && project.project().registry.as_ref() == Some(&asked.filter)
        }))
    }

    /// Ends a reconcile whose project was deleted, or changed its filter, while objects were written; removes the
    /// objects if no mirror is requested any more.
    pub(super) async fn abandon(&self) -> Result<Option<Duration>, RequestError> {
        let project = observe::project(&self.projects, &self.object_ref.name).await?;
        if project.is_none_or(|project| is_deleting(&project) || project.project().registry.is_none()) {
            act::remove_all(&self.objects, &self.owner).await?;
        }
        Ok(None)
    }

    /// Removes the objects if no mirror is requested.
    pub(super) async fn clear(&self) -> Result<Option<Duration>, RequestError> {
        let project = observe::project(&self.projects, &self.object_ref.name).await?;
        let Some(project) = project.filter(|project| project.project().registry.is_none()) else { return Ok(None) };
        if project::may_have_objects(&project) {
            act::remove_all(&self.objects, &self.owner).await?;
            self.enqueue_project(self.context.mirrors.cleared(self.object_ref));
        } else {
            self.context.mirrors.forget(self.object_ref);
            self.context.foreign_installs.free(self.object_ref);
        }
        Ok(None)
    }
}
