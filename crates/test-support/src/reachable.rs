//! Visits everything that can be reached, in little memory.

use std::collections::{HashSet, VecDeque};
use std::fmt;

/// Maximum number of states of a search if it is [`full`]: at the most, 2.5 GB so far.
pub const MOST: usize = 50_000_000;

/// Whether `EXPLORE=full` asks for searches with larger bounds, up to [`MOST`] states each.
#[must_use]
pub fn full() -> bool {
    std::env::var_os("EXPLORE").is_some_and(|value| value == "full")
}

/// How far a search came.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reached {
    /// Number of states that were found.
    pub states: usize,
    /// Whether there are no others.
    pub complete: bool,
}

impl fmt::Display for Reached {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let others = if self.complete { "all" } else { "the nearest; there are more" };
        write!(formatter, "{} worlds, {others}", self.states)
    }
}

/// Visits every state that can be reached from `first`, the nearest first, until `most` are found; `None` as soon as
/// `visit` returns it. `visit` returns the states that follow from a state.
///
/// Keeps only the states that are still to be visited, and the hash of every other one: two states with the same hash
/// count as one. A caller that needs the way to a state searches it again.
pub fn reachable<S>(
    first: S,
    most: usize,
    hash: impl Fn(&S) -> u64,
    mut visit: impl FnMut(&S) -> Option<Vec<S>>,
) -> Option<Reached> {
    let mut known = HashSet::from([hash(&first)]);
    let mut pending = VecDeque::from([first]);
    while let Some(state) = pending.pop_front() {
        let following = visit(&state)?;
        // Those that are pending are still visited.
        if known.len() < most {
            pending.extend(following.into_iter().filter(|next| known.insert(hash(next))));
        }
    }
    Some(Reached { states: known.len(), complete: known.len() < most })
}

#[cfg(test)]
mod tests {
    use super::{Reached, reachable};

    #[test]
    fn each_state_is_visited_once_and_the_first_violation_ends_the_search() {
        let mut visited = Vec::new();
        let count = |below: u64, most: usize, visited: &mut Vec<u64>| {
            reachable(
                1,
                most,
                |state| *state,
                |state| {
                    visited.push(*state);
                    (*state < below).then(|| vec![state * 2 % 15, state * 4 % 15])
                },
            )
        };
        assert_eq!(count(100, 5, &mut visited), Some(Reached { states: 4, complete: true }));
        assert_eq!(visited, [1, 2, 4, 8]);
        assert_eq!(count(4, 5, &mut visited), None);
        assert_eq!(visited[4..], [1, 2, 4]);
        assert_eq!(count(100, 3, &mut visited), Some(Reached { states: 3, complete: false }));
        assert_eq!(visited[7..], [1, 2, 4], "each state that was found is visited");
    }
}
