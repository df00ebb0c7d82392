//! The latest state of the objects of the demo, and one line of text about each.
//!
//! Reads nothing itself. Next: `follow.rs` for where the state comes from, `steps/` for what the steps wait for.

use std::collections::BTreeMap;

use crate::cli::resources::{Resource, ResourceType, findings};
use crate::crd::{ConnectorDeployment, ConnectorStaged};
use crate::names;

/// `ConnectProject` of the quickstart.
const PROJECT: &str = "shop";
/// `ConnectorDeployment` of the quickstart.
pub(super) const DEPLOYMENT: &str = "tax";
/// `ConnectorStaged` that is published.
pub(super) const STAGED: &str = "my-connector";
/// `ConnectorDeployment` that is a preview of [`STAGED`].
pub(super) const PREVIEW: &str = "my-preview";
/// `ConnectorDeployment` of the published connector.
pub(super) const LIVE: &str = "my-live";
/// `ActionCheck` that writes.
pub(super) const WRITING: &str = "add-to-cart";
/// `ActionCheck` that reads.
pub(super) const READING: &str = "get-cart";

/// Each object, with a name that no other has.
pub(super) const OBJECTS: [(ResourceType, &str); 7] = [
    (ResourceType::Project, PROJECT),
    (ResourceType::Deployment, DEPLOYMENT),
    (ResourceType::Deployment, PREVIEW),
    (ResourceType::Deployment, LIVE),
    (ResourceType::Staged, STAGED),
    (ResourceType::Check, WRITING),
    (ResourceType::Check, READING),
];

/// The latest state of each object, by name; an object that does not exist has no entry.
#[derive(Debug, Default)]
pub(super) struct ObservedObjects {
    objects: BTreeMap<&'static str, Resource>,
}

impl ObservedObjects {
    /// Stores an object, or that it does not exist.
    pub(super) fn put(&mut self, name: &'static str, object: Option<Resource>) {
        match object {
            Some(object) => drop(self.objects.insert(name, object)),
            None => drop(self.objects.remove(name)),
        }
    }

    /// Returns the object of this name.
    pub(super) fn get(&self, name: &str) -> Option<&Resource> {
        self.objects.get(name)
    }

    /// Returns the `ConnectorDeployment` of this name.
    pub(super) fn deployment(&self, name: &str) -> Option<&ConnectorDeployment> {
        let Resource::Deployment(object) = self.get(name)? else { return None };
        Some(object)
    }

    /// Returns the `ConnectorStaged` of this name.
    pub(super) fn staged(&self, name: &str) -> Option<&ConnectorStaged> {
        let Resource::Staged(object) = self.get(name)? else { return None };
        Some(object)
    }

    /// Whether a condition of the object of this name is true.
    pub(super) fn is(&self, name: &str, condition: &str) -> bool {
        self.get(name).is_some_and(|object| is_true(object, condition))
    }
}

fn is_true(object: &Resource, condition: &str) -> bool {
    object.conditions().iter().any(|it| it.type_ == condition && it.status == "True")
}

/// Summarizes an object in one line.
pub(super) fn line(object: &Resource) -> String {
    let remote = match object {
        Resource::Deployment(object) => object.status.as_ref().map(|status| {
            let remote = status.deployment_status.as_deref().unwrap_or("does not exist");
            status.version.map_or_else(|| remote.to_owned(), |version| format!("{remote} (version {version})"))
        }),
        Resource::Staged(object) => object.status.as_ref().and_then(|status| status.connector_status.clone()),
        Resource::Project(_) | Resource::ClusterProject(_) | Resource::Check(_) => None,
    };
    let ready = object.ready().map(|ready| format!("Ready={} {}", ready.status, ready.reason));
    let ready = ready.unwrap_or_else(|| "no condition yet".to_owned());
    let remote = remote.map(|remote| format!(", remote {remote}")).unwrap_or_default();
    let update = if is_true(object, names::UPDATE_AVAILABLE) { ", UpdateAvailable" } else { "" };
    format!("{} {}: {ready}{remote}{update}", object.resource_type().kind(), object.name())
}

/// Returns the report in the status of an object, one line per finding.
pub(super) fn report(object: &Resource) -> Vec<String> {
    let entries = match object {
        Resource::Deployment(object) => object.status.iter().flat_map(|status| status.report.clone()).collect(),
        Resource::Staged(object) => {
            let status = object.status.clone().unwrap_or_default();
            [status.previewable_report, status.publishing_report].concat()
        }
        Resource::Project(_) | Resource::ClusterProject(_) | Resource::Check(_) => Vec::new(),
    };
    findings(&entries).map(|finding| format!("report: {finding}")).collect()
}
