//! Text for pages and tables: lines, columns, ages as kubectl prints them; and JSON and YAML. Pure.

use std::fmt::Write as _;

use connect_api::text::{clean, escaped, is_unsafe, one_line};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde_json::Value;

/// Returns how long ago a time is, as kubectl prints it: `45s`, `4m30s`, `3h`, `2d`.
pub(in crate::cli) fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.as_second().saturating_sub(since.as_second()).max(0);
    let (minutes, hours, days) = (seconds / 60, seconds / 3600, seconds / 86400);
    let pair = |large: i64, unit: char, small: i64, small_unit: char| {
        if small == 0 { format!("{large}{unit}") } else { format!("{large}{unit}{small}{small_unit}") }
    };
    match seconds {
        0..120 => format!("{seconds}s"),
        120..600 => pair(minutes, 'm', seconds % 60, 's'),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => pair(hours, 'h', minutes % 60, 'm'),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => pair(days, 'd', hours % 24, 'h'),
        _ => format!("{days}d"),
    }
}

/// Returns how long ago a time of an object is; `-` if it is absent.
pub(in crate::cli) fn age_of(since: Option<&Time>, now: Timestamp) -> String {
    since.map_or_else(|| "-".to_owned(), |since| age(since.0, now))
}

/// Returns a text of others on one line, so that it cannot pass for another line of the page.
pub(in crate::cli) fn plain(text: &str) -> String {
    one_line(text.trim())
}

/// Returns a value as JSON of several lines.
pub(in crate::cli) fn json(value: &Value) -> String {
    escaped(&format!("{value:#}\n")).into_owned()
}

/// Returns a value as a YAML document.
///
/// # Errors
/// If it cannot be written.
pub(in crate::cli) fn yaml(value: &Value) -> Result<String, String> {
    let written = serde_saphyr::to_string(value).map_err(|error| error.to_string())?;
    if clean(&written) == written {
        return Ok(written);
    }
    // The library does not escape every character that is not shown. JSON is YAML, and has these in texts only.
    let shown = |letter: char| if is_unsafe(letter) { format!("\\U{:08x}", u32::from(letter)) } else { letter.into() };
    Ok(value.to_string().chars().map(shown).chain(["\n".to_owned()]).collect())
}

/// Returns a text in double quotes (YAML 1.2, section 7.3.1).
pub(in crate::cli) fn quoted(text: &str) -> String {
    let mut quoted = String::from("\"");
    for letter in text.chars() {
        // Writing to a string does not fail.
        let _ = match letter {
            '"' | '\\' => write!(quoted, "\\{letter}"),
            letter if !is_unsafe(letter) => write!(quoted, "{letter}"),
            letter if u32::from(letter) > 0xffff => write!(quoted, "\\U{:08x}", u32::from(letter)),
            letter => write!(quoted, "\\u{:04x}", u32::from(letter)),
        };
    }
    quoted.push('"');
    quoted
}

/// Returns the rows with columns of equal width, without blanks at the end of a line.
pub(in crate::cli) fn columns(rows: &[Vec<String>]) -> String {
    let count = rows.iter().map(Vec::len).max().unwrap_or_default();
    let width = |column: usize| {
        rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max().unwrap_or_default()
    };
    let widths: Vec<usize> = (0..count).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = String::new();
        for (cell, width) in row.iter().zip(&widths) {
            line.push_str(cell);
            line.extend(std::iter::repeat_n(' ', (width + 3).saturating_sub(cell.chars().count())));
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

/// The lines of a page: a label, and what stands beside and below it.
#[derive(Debug, Default)]
pub(in crate::cli) struct Lines(pub(super) Vec<Vec<String>>);

impl Lines {
    /// Adds a line, unless the text is empty.
    pub(in crate::cli) fn add(&mut self, label: &str, text: impl AsRef<str>) {
        self.list(label, [text]);
    }

    /// Adds lines of which the first has the label. Empty texts are left out.
    pub(in crate::cli) fn list(&mut self, label: &str, texts: impl IntoIterator<Item = impl AsRef<str>>) {
        let mut label = format!("{label}:");
        for text in texts {
            let text = plain(text.as_ref());
            if !text.is_empty() {
                self.0.push(vec![std::mem::take(&mut label), text]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn ages_are_as_short_as_those_of_kubectl() {
        for (seconds, expected) in [
            (-5, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (270, "4m30s"),
            (600, "10m"),
            (10_800, "3h"),
            (15_000, "4h10m"),
            (90_000, "25h"),
            (172_800, "2d"),
            (200_000, "2d7h"),
            (8_640_000, "100d"),
        ] {
            let now = Timestamp::from_second(1_800_000_000).expect("a time");
            let since = Timestamp::from_second(1_800_000_000 - seconds).expect("a time");
            assert_eq!(age(since, now), expected, "{seconds}");
        }
    }

    #[test]
    fn texts_of_others_do_not_control_the_terminal() {
        assert_eq!(plain(" a\u{1b}[2Jb\nc\td\u{9b}1m "), "a\u{fffd}[2Jb c d\u{fffd}1m");
    }

    #[test]
    fn json_and_yaml_escape_what_is_not_shown_and_keep_the_value() {
        let hostile = "\u{1b}]52;c;AA==\u{7}\u{7f}\u{9b}\u{202e}\u{200b}\u{feff}\u{2028}\u{e0041}\r\n\"\\quoted0at1. ";
        for value in [
            json!({"a": hostile, hostile: [hostile, {"b": hostile}, "plain: text"], "c": "two\nlines", "d": 7, "e": null}),
            json!([hostile.repeat(40)]),
            json!(hostile),
            json!({"a": "plain"}),
        ] {
            let (json, yaml) = (super::json(&value), yaml(&value).expect("it can be written"));
            for text in [&json, &yaml] {
                assert_eq!(connect_api::text::clean(text), *text, "nothing is left to replace");
            }
            assert_eq!(serde_json::from_str::<Value>(&json).expect("JSON"), value);
            assert_eq!(serde_saphyr::from_str::<Value>(&yaml).expect(&yaml), value, "{yaml}");
        }
    }

    #[test]
    fn columns_have_the_width_of_their_longest_cell() {
        let rows = [vec!["NAME".to_owned(), "READY".to_owned()], vec!["é├─tax".to_owned(), "True".to_owned()]];
        assert_eq!(columns(&rows), "NAME     READY\né├─tax   True\n");
    }
}
