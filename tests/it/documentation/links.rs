//! Links between the pages: each leads to a file that is there.

use std::path::{Path, PathBuf};

#[test]
fn every_link_to_a_file_leads_somewhere() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut broken = Vec::new();
    let pages = pages(root);
    assert!(pages.len() > 8, "{} pages were found", pages.len());
    for page in pages {
        let text = std::fs::read_to_string(&page).unwrap();
        for link in text.split("](").skip(1).filter_map(|rest| rest.split_once(')')).map(|(link, _)| link) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") && !page.parent().unwrap().join(path).exists() {
                broken.push(format!("{}: {link}", page.strip_prefix(root).unwrap().display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Markdown files of the package and of its folders for people.
fn pages(root: &Path) -> Vec<PathBuf> {
    let mut folders: Vec<_> = ["docs", "examples", "docs/kinds", "docs/decisions", "docs/operations", "docs/runbooks"]
        .map(|name| root.join(name))
        .into();
    folders.push(root.to_owned());
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten();
    files.map(|file| file.unwrap().path()).filter(|path| path.extension().is_some_and(|end| end == "md")).collect()
}
