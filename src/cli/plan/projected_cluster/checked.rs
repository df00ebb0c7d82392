//! The manifests: each is checked, and becomes an object of the cluster after applying.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::Client;
use kube::api::{Api, ApiResource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Invalid, Planned, Settings, shown};
use crate::cli::plan::dry_run::{self, Checked, WouldBe};
use crate::cli::plan::local;
use crate::cli::plan::manifests::Document;
use crate::cli::plan::overlay::Overlay;
use crate::crd::{
    ActionCheck, AdoptionPolicy, ClusterConnectProject, ConnectProject, ConnectorDeployment, ConnectorStaged,
};
use crate::names;
use crate::operator::cluster::references::{Named, Reference};
use crate::operator::object_ref::ObjectRef;

/// Label with its name that every Namespace has (Kubernetes, well-known labels).
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The manifests, as far as they are checked.
pub(super) struct Manifests {
    pub(super) overlay: Overlay,
    pub(super) planned: BTreeMap<ObjectRef, Planned<ConnectorDeployment>>,
    pub(super) staged: BTreeMap<ObjectRef, Planned<ConnectorStaged>>,
    pub(super) invalid: Vec<Invalid>,
    pub(super) notes: Vec<String>,
    pub(super) projects: BTreeSet<ObjectRef>,
    /// Secrets and ConfigMaps.
    pub(super) objects: BTreeSet<(String, Reference)>,
    /// Namespaces whose labels are among the manifests, and those of all other manifests.
    pub(super) labelled: BTreeSet<String>,
    pub(super) namespaces: BTreeSet<String>,
    /// Objects other than deployments that the API server did not check, by reason.
    pub(super) unchecked: BTreeMap<String, Vec<String>>,
}

impl Manifests {
    /// Adds the labels of a Namespace, with the one that the API server adds, to those that it has.
    pub(super) async fn label(&mut self, before: &Client, document: &Document) {
        let found = Api::<Namespace>::all(before.clone()).get_opt(&document.name).await;
        let found = found.ok().flatten().and_then(|it| serde_json::to_value(it).ok());
        let mut after = dry_run::apply_locally(found.as_ref(), &document.body, document);
        after["metadata"]["labels"][NAMESPACE_NAME] = json!(document.name);
        self.overlay.put(&ApiResource::erase::<Namespace>(&()), "", after);
        self.labelled.insert(document.name.clone());
    }

    /// Checks a manifest, and adds it if it can be applied.
    pub(super) async fn add(
        &mut self,
        before: &Client,
        settings: &Settings,
        document: &Document,
    ) -> Result<(), kube::Error> {
        let own = document.namespace.as_deref().unwrap_or(&settings.namespace);
        let Some(kind) = kind(document) else {
            if let Some(message) = unknown_kind(document) {
                self.refuse(own, document, &message);
            }
            return Ok(());
        };
        let namespace = if document.kind == "ClusterConnectProject" { "" } else { own };
        let checked = if settings.local {
            local::check(document, namespace)
        } else {
            dry_run::check(before, &kind, namespace, document, self.labelled.contains(namespace)).await?
        };
        let taken = match checked {
            Checked::Refused(message) => Err(message),
            Checked::Taken(would_be) => self.take(settings, &kind, namespace, document, *would_be),
        };
        if let Err(message) = taken {
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
        settings: &Settings,
        kind: &ApiResource,
        namespace: &str,
        document: &Document,
        WouldBe { before, after, unchecked }: WouldBe,
    ) -> Result<(), String> {
        let name = &document.name;
        if let Some(why) = unchecked.as_ref().filter(|_| document.kind != "ConnectorDeployment") {
            self.unchecked.entry(why.clone()).or_default().push(shown(&document.kind, namespace, name));
        }
        match document.kind.as_str() {
            "ConnectorDeployment" => {
                let mut after: ConnectorDeployment = typed(after.clone())?;
                if settings.local {
                    // What exists is that of the resource, because the status with its id is in the cluster.
                    after.spec.adoption_policy = AdoptionPolicy::Adopt;
                }
                let planned = Planned { before: before.map(typed).transpose()?, after, written: true, unchecked };
                self.planned.insert(ObjectRef::deployment(namespace, name), planned);
            }
            "ConnectorStaged" => {
                let mut after: ConnectorStaged = typed(after.clone())?;
                if settings.local {
                    after.spec.adoption_policy = AdoptionPolicy::Adopt;
                }
                let planned = Planned { before: None, after, written: true, unchecked: None };
                self.staged.insert(ObjectRef::staged(namespace, name), planned);
            }
            "ConnectProject" => {
                typed::<ConnectProject>(after.clone())?;
                self.projects.insert(ObjectRef::project(namespace, name));
            }
            "ClusterConnectProject" => {
                typed::<ClusterConnectProject>(after.clone())?;
                self.projects.insert(ObjectRef::cluster_project(name));
            }
            "ActionCheck" => {
                typed::<ActionCheck>(after.clone())?;
                if before.is_none_or(|before| before["spec"] != after["spec"]) {
                    self.notes.push(format!(
                        "ActionCheck {namespace}/{name}: the operator would call its action, which plan does not do"
                    ));
                }
            }
            kind => {
                let named = if kind == "Secret" { Named::Secret } else { Named::ConfigMap };
                let is_readable = match named {
                    Named::Secret => typed::<Secret>(after.clone()).is_ok(),
                    _ => typed::<ConfigMap>(after.clone()).is_ok(),
                };
                if !is_readable {
                    // The decoder would quote what it cannot read.
                    return Err("its data are invalid".to_owned());
                }
                self.objects.insert((namespace.to_owned(), (named, name.clone())));
            }
        }
        self.namespaces.extend((!namespace.is_empty()).then(|| namespace.to_owned()));
        self.overlay.put(kind, namespace, after);
        Ok(())
    }
}

/// Returns the kind if objects of it are projected; `None` if the plan ignores them.
fn kind(document: &Document) -> Option<ApiResource> {
    match (document.group.as_str(), document.kind.as_str()) {
        ("", "Secret") => Some(ApiResource::erase::<Secret>(&())),
        ("", "ConfigMap") => Some(ApiResource::erase::<ConfigMap>(&())),
        (names::GROUP, "ConnectProject") => Some(ApiResource::erase::<ConnectProject>(&())),
        (names::GROUP, "ClusterConnectProject") => Some(ApiResource::erase::<ClusterConnectProject>(&())),
        (names::GROUP, "ConnectorDeployment") => Some(ApiResource::erase::<ConnectorDeployment>(&())),
        (names::GROUP, "ConnectorStaged") => Some(ApiResource::erase::<ConnectorStaged>(&())),
        (names::GROUP, "ActionCheck") => Some(ApiResource::erase::<ActionCheck>(&())),
        _ => None,
    }
}

/// Returns what is wrong with an object of our API group whose kind does not exist, as the API server would report it.
fn unknown_kind(document: &Document) -> Option<String> {
    let Document { group, kind, .. } = document;
    (group == names::GROUP).then(|| format!("{group} has no kind {kind}"))
}

fn typed<K: DeserializeOwned>(value: Value) -> Result<K, String> {
    serde_json::from_value(value).map_err(|error| error.to_string())
}
