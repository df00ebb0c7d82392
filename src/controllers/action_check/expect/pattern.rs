//! Regular expressions of checks, with bounds. Matching takes time in proportion to the text and to the pattern's size.

use regex::{Regex, RegexBuilder};

/// Longest pattern, in characters.
pub const LONGEST_PATTERN: usize = 256;
/// Largest compiled pattern, in bytes: a repetition such as `(\w{100}){100}` exceeds it.
const LARGEST: usize = 256 << 10;
/// Maximum memory for one search of a compiled pattern, in bytes; with less memory a search takes more time.
const CACHE: usize = 128 << 10;
/// How deep groups may nest.
const DEEPEST: u32 = 32;

/// Compiles a pattern. `whole`: it must match the whole text, not a part of it.
///
/// # Errors
/// What is wrong with the pattern.
pub fn compile(pattern: &str, whole: bool) -> Result<Regex, String> {
    if pattern.chars().count() > LONGEST_PATTERN {
        return Err(format!("the pattern is longer than {LONGEST_PATTERN} characters"));
    }
    // RFC 9485 section 5.4: a dot matches neither of the characters that end lines.
    let text = if whole { format!("^(?:{pattern})$") } else { pattern.to_owned() };
    let mut builder = RegexBuilder::new(&text);
    builder.crlf(true).size_limit(LARGEST).dfa_size_limit(CACHE).nest_limit(DEEPEST);
    builder.build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => "the pattern is too large once its repetitions are written out".to_owned(),
        _ => "the pattern is no regular expression".to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_bounds_and_common_ones_are_within_them() {
        for (pattern, text, part, whole) in [
            ("^[A-Z]{2}-\\d{4}$", "AB-1234", true, true),
            ("\\w+@\\w+\\.\\w+", "mail: a@b.ch", true, false),
            ("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "123e4567-e89b-12d3-a456-426614174000", true, true),
            ("\\p{Lu}", "Ä", true, true),
            ("a|ab", "ab", true, true),
            ("a.b", "a\rb", false, false),
        ] {
            assert_eq!(compile(pattern, false).expect(pattern).is_match(text), part, "{pattern}");
            assert_eq!(compile(pattern, true).expect(pattern).is_match(text), whole, "{pattern}");
        }
        let long = "a".repeat(257);
        let nested = format!("{}a{}", "(".repeat(40), ")".repeat(40));
        for (pattern, words) in [
            ("(", "no regular expression"),
            ("a{2", ""),
            ("(?=a)", "no regular expression"),
            ("(\\w{100}){100}", "too large"),
            ("((a{100}){100}){100}", "too large"),
            (long.as_str(), "longer than 256"),
            (nested.as_str(), "no regular expression"),
        ] {
            let refused = compile(pattern, false).err();
            assert!(
                refused.as_ref().is_some_and(|why| why.contains(words)) || words.is_empty(),
                "{pattern}: {refused:?}"
            );
        }
    }
}
