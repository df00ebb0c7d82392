//! Keeps secured values out of texts that the service sends back. It hides what it was given, in the spellings that
//! servers use; it cannot know a value that was cut or changed otherwise.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::OnceLock;

use aho_corasick::{AhoCorasick, AhoCorasickKind};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use secrecy::{ExposeSecret, SecretString};

/// Stands for a value that was hidden.
pub const HIDDEN: &str = "***";
/// Stands for a text that was left out as a whole.
pub const LEFT_OUT: &str = "(text left out: it contains a secured value)";
/// Longest text that is kept, in bytes.
pub const LONGEST_TEXT: usize = 1024;
/// Values of fewer characters are not replaced: they may be part of ordinary words, and the stars would tell where.
/// The text is left out instead.
const SHORTEST_REPLACED: usize = 6;

/// Hides secured values in texts.
pub struct Masker {
    values: Vec<SecretString>,
    /// Made for the first text, because most maskers never meet one.
    search: OnceLock<Search>,
}

/// What is looked for.
struct Search {
    replaced: Option<AhoCorasick>,
    left_out: Vec<String>,
}

impl Search {
    fn new(values: &[SecretString]) -> Self {
        let (mut replaced, mut left_out) = (BTreeSet::new(), BTreeSet::new());
        for value in values.iter().map(ExposeSecret::expose_secret) {
            let trimmed = value.trim();
            if trimmed.is_empty() {
                continue;
            }
            if trimmed.chars().count() < SHORTEST_REPLACED {
                left_out.extend(spellings(trimmed));
                continue;
            }
            replaced.extend(spellings(value));
            let lines = trimmed.lines().map(str::trim).filter(|line| line.chars().count() >= SHORTEST_REPLACED);
            replaced.extend(lines.flat_map(spellings));
        }
        // The kind that is made fastest: others need minutes, and a gigabyte, for a value of 30 KB. It fails only beyond
        // 2^31 states, gigabytes of values; then every text is left out.
        let built = AhoCorasick::builder().kind(Some(AhoCorasickKind::NoncontiguousNFA)).build(&replaced);
        if built.is_err() {
            left_out.insert(String::new());
        }
        Self { replaced: built.ok().filter(|_| !replaced.is_empty()), left_out: left_out.into_iter().collect() }
    }
}

impl Masker {
    /// For these values. Empty ones are passed over; of a value with several lines each line of 6 or more characters is
    /// hidden too.
    #[must_use]
    pub fn new<'a>(values: impl IntoIterator<Item = &'a str>) -> Self {
        Self { values: values.into_iter().map(SecretString::from).collect(), search: OnceLock::new() }
    }

    fn search(&self) -> &Search {
        self.search.get_or_init(|| Search::new(&self.values))
    }

    /// Whether `text` contains none of the values.
    #[must_use]
    pub fn is_clean(&self, text: &str) -> bool {
        let search = self.search();
        !search.left_out.iter().any(|value| text.contains(value.as_str()))
            && !search.replaced.as_ref().is_some_and(|values| values.is_match(text))
    }

    /// `text` for people: without the values, without query strings and control characters, at most
    /// [`LONGEST_TEXT`] bytes.
    #[must_use]
    pub fn mask(&self, text: &str) -> String {
        let left_out = |text: &str| self.search().left_out.iter().any(|value| text.contains(value.as_str()));
        if left_out(text) {
            return LEFT_OUT.to_owned();
        }
        let text = without_queries(&self.hide(text)).replace(char::is_control, " ");
        // Once more: a value with blanks in it may have been broken into lines.
        if left_out(&text) {
            return LEFT_OUT.to_owned();
        }
        let mut text = self.hide(&text);
        text.truncate(text.floor_char_boundary(LONGEST_TEXT));
        text
    }

    fn hide(&self, text: &str) -> String {
        let Some(values) = &self.search().replaced else { return text.to_owned() };
        let mut hidden: Vec<(usize, usize)> =
            values.find_overlapping_iter(text).map(|found| (found.start(), found.end())).collect();
        hidden.sort_unstable();
        let (mut masked, mut shown_to) = (String::with_capacity(text.len()), 0);
        let mut hidden = hidden.into_iter().peekable();
        while let Some((start, mut end)) = hidden.next() {
            // Values that overlap or touch are hidden as one, else an end of the second one would stay.
            while let Some((_, further)) = hidden.next_if(|(next, _)| *next <= end) {
                end = end.max(further);
            }
            masked.push_str(&text[shown_to..start]);
            masked.push_str(HIDDEN);
            shown_to = end;
        }
        masked.push_str(&text[shown_to..]);
        masked
    }
}

impl fmt::Debug for Masker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("Masker")
    }
}

