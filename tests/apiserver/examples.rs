//! Manifests that people copy: files under `examples/` and those on the pages. The API server must take each as it is.

use std::path::{Path, PathBuf};

use kube::api::{Api, ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::GroupVersionKind;
use serde_json::Value;

use crate::cluster::Sandbox;
use crate::manifests::documents;

/// Pages with manifests.
const PAGES: [&str; 7] = [
    "README.md",
    "docs/dev-server.md",
    "docs/kinds/actioncheck.md",
    "docs/kinds/connector.md",
    "docs/kinds/connectproject.md",
    "docs/kinds/connectordeployment.md",
    "docs/kinds/connectorstaged.md",
];

#[tokio::test]
async fn every_example_is_accepted_as_it_is() {
    let files = examples();
    assert!(!files.is_empty(), "there are examples");
    let sandbox = Sandbox::new().await;
    for file in files {
        let yaml = std::fs::read_to_string(&file).unwrap();
        let manifests = documents(&yaml);
        assert!(!manifests.is_empty(), "{} has manifests", file.display());
        for manifest in manifests {
            accepted(&sandbox, &file.display().to_string(), &manifest).await;
        }
    }
}

#[tokio::test]
async fn every_manifest_on_a_page_is_accepted_as_it_is() {
    let sandbox = Sandbox::new().await;
    for page in PAGES {
        let text = std::fs::read_to_string(root().join(page)).unwrap();
        let blocks = text.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
        let manifests: Vec<_> = blocks.filter(|block| block.starts_with("apiVersion:")).flat_map(documents).collect();
        assert!(!manifests.is_empty(), "{page} has manifests");
        for manifest in manifests {
            accepted(&sandbox, page, &manifest).await;
        }
    }
}

/// Applies a manifest without effect; unknown and repeated fields are refused.
async fn accepted(sandbox: &Sandbox, place: &str, manifest: &Value) {
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (api_version, kind) = (word(&manifest["apiVersion"]), word(&manifest["kind"]));
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let kind_of = GroupVersionKind::gvk(group, version, &kind);
    let ours = connect_operator::crd::all().into_iter().map(|crd| crd.spec.names).find(|names| names.kind == kind);
    let resource = match ours {
        Some(names) => ApiResource::from_gvk_with_plural(&kind_of, &names.plural),
        None => ApiResource::from_gvk(&kind_of),
    };
    let api = Api::<DynamicObject>::namespaced_with(sandbox.client.clone(), &sandbox.namespace, &resource);
    let dry = PatchParams { dry_run: true, ..PatchParams::apply("tester").validation_strict() };
    let name = word(&manifest["metadata"]["name"]);
    let answer = api.patch(&name, &dry, &Patch::Apply(manifest)).await;
    answer.unwrap_or_else(|error| panic!("{place}: {kind} {name}: {error}"));
}

fn examples() -> Vec<PathBuf> {
    let files = std::fs::read_dir(root().join("examples")).unwrap().map(|file| file.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|end| end == "yaml")).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}
