//! Projects after applying, of both kinds: which project a resource names, who may use a shared one (rule 29), and where
//! its credentials are.

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{Api, ApiResource, ObjectMeta};
use kube::runtime::watcher::Event;

use super::ProjectedCluster;
use crate::cli::installs;
use crate::cli::plan::stop::Stop;
use crate::crd::{
    AllowedNamespaces, ClusterConnectProject, ConnectProject, ConnectProjectSpec, ConnectProjectStatus, NamespacesFrom,
};
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::permissions::{NamespacePermissions, Permission};
use crate::operator::object_ref::ObjectRef;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::problem;
use crate::operator::reporting::reason::Reason;

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
        let found = match Api::<ClusterConnectProject>::all(self.after.clone()).get_opt(&place.name).await {
            Err(kube::Error::Api(status)) if status.code == 403 => {
                return Err(hidden(&format!("ClusterConnectProject {}", place.name), &status.message).into());
            }
            found => found?,
        };
        let Some(found) = found else { return Ok(None) };
        self.allow(place, &found.spec.allowed_namespaces.clone().unwrap_or_default(), namespace).await?;
        Ok(Some(Project::of(found.spec.project, found.status.as_ref())))
    }

    /// Checks whether resources of a namespace may use a shared project.
    ///
    /// # Errors
    /// The condition of a resource that may not, or an error of the API server.
    async fn allow(&self, project: &ObjectRef, allowed: &AllowedNamespaces, namespace: &str) -> Result<(), Stop> {
        let labels = match Api::<Namespace>::all(self.after.clone()).get_metadata_opt(namespace).await {
            Ok(None) if self.settings.local => None,
            Ok(found) => Some(found.and_then(|it| it.metadata.labels).unwrap_or_default()),
            Err(kube::Error::Api(status)) if status.code == 403 => None,
            Err(error) => return Err(error.into()),
        };
        let is_known = labels.is_some();
        let permissions = NamespacePermissions::new(true);
        let metadata = ObjectMeta { name: Some(namespace.to_owned()), labels, ..ObjectMeta::default() };
        let listed = Namespace { metadata, ..Namespace::default() };
        // A plan enqueues nothing.
        for event in [Event::InitApply(listed), Event::InitDone] {
            let _ = permissions.note(&event);
        }
        let _ = permissions.saw_project(&project.name, allowed);
        match permissions.permission(project, namespace) {
            Permission::Denied(_) if !is_known && allowed.from == NamespacesFrom::Selector => {
                let why = if self.settings.local { "the files do not contain" } else { "you may not read" };
                self.note(format!(
                    "{why} the Namespace {namespace}, so its labels were not compared with spec.allowedNamespaces of {project}"
                ));
                Ok(())
            }
            Permission::Denied(condition) => Err(condition.into()),
            Permission::Granted | Permission::Unknown => Ok(()),
        }
    }

    /// Returns the Secret with the credentials of a project after applying, if it exists.
    ///
    /// # Errors
    /// The condition of a resource of the project if the Secret may not be used, or why it cannot be read.
    pub(in crate::cli::plan) async fn credentials(
        &self,
        place: &ObjectRef,
        project: &Project,
    ) -> Result<Option<Secret>, Stop> {
        let name = &project.spec.credentials_secret_ref.name;
        let namespace = if place.kind.is_cluster_scoped() {
            match installs::namespace_of_shared(&self.before, self.settings.operator_namespace.as_deref()).await {
                Ok(namespace) => namespace,
                Err(_) if self.settings.local => return Ok(None),
                Err(why) => return Err(ConditionUpdate::new(Reason::ProjectNotReady, why).into()),
            }
        } else {
            place.namespace.clone()
        };
        // Users of a namespace need not be allowed to read the credentials, and the operator may be.
        let is_written = self.overlay.has(&ApiResource::erase::<Secret>(&()), &namespace, name);
        if place.kind.is_cluster_scoped()
            && !is_written
            && let Err(kube::Error::Api(status)) = secret::read(&self.before, &namespace, name).await
            && status.code == 403
        {
            let what = format!("the Secret {namespace}/{name} with the credentials of ClusterConnectProject {place}");
            return Err(hidden(&what, &status.message).into());
        }
        match self.secret(&self.after, &namespace, name).await {
            Err(Stop::Problem(condition)) => Err(problem::of_project(place, &condition).into()),
            found => found,
        }
    }
}

/// Returns the condition for a plan that its user may not make.
fn hidden(what: &str, why: &str) -> ConditionUpdate {
    let message = format!("you may not read {what}, so it is not known what would happen: {why}");
    ConditionUpdate::new(Reason::ProjectNotReady, message)
}
