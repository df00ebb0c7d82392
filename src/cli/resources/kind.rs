//! The types of resources that commands work on, with the names that users type, and an object of one of them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use kube::api::{ApiResource, DynamicObject};
use kube::core::dynamic::ParseDynamicObjectError;
use kube::{Api, Client, CustomResourceExt as _};

use crate::crd::shared::UNSEEN;
use crate::crd::{
    ActionCheck, ClusterConnectProject, ConnectProject, ConnectProjectSpec, ConnectProjectStatus, ConnectorDeployment,
    ConnectorStaged, ProjectKind, ProjectRef,
};
use crate::names;

/// A type of resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum ResourceType {
    /// `ConnectProject`.
    Project,
    /// `ConnectorStaged`.
    Staged,
    /// `ConnectorDeployment`.
    Deployment,
    /// `ActionCheck`.
    Check,
    /// `ClusterConnectProject`, which has no namespace.
    ClusterProject,
}

impl ResourceType {
    /// Every type, in the order in which one depends on the other.
    pub(in crate::cli) const ALL: [Self; 5] =
        [Self::ClusterProject, Self::Project, Self::Staged, Self::Deployment, Self::Check];

    /// Every type, for commands for which a bare name is a `ConnectorDeployment`.
    pub(super) const DEPLOYMENTS_FIRST: [Self; 5] =
        [Self::Deployment, Self::Staged, Self::Project, Self::Check, Self::ClusterProject];

    /// Returns the type of a project that `projectRef` names.
    pub(in crate::cli) fn of_project(kind: ProjectKind) -> Self {
        match kind {
            ProjectKind::ConnectProject => Self::Project,
            ProjectKind::ClusterConnectProject => Self::ClusterProject,
        }
    }

    /// Returns whether its objects have no namespace.
    pub(in crate::cli) fn is_cluster_scoped(self) -> bool {
        self == Self::ClusterProject
    }

    /// Returns the kind.
    pub(in crate::cli) fn kind(self) -> &'static str {
        self.words()[0]
    }

    /// Returns the plural, as in URLs and RBAC rules.
    pub(super) fn plural(self) -> &'static str {
        self.words()[1]
    }

    /// Returns the word for the type in messages of this program; it accepts it as an argument too.
    pub(in crate::cli) fn alias(self) -> &'static str {
        self.words()[2]
    }

    /// Returns kind, plural, alias and short name.
    fn words(self) -> [&'static str; 4] {
        match self {
            Self::Project => ["ConnectProject", "connectprojects", "project", "ctp"],
            Self::Staged => ["ConnectorStaged", "connectorstageds", "staged", "cst"],
            Self::Deployment => ["ConnectorDeployment", "connectordeployments", "deployment", "cdep"],
            Self::Check => ["ActionCheck", "actionchecks", "check", "acheck"],
            Self::ClusterProject => ["ClusterConnectProject", "clusterconnectprojects", "clusterproject", "cctp"],
        }
    }

    /// Parses a kind, singular, plural, short name or alias, with or without the API group.
    pub(super) fn parse(word: &str) -> Option<Self> {
        let word = without_group(word).to_ascii_lowercase();
        Self::ALL.into_iter().find(|it| {
            let [kind, plural, alias, short] = it.words();
            [plural, alias, short].contains(&word.as_str())
                || kind.eq_ignore_ascii_case(&word)
                || word.strip_suffix('s') == Some(alias)
        })
    }

    fn resource(self) -> ApiResource {
        match self {
            Self::Project => ConnectProject::api_resource(),
            Self::Staged => ConnectorStaged::api_resource(),
            Self::Deployment => ConnectorDeployment::api_resource(),
            Self::Check => ActionCheck::api_resource(),
            Self::ClusterProject => ClusterConnectProject::api_resource(),
        }
    }

    /// Returns the API of this type in a namespace, which is ignored for a type that is cluster-scoped.
    pub(in crate::cli) fn api(self, client: Client, namespace: &str) -> Api<DynamicObject> {
        if self.is_cluster_scoped() {
            return self.api_everywhere(client);
        }
        Api::namespaced_with(client, namespace, &self.resource())
    }

    /// Returns the place of an object in a sentence. `namespace`: `None` for all.
    pub(super) fn place(self, namespace: Option<&str>) -> String {
        match namespace {
            _ if self.is_cluster_scoped() => "in the cluster".to_owned(),
            Some(namespace) => format!("in the namespace {namespace}"),
            None => "in all namespaces".to_owned(),
        }
    }

    /// Returns the API of this type in all namespaces.
    pub(super) fn api_everywhere(self, client: Client) -> Api<DynamicObject> {
        Api::all_with(client, &self.resource())
    }

    /// Returns the name of an object as kubectl prints it: `connectordeployment.connect-operator.io/tax`.
    pub(super) fn full_name(self, name: &str) -> String {
        format!("{}.{}/{name}", self.kind().to_ascii_lowercase(), names::GROUP)
    }
}

