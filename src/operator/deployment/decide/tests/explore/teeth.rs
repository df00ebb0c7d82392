//! Breaks each rule of the protocol: the property that depends on it must detect that.

use super::explore;
use super::scenarios::{nothing, one};
use super::settings::{Budget, Conflict, Foreign, Rule, Second, Settings};

/// Number of steps that is enough to detect each broken rule.
const ENOUGH: usize = 40_000;

/// Two operators that begin without state, and a resource that is created again.
fn recreated() -> Budget {
    Budget { deletions: 1, releases: 1, recreations: 1, ..nothing() }
}

fn new(budget: Budget) -> Settings {
    Settings { budget, ..Settings::default() }
}

fn live(budget: Budget) -> Settings {
    Settings { live: true, ..new(budget) }
}

fn two(settings: Settings) -> Settings {
    Settings { operators: 2, ..settings }
}

fn lags(settings: Settings) -> Settings {
    Settings { lag: true, ..settings }
}

/// Returns each rule, a world that needs it, and the property that breaks without it.
fn rules() -> Vec<(Rule, Settings, &'static str)> {
    let secret = Budget { secrets: 1, ..nothing() };
    let deleted = Budget { deletions: 1, ..one() };
    let lost = Budget { lost: 1, ..nothing() };
    let creates = Foreign { creates: true, ..Foreign::default() };
    let contested = Settings { contested: true, ..two(new(nothing())) };
    let redeploys = Foreign { redeploys: true, ..Foreign::default() };
    let stranger = Budget { specs: 1, foreign: 1, ..nothing() };
    let removed = Budget { removals: 1, ..nothing() };
    vec![
        (Rule::ResourceVersions, two(new(nothing())), "FORGOTTEN"),
        (Rule::OperationFirst, live(Budget { crashes: 1, ..secret }), "TOO-MANY"),
        (Rule::OperationFirst, new(one()), "FORGOTTEN"),
        (Rule::Deadline, new(Budget { deletions: 1, ..lost }), "ORPHAN"),
        (Rule::Calm, new(deleted), "ORPHAN"),
        (Rule::Identity, Settings { foreign: creates, ..new(stranger) }, "STRANGER"),
        (Rule::Fit, Settings { foreign: creates, ..new(Budget { lost: 1, ..stranger }) }, "STUCK"),
        (Rule::SeenBusy, live(secret), "READY-WRONG"),
        (Rule::TwoAbsences, lags(new(nothing())), "FORGOTTEN"),
        (
            Rule::ForgottenDigest,
            Settings { back: true, foreign: redeploys, ..live(Budget { secrets: 2, foreign: 1, ..lost }) },
            "STUCK",
        ),
        (Rule::OutstandingCreate, new(deleted), "ORPHAN"),
        (Rule::OldReads, lags(live(Budget { failures: 1, ..secret })), "READY-WRONG"),
        (Rule::HandledRequest, live(Budget { requests: 1, ..nothing() }), "TOO-MANY"),
        (Rule::UnknownDigest, Settings { sources: true, ..live(Budget { keys: 1, ..nothing() }) }, "TOO-MANY"),
        (Rule::Retained, Settings { second: Second::Secured, ..live(removed) }, "STUCK"),
        (Rule::Retained, Settings { second: Second::Hidden, ..live(Budget { secrets: 1, ..removed }) }, "STUCK"),
        (Rule::AnsweredUndeploy, lags(new(deleted)), "ORPHAN"),
        (Rule::OneWinner, contested, "STRANGER"),
        (
            Rule::Announcement,
            Settings { observed: true, budget: Budget { observes: 1, ..lost }, ..contested },
            "FORGOTTEN",
        ),
    ]
}

#[test]
fn every_broken_rule_is_detected() {
    let broken = rules().into_iter().map(|(rule, settings, property)| {
        (format!("without {rule:?}"), Settings { without: Some(rule), ..settings }, property)
    });
    let normalises = Settings { normalises: true, ..new(Budget { labels: 1, ..nothing() }) };
    let conflicts = [
        (Conflict::Lost, normalises, "FORGOTTEN"),
        (Conflict::Forced, two(new(nothing())), "FORGOTTEN"),
        (Conflict::Forced, new(recreated()), "TOO-MANY"),
        (Conflict::ComparedWithoutUid, two(new(recreated())), "STUCK"),
    ]
    .map(|(conflict, settings, property)| {
        (format!("responses {conflict:?}"), Settings { conflict, ..settings }, property)
    });
    let mut unnoticed = Vec::new();
    for (input, settings, property) in broken.chain(conflicts) {
        match explore(settings, ENOUGH) {
            Ok(worlds) => unnoticed.push(format!("{input}: {property} should break, and holds in {worlds}")),
            Err((found, _)) if found == property => {}
            Err((found, trace)) => unnoticed.push(format!("{input}: {property} should break, not {found}\n{trace}")),
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}
