//! `staged`: prints existing staged connectors as manifests. Pure, except for the command itself.
//!
//! Applying the manifests changes nothing at the remote, because the resources are suspended.

use std::collections::BTreeSet;

use connect_api::model::{ConnectorStaged, IsPreviewable};
use connect_api::paging;
use kube::Resource as _;
use serde_json::{Value, json};

use super::export::{Export, unique};
use super::manifests::{print_manifests, report_skipped, with_keys};
use super::project::Known;
use super::{Failed, all, label};
use crate::crd::{PrivateProject, ProjectRef};

const EXAMPLES: &str = "\
Examples:
  # One staged connector
  connect-operator staged export my-connector --project shop > staged.yaml

  # All of them
  connect-operator staged export --project shop > staged.yaml";

/// Export staged connectors.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Staged {
    #[command(subcommand)]
    command: Command,
}

#[derive(Clone, Debug, clap::Subcommand)]
enum Command {
    /// Print manifests of existing staged connectors.
    ///
    /// Prints a `ConnectorStaged` for each, with `adoptionPolicy: Adopt` and `suspend: true`: applying it changes nothing at
    /// the remote until it is resumed. Nothing is published unless you add `publish`.
    #[command(after_long_help = EXAMPLES)]
    Export(Export),
}

/// Writes the manifests; reports on standard error the staged connectors that cannot be exported.
///
/// # Errors
/// If a staged connector does not exist, the API cannot be called, or a file cannot be written.
pub(in crate::cli) async fn run(Staged { command: Command::Export(arguments) }: Staged) -> Result<(), Failed> {
    let (client, known) = arguments.project.client_and_manifest().await?;
    let found = all(paging::connectors_staged(&client)).await?;
    let found = with_keys("staged connector", found, &arguments.keys, |staged| staged.key.as_ref())?;
    let (manifests, left_out) = manifests(&known, &found);
    report_skipped("staged connector", &left_out);
    print_manifests(&manifests)
}

/// Returns the manifests, and the ids of staged connectors that cannot be exported.
fn manifests(project: &Known, found: &[ConnectorStaged]) -> (Vec<Value>, Vec<String>) {
    let mut manifests: Vec<Value> = project.manifest.iter().cloned().collect();
    let (mut taken, mut left_out) = (BTreeSet::new(), Vec::new());
    for staged in found {
        let Some(key) = &staged.key else {
            left_out.push(staged.id.clone());
            continue;
        };
        manifests.push(json!({
            "apiVersion": crate::crd::ConnectorStaged::api_version(&()),
            "kind": "ConnectorStaged",
            "metadata": {"name": unique(&label(key), &mut taken)},
            "spec": spec(&project.reference, key, staged),
        }));
    }
    (manifests, left_out)
}

fn spec(project: &ProjectRef, key: &str, staged: &ConnectorStaged) -> Value {
    let mut spec = json!({
        "projectRef": project,
        "key": key,
        "name": staged.name,
        "creator": staged.creator,
        "repository": {"url": staged.repository.url, "tag": staged.repository.tag},
    });
    if !staged.description.is_empty() {
        spec["description"] = json!(staged.description);
    }
    let types: Vec<_> = staged.integration_types.iter().map(ToString::to_string).collect();
    for (member, list) in [("integrationTypes", &types), ("supportedRegions", &staged.supported_regions)] {
        if !list.is_empty() {
            spec[member] = json!(list);
        }
    }
    let projects: Vec<_> = staged.private_projects.iter().filter_map(|word| PrivateProject::parse(word)).collect();
    if !projects.is_empty() {
        spec["privateProjects"] = json!(projects);
    }
    if let Some(url) = &staged.documentation_url {
        spec["documentationUrl"] = json!(url);
    }
    if staged.is_previewable == IsPreviewable::Yes {
        spec["preview"] = json!("Request");
    }
    spec["adoptionPolicy"] = json!("Adopt");
    spec["suspend"] = json!(true);
    spec
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd;

    fn staged(change: &Value) -> ConnectorStaged {
        let mut record = json!({
            "id": "1", "key": "My_Kit", "version": 3, "name": "Kit", "creator": {"email": "dev@example.com", "company": "Example"},
            "repository": {"url": "https://example.com/kit.git", "tag": "v2"}, "status": "Draft",
        });
        for (name, value) in change.as_object().expect("members") {
            record[name] = value.clone();
        }
        serde_json::from_value(record).expect("a record")
    }

    #[test]
    fn a_staged_connector_becomes_a_manifest_that_is_suspended() {
        let known =
            Known { reference: crate::cli::resources::project_argument("shop").expect("a name"), manifest: None };
        let full = staged(&json!({
            "description": "A kit", "integrationTypes": ["tax"], "supportedRegions": ["us-east-2.aws"],
            "privateProjects": ["us-east-2.aws:shop"], "documentationUrl": "https://example.com", "isPreviewable": "true",
        }));
        let without_key = staged(&json!({"id": "77", "key": null}));
        let (manifests, left_out) = manifests(&known, &[full, staged(&json!({})), without_key]);
        assert_eq!(left_out, ["77"]);
        assert_eq!(
            manifests[0],
            json!({
                "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged", "metadata": {"name": "my-kit"},
                "spec": {
                    "projectRef": {"name": "shop"}, "key": "My_Kit", "name": "Kit", "description": "A kit",
                    "creator": {"email": "dev@example.com", "company": "Example"},
                    "repository": {"url": "https://example.com/kit.git", "tag": "v2"}, "integrationTypes": ["tax"],
                    "supportedRegions": ["us-east-2.aws"],
                    "privateProjects": [{"region": "us-east-2.aws", "projectKey": "shop"}],
                    "documentationUrl": "https://example.com", "preview": "Request", "adoptionPolicy": "Adopt", "suspend": true,
                },
            })
        );
        assert_eq!(manifests[1]["metadata"]["name"], json!("my-kit-2"));
        for manifest in manifests {
            serde_json::from_value::<crd::ConnectorStaged>(manifest).expect("it is valid");
        }
    }
}
