//! Reads the end of a program's log for error messages.

use std::path::{Path, PathBuf};

/// Maximum number of lines in an error message.
const LAST_LINES: usize = 15;

/// Maximum number of characters of each line; kube-apiserver sometimes logs whole objects.
const LINE: usize = 400;

/// Returns the path of the log of a program.
pub(super) fn path(folder: &Path, program: &str) -> PathBuf {
    folder.join(format!("{program}.log"))
}

/// Returns the last lines of the log of a program, each truncated; empty if there is no log.
pub(super) fn last_lines(folder: &Path, program: &str) -> String {
    let text = std::fs::read(path(folder, program)).unwrap_or_default();
    end_of(&String::from_utf8_lossy(&text))
}

/// Returns the last lines of a text, each truncated.
pub(super) fn end_of(text: &str) -> String {
    let mut lines: Vec<String> =
        text.lines().rev().take(LAST_LINES).map(|line| line.chars().take(LINE).collect()).collect();
    lines.reverse();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_end_is_short_and_in_order() {
        let text: Vec<_> = (1..=100).map(|number| format!("line {number} {}", "x".repeat(1000))).collect();
        let end = end_of(&text.join("\n"));
        let lines: Vec<_> = end.lines().collect();
        assert_eq!(lines.len(), LAST_LINES);
        assert!(lines[0].starts_with("line 86 ") && lines[14].starts_with("line 100 "));
        assert!(lines.iter().all(|line| line.chars().count() == LINE));
        assert_eq!(end_of(""), "");
    }
}