/// The value and the ways in which it may be written: in JSON, in URLs and forms, in base64.
fn spellings(value: &str) -> BTreeSet<String> {
    let json = serde_json::to_string(value).unwrap_or_default();
    let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default();
    let form: String = form_urlencoded::byte_serialize(value.as_bytes()).collect();
    let path = form.replace('+', "%20");
    [
        value.to_owned(),
        json.replace('/', "\\/"),
        ascii_only(json),
        json.to_owned(),
        lower_escapes(&form),
        lower_escapes(&path),
        form,
        path,
        STANDARD_NO_PAD.encode(value),
        URL_SAFE_NO_PAD.encode(value),
    ]
    .into_iter()
    .filter(|spelling| !spelling.is_empty())
    .collect()
}

/// JSON text with everything beyond ASCII escaped, as many serializers write it.
fn ascii_only(json: &str) -> String {
    use std::fmt::Write as _;
    let mut escaped = String::with_capacity(json.len());
    for unit in json.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii() => escaped.push(char::from(byte)),
            _ => {
                let _ = write!(escaped, "\\u{unit:04x}");
            }
        }
    }
    escaped
}

/// Percent-encoding with small hexadecimal digits.
fn lower_escapes(encoded: &str) -> String {
    let mut parts = encoded.split('%');
    let mut lower = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let (digits, rest) = part.split_at_checked(2).unwrap_or((part, ""));
        lower.push('%');
        lower.push_str(&digits.to_ascii_lowercase());
        lower.push_str(rest);
    }
    lower
}

/// Cuts the query off every URL in a text: it may be signed.
fn without_queries(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    for word in text.split_inclusive(char::is_whitespace) {
        let query = word.find("://").and_then(|scheme| word[scheme..].find('?').map(|query| scheme + query));
        kept.push_str(&word[..query.unwrap_or(word.len())]);
        if query.is_some() {
            kept.push_str(&word[word.trim_end().len()..]);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_hidden_in_every_spelling() {
        let secret = "pa\"ss/w\u{f6}rd & m+re";
        for (case, values, text, expected) in [
            ("nothing to hide", &[][..], "plain text", "plain text"),
            ("as it is", &[secret], "got pa\"ss/w\u{f6}rd & m+re!", "got ***!"),
            ("in JSON", &[secret], r#"{"v":"pa\"ss/wörd & m+re"}"#, r#"{"v":"***"}"#),
            ("in JSON of ASCII only", &[secret], r#""pa\"ss/w\u00f6rd & m+re""#, "\"***\""),
            ("in JSON with escaped slashes", &[secret], r#""pa\"ss\/wörd & m+re""#, "\"***\""),
            ("in a form", &[secret], "v=pa%22ss%2Fw%C3%B6rd+%26+m%2Bre&x", "v=***&x"),
            ("in a path, small digits", &[secret], "/pa%22ss%2fw%c3%b6rd%20%26%20m%2bre/x", "/***/x"),
            ("in base64", &["canary-value"], "Y2FuYXJ5LXZhbHVl", "***"),
            ("several times", &["canary"], "canary, canary", "***, ***"),
            ("overlapping", &["abcdef", "defghi"], "<abcdefghi>", "<***>"),
            ("one inside another", &["abcdef", "abcdefghi"], "<abcdefghi>", "<***>"),
            ("with the end of a line", &["canary\n"], "<canary>", "<***>"),
            ("a line of several", &["first line\nok\nlast line"], "last line is ok", "*** is ok"),
            ("broken across lines", &["two words"], "two\nwords", HIDDEN),
            ("short, across lines", &["a b"], "a\nb", LEFT_OUT),
            ("short: the text is left out", &["abc"], "xabcx", LEFT_OUT),
            ("short, not there", &["abc"], "ab c", "ab c"),
            ("empty", &["", " \n"], "any text", "any text"),
            ("query of a URL", &["-"], "see https://h/p?sig=1 now", "see https://h/p now"),
            ("control characters", &[], "a\u{1b}[31m\nb", "a [31m b"),
        ] {
            let masker = Masker::new(values.iter().copied());
            assert_eq!(masker.mask(text), expected, "{case}");
            let broken = case.ends_with("across lines");
            assert_eq!(masker.is_clean(text), broken || (!expected.contains(HIDDEN) && expected != LEFT_OUT), "{case}");
        }
    }

    #[test]
    fn texts_are_cut_after_hiding_so_that_no_start_of_a_value_stays() {
        let text = format!("{}\u{e4}canary-value", "x".repeat(LONGEST_TEXT - 5));
        let masked = Masker::new(["canary-value"]).mask(&text);
        assert_eq!(masked.len(), LONGEST_TEXT);
        assert!(masked.ends_with("\u{e4}***"), "{masked}");
        assert_eq!(Masker::new([]).mask(&"\u{e4}".repeat(LONGEST_TEXT)).len(), LONGEST_TEXT);
    }

    #[test]
    fn debug_shows_nothing() {
        assert_eq!(format!("{:?}", Masker::new(["canary-value"])), "Masker");
    }
}
