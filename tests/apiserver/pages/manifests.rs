//! The API server accepts every manifest on every page unchanged: a dry run with strict validation.

use serde_json::Value;

use super::blocks;
use crate::cluster::Sandbox;
use crate::gitops;
use crate::manifests::documents;

#[tokio::test]
async fn every_manifest_on_every_page_is_accepted_unchanged() {
    let sandbox = Sandbox::new().await;
    gitops::install_foreign_kinds(&sandbox).await;
    let mut applied = 0;
    for block in blocks::in_languages(&["yaml"]).into_iter().filter(|block| block.not_checked.is_none()) {
        for manifest in documents(&block.text) {
            let kind = manifest["kind"].as_str().unwrap_or_default();
            assert!(!kind.is_empty() && manifest["apiVersion"].is_string(), "{} is no manifest", block.place());
            let answer = accepted(&sandbox, manifest.clone()).await;
            assert!(answer.is_ok(), "{}: {answer:?}", block.place());
            applied += 1;
        }
    }
    assert!(applied > 15, "{applied} manifests were applied");
}

/// Applies it as a dry run in the namespace of the sandbox; unknown and duplicate fields are refused.
async fn accepted(sandbox: &Sandbox, mut manifest: Value) -> Result<(), String> {
    if let Some(metadata) = manifest["metadata"].as_object_mut() {
        metadata.remove("namespace");
    }
    let arguments = ["apply", "--server-side", "--dry-run=server", "--validate=strict", "--filename", "-"];
    let output = sandbox.kubectl(&arguments, &manifest.to_string()).await;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8(output.stderr).unwrap()) }
}
