//! The API server accepts every manifest on every page unchanged: a dry run with strict validation.

use super::blocks;
use crate::gitops;
use crate::prelude::*;

#[tokio::test]
async fn every_manifest_on_every_page_is_accepted_unchanged() {
    let sandbox = Sandbox::new().await;
    gitops::install_foreign_kinds(&sandbox).await;
    let mut applied = 0;
    for block in blocks::in_languages(&["yaml"]).into_iter().filter(|block| block.not_checked.is_none()) {
        for manifest in documents(&block.text) {
            let kind = manifest["kind"].as_str().unwrap_or_default();
            assert!(!kind.is_empty() && manifest["apiVersion"].is_string(), "{} is no manifest", block.place());
            let answer = sandbox.dry_run(manifest).await;
            assert!(answer.is_ok(), "{}: {answer:?}", block.place());
            applied += 1;
        }
    }
    assert!(applied > 15, "{applied} manifests were applied");
}
