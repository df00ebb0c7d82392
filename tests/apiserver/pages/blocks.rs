//! The fenced blocks of all pages, and the marker of blocks that are not checked.

use crate::prelude::*;

/// A comment on the line before a block that cannot be checked; the reason follows.
const NOT_CHECKED: &str = "<!-- not checked: ";

/// A fenced block.
#[derive(Clone, Debug)]
pub(super) struct Block {
    /// Its page, relative to the package.
    pub(super) page: String,
    /// The line of its opening fence, from 1.
    pub(super) line: usize,
    /// The word after the fence.
    pub(super) language: String,
    /// Its lines, without their common indentation.
    pub(super) text: String,
    /// The reason why it is not checked.
    pub(super) not_checked: Option<String>,
}

impl Block {
    /// Its page and line, for messages.
    pub(super) fn place(&self) -> String {
        format!("{}:{}", self.page, self.line)
    }
}

/// Every block in one of these languages.
pub(super) fn in_languages(languages: &[&str]) -> Vec<Block> {
    let pages = files(&["README.md", "CONTRIBUTING.md", "docs", "examples", "charts", "deploy"], &["md"]);
    let mut found: Vec<_> = pages.iter().flat_map(|page| of(page.to_str().unwrap(), &text_of(page))).collect();
    assert!(found.len() > 80, "{} blocks", found.len());
    found.retain(|block| languages.contains(&block.language.as_str()));
    found
}

/// Returns the blocks of a page.
pub(super) fn of(page: &str, text: &str) -> Vec<Block> {
    let lines: Vec<_> = text.lines().collect();
    let mut blocks = Vec::new();
    let mut at = 0;
    while at < lines.len() {
        let Some(language) = lines[at].trim_start().strip_prefix("```") else {
            at += 1;
            continue;
        };
        let indent = lines[at].len() - lines[at].trim_start().len();
        let begins = at;
        let ends = (at + 1..lines.len()).find(|line| lines[*line].trim() == "```");
        let ends = ends.unwrap_or_else(|| panic!("{page}:{}: the block has no end", begins + 1));
        let inner = lines[begins + 1..ends].iter().map(|line| line.get(indent..).unwrap_or_default());
        let before = lines[..begins].iter().rev().find(|line| !line.trim().is_empty());
        let marker = before.and_then(|line| line.trim().strip_prefix(NOT_CHECKED)?.strip_suffix(" -->"));
        blocks.push(Block {
            page: page.to_owned(),
            line: begins + 1,
            language: language.to_owned(),
            text: inner.flat_map(|line| [line, "\n"]).collect(),
            not_checked: marker.map(ToOwned::to_owned),
        });
        at = ends + 1;
    }
    blocks
}

/// Few blocks are not checked, and each has a reason. Five of them profile release builds, on one page.
#[test]
fn few_blocks_are_not_checked() {
    let all = in_languages(&["sh", "console", "yaml"]);
    let left_out: Vec<_> = all.iter().filter(|block| block.not_checked.is_some()).collect();
    for block in &left_out {
        eprintln!("not checked: {}: {}", block.place(), block.not_checked.as_deref().unwrap_or_default());
    }
    assert!(left_out.len() <= 17, "{} of {} blocks are not checked", left_out.len(), all.len());
}
