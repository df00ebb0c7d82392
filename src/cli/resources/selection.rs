//! Reads the resources that the arguments of a command select.

use crate::cli::printing::tell;
use kube::api::{DynamicObject, ListParams};
use kube::{Client, ResourceExt as _};

use crate::cli::cluster::{AllNamespaces, ClusterOptions};

use super::argument::{Selected, wanted};
use super::failure::Failed;
use super::kind::{Resource, ResourceType};

/// Heading of the options in the help.
const HEADING: &str = "Selection options";

/// Why --all-namespaces is refused beside a name.
pub(super) const NAMED_EVERYWHERE: &str = "a resource cannot be read by its name in all namespaces: use --namespace";

/// An object of the cluster, with its type.
pub(super) type Found = (ResourceType, DynamicObject);

/// The arguments that select resources.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Selection {
    /// Resources as TYPE/NAME or TYPE NAME..., such as staged/kit, cst/kit, project shop or clusterproject/shop; a NAME
    /// alone is a ConnectorDeployment. With --selector or --all: types.
    #[arg(value_name = "TYPE/NAME")]
    pub(super) resources: Vec<String>,

    /// Select resources by their labels, written as for kubectl: team=tax,tier!=test.
    #[arg(long, short = 'l', value_name = "LABELS", help_heading = HEADING)]
    selector: Option<String>,

    /// Select all resources of the types.
    #[arg(long, conflicts_with = "selector", help_heading = HEADING)]
    all: bool,

    #[command(flatten)]
    pub(super) place: ClusterOptions,

    #[command(flatten)]
    everywhere: AllNamespaces,
}

impl Selection {
    /// Returns which resources are wanted, without reading any.
    ///
    /// # Errors
    /// If an argument is invalid.
    pub(super) fn wanted(&self, types: &[ResourceType]) -> Result<Selected, Failed> {
        let wanted = wanted(&self.resources, self.selector.as_deref(), self.all, types).map_err(Failed::Argument)?;
        if self.everywhere.given && matches!(&wanted, Selected::Named(named) if is_named_everywhere(named)) {
            let why = format!("{NAMED_EVERYWHERE}, --selector or --all");
            return Err(Failed::Argument(why));
        }
        Ok(wanted)
    }

    /// Returns the namespace to look in; `None`: all. `default`: that of the context.
    pub(super) fn place<'a>(&self, default: &'a str) -> Option<&'a str> {
        (!self.everywhere.given).then_some(default)
    }

    /// Returns a client, and the selected objects. Nothing is returned unless every named resource exists.
    ///
    /// # Errors
    /// If an argument is invalid, or a resource does not exist or cannot be read.
    pub(super) async fn find(&self, types: &[ResourceType]) -> Result<(Client, Vec<Found>), Failed> {
        let wanted = self.wanted(types)?;
        let (client, namespace) = self.place.client().await.map_err(Failed::Cluster)?;
        let found = self.read(&client, &namespace, wanted).await?;
        Ok((client, found))
    }

    async fn read(&self, client: &Client, namespace: &str, wanted: Selected) -> Result<Vec<Found>, Failed> {
        let mut found = Vec::new();
        match wanted {
            Selected::Named(named) => {
                for (resource_type, name) in named {
                    found.push((resource_type, get(client, namespace, resource_type, &name).await?));
                }
            }
            Selected::Matching { types, labels } => {
                let place = self.place(namespace);
                for resource_type in types {
                    found.extend(list(client, place, resource_type, labels.as_deref()).await?);
                }
                if found.is_empty() {
                    tell!("{}", none(place));
                }
            }
        }
        Ok(found)
    }
}

/// Whether a resource is named that each namespace may have.
pub(super) fn is_named_everywhere(named: &[(ResourceType, String)]) -> bool {
    named.iter().any(|(resource_type, _)| !resource_type.is_cluster_scoped())
}

/// Returns what is printed to standard error if nothing was found.
pub(super) fn none(namespace: Option<&str>) -> String {
    match namespace {
        Some(namespace) => format!("No resources found in the namespace {namespace}."),
        None => "No resources found.".to_owned(),
    }
}

/// Reads an object.
///
/// # Errors
/// If it does not exist or cannot be read.
pub(super) async fn get(
    client: &Client,
    namespace: &str,
    resource_type: ResourceType,
    name: &str,
) -> Result<DynamicObject, Failed> {
    let found = resource_type.api(client.clone(), namespace).get_opt(name).await;
    match found.map_err(|error| Failed::of("get", resource_type, Some(namespace), error))? {
        Some(object) => Ok(object),
        None => Err(absent(client, namespace, resource_type, name).await),
    }
}

/// Reads the objects of a type; `namespace`: `None` for all.
///
/// # Errors
/// If they cannot be listed.
pub(super) async fn list(
    client: &Client,
    namespace: Option<&str>,
    resource_type: ResourceType,
    labels: Option<&str>,
) -> Result<Vec<Found>, Failed> {
    let api = match namespace {
        Some(namespace) => resource_type.api(client.clone(), namespace),
        None => resource_type.api_everywhere(client.clone()),
    };
    let parameters = ListParams { label_selector: labels.map(ToOwned::to_owned), ..ListParams::default() };
    let listed = api.list(&parameters).await.map_err(|error| Failed::of("list", resource_type, namespace, error))?;
    let types = listed.types.api_version.clone();
    // The items of a list have no types of their own.
    Ok(listed
        .items
        .into_iter()
        .map(|mut object| {
            let kind = resource_type.kind().to_owned();
            object.types.get_or_insert(kube::api::TypeMeta { api_version: types.clone(), kind });
            (resource_type, object)
        })
        .collect())
}

/// Returns the objects as the kinds of this version.
///
/// # Errors
/// If an object has a value that this version does not know.
pub(super) fn read(found: Found) -> Result<Resource, Failed> {
    let (resource_type, object) = found;
    let name = format!("{}/{}", resource_type.alias(), object.name_any());
    Resource::of(resource_type, object).map_err(|error| Failed::Unreadable(name, error.to_string()))
}

/// Returns the error for an object that does not exist; if its type does not exist either, that.
pub(super) async fn absent(client: &Client, namespace: &str, resource_type: ResourceType, name: &str) -> Failed {
    let any = resource_type.api(client.clone(), namespace).list_metadata(&ListParams::default().limit(1)).await;
    let failed = any.err().map(|error| Failed::of("list", resource_type, Some(namespace), error));
    failed.filter(|failed| matches!(failed, Failed::NotInstalled(_))).unwrap_or_else(|| Failed::Absent {
        resource: format!("{}/{name}", resource_type.alias()),
        place: resource_type.place(Some(namespace)),
    })
}
