//! The election as a table, and as a simulation: two candidates with their own clocks, whose calls and steps may take
//! any time, never both hold a permitting fence.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::leader::Timing;

const LEASE: Duration = Duration::from_secs(15);

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(second: i64) -> Timestamp {
    Timestamp::UNIX_EPOCH + SignedDuration::from_secs(second)
}

fn held_by(holder: &str, renewed: i64) -> LeaseSpec {
    LeaseSpec {
        holder_identity: Some(holder.to_owned()),
        lease_duration_seconds: Some(15),
        lease_transitions: Some(3),
        acquire_time: Some(MicroTime(at(0))),
        renew_time: Some(MicroTime(at(renewed))),
        ..LeaseSpec::default()
    }
}

/// The kind of step, and the count of transitions that it writes.
fn word(step: &Step) -> (&'static str, i32) {
    match step {
        Step::Write(spec) => ("write", spec.lease_transitions.unwrap_or_default()),
        Step::Wait { .. } => ("wait", -1),
    }
}

const WAITS: (&str, i32) = ("wait", -1);
const TAKES: (&str, i32) = ("write", 4);
const KEEPS: (&str, i32) = ("write", 3);

#[test]
fn a_lease_is_taken_once_it_was_observed_unchanged_for_its_duration() {
    let lease = || held_by("other", 0);
    let other = |renewed| Some(held_by("other", renewed));
    let mine = Some(held_by("me", 0));
    let lasts = |seconds| Some(LeaseSpec { lease_duration_seconds: seconds, ..lease() });
    let nobody = Some(LeaseSpec { holder_identity: Some(String::new()), ..lease() });
    for (case, looks, expected) in [
        ("the Lease does not exist", vec![(0, None)], ("write", 0)),
        ("read for the first time, however old", vec![(0, other(-1_000_000))], WAITS),
        ("unchanged, not long enough", vec![(0, other(0)), (14, other(0))], WAITS),
        ("unchanged for long enough", vec![(0, other(0)), (15, other(0))], TAKES),
        ("renewed meanwhile", vec![(0, other(0)), (15, other(7))], WAITS),
        ("renewed, then unchanged", vec![(0, other(0)), (9, other(7)), (24, other(7))], TAKES),
        ("the clock of the holder goes backwards", vec![(0, other(9)), (9, other(1))], WAITS),
        ("a shorter duration in the record", vec![(0, lasts(Some(4))), (4, lasts(Some(4)))], TAKES),
        ("no duration in the record", vec![(0, lasts(None)), (15, lasts(None))], TAKES),
        ("a duration of 0 in the record, which counts as none", vec![(0, lasts(Some(0)))], WAITS),
        ("released", vec![(0, Some(given_up(&lease(), at(5))))], TAKES),
        ("an empty holder", vec![(0, nobody)], TAKES),
        ("held by us, after a lost response", vec![(0, mine.clone())], KEEPS),
        ("another candidate took it", vec![(0, mine.clone()), (2, other(2))], WAITS),
        ("deleted while another may still lead", vec![(0, other(0)), (14, None)], WAITS),
        ("deleted, and the old lease has expired", vec![(0, other(0)), (15, None)], TAKES),
        ("deleted while held by us", vec![(0, mine), (2, None)], KEEPS),
    ] {
        let mut me = Candidate::new("me".to_owned(), LEASE);
        let steps = looks.iter().map(|(second, spec)| me.step(spec.as_ref(), seconds(*second), at(99)));
        let last = steps.last().expect("at least one read");
        assert_eq!(word(&last), expected, "{case}");
        if let Step::Write(spec) = last {
            assert_eq!(holder(&spec), Some("me"), "{case}");
            assert_eq!((spec.lease_duration_seconds, &spec.renew_time), (Some(15), &Some(MicroTime(at(99)))), "{case}");
            let renewed = case.contains("held by us");
            assert_eq!(spec.acquire_time, Some(MicroTime(at(if renewed { 0 } else { 99 }))), "{case}");
        }
    }
}

#[test]
fn a_released_lease_names_no_holder_and_may_be_taken_at_once() {
    let held = held_by("me", 0);
    let expected = LeaseSpec {
        holder_identity: None,
        lease_duration_seconds: Some(1),
        renew_time: Some(MicroTime(at(5))),
        ..held.clone()
    };
    assert_eq!(given_up(&held, at(5)), expected);
}

