//! Durations in specs: a whole number of hours, minutes and seconds, as in `30s`, `5m` and `1h30m`.
//!
//! The syntax is a subset of Go's, so that the validation rules can compare durations with `duration()`. The API server
//! checks [`PATTERN`]; [`parse_duration`] parses what passed.

use std::time::Duration;

use thiserror::Error;

/// Pattern of a duration in the schema, together with a length of 2 to 20 characters.
pub const PATTERN: &str = r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$";

/// Error for a string that is not a duration.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{text:?} is no duration: write hours, minutes and seconds in this order, as in 30s, 5m or 1h30m")]
pub struct InvalidDuration {
    /// The string, at most its first 20 characters.
    pub text: String,
}

/// Parses a duration such as `30s`, `5m` or `1h30m`, at most 999999 of each unit.
///
/// # Errors
/// [`InvalidDuration`] for everything that [`PATTERN`] does not match, and for the empty string.
pub fn parse_duration(text: &str) -> Result<Duration, InvalidDuration> {
    let mut seconds = 0;
    let mut rest = text;
    for (unit, length) in [('h', 3600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            seconds += whole_number(number).ok_or_else(|| invalid(text))? * length;
            rest = after;
        }
    }
    if text.is_empty() || !rest.is_empty() { Err(invalid(text)) } else { Ok(Duration::from_secs(seconds)) }
}

/// Parses one to six decimal digits.
fn whole_number(text: &str) -> Option<u64> {
    let plausible = (1..=6).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
    if plausible { text.parse().ok() } else { None }
}

fn invalid(text: &str) -> InvalidDuration {
    InvalidDuration { text: text.chars().take(20).collect() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_parsed_and_everything_else_is_refused() {
        for (text, seconds) in [
            ("30s", Some(30)),
            ("5m", Some(300)),
            ("1h30m", Some(5400)),
            ("1h1m1s", Some(3661)),
            ("2h5s", Some(7205)),
            ("0s", Some(0)),
            ("090s", Some(90)),
            ("999999h999999m999999s", Some(999_999 * 3661)),
            ("", None),
            ("5", None),
            ("m", None),
            ("5 m", None),
            ("-5m", None),
            ("+5m", None),
            ("1.5h", None),
            ("500ms", None),
            ("5d", None),
            ("30s5m", None),
            ("5m5m", None),
            ("5m ", None),
            ("5M", None),
            ("1000000s", None),
            ("٣s", None),
        ] {
            assert_eq!(parse_duration(text).ok(), seconds.map(Duration::from_secs), "{text:?}");
        }
    }

    #[test]
    fn an_error_names_the_expected_format_and_stays_short() {
        let error = parse_duration(&"x".repeat(5000)).expect_err("it is no duration").to_string();
        assert!(error.contains("as in 30s, 5m or 1h30m"), "{error}");
        assert!(error.len() < 200, "{error}");
    }
}