/// Removes the API group, with or without its version, from `connectordeployments.v1alpha1.connect-operator.io`.
fn without_group(word: &str) -> &str {
    let Some((plain, group)) = word.split_once('.') else { return word };
    let version = group.strip_suffix(names::GROUP);
    let is_known = |version: &str| {
        version.is_empty() || crate::crd::resources().iter().any(|kind| version == format!("{}.", kind.version))
    };
    if version.is_some_and(is_known) { plain } else { word }
}

/// An object of one of the types.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::cli) enum Resource {
    Project(Box<ConnectProject>),
    Staged(Box<ConnectorStaged>),
    Deployment(Box<ConnectorDeployment>),
    Check(Box<ActionCheck>),
    ClusterProject(Box<ClusterConnectProject>),
}

impl Resource {
    /// Reads an object.
    ///
    /// # Errors
    /// If it has values that this version does not know.
    pub(in crate::cli) fn of(
        resource_type: ResourceType,
        object: DynamicObject,
    ) -> Result<Self, ParseDynamicObjectError> {
        Ok(match resource_type {
            ResourceType::Project => Self::Project(Box::new(object.try_parse()?)),
            ResourceType::Staged => Self::Staged(Box::new(object.try_parse()?)),
            ResourceType::Deployment => Self::Deployment(Box::new(object.try_parse()?)),
            ResourceType::Check => Self::Check(Box::new(object.try_parse()?)),
            ResourceType::ClusterProject => Self::ClusterProject(Box::new(object.try_parse()?)),
        })
    }

    pub(in crate::cli) fn resource_type(&self) -> ResourceType {
        match self {
            Self::Project(_) => ResourceType::Project,
            Self::Staged(_) => ResourceType::Staged,
            Self::Deployment(_) => ResourceType::Deployment,
            Self::Check(_) => ResourceType::Check,
            Self::ClusterProject(_) => ResourceType::ClusterProject,
        }
    }

    pub(super) fn meta(&self) -> &ObjectMeta {
        match self {
            Self::Project(object) => &object.metadata,
            Self::Staged(object) => &object.metadata,
            Self::Deployment(object) => &object.metadata,
            Self::Check(object) => &object.metadata,
            Self::ClusterProject(object) => &object.metadata,
        }
    }

