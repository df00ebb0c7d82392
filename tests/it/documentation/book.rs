//! `docs/SUMMARY.md`: the pages for users as a book. Every other page is for contributors, and every link to a heading
//! leads to an existing one.

use crate::prelude::*;

/// Not part of the book: it is its table of contents.
const SUMMARY: &str = "SUMMARY.md";
/// Pages that list those for contributors.
const FOR_CONTRIBUTORS: [&str; 2] = ["CONTRIBUTING.md", "docs/decisions/README.md"];
/// Words that the book may have. Look for a fact that stands in two places before you raise it.
const WORDS: usize = 23_900;
/// Longest line of a page, in characters.
const LINE: usize = 140;

#[test]
fn every_page_is_in_the_book_once_or_listed_for_contributors() {
    let book = book();
    let once: BTreeSet<_> = book.iter().cloned().collect();
    assert_eq!(book.len(), once.len(), "a page is listed twice");
    let other: BTreeSet<_> = FOR_CONTRIBUTORS
        .iter()
        .map(in_checkout)
        .flat_map(|page| {
            let links = links(&text_of(&page)).into_iter();
            links.filter_map(move |link| page.parent()?.join(link.split('#').next()?).canonicalize().ok())
        })
        .collect();
    let there: BTreeSet<_> = pages().into_iter().filter(|page| !page.ends_with(SUMMARY)).collect();
    let missing: Vec<_> = there.iter().filter(|page| !once.contains(*page) && !other.contains(*page)).collect();
    let unknown: Vec<_> = once.difference(&there).collect();
    assert!(missing.is_empty() && unknown.is_empty(), "not listed: {missing:?}; missing: {unknown:?}");
}

/// The reference of a kind is generated.
#[test]
fn the_book_does_not_grow_unnoticed() {
    let words = |page: PathBuf| {
        let text = text_of(page);
        let written = text.split("\n## Reference\n").next().unwrap_or_default();
        written.split_whitespace().filter(|word| word.contains(char::is_alphanumeric)).count()
    };
    let words: usize = book().into_iter().map(words).sum();
    assert!(words <= WORDS, "the book has {words} words, and may have {WORDS}");
    assert!(words + 1000 > WORDS, "the book has only {words} words: lower WORDS");
}

/// Tables, code and the generated heads of `docs/troubleshooting.md` are exempt, and what is generated in one line.
#[test]
fn lines_of_pages_are_short() {
    for page in files(&["docs", "README.md", "CHANGELOG.md", "CONTRIBUTING.md", "ARCHITECTURE.md"], &["md"]) {
        let text = text_of(&page);
        let written = text.split("\n```").step_by(2).flat_map(str::lines);
        let is_exempt = |line: &str| line.trim_start().starts_with(['|', '*']) || line.starts_with("`token`");
        let long: Vec<_> = written.filter(|line| line.chars().count() > LINE && !is_exempt(line)).collect();
        assert!(long.is_empty(), "{}: lines of more than {LINE} characters:\n{}", page.display(), long.join("\n"));
    }
}

/// Links from the book to pages for contributors lead to the repository.
#[test]
fn a_link_that_leaves_the_book_is_redirected() {
    let config = text_of("book.toml");
    let book: BTreeSet<_> = book().into_iter().collect();
    for page in &book {
        for link in local_links(page) {
            let Ok(path) = page.parent().unwrap().join(link.split('#').next().unwrap_or_default()).canonicalize()
            else {
                continue;
            };
            let is_page = path.extension().is_some_and(|end| end == "md");
            let Ok(inner) = path.strip_prefix(docs()) else { continue };
            if is_page && !book.contains(&path) {
                let (inner, built) = (inner.display(), inner.with_extension("html"));
                let redirect = format!("\"/{}\" = \"https://github.com/", built.display());
                let leads = config
                    .lines()
                    .any(|line| line.starts_with(&redirect) && line.ends_with(&format!("/docs/{inner}\"")));
                assert!(leads, "book.toml has no redirect to {inner}, which {} names", page.display());
            }
        }
    }
}

#[test]
fn every_link_leads_to_a_file_and_to_a_heading() {
    let names = names_in("");
    let here: Vec<_> = names.iter().filter(|name| !in_checkout(name).is_dir()).map(String::as_str).collect();
    let (mut broken, mut seen) = (Vec::new(), 0);
    for page in &files(&[&here, &["docs", "examples"][..]].concat(), &["md"]) {
        for link in local_links(page) {
            let (path, heading) = link.split_once('#').map_or((&*link, None), |(path, heading)| (path, Some(heading)));
            let target =
                if path.is_empty() { in_checkout(page) } else { in_checkout(page.parent().unwrap()).join(path) };
            let text = std::fs::read_to_string(&target).unwrap_or_default();
            if !target.exists() || heading.is_some_and(|heading| !headings(&text).contains(heading)) {
                broken.push(format!("{}: {link}", page.display()));
            }
            seen += usize::from(heading.is_some());
        }
    }
    assert!(seen > 20, "{seen} links to headings were checked");
    assert_eq!(broken, Vec::<String>::new());
}

/// Checks that links stay within the book. A built book has only what is below `docs/`, and `just book` puts
/// `examples/` beside it. Markdown pages become HTML, so a link to one that is not in the book would lead nowhere.
#[test]
fn pages_of_the_book_link_to_nothing_that_a_built_book_lacks() {
    let mut broken = Vec::new();
    for page in pages() {
        for link in local_links(&page) {
            let path = page.parent().unwrap().join(link.split('#').next().unwrap_or_default());
            let Ok(path) = path.canonicalize() else { continue };
            let example = path.starts_with(docs().parent().unwrap().join("examples"));
            let markdown = path.extension().is_some_and(|end| end == "md");
            if !path.starts_with(docs()) && (markdown || !example) {
                broken.push(format!("{}: {link}", page.display()));
            }
        }
    }
    assert_eq!(broken, Vec::<String>::new());
}

/// Returns the pages of the book, in its order.
fn book() -> Vec<PathBuf> {
    links(&text_of(docs().join(SUMMARY))).into_iter().map(|link| docs().join(link)).collect()
}

fn docs() -> PathBuf {
    in_checkout("docs").canonicalize().unwrap()
}

/// Returns the pages below [`docs`].
fn pages() -> Vec<PathBuf> {
    files(&[docs().to_str().unwrap()], &["md"])
}

/// Returns the links of a page that lead to no other site.
fn local_links(page: &Path) -> impl Iterator<Item = String> {
    links(&text_of(page)).into_iter().filter(|link| !link.contains("://"))
}

/// Returns the targets of the links of a page, without text in code that only looks like a link.
fn links(text: &str) -> Vec<String> {
    let without = |text: &str, fence: &str| text.split(fence).step_by(2).collect::<String>();
    let prose = without(&without(&without(text, "\n```"), "``"), "`");
    let links = prose.split("](").skip(1).filter_map(|rest| Some(rest.split_once(')')?.0.to_owned()));
    links.collect()
}

/// Returns the anchors that forges and mdBook give to headings: lower case, no punctuation, hyphens for blanks.
fn headings(text: &str) -> BTreeSet<String> {
    let prose: Vec<_> = text.split("\n```").step_by(2).collect();
    let titles = prose.iter().flat_map(|part| part.lines()).filter(|line| line.starts_with('#'));
    titles.map(|line| anchor(line.trim_start_matches('#').trim())).collect()
}

fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|sign| sign.is_alphanumeric() || matches!(sign, ' ' | '-' | '_'));
    kept.map(|sign| if sign == ' ' { '-' } else { sign.to_ascii_lowercase() }).collect()
}
