//! Searches a text for many patterns at once, in time and memory that the text bounds. Pure.

use std::collections::BTreeSet;
use std::ops::Range;

use aho_corasick::automaton::Automaton as _;
use aho_corasick::nfa::noncontiguous::NFA;
use aho_corasick::{Anchored, BuildError, Input};

/// Memory for each byte of a pattern while an automaton is built, in bytes: a state, a transition, and space to grow.
const STATE: usize = 64;
/// Memory for each pattern that ends at a state, in bytes.
const MATCH: usize = 8;

/// Ranges that neither overlap nor touch, in order of position.
#[derive(Default)]
pub(super) struct Places(Vec<Range<usize>>);

impl Places {
    /// Adds a range that ends where the last one ends, or later.
    pub(super) fn add(&mut self, mut place: Range<usize>) {
        while let Some(last) = self.0.pop_if(|last| place.start <= last.end) {
            place = last.start.min(place.start)..place.end;
        }
        self.0.push(place);
    }

    /// Adds ranges.
    pub(super) fn join(&mut self, other: Self) {
        let mut all = std::mem::take(&mut self.0);
        all.extend(other.0);
        all.sort_unstable_by_key(|place| place.end);
        for place in all {
            self.add(place);
        }
    }

    pub(super) fn into_ranges(self) -> Vec<Range<usize>> {
        self.0
    }
}

/// Returns an upper bound of the memory that [`Automaton::new`] needs, in bytes.
pub(super) fn memory(patterns: &BTreeSet<String>) -> usize {
    patterns.iter().map(String::len).sum::<usize>() * (STATE + MATCH * nesting(patterns))
}

/// Returns how many patterns end with one another at most, as `hunter`, `my-hunter` and `not-my-hunter` do. A state of
/// the automaton may list all of them.
fn nesting(patterns: &BTreeSet<String>) -> usize {
    let mut patterns: Vec<&str> = patterns.iter().map(String::as_str).collect();
    patterns.sort_unstable_by(|one, other| one.bytes().rev().cmp(other.bytes().rev()));
    let (mut endings, mut most) = (Vec::<&str>::new(), 0);
    for pattern in patterns {
        while endings.pop_if(|ending| !pattern.ends_with(*ending)).is_some() {}
        endings.push(pattern);
        most = most.max(endings.len());
    }
    most
}

/// Finds patterns in bytes.
#[derive(Default)]
pub(super) struct Automaton(Option<NFA>);

impl Automaton {
    /// Builds an automaton of the kind with the fastest construction: the other kinds take minutes and a gigabyte for a
    /// value of 30 KB.
    pub(super) fn new(patterns: &BTreeSet<String>) -> Result<Self, BuildError> {
        let build = || NFA::builder().prefilter(false).build(patterns);
        (!patterns.is_empty()).then(build).transpose().map(Self)
    }

    /// Returns whether any pattern occurs.
    pub(super) fn occurs(&self, bytes: &[u8]) -> bool {
        self.0.as_ref().is_some_and(|nfa| !matches!(nfa.try_find(&Input::new(bytes)), Ok(None)))
    }

    /// Calls `found` with the longest match that ends at each position. The others lie within it: to visit them all can
    /// take hundreds of times as long.
    pub(super) fn longest(&self, bytes: &[u8], mut found: impl FnMut(Range<usize>)) {
        let Some(nfa) = &self.0 else { return };
        // This kind supports searches that are not anchored.
        let Ok(mut state) = nfa.start_state(Anchored::No) else { return found(0..bytes.len()) };
        for (at, byte) in bytes.iter().enumerate() {
            state = nfa.next_state(Anchored::No, state, *byte);
            if nfa.is_match(state) {
                let length = nfa.pattern_len(nfa.match_pattern(state, 0));
                found(at + 1 - length..at + 1);
            }
        }
    }

    /// Calls `found` with every match, in the order of their ends.
    pub(super) fn all(&self, bytes: &[u8], found: impl FnMut(Range<usize>)) {
        let matches = self.0.iter().filter_map(|nfa| nfa.try_find_overlapping_iter(Input::new(bytes)).ok());
        matches.flatten().map(|found| found.range()).for_each(found);
    }
}
