//! Regular expressions of checks, with bounds on their number and size. Matching takes time in proportion to the text
//! and to the pattern's size.

use regex_automata::meta::{BuildError, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::util::syntax;

use super::budget::{Budget, Stop};

/// Maximum regular expressions of one check, including those in paths: each needs memory.
const MOST_PATTERNS: usize = 16;
/// Longest pattern, in characters.
pub const LONGEST_PATTERN: usize = 256;
/// Largest compiled pattern, in bytes: a repetition such as `(\w{100}){100}` exceeds it.
const LARGEST: usize = 256 << 10;
/// Maximum memory for one search of a compiled pattern, in bytes; with less memory a search takes more time.
const CACHE: usize = 128 << 10;
/// How deep groups may nest.
const DEEPEST: u32 = 32;
/// Steps for one byte that any pattern reads: it may be in many states at once.
const MATCHED: usize = 16;
/// Bytes of a compiled pattern that make each byte that it reads one step more expensive: it may be in that many more
/// states. With this, the most expensive patterns were measured to take about a second for all steps of a check.
const STATES: usize = 512;

/// Compiles the patterns of one check.
#[derive(Debug)]
pub struct Compiler {
    left: usize,
}

impl Default for Compiler {
    fn default() -> Self {
        Self { left: MOST_PATTERNS }
    }
}

impl Compiler {
    /// Compiles a pattern. `whole`: it must match the whole text, not a part of it.
    ///
    /// # Errors
    /// What is wrong with the pattern, or that the check has too many.
    pub fn compile(&mut self, pattern: &str, whole: bool) -> Result<Pattern, String> {
        // Before anything is compiled: the schema permits several hundred.
        let many = || format!("the check has more than {MOST_PATTERNS} regular expressions");
        self.left = self.left.checked_sub(1).ok_or_else(many)?;
        if pattern.chars().count() > LONGEST_PATTERN {
            return Err(format!("the pattern is longer than {LONGEST_PATTERN} characters"));
        }
        let text = if whole { format!("^(?:{pattern})$") } else { pattern.to_owned() };
        let regex = build(&text).map_err(|error| {
            let large = "the pattern is too large once its repetitions are written out";
            if error.size_limit().is_some() { large } else { "the pattern is no regular expression" }.to_owned()
        })?;
        Ok(Pattern { regex, text: pattern.to_owned() })
    }
}

/// Builds an expression that only answers whether it matches: what finds groups would need many times the memory.
fn build(text: &str) -> Result<Regex, Box<BuildError>> {
    let config = Regex::config().nfa_size_limit(Some(LARGEST)).hybrid_cache_capacity(CACHE);
    let config = config.which_captures(WhichCaptures::None).onepass(false);
    // RFC 9485 section 5.4: a dot matches neither of the characters that end lines.
    let syntax = syntax::Config::new().crlf(true).nest_limit(DEEPEST);
    Regex::builder().configure(config).syntax(syntax).build(text).map_err(Box::new)
}

/// A compiled pattern.
#[derive(Debug)]
pub struct Pattern {
    regex: Regex,
    text: String,
}

impl Pattern {
    /// Returns whether the pattern matches a text.
    ///
    /// # Errors
    /// `TooMuch` when the budget is used up.
    pub fn is_match(&self, text: &str, budget: &mut Budget) -> Result<bool, Stop> {
        let steps = MATCHED + self.regex.memory_usage() / STATES;
        budget.spend(text.len().saturating_mul(steps).saturating_add(1))?;
        Ok(self.regex.is_match(text))
    }

    /// Returns the pattern as it was written.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_have_bounds_and_common_ones_are_within_them() {
        let longest = "a".repeat(256);
        for (pattern, text, part, whole) in [
            ("^[A-Z]{2}-\\d{4}$", "AB-1234", true, true),
            ("\\w+@\\w+\\.\\w+", "mail: a@b.ch", true, false),
            ("[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}", "123e4567-e89b-12d3-a456-426614174000", true, true),
            ("\\p{Lu}", "Ä", true, true),
            ("a|ab", "ab", true, true),
            ("a.b", "a\rb", false, false),
            (longest.as_str(), longest.as_str(), true, true),
        ] {
            for (is_whole, expected) in [(false, part), (true, whole)] {
                let compiled = Compiler::default().compile(pattern, is_whole).expect(pattern);
                let mut budget = Budget::of(1_000_000);
                assert_eq!(compiled.is_match(text, &mut budget), Ok(expected), "{pattern}, {is_whole}");
            }
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
            let refused = Compiler::default().compile(pattern, false).err();
            assert!(
                refused.as_ref().is_some_and(|why| why.contains(words)) || words.is_empty(),
                "{pattern}: {refused:?}"
            );
        }
    }

    #[test]
    fn a_large_pattern_uses_up_the_budget_with_a_shorter_text() {
        for (pattern, length, is_allowed) in [
            ("^[a-z]+$", 40_000, true),
            ("^[a-z]+$", 70_000, false),
            ("\\d{4}", 10_000, true),
            ("a.{200}b", 1_000, true),
            ("a.{200}b", 5_000, false),
        ] {
            let compiled = Compiler::default().compile(pattern, false).expect(pattern);
            let matched = compiled.is_match(&"a".repeat(length), &mut Budget::of(super::super::STEPS));
            assert_eq!(matched.is_ok(), is_allowed, "{pattern} over {length}");
        }
    }
}
