//! Checks the schedule of a job (contract section 16): pure.

use std::sync::LazyLock;

use regex_automata::meta::Regex;

/// The regular expression of contract section 16.
static SCHEDULE: LazyLock<Regex> = LazyLock::new(|| {
    let cron = r"(([0-9]+,)+[0-9]+|([0-9]+|\*)(/|-)[0-9]+|[0-9]+|\*) ?";
    let names = "@(annually|yearly|monthly|weekly|daily|hourly|reboot)";
    let pattern = format!("{names}|@every ([0-9]+(ns|us|µs|ms|s|m|h))+|({cron}){{5,7}}");
    Regex::new(&pattern).expect("it is a regular expression")
});

/// Whether the text contains a match of that expression.
pub(super) fn is_schedule(text: &str) -> bool {
    SCHEDULE.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_that_contains_a_match_is_a_schedule() {
        for (text, expected) in [
            ("0 5 * * *", true),
            ("*/5 * * * *", true),
            ("0 0 1,15 * *", true),
            ("0 9-17 * * 1-5", true),
            ("0 0 5 * * *", true),
            ("0 0 5 * * * 2026", true),
            ("@daily", true),
            ("@annually, perhaps", true),
            ("@every 1h30m", true),
            ("@every 10µs", true),
            ("run at @hourly", true),
            ("12345", true),
            ("1,2,3 4,5 6 7 8", true),
            ("05 5 * * MON", true),
            ("0 5 * * MON", false),
            ("0 5 * *", false),
            ("* * * *", false),
            ("1234", false),
            ("1,2,3", false),
            ("daily", false),
            ("@every", false),
            ("@every h", false),
            ("@every 5 h", false),
            ("@sometimes", false),
            ("0  5  *  *  *", false),
            ("", false),
        ] {
            assert_eq!(is_schedule(text), expected, "{text}");
        }
    }
}