#[test]
fn a_waiting_candidate_returns_how_long_to_wait() {
    let mut me = Candidate::new("me".to_owned(), LEASE);
    assert_eq!(me.identity(), "me");
    let found = held_by("other", 0);
    for (second, left) in [(100, 15), (101, 14), (114, 1)] {
        let wait = Step::Wait { holder: "other".to_owned(), left: seconds(left) };
        assert_eq!(me.step(Some(&found), seconds(second), at(0)), wait);
    }
}

/// An event of a player. A call has two: the request arrives, and the response arrives.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Happens {
    Wakes,
    ReadArrives,
    ReadAnswered(Option<usize>),
    WriteArrives { base: Option<usize>, written: usize, deadline: Duration },
    WriteAnswered { stored: Option<usize>, deadline: Duration },
}

struct Player {
    candidate: Candidate,
    /// What its clock shows when the simulation begins.
    ahead: Duration,
    /// The version that it wrote last.
    stored: Option<usize>,
    held: Held,
}

/// From when to when a fence permitted calls, in simulated time.
type Held = Vec<(Duration, Duration)>;

/// Simulates the Lease, its versions, and two candidates. Each step takes one of the given times.
fn play(ahead: [u64; 2], times: &[u64]) -> (Held, Held) {
    let Timing { lease, renew_deadline, retry } = Timing::default();
    let mut players = [0, 1].map(|number| Player {
        candidate: Candidate::new(format!("player-{number}"), lease),
        ahead: seconds(ahead[number]),
        stored: None,
        held: Vec::new(),
    });
    let mut versions: Vec<LeaseSpec> = Vec::new();
    let mut current: Option<usize> = None;
    let mut times = times.iter().map(|time| Duration::from_millis(*time));
    let mut queue =
        BinaryHeap::from([Reverse((Duration::ZERO, 0, Happens::Wakes)), Reverse((Duration::ZERO, 1, Happens::Wakes))]);
    while let (Some(Reverse((game, who, happens))), Some(takes)) = (queue.pop(), times.next()) {
        let player = &mut players[who];
        let local = game + player.ahead;
        let mut next = |pause: Duration, happens| queue.push(Reverse((game + pause + takes, who, happens)));
        match happens {
            Happens::Wakes => match player.stored.take() {
                Some(version) => next(Duration::ZERO, Happens::ReadAnswered(Some(version))),
                None => next(Duration::ZERO, Happens::ReadArrives),
            },
            Happens::ReadArrives => next(Duration::ZERO, Happens::ReadAnswered(current)),
            Happens::ReadAnswered(base) => {
                // The wall clock of the other candidate may show anything, too.
                let theirs =
                    Timestamp::UNIX_EPOCH + SignedDuration::from_millis(i64::try_from(versions.len()).expect("few"));
                let found = base.map(|version| versions[version].clone());
                match player.candidate.step(found.as_ref(), local, theirs) {
                    Step::Wait { left, .. } => next(left.min(retry), Happens::Wakes),
                    Step::Write(spec) => {
                        versions.push(spec);
                        let written = versions.len() - 1;
                        next(Duration::ZERO, Happens::WriteArrives { base, written, deadline: local + renew_deadline });
                    }
                }
            }
            Happens::WriteArrives { base, written, deadline } => {
                let stored = (base == current).then_some(written);
                current = stored.or(current);
                next(Duration::ZERO, Happens::WriteAnswered { stored, deadline });
            }
            Happens::WriteAnswered { stored, deadline } => {
                player.stored = stored;
                if stored.is_some() && local < deadline {
                    player.held.push((game, deadline.saturating_sub(player.ahead)));
                }
                next(retry, Happens::Wakes);
            }
        }
    }
    let [one, other] = players;
    (one.held, other.held)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn rule_25_two_never_hold_the_fence_at_once(
        ahead in [0_u64..100_000, 0_u64..100_000],
        times in prop::collection::vec(prop_oneof![8 => 0_u64..300, 2 => 300_u64..9_000, 1 => 9_000_u64..60_000], 400),
    ) {
        let (one, other) = play(ahead, &times);
        for (from, to) in &one {
            for (begins, ends) in &other {
                prop_assert!(to <= begins || ends <= from, "{from:?} to {to:?}, and {begins:?} to {ends:?}");
            }
        }
    }
}

#[test]
fn both_candidates_lead_from_time_to_time_in_the_simulation() {
    // Mostly quick, with a pause of 40 s from time to time.
    let times: Vec<u64> = (0..4_000).map(|step| if step % 97 == 96 { 40_000 } else { step % 50 }).collect();
    let (one, other) = play([5, 70_000], &times);
    assert!(one.len() > 20 && other.len() > 20, "{} and {}", one.len(), other.len());
}
