//! Checks the schedule of a job (contract section 16): pure.

use std::collections::BTreeSet;

/// Number of bytes that are checked; a schedule does not need more.
const LONGEST: usize = 1_000;
/// Names that stand for a schedule.
const NAMES: [&str; 7] = ["annually", "yearly", "monthly", "weekly", "daily", "hourly", "reboot"];
/// Units of `@every`; longer ones with the same beginning come first.
const UNITS: [&str; 7] = ["ns", "us", "µs", "ms", "s", "m", "h"];
/// Minimum number of fields of a cron expression. More may follow, because the match can be anywhere in the text.
const FIELDS: usize = 5;

/// Whether the text contains a match of the regular expression of contract section 16:
///
/// `(@(annually|yearly|monthly|weekly|daily|hourly|reboot))|(@every (\d+(ns|us|µs|ms|s|m|h))+)|((((\d+,)+\d+|((\d+|\*)(/|-)\d+)|\d+|\*) ?){5,7})`
pub(super) fn is_schedule(text: &str) -> bool {
    let text = text.get(..text.floor_char_boundary(LONGEST)).unwrap_or(text);
    let mut starts = text.char_indices().map(|(start, _)| &text[start..]);
    starts.any(|rest| is_name(rest) || is_every(rest)) || has_fields(text.as_bytes())
}

fn is_name(text: &str) -> bool {
    text.strip_prefix('@').is_some_and(|rest| NAMES.iter().any(|name| rest.starts_with(name)))
}

fn is_every(text: &str) -> bool {
    let Some(rest) = text.strip_prefix("@every ") else { return false };
    let unit = rest.trim_start_matches(|digit: char| digit.is_ascii_digit());
    unit.len() < rest.len() && UNITS.iter().any(|name| unit.starts_with(name))
}

/// Whether the text contains [`FIELDS`] consecutive fields, each followed by at most one space. As in the regular
/// expression, the digits of a number can be split into several fields.
fn has_fields(text: &[u8]) -> bool {
    let mut reached: BTreeSet<usize> = (0..text.len()).collect();
    for _ in 0..FIELDS {
        let ends = reached.iter().flat_map(|start| ends_of_field(text, *start));
        reached =
            ends.flat_map(|end| [Some(end), (text.get(end) == Some(&b' ')).then_some(end + 1)]).flatten().collect();
    }
    !reached.is_empty()
}

/// Returns every position at which a field from `start` can end: `(\d+,)+\d+`, `(\d+|\*)(/|-)\d+`, `\d+` or `\*`.
fn ends_of_field(text: &[u8], start: usize) -> Vec<usize> {
    // Returns the position after the digits at `from`.
    let past = |from: usize| from + text[from..].iter().take_while(|sign| sign.is_ascii_digit()).count();
    let digits = past(start);
    let (mut ends, mut place) = match text.get(start) {
        Some(b'*') => (vec![start + 1], start + 1),
        _ => ((start + 1..=digits).collect(), digits),
    };
    if place == start {
        return ends;
    }
    let sign = text.get(place).copied();
    while matches!(sign, Some(b'/' | b'-' | b',')) && text.get(place).copied() == sign {
        if sign == Some(b',') && digits == start {
            break;
        }
        let end = past(place + 1);
        ends.extend(place + 2..=end);
        if end == place + 1 || sign != Some(b',') {
            break;
        }
        place = end;
    }
    ends
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