    pub(in crate::cli) fn name(&self) -> &str {
        self.meta().name.as_deref().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> &str {
        self.meta().namespace.as_deref().unwrap_or_default()
    }

    /// Returns namespace and name, or the name alone if the resource has no namespace.
    pub(super) fn full_name(&self) -> String {
        if self.resource_type().is_cluster_scoped() {
            return self.name().to_owned();
        }
        format!("{}/{}", self.namespace(), self.name())
    }

    /// Returns the resource as an argument of a command, with the option for its namespace if it has one.
    pub(super) fn argument(&self) -> String {
        let own = format!("{}/{}", self.resource_type().alias(), self.name());
        format!("{own}{}", self.namespace_option())
    }

    /// Returns the option for the namespace, with a blank before it; empty if the resource has none.
    pub(super) fn namespace_option(&self) -> String {
        if self.resource_type().is_cluster_scoped() {
            return String::new();
        }
        format!(" --namespace {}", self.namespace())
    }

    /// Returns the fields and the status that both kinds of projects have; `None` if this is no project.
    pub(super) fn as_project(&self) -> Option<(&ConnectProjectSpec, Option<&ConnectProjectStatus>)> {
        match self {
            Self::Project(object) => Some((&object.spec, object.status.as_ref())),
            Self::ClusterProject(object) => Some((&object.spec.project, object.status.as_ref())),
            Self::Staged(_) | Self::Deployment(_) | Self::Check(_) => None,
        }
    }

    /// Returns the value of an annotation.
    pub(super) fn annotation(&self, name: &str) -> Option<&str> {
        self.meta().annotations.as_ref()?.get(name).map(String::as_str)
    }

    pub(in crate::cli) fn conditions(&self) -> &[Condition] {
        let conditions = match self {
            Self::Project(object) => object.status.as_ref().map(|status| &status.conditions),
            Self::Staged(object) => object.status.as_ref().map(|status| &status.conditions),
            Self::Deployment(object) => object.status.as_ref().map(|status| &status.conditions),
            Self::Check(object) => object.status.as_ref().map(|status| &status.conditions),
            Self::ClusterProject(object) => object.status.as_ref().map(|status| &status.conditions),
        };
        conditions.map(Vec::as_slice).unwrap_or_default()
    }

    pub(in crate::cli) fn ready(&self) -> Option<&Condition> {
        self.conditions().iter().find(|condition| condition.type_ == names::READY)
    }

    /// Returns the generation that the status describes; `None`: the operator has not observed the object.
    pub(super) fn observed_generation(&self) -> Option<i64> {
        let observed = match self {
            Self::Project(object) => object.status.as_ref().map(|status| status.observed_generation),
            Self::Staged(object) => object.status.as_ref().map(|status| status.observed_generation),
            Self::Deployment(object) => object.status.as_ref().map(|status| status.observed_generation),
            Self::Check(object) => object.status.as_ref().map(|status| status.observed_generation),
            Self::ClusterProject(object) => object.status.as_ref().map(|status| status.observed_generation),
        };
        observed.filter(|observed| *observed != UNSEEN)
    }

    pub(super) fn suspend(&self) -> bool {
        match self {
            Self::Project(_) | Self::ClusterProject(_) => false,
            Self::Staged(object) => object.spec.suspend,
            Self::Deployment(object) => object.spec.suspend,
            Self::Check(object) => object.spec.suspend,
        }
    }

    /// Returns the project that the object refers to.
    pub(super) fn project(&self) -> Option<&ProjectRef> {
        match self {
            Self::Project(_) | Self::ClusterProject(_) => None,
            Self::Staged(object) => Some(&object.spec.project_ref),
            Self::Deployment(object) => Some(&object.spec.project_ref),
            Self::Check(object) => object.spec.project_ref.as_ref(),
        }
    }

    /// Returns the last value of an annotation that the operator handled.
    pub(super) fn handled(&self, annotation: &str) -> Option<&str> {
        let handled = match self {
            Self::Project(_) | Self::ClusterProject(_) => {
                let status = self.as_project().and_then(|(_, status)| status);
                let status = status.filter(|_| annotation == names::RECONCILE_REQUESTED_AT);
                status.and_then(|status| status.handled_reconcile_request.as_ref())
            }
            Self::Staged(object) => object.status.as_ref().and_then(|status| match annotation {
                names::RECONCILE_REQUESTED_AT => status.handled_reconcile_request.as_ref(),
                names::RETRY_REQUESTED_AT => status.handled_retry_request.as_ref(),
                _ => None,
            }),
            Self::Deployment(object) => object.status.as_ref().and_then(|status| match annotation {
                names::RECONCILE_REQUESTED_AT => status.handled_reconcile_request.as_ref(),
                names::REDEPLOY_REQUESTED_AT => status.handled_redeploy_request.as_ref(),
                _ => None,
            }),
            Self::Check(object) => object.status.as_ref().and_then(|status| match annotation {
                names::RERUN_REQUESTED_AT => status.handled_rerun_request.as_ref(),
                _ => None,
            }),
        };
        handled.map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    #[test]
    fn a_type_has_every_name_of_its_definition() {
        let definitions = crd::all();
        for resource_type in ResourceType::ALL {
            let definition = definitions.iter().find(|it| it.spec.names.kind == resource_type.kind());
            let names = &definition.expect("every type has a definition").spec.names;
            assert_eq!(names.plural, resource_type.plural());
            let short = names.short_names.iter().flatten();
            for word in [&names.kind, &names.plural].into_iter().chain(&names.singular).chain(short) {
                assert_eq!(ResourceType::parse(word), Some(resource_type), "{word}");
            }
            let alias = resource_type.alias();
            for word in [alias.to_owned(), format!("{alias}s"), alias.to_uppercase()] {
                assert_eq!(ResourceType::parse(&word), Some(resource_type), "{word}");
            }
        }
        for word in ["connector", "deploy", "", "deploymentss"] {
            assert_eq!(ResourceType::parse(word), None, "{word}");
        }
    }
}
