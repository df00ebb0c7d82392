//! Links between the pages: each leads to an existing file.

use std::path::{Path, PathBuf};

#[test]
fn every_link_to_a_file_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut broken = Vec::new();
    let pages = pages(root);
    assert!(pages.len() > 8, "{} pages were found", pages.len());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in super::book::links(&text) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !page.parent().unwrap().join(path).exists() {
                broken.push(format!("{}: {link}", page.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Returns the Markdown files of the package and of its folders for users.
fn pages(root: &Path) -> Vec<PathBuf> {
    let files = std::fs::read_dir(root).unwrap().map(|file| file.unwrap().path());
    let mut pages: Vec<_> = files.filter(|path| path.extension().is_some_and(|end| end == "md")).collect();
    pages.extend(super::book::pages(&root.join("docs")));
    pages.extend(super::book::pages(&root.join("examples")));
    pages
}
