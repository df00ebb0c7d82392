//! Golden files: what is generated is compared with what is committed; `UPDATE_GOLDEN=1 cargo test` rewrites it.

use std::path::Path;

/// Asserts that the file at `path`, relative to the package, holds `actual`.
pub(crate) fn assert_golden(path: &str, actual: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, actual).expect("the golden file can be written");
    }
    let expected = std::fs::read_to_string(&file).unwrap_or_default();
    assert!(expected == actual, "{path} is not what the code makes: run `UPDATE_GOLDEN=1 cargo test`, then review it");
}
