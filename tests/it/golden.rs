//! Golden files: generated content is compared with the committed one; `UPDATE_GOLDEN=1 cargo test` rewrites it.

use std::sync::PoisonError;

use crate::prelude::*;

/// Held while parts of a page are replaced: several tests write parts of one page.
static PARTS: Mutex<()> = Mutex::new(());

/// Asserts that the file at `path`, relative to the package, contains `actual`.
pub(crate) fn assert_golden(path: &str, actual: &str) {
    let file = in_checkout(path);
    let mut expected = std::fs::read_to_string(&file).unwrap_or_default();
    // A file that is already right is not written: another test may read it at the same time.
    if expected != actual && std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(&file, actual).expect("the golden file can be written");
        actual.clone_into(&mut expected);
    }
    assert!(expected == actual, "{path} is outdated: run `UPDATE_GOLDEN=1 cargo test`, then review it");
}

/// Asserts that the named parts of the page at `path` have the given contents. The rest of the page is handwritten. A
/// part stands between `<!-- generated: NAME -->` and `<!-- end: NAME -->`, in YAML between such comments with `#`.
pub(crate) fn assert_golden_parts(path: &str, parts: &[(&str, String)]) {
    let _turn = PARTS.lock().unwrap_or_else(PoisonError::into_inner);
    let mut page = text_of(path);
    let yaml = Path::new(path).extension().is_some_and(|extension| extension == "yaml");
    let (open, close) = if yaml { ("#", "") } else { ("<!--", " -->") };
    for (name, content) in parts {
        let (begin, end) = (format!("{open} generated: {name}{close}\n"), format!("{open} end: {name}{close}"));
        let whole = page.split_once(&begin).and_then(|(before, rest)| Some((before, rest.split_once(&end)?.1)));
        let (before, after) = whole.unwrap_or_else(|| panic!("{path} has no part `{name}`"));
        page = format!("{before}{begin}\n{}\n\n{end}{after}", content.trim_end());
    }
    assert_golden(path, &page);
}
