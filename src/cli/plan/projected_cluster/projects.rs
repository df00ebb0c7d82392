//! Projects after applying, of both kinds: which project a resource names, who may use a shared one (rule 29), and where
//! its credentials are.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::ResourceExt as _;
use kube::api::{Api, ListParams, ObjectMeta};
use kube::runtime::watcher::Event;

use super::ProjectedCluster;
use crate::cli::installs;
use crate::controllers::kinds::managed_kind;
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::objects::secret;
use crate::controllers::project_access::namespace_permissions::{NamespacePermissions, Permission};
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::problem;
use crate::controllers::reporting::reason::Reason;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{ClusterConnectProject, ConnectProject, ConnectProjectSpec, ConnectProjectStatus};

/// A project of either kind.
#[derive(Clone)]
pub(in crate::cli::plan) enum Project {
    /// In the namespace of the resources that name it.
    Own(Box<ConnectProject>),
    /// For the namespaces that it allows.
    Shared(Box<ClusterConnectProject>),
}

impl Project {
    /// Returns the fields that both kinds have.
    pub(in crate::cli::plan) fn spec(&self) -> &ConnectProjectSpec {
        match self {
            Self::Own(project) => &project.spec,
            Self::Shared(project) => &project.spec.project,
        }
    }

    pub(super) fn status(&self) -> Option<&ConnectProjectStatus> {
        match self {
            Self::Own(project) => project.status.as_ref(),
            Self::Shared(project) => project.status.as_ref(),
        }
    }

    pub(super) fn object_ref(&self) -> ObjectRef {
        match self {
            Self::Own(project) => managed_kind::object_ref(&**project),
            Self::Shared(project) => managed_kind::object_ref(&**project),
        }
    }
}

/// What is known of shared projects.
pub(super) struct Shared {
    permissions: NamespacePermissions,
    /// Those in the cluster that could be read.
    projects: BTreeMap<String, ClusterConnectProject>,
    /// Those that a user may not read, with the message of the API server.
    hidden: BTreeMap<String, String>,
    /// Namespaces whose labels could not be read.
    unknown: BTreeSet<String>,
}

impl Shared {
    /// Knows no project. `enabled`: whether the operator works with shared projects.
    pub(super) fn new(enabled: bool) -> Self {
        Self {
            permissions: NamespacePermissions::new(enabled),
            projects: BTreeMap::new(),
            hidden: BTreeMap::new(),
            unknown: BTreeSet::new(),
        }
    }

    /// Records the labels of namespaces, and what the projects allow.
    fn evaluate<'a>(
        &self,
        labels: &BTreeMap<String, BTreeMap<String, String>>,
        projects: impl Iterator<Item = &'a ClusterConnectProject>,
    ) {
        // A plan enqueues nothing.
        let _ = self.permissions.note::<Namespace>(&Event::Init);
        for (name, labels) in labels {
            let metadata =
                ObjectMeta { name: Some(name.clone()), labels: Some(labels.clone()), ..ObjectMeta::default() };
            let _ = self.permissions.note(&Event::InitApply(Namespace { metadata, ..Namespace::default() }));
        }
        let _ = self.permissions.note::<Namespace>(&Event::InitDone);
        for project in projects {
            let allowed = project.spec.allowed_namespaces.clone().unwrap_or_default();
            let _ = self.permissions.saw_project(&project.name_any(), &allowed);
        }
    }

    /// Returns the condition of a resource of a namespace that may not use the project.
    fn denied(&self, project: &ObjectRef, namespace: &str) -> Option<ConditionUpdate> {
        match self.permissions.permission(project, namespace) {
            Permission::Denied(_) if self.unknown.contains(namespace) && self.permissions.is_enabled() => None,
            Permission::Denied(condition) => Some(condition),
            Permission::Granted | Permission::Unknown => None,
        }
    }
}

