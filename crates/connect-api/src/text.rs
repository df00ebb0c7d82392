//! Texts of others, in a form that is safe to show: this is the one place that decides which characters that is about.
//!
//! A connector's author or a report may contain characters that a terminal obeys (colours, the cursor, the
//! clipboard), that change the order in which a line is read, or that nobody sees. [`clean`] and [`one_line`] replace
//! each by U+FFFD, `�`, so that a reader sees that something was there; [`escaped`] keeps the value of JSON. The masker,
//! every message, status and Event, and every output of the command line call one of them. Pure.

use std::borrow::Cow;
use std::fmt::Write as _;

/// Maximum length of an id of others in logs and messages, and of an unknown code, in bytes.
pub const LONGEST_WORD: usize = 128;

/// Stands for a character that is not shown.
const REPLACEMENT: char = '\u{fffd}';

/// Selects the form of the character before it, as of many emoji: shown, but not alone.
fn is_variation_selector(letter: char) -> bool {
    matches!(letter, '\u{180b}'..='\u{180d}' | '\u{180f}' | '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}')
}

/// Only instructs whoever shows a text, or is not shown at all: of the category Cf, or ignorable by default (Unicode Character
/// Database, `DerivedCoreProperties.txt`), or a separator of lines or paragraphs. Those of the category Cf that are shown, such
/// as the Arabic number sign, are no part of it.
fn is_unseen(letter: char) -> bool {
    matches!(letter, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}')
        || matches!(letter, '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}')
        || matches!(letter, '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}')
        || matches!(letter, '\u{fff0}'..='\u{fffb}' | '\u{13430}'..='\u{1343f}' | '\u{1bca0}'..='\u{1bca3}')
        || matches!(letter, '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}

/// Returns whether a character is not shown to people as it is. A line break and a tab are among them.
pub fn is_unsafe(letter: char) -> bool {
    // Most letters of most texts.
    !matches!(letter, ' '..='~') && (letter.is_control() || (is_unseen(letter) && !is_variation_selector(letter)))
}

/// Returns a text without characters that are not shown, except line breaks and tabs: each becomes `�`. The line breaks of
/// Windows become those of Unix.
pub fn clean(text: &str) -> Cow<'_, str> {
    let is_kept = |letter: char| !is_unsafe(letter) || matches!(letter, '\n' | '\t');
    if text.chars().all(is_kept) {
        return Cow::Borrowed(text);
    }
    let shown = |letter| if is_kept(letter) { letter } else { REPLACEMENT };
    Cow::Owned(text.replace("\r\n", "\n").chars().map(shown).collect())
}

/// Returns a text as [`clean`] does, on one line: line breaks and tabs become blanks.
pub fn one_line(text: &str) -> String {
    clean(text).replace(['\n', '\t'], " ")
}

/// Returns JSON in which such characters of strings are escaped, as `\u202e`. Its value stays the same. A text that is
/// not JSON is not for this function.
pub fn escaped(json: &str) -> Cow<'_, str> {
    // Between the strings of JSON are no other characters of the kind than line breaks and tabs.
    let is_kept = |letter: char| !is_unsafe(letter) || matches!(letter, '\n' | '\t');
    if json.chars().all(is_kept) {
        return Cow::Borrowed(json);
    }
    let mut escaped = String::with_capacity(json.len());
    for letter in json.chars() {
        if is_kept(letter) {
            escaped.push(letter);
        } else {
            for unit in letter.encode_utf16(&mut [0; 2]) {
                // Writing to a string does not fail.
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    Cow::Owned(escaped)
}

/// Returns whether nobody sees a character: a blank, a control character, or one that is not shown.
fn is_invisible(letter: char) -> bool {
    letter.is_whitespace() || letter.is_control() || is_unseen(letter) || letter == '\u{2800}'
}

/// Returns a text without the invisible characters at its ends.
pub fn trimmed(text: &str) -> &str {
    text.trim_matches(is_invisible)
}

/// Returns whether a value begins or ends with characters that nobody sees, such as a line break or a byte order mark. Text of
/// several lines, such as a key in PEM, ends with a line break as it should, and a value of blanks only may be a separator.
pub fn has_invisible_ends(value: &str) -> bool {
    let body = value.trim_end_matches(['\r', '\n']);
    let value = if body.contains('\n') { body } else { value };
    !value.trim().is_empty() && trimmed(value) != value
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One of each kind: C0, DEL, C1, bidirectional control, separators, zero width, byte order mark, tag.
    const HOSTILE: &str = "\0\u{7}\u{8}\u{b}\r\u{1b}\u{7f}\u{85}\u{9b}\u{ad}\u{200b}\u{200e}\u{200f}\u{202a}\u{202e}\
        \u{2028}\u{2029}\u{2060}\u{2066}\u{2069}\u{feff}\u{180e}\u{3164}\u{61c}\u{e0041}";

    #[test]
    fn what_a_terminal_obeys_or_nobody_sees_is_replaced() {
        for letter in HOSTILE.chars() {
            let text = format!("a{letter}b");
            assert_eq!((clean(&text).as_ref(), one_line(&text).as_str()), ("a\u{fffd}b", "a\u{fffd}b"), "{letter:?}");
        }
        for (text, cleaned, line) in [
            ("", "", ""),
            ("plain äöü 漢字 ✓ 𝄞", "plain äöü 漢字 ✓ 𝄞", "plain äöü 漢字 ✓ 𝄞"),
            ("❤\u{fe0f}", "❤\u{fe0f}", "❤\u{fe0f}"),
            ("a\nb\tc", "a\nb\tc", "a b c"),
            ("a\r\nb\r", "a\nb\u{fffd}", "a b\u{fffd}"),
            ("\u{1b}[2Ja", "\u{fffd}[2Ja", "\u{fffd}[2Ja"),
        ] {
            assert_eq!((clean(text).as_ref(), one_line(text).as_str()), (cleaned, line), "{text:?}");
        }
    }

    #[test]
    fn json_is_escaped_and_keeps_its_value() {
        let value = serde_json::json!({ HOSTILE: [format!("\"{HOSTILE}\\"), "ä\n\t"] });
        for json in [value.to_string(), format!("{value:#}")] {
            let text = escaped(&json);
            assert_eq!(clean(&text), text, "nothing is left to replace");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&text).expect("JSON"), value);
        }
        assert!(matches!(escaped("{\"a\":\n\"b\"}"), Cow::Borrowed(_)));
    }

    #[test]
    fn invisible_characters_at_the_ends_of_a_value_are_found() {
        for (value, expected) in [
            ("token", false),
            ("to ken", false),
            ("", false),
            ("\n", false),
            (" ", false),
            ("two\nlines", false),
            ("-----BEGIN-----\nx\n-----END-----\n", false),
            ("token\n", true),
            ("token\r\n", true),
            ("\ttoken", true),
            ("token\u{a0}", true),
            ("\u{feff}token", true),
            ("\u{feff}", true),
            ("\u{feff}one\ntwo\n", true),
            ("token\u{200b}", true),
            ("token\0", true),
            ("token\u{202c}", true),
        ] {
            assert_eq!(has_invisible_ends(value), expected, "{value:?}");
        }
        assert_eq!(trimmed("\u{feff} to ken\u{200b}\n"), "to ken");
    }
}
