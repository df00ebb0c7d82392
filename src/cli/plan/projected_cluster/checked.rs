//! The manifests: each is checked, and becomes an object of the cluster after applying.

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::api::{Api, ApiResource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Invalid, Planned, ProjectedCluster, shown};
use crate::cli::plan::dry_run::{self, WouldBe};
use crate::cli::plan::local;
use crate::cli::plan::manifests::Document;
use crate::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::names;
use crate::operator::cluster::references::Referenced;
use crate::operator::object_ref::{Kind, ObjectRef};

/// Label with its name that every Namespace has (Kubernetes, well-known labels).
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

impl ProjectedCluster {
    /// Adds the labels of a Namespace, with the one that the API server adds, to those that it has.
    pub(super) async fn label(&mut self, document: &Document) {
        let found = Api::<Namespace>::all(self.before.clone()).get_opt(&document.name).await;
        let found = found.ok().flatten().and_then(|it| serde_json::to_value(it).ok());
        let mut after = dry_run::apply_locally(found.as_ref(), &document.body);
        let labels = &mut after["metadata"]["labels"];
        if !labels.is_object() {
            // The API server refuses any other form.
            *labels = json!({});
        }
        labels[NAMESPACE_NAME] = json!(document.name);
        self.overlay.put(&ApiResource::erase::<Namespace>(&()), "", after);
        self.labelled.insert(document.name.clone());
    }

    /// Checks a manifest, and adds it if it can be applied.
    pub(super) async fn add(&mut self, document: &Document) -> Result<(), kube::Error> {
        let Document { group, kind, .. } = document;
        let own = document.namespace.clone().unwrap_or_else(|| self.settings.namespace.clone());
        let Some((resource, named)) = kinds(document) else {
            // As the API server would report it; the plan ignores kinds of others.
            if group == names::GROUP {
                self.refuse(&own, document, &format!("{group} has no kind {kind}"));
            }
            return Ok(());
        };
        let namespace = if named == Referenced::Object(Kind::ClusterProject) { "" } else { own.as_str() };
        let checked = if self.settings.local {
            local::check(document, namespace)
        } else {
            self.dry_run(&resource, namespace, document).await?
        };
        if let Err(message) = checked.and_then(|would_be| self.take(&resource, named, namespace, document, would_be)) {
            self.refuse(namespace, document, &message);
        }
        Ok(())
    }

    fn refuse(&mut self, namespace: &str, document: &Document, message: &str) {
        self.invalid.push(Invalid {
            kind: document.kind.clone(),
            namespace: namespace.to_owned(),
            name: document.name.clone(),
            message: format!("{message} ({})", document.origin),
        });
    }

    fn take(
        &mut self,
        resource: &ApiResource,
        named: Referenced,
        namespace: &str,
        document: &Document,
        WouldBe { before, mut after, unchecked }: WouldBe,
    ) -> Result<(), String> {
        let name = &document.name;
        if self.settings.local && matches!(named, Referenced::Object(Kind::Deployment | Kind::Staged)) {
            // What exists is that of the resource, because the status with its id is in the cluster.
            after["spec"]["adoptionPolicy"] = json!("Adopt");
        }
        match named {
            Referenced::Object(Kind::Deployment) => {
                let before = before.as_ref().map(typed::<ConnectorDeployment>).transpose()?;
                let planned = Planned { before, after: typed(&after)?, written: true };
                self.deployments.insert(ObjectRef::deployment(namespace, name), planned);
            }
            Referenced::Object(Kind::Staged) => {
                let planned = Planned { before: None, after: typed::<ConnectorStaged>(&after)?, written: true };
                self.staged.insert(ObjectRef::staged(namespace, name), planned);
            }
            Referenced::Object(Kind::Project) => drop(typed::<ConnectProject>(&after)?),
            Referenced::Object(Kind::ClusterProject) => drop(typed::<ClusterConnectProject>(&after)?),
            Referenced::Object(Kind::Check) => drop(typed::<ActionCheck>(&after)?),
            // The decoder would quote what it cannot read.
            Referenced::Secret => drop(typed::<Secret>(&after).map_err(|_| "its data are invalid")?),
            Referenced::ConfigMap => drop(typed::<ConfigMap>(&after).map_err(|_| "its data are invalid")?),
        }
        if let Some(why) = unchecked {
            self.note(why, Some(shown(&document.kind, namespace, name)));
        }
        self.applied.insert((namespace.to_owned(), (named, name.clone())));
        self.overlay.put(resource, namespace, after);
        Ok(())
    }
}

/// Returns the kind of an object that is projected; `None` if the plan ignores it.
fn kinds(document: &Document) -> Option<(ApiResource, Referenced)> {
    Some(match (document.group.as_str(), document.kind.as_str()) {
        ("", "Secret") => (ApiResource::erase::<Secret>(&()), Referenced::Secret),
        ("", "ConfigMap") => (ApiResource::erase::<ConfigMap>(&()), Referenced::ConfigMap),
        (names::GROUP, "ConnectProject") => {
            (ApiResource::erase::<ConnectProject>(&()), Referenced::Object(Kind::Project))
        }
        (names::GROUP, "ClusterConnectProject") => {
            (ApiResource::erase::<ClusterConnectProject>(&()), Referenced::Object(Kind::ClusterProject))
        }
        (names::GROUP, "ConnectorDeployment") => {
            (ApiResource::erase::<ConnectorDeployment>(&()), Referenced::Object(Kind::Deployment))
        }
        (names::GROUP, "ConnectorStaged") => {
            (ApiResource::erase::<ConnectorStaged>(&()), Referenced::Object(Kind::Staged))
        }
        (names::GROUP, "ActionCheck") => (ApiResource::erase::<ActionCheck>(&()), Referenced::Object(Kind::Check)),
        _ => return None,
    })
}

fn typed<K: DeserializeOwned>(value: &Value) -> Result<K, String> {
    serde_json::from_value(value.clone()).map_err(|error| error.to_string())
}
