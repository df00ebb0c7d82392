//! What `doctor` found: a line for each check, with the remedy. Pure.

use std::fmt::Write as _;

use serde::Serialize;
use serde_json::{Value, json};

use crate::cli::text::plain;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    /// Nothing to do.
    Ok,
    /// Something works less well than it could, or could not be checked.
    Warning,
    /// Something does not work until a user acts.
    Problem,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) level: Level,
    /// Name of the check.
    pub(super) check: &'static str,
    /// What was found.
    pub(super) message: String,
    /// What helps.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, message: impl Into<String>) -> Self {
        Self { level: Level::Ok, check, message: message.into(), remedy: None }
    }

    pub(super) fn new(level: Level, check: &'static str, message: String, remedy: impl Into<String>) -> Self {
        Self { level, check, message, remedy: Some(remedy.into()) }
    }
}

/// Returns how many findings have a level.
pub(super) fn count(findings: &[Finding], level: Level) -> usize {
    findings.iter().filter(|finding| finding.level == level).count()
}

/// Returns the findings as lines, and a line that counts them.
pub(super) fn text(findings: &[Finding]) -> String {
    let mut text = String::new();
    for Finding { level, check, message, remedy } in findings {
        let level = match level {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Problem => "problem",
        };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{level:<9}{check}: {}", plain(message));
        for line in remedy.iter().flat_map(|remedy| remedy.lines()) {
            let _ = writeln!(text, "{:<9}{}", "", plain(line));
        }
    }
    let number = |level, one: &str| match count(findings, level) {
        1 => format!("1 {one}"),
        count => format!("{count} {one}s"),
    };
    let _ = writeln!(text, "\n{}, {}", number(Level::Problem, "problem"), number(Level::Warning, "warning"));
    text
}

/// Returns the findings for programs.
pub(super) fn value(findings: &[Finding]) -> Value {
    json!({
        "problems": count(findings, Level::Problem),
        "warnings": count(findings, Level::Warning),
        "findings": findings,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_finding_is_a_line_and_its_remedy_stands_below() {
        let findings = [
            Finding::ok("CRDs", "all kinds are served"),
            Finding::new(Level::Problem, "Lease", "nobody\u{1b} holds it".to_owned(), "Check the pods.\nRead the log."),
        ];
        assert_eq!(
            text(&findings),
            "\
ok       CRDs: all kinds are served
problem  Lease: nobody\u{fffd} holds it
         Check the pods.
         Read the log.

1 problem, 0 warnings
"
        );
        assert_eq!(
            value(&findings),
            json!({"problems": 1, "warnings": 0, "findings": [
                {"level": "ok", "check": "CRDs", "message": "all kinds are served"},
                {"level": "problem", "check": "Lease", "message": "nobody\u{1b} holds it",
                    "remedy": "Check the pods.\nRead the log."},
            ]})
        );
    }
}
