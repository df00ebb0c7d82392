//! Projects after applying, of both kinds: which project a resource names, and who may use a shared one (rule 29).

use k8s_openapi::api::core::v1::Namespace;
use kube::api::Api;
use kube::runtime::watcher::Event;

use super::ProjectedCluster;
use crate::cli::plan::stop::Stop;
use crate::crd::{
    AllowedNamespaces, ClusterConnectProject, ConnectProject, ConnectProjectSpec, ConnectProjectStatus, NamespacesFrom,
};
use crate::operator::cluster::permissions::{NamespacePermissions, Permission};
use crate::operator::object_ref::ObjectRef;

/// A project of either kind.
pub(in crate::cli::plan) struct Project {
    /// The fields that both kinds have.
    pub(in crate::cli::plan) spec: ConnectProjectSpec,
    /// Whether it has answered the operator.
    pub(super) answers: bool,
}

impl Project {
    fn of(spec: ConnectProjectSpec, status: Option<&ConnectProjectStatus>) -> Self {
        Self { spec, answers: status.is_some_and(|status| status.last_response_at.is_some()) }
    }
}

impl ProjectedCluster {
    /// Returns a project after applying, if it exists.
    ///
    /// # Errors
    /// The condition of a resource of `namespace` that may not use it, or why it cannot be read.
    pub(in crate::cli::plan) async fn project(
        &self,
        place: &ObjectRef,
        namespace: &str,
    ) -> Result<Option<Project>, Stop> {
        if !place.kind.is_cluster_scoped() {
            let api = Api::<ConnectProject>::namespaced(self.after.clone(), &place.namespace);
            return Ok(api.get_opt(&place.name).await?.map(|it| Project::of(it.spec, it.status.as_ref())));
        }
        let found = Api::<ClusterConnectProject>::all(self.after.clone()).get_opt(&place.name).await?;
        let Some(found) = found else { return Ok(None) };
        self.allow(place, &found.spec.allowed_namespaces.clone().unwrap_or_default(), namespace).await?;
        Ok(Some(Project::of(found.spec.project, found.status.as_ref())))
    }

    /// Checks whether resources of a namespace may use a shared project.
    ///
    /// # Errors
    /// The condition of a resource that may not, or an error of the API server.
    async fn allow(&self, project: &ObjectRef, allowed: &AllowedNamespaces, namespace: &str) -> Result<(), Stop> {
        // A plan enqueues nothing.
        let permissions = NamespacePermissions::new(true);
        let _ = permissions.saw_project(&project.name, allowed);
        let is_known = match Api::<Namespace>::all(self.after.clone()).get_metadata_opt(namespace).await {
            Ok(None) => !self.settings.local,
            Err(kube::Error::Api(status)) if status.code == 403 => false,
            found => {
                let _ = found?.map(|found| permissions.note(&Event::InitApply(found)));
                true
            }
        };
        let _ = permissions.note(&Event::<Namespace>::InitDone);
        match permissions.permission(project, namespace) {
            Permission::Denied(_) if !is_known && allowed.from == NamespacesFrom::Selector => {
                let why = if self.settings.local { "the files do not contain" } else { "you may not read" };
                let why = format!(
                    "{why} the Namespace {namespace}, so its labels were not compared with spec.allowedNamespaces of {project}"
                );
                self.note(why, None);
                Ok(())
            }
            Permission::Denied(condition) => Err(condition.into()),
            Permission::Granted | Permission::Unknown => Ok(()),
        }
    }
}
