//! Visits everything that can be reached, in little memory.

use std::collections::{HashSet, VecDeque};

/// Visits every state that can be reached from `first`, the nearest first, and returns how many there are; `None` as
/// soon as `visit` returns it. `visit` returns the states that follow from a state.
///
/// Keeps only the states that are still to be visited, and the hash of every other one: two states with the same hash
/// count as one. A caller that needs the way to a state searches it again.
pub fn reachable<S>(first: S, hash: impl Fn(&S) -> u64, mut visit: impl FnMut(&S) -> Option<Vec<S>>) -> Option<usize> {
    let mut known = HashSet::from([hash(&first)]);
    let mut pending = VecDeque::from([first]);
    while let Some(state) = pending.pop_front() {
        let following = visit(&state)?;
        pending.extend(following.into_iter().filter(|next| known.insert(hash(next))));
    }
    Some(known.len())
}

#[cfg(test)]
mod tests {
    use super::reachable;

    #[test]
    fn each_state_is_visited_once_and_the_first_violation_ends_the_search() {
        let mut visited = Vec::new();
        let count = |below: u64, visited: &mut Vec<u64>| {
            reachable(
                1,
                |state| *state,
                |state| {
                    visited.push(*state);
                    (*state < below).then(|| vec![state * 2 % 15, state * 4 % 15])
                },
            )
        };
        assert_eq!(count(100, &mut visited), Some(4));
        assert_eq!(visited, [1, 2, 4, 8]);
        assert_eq!(count(4, &mut visited), None);
        assert_eq!(visited[4..], [1, 2, 4]);
    }
}
