//! A text with its escapes decoded, together with the origin of each byte. Pure.
//!
//! Servers escape in different ways: all of a value or some of its characters, with lowercase or uppercase digits, once
//! or twice. Instead of searching for every escaped form of a value, the masker searches for the value in every decoded
//! form of the text.

use std::ops::Range;

/// How many levels of JSON escapes are decoded. A text has at most twelve decoded forms: JSON escapes decoded zero, one
/// and two times, each of them as it is, and with URL, form and HTML escapes decoded.
const UNDONE: usize = 2;
/// Maximum number of digits of a character in HTML that is decoded.
const MOST_DIGITS: usize = 6;

/// Decoded bytes, and the range of the original text that each one represents.
pub(super) struct Reading {
    pub(super) bytes: Vec<u8>,
    from: Vec<Range<usize>>,
}

impl Reading {
    fn plain(text: &str) -> Self {
        Self { bytes: text.as_bytes().to_vec(), from: (0..text.len()).map(|at| at..at + 1).collect() }
    }

    /// Calls `visit` with every distinct decoded form of a text, one after the other: each needs 17 times the memory of
    /// the text.
    pub(super) fn each(text: &str, mut visit: impl FnMut(&Self)) {
        let mut next = Some(Self::plain(text));
        for _ in 0..=UNDONE {
            let Some(reading) = next.take() else { break };
            if reading.bytes.contains(&b'%') {
                visit(&reading.undone(|bytes| percent_escape(bytes, false)));
            }
            if reading.bytes.contains(&b'+') {
                visit(&reading.undone(|bytes| percent_escape(bytes, true)));
            }
            if reading.bytes.contains(&b'&') {
                visit(&reading.undone(html_escape));
            }
            visit(&reading);
            if reading.bytes.contains(&b'\\') {
                next = Some(reading.undone(json_escape));
            }
        }
    }

    /// Returns a form for the search in base64: URL-safe digits (RFC 4648 section 5) become those of the standard
    /// alphabet, and JSON and percent escapes are decoded.
    pub(super) fn base64(text: &str) -> Self {
        let plain = Self::plain(text).undone(json_escape);
        let mut reading = plain.undone(|bytes| percent_escape(bytes, false));
        for byte in &mut reading.bytes {
            *byte = match *byte {
                b'-' => b'+',
                b'_' => b'/',
                other => other,
            };
        }
        reading
    }

    /// Returns a text with its percent escapes decoded.
    pub(super) fn without_percents(text: &str) -> String {
        let bytes = Self::plain(text).undone(|bytes| percent_escape(bytes, false)).bytes;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Replaces every escape that `escape` recognizes at the start of the remaining bytes by its decoded bytes.
    fn undone(&self, escape: impl Fn(&[u8]) -> Option<(usize, Vec<u8>)>) -> Self {
        let mut undone =
            Self { bytes: Vec::with_capacity(self.bytes.len()), from: Vec::with_capacity(self.from.len()) };
        let mut at = 0;
        while at < self.bytes.len() {
            if let Some((length, bytes)) = escape(&self.bytes[at..]) {
                let from = self.from[at].start..self.from[at + length - 1].end;
                undone.from.extend(bytes.iter().map(|_| from.clone()));
                undone.bytes.extend(bytes);
                at += length;
            } else {
                undone.from.push(self.from[at].clone());
                undone.bytes.push(self.bytes[at]);
                at += 1;
            }
        }
        undone
    }

    /// Returns the range of the original text that some bytes of this form represent.
    pub(super) fn place(&self, text: &str, found: Range<usize>) -> Range<usize> {
        let end = self.from[found.end - 1].end;
        text.floor_char_boundary(self.from[found.start].start)..text.ceil_char_boundary(end)
    }

    /// Returns whether these bytes are a whole word: no letter or digit is adjacent.
    pub(super) fn is_word(&self, found: Range<usize>) -> bool {
        let is_part = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || !byte.is_ascii());
        let before = found.start.checked_sub(1).and_then(|at| self.bytes.get(at));
        !is_part(before) && !is_part(self.bytes.get(found.end))
    }

    /// Extends the range to the whole run of base64 digits, because the digits at its ends hold bits of the value as
    /// well.
    pub(super) fn run(&self, found: Range<usize>) -> Range<usize> {
        let is_digit = |byte: &&u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/');
        let before = self.bytes[..found.start].iter().rev().take_while(is_digit).count();
        let after = &self.bytes[found.end..];
        let digits = after.iter().take_while(is_digit).count();
        let padding = after[digits..].iter().take_while(|byte| **byte == b'=').count();
        found.start - before..found.end + digits + padding
    }
}

/// Decodes `%2B` with digits of either case and, if `plus` is set, also the `+` of a form.
fn percent_escape(bytes: &[u8], plus: bool) -> Option<(usize, Vec<u8>)> {
    match bytes {
        [b'+', ..] if plus => Some((1, vec![b' '])),
        [b'%', high, low, ..] => {
            let digit = |byte: &u8| char::from(*byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
            Some((3, vec![digit(high)? << 4 | digit(low)?]))
        }
        _ => None,
    }
}

/// Decodes `&amp;`, `&lt;`, `&gt;`, `&quot;`, `&apos;`, and a character by its number of at most [`MOST_DIGITS`] digits
/// (HTML, section 13.1.4).
fn html_escape(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    const LONGEST: usize = "&#x".len() + MOST_DIGITS + ";".len();
    if bytes.first() != Some(&b'&') {
        return None;
    }
    let length = bytes.iter().take(LONGEST).position(|byte| *byte == b';')? + 1;
    let letter = match std::str::from_utf8(&bytes[1..length - 1]).ok()? {
        "amp" => '&',
        "lt" => '<',
        "gt" => '>',
        "quot" => '"',
        "apos" => '\'',
        other => {
            let number = other.strip_prefix('#')?;
            let (digits, radix) = number.strip_prefix(['x', 'X']).map_or((number, 10), |digits| (digits, 16));
            char::from_u32(u32::from_str_radix(digits, radix).ok()?)?
        }
    };
    Some((length, letter.to_string().into_bytes()))
}

/// Decodes `\n`, `\"`, `\/`, `\u00e9` and surrogate pairs (RFC 8259 section 7).
fn json_escape(bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
    let [b'\\', kind, ..] = bytes else { return None };
    let letter = match kind {
        b'"' | b'\\' | b'/' => char::from(*kind),
        b'b' => '\u{8}',
        b'f' => '\u{c}',
        b'n' => '\n',
        b'r' => '\r',
        b't' => '\t',
        b'u' => {
            let high = unit(bytes)?;
            let pair = bytes.get(6..).and_then(unit).filter(|_| (0xd800..0xdc00).contains(&high));
            let units = std::iter::once(high).chain(pair);
            let letters: Option<String> = char::decode_utf16(units).map(Result::ok).collect();
            return Some((if pair.is_some() { 12 } else { 6 }, letters?.into_bytes()));
        }
        _ => return None,
    };
    Some((2, letter.to_string().into_bytes()))
}

/// Returns the UTF-16 code unit of an escape such as `\u00e9`.
fn unit(bytes: &[u8]) -> Option<u16> {
    let [b'\\', b'u', ..] = bytes else { return None };
    let digits = std::str::from_utf8(bytes.get(2..6)?).ok()?;
    digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then(|| u16::from_str_radix(digits, 16).ok())?
}
