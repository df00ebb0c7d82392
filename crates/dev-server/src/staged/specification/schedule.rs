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
        let yes = "0 5 * * * | */5 * * * * | 0 0 1,15 * * | 0 9-17 * * 1-5 | 0 0 5 * * * | 0 0 5 * * * 2026 | \
                   @daily | @annually, perhaps | @every 1h30m | @every 10µs | run at @hourly | 12345 | \
                   1,2,3 4,5 6 7 8 | 05 5 * * MON";
        let no = "0 5 * * MON | 0 5 * * | * * * * | 1234 | 1,2,3 | daily | @every | @every h | @every 5 h | \
                  @sometimes | 0  5  *  *  *";
        let no = no.split(" | ").chain([""]).map(|text| (text, false));
        for (text, expected) in yes.split(" | ").map(|text| (text, true)).chain(no) {
            assert_eq!(is_schedule(text), expected, "{text}");
        }
    }
}
