//! Durations in specs: a whole number of hours, minutes and seconds, as in `30s`, `5m` and `1h30m`.
//!
//! The syntax is a subset of Go's, so that the validation rules can compare durations with `duration()`. The API server
//! checks [`PATTERN`]; [`parse_duration`] parses what passed.

use std::time::Duration;

use jiff::SignedDuration;

/// Pattern of a duration in the schema, together with a length of 2 to 20 characters.
pub const PATTERN: &str = r"^([0-9]{1,6}h)?([0-9]{1,6}m)?([0-9]{1,6}s)?$";

/// Parses a duration such as `30s`, `5m` or `1h30m`.
///
/// # Errors
/// A sentence for users, if the text is no duration, or a negative one.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    text.parse::<SignedDuration>().ok().and_then(|parsed| parsed.try_into().ok()).ok_or_else(|| {
        let text: String = text.chars().take(20).collect();
        format!("{text:?} is no duration: write hours, minutes and seconds in this order, as in 30s, 5m or 1h30m")
    })
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
            ("-5m", None),
            ("5d", None),
            ("30s5m", None),
            ("5m5m", None),
            ("٣s", None),
        ] {
            assert_eq!(parse_duration(text).ok(), seconds.map(Duration::from_secs), "{text:?}");
        }
    }

    #[test]
    fn an_error_names_the_expected_format_and_stays_short() {
        let error = parse_duration(&"x".repeat(5000)).expect_err("it is no duration");
        assert!(error.contains("as in 30s, 5m or 1h30m"), "{error}");
        assert!(error.len() < 200, "{error}");
    }
}