impl ProjectedCluster {
    /// Reads the shared projects, and the labels of the namespaces that may use them.
    pub(super) async fn read_shared(&mut self) -> Result<(), kube::Error> {
        let planned = self.planned.values().map(|it| (it.after.namespace(), &it.after.spec.project_ref));
        let staged = self.staged.values().map(|it| (it.after.namespace(), &it.after.spec.project_ref));
        let mut namespaces = BTreeSet::new();
        let mut named = BTreeSet::new();
        for (namespace, reference) in planned.chain(staged) {
            let project = ObjectRef::of_project("", reference);
            if project.kind.is_cluster_scoped() {
                named.insert(project.name.clone());
                namespaces.extend(namespace);
            }
        }
        let api = Api::<ClusterConnectProject>::all(self.client.clone());
        match api.list(&ListParams::default()).await {
            Ok(all) => self.shared.projects = all.items.into_iter().map(|it| (it.name_any(), it)).collect(),
            // Who may not list them may be allowed to read those that are named. Without the CRD there is none.
            Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => {
                for name in named {
                    match api.get_opt(&name).await {
                        Ok(found) => self.shared.projects.extend(found.map(|found| (name, found))),
                        Err(kube::Error::Api(status)) if status.code == 403 => {
                            self.shared.hidden.insert(name, status.message.clone());
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        for project in self.projects.values() {
            if let Project::Shared(project) = project {
                self.shared.projects.insert(project.name_any(), (**project).clone());
            }
        }
        if !self.shared.projects.is_empty() {
            let labels = self.labels(&namespaces).await?;
            self.shared.evaluate(&labels, self.shared.projects.values());
            self.note_unknown();
        }
        Ok(())
    }

    /// Notes the namespaces of which it is not known whether a selector matches them.
    fn note_unknown(&mut self) {
        let selects =
            |it: &ClusterConnectProject| it.spec.allowed_namespaces.as_ref().is_some_and(|it| it.selector.is_some());
        if self.shared.projects.values().any(selects) {
            let why = if self.local { "the files do not contain" } else { "you may not read" };
            self.notes.extend(self.shared.unknown.iter().map(|namespace| {
                format!(
                    "{why} the Namespace {namespace}, so its labels were not compared with spec.allowedNamespaces of \
                     ClusterConnectProjects"
                )
            }));
        }
    }

    /// Returns the labels of all namespaces after applying, or of these if the user may not list them.
    async fn labels(
        &mut self,
        named: &BTreeSet<String>,
    ) -> Result<BTreeMap<String, BTreeMap<String, String>>, kube::Error> {
        let api = Api::<Namespace>::all(self.client.clone());
        let mut labels = BTreeMap::new();
        match api.list_metadata(&ListParams::default()).await {
            Ok(all) => labels.extend(all.items.into_iter().map(|it| (it.name_any(), it.labels().clone()))),
            Err(_) if self.local => {
                let absent = named.iter().filter(|name| !self.namespaces.contains_key(*name));
                self.shared.unknown.extend(absent.cloned());
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {
                for name in named {
                    match api.get_metadata_opt(name).await {
                        Ok(found) => labels.extend(found.map(|found| (name.clone(), found.labels().clone()))),
                        Err(kube::Error::Api(status)) if status.code == 403 => {
                            self.shared.unknown.insert(name.clone());
                        }
                        Err(error) => return Err(error),
                    }
                }
            }
            Err(error) => return Err(error),
        }
        for (name, written) in &self.namespaces {
            labels.entry(name.clone()).or_default().extend(written.clone());
        }
        Ok(labels)
    }

    /// Records the projects through which resources claim keys.
    pub(super) fn note_projects(&mut self, in_namespaces: Vec<ConnectProject>) {
        let own = in_namespaces.into_iter().map(|it| Project::Own(Box::new(it)));
        let shared = self.shared.projects.values().map(|it| Project::Shared(Box::new(it.clone())));
        let all = own.chain(shared).chain(self.projects.values().cloned());
        let answers = |it: &Project| it.status().is_some_and(|status| status.last_response_at.is_some());
        let admitted = all.filter(|it| answers(it) || self.projects.contains_key(&it.object_ref()));
        self.admitted = admitted.map(|it| (it.object_ref(), it.spec().identity())).collect();
    }

    /// Returns the remote in which resources of a namespace claim keys through a project (rules 4 and 29).
    pub(super) fn admits(&self, project: &ObjectRef, namespace: &str) -> Option<RemoteIdentity> {
        let allowed = !project.kind.is_cluster_scoped()
            || self.shared.unknown.contains(namespace)
            || self.shared.permissions.namespaces(project).contains(namespace);
        self.admitted.get(project).filter(|_| allowed).cloned()
    }

    /// Returns a project after applying, if it exists. The inner error is the condition for a resource of `namespace`
    /// that may not use it, or whose project cannot be read.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(in crate::cli::plan) async fn project(
        &self,
        object_ref: &ObjectRef,
        namespace: &str,
    ) -> Result<Result<Option<Project>, ConditionUpdate>, kube::Error> {
        if object_ref.kind == Kind::ClusterProject {
            if let Some(why) = self.shared.hidden.get(&object_ref.name) {
                return Ok(Err(hidden(&format!("ClusterConnectProject {}", object_ref.name), why)));
            }
            let denied = self.shared.denied(object_ref, namespace);
            let found = self.shared.projects.get(&object_ref.name);
            return Ok(denied.map_or_else(|| Ok(found.map(|it| Project::Shared(Box::new(it.clone())))), Err));
        }
        if let Some(project) = self.projects.get(object_ref) {
            return Ok(Ok(Some(project.clone())));
        }
        let api = Api::namespaced(self.client.clone(), &object_ref.namespace);
        Ok(Ok(api.get_opt(&object_ref.name).await?.map(|found| Project::Own(Box::new(found)))))
    }

    /// Returns the Secret with the credentials of a project after applying, if it exists. The inner error is the condition
    /// that a resource of the project gets.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(in crate::cli::plan) async fn credentials(
        &self,
        object_ref: &ObjectRef,
        project: &Project,
    ) -> Result<Result<Option<Secret>, ConditionUpdate>, kube::Error> {
        let name = &project.spec().credentials_secret_ref.name;
        let Project::Shared(_) = project else {
            let found = self.secret(&object_ref.namespace, name).await?;
            return Ok(found.map_err(|condition| problem::of_project(object_ref, &condition)));
        };
        let given = self.operator_namespace.as_deref();
        let namespace = match installs::namespace_of_shared(&self.client, given).await {
            Ok(namespace) => namespace,
            Err(_) if self.local => return Ok(Ok(None)),
            Err(why) => return Ok(Err(ConditionUpdate::new(Reason::ProjectNotReady, why))),
        };
        // Users of a namespace need not be allowed to read the credentials, and the operator may be.
        if !self.contains_secret(&namespace, name)
            && let Err(kube::Error::Api(status)) = secret::read(&self.client, &namespace, name).await
            && status.code == 403
        {
            let what =
                format!("the Secret {namespace}/{name} with the credentials of ClusterConnectProject {object_ref}");
            return Ok(Err(hidden(&what, &status.message)));
        }
        let found = self.secret(&namespace, name).await?;
        Ok(found.map_err(|condition| problem::of_project(object_ref, &condition)))
    }
}

/// Returns the condition for a plan that its user may not make.
fn hidden(what: &str, why: &str) -> ConditionUpdate {
    let message = format!("you may not read {what}, so it is not known what would happen: {why}");
    ConditionUpdate::new(Reason::ProjectNotReady, message)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shared(allowed: Value) -> ClusterConnectProject {
        let mut project: ClusterConnectProject = serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ClusterConnectProject", "metadata": {"name": "shop"},
            "spec": {"projectKey": "my-shop", "region": "us-east-2.aws", "credentialsSecretRef": {"name": "login"}},
        }))
        .expect("a project");
        project.spec.allowed_namespaces = serde_json::from_value(allowed).expect("namespaces");
        project
    }

    #[test]
    fn rule_29_a_namespace_that_is_not_allowed_is_told_so_unless_its_labels_are_hidden() {
        let by_label = json!({"selector": {"matchLabels": {"team": "tax"}}});
        let labels = BTreeMap::from([("tax".to_owned(), BTreeMap::from([("team".to_owned(), "tax".to_owned())]))]);
        for (case, enabled, allowed, namespace, expected) in [
            ("allowed by its label", true, by_label.clone(), "tax", None),
            ("another", true, by_label.clone(), "oms", Some("spec.allowedNamespaces does not include")),
            ("labels that the user may not read", true, by_label.clone(), "hidden", None),
            ("allowed by its name", true, json!({"names": ["oms"]}), "oms", None),
            ("nobody is allowed", true, Value::Null, "tax", Some("spec.allowedNamespaces does not include")),
            ("an operator without shared projects", false, by_label, "tax", Some("--cluster-projects")),
            ("and hidden labels", false, json!({}), "hidden", Some("--cluster-projects")),
        ] {
            let mut known = Shared::new(enabled);
            known.unknown.insert("hidden".to_owned());
            known.evaluate(&labels, std::iter::once(&shared(allowed)));
            let denied = known.denied(&ObjectRef::cluster_project("shop"), namespace);
            match (&denied, expected) {
                (Some(condition), Some(words)) => {
                    assert_eq!(condition.reason, Reason::ProjectNotAllowed, "{case}");
                    assert!(condition.message.contains(words), "{case}: {}", condition.message);
                }
                (found, expected) => assert!(found.is_none() && expected.is_none(), "{case}: {found:?}"),
            }
        }
    }
}
