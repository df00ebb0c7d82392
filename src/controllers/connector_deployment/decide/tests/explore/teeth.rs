//! Each rule of the protocol, broken: the property that depends on it has to notice.

use super::explore;
use super::scenarios::{NOTHING, ONE};
use super::settings::{Budget, Foreign, Rule, Settings};

const NEW: fn(Budget) -> Settings = |budget| Settings { budget, ..Settings::default() };
const LIVE: fn(Budget) -> Settings = |budget| Settings { budget, live: true, ..Settings::default() };

/// The rule, a world that needs it, and the property that breaks without it.
fn rules() -> Vec<(Rule, Settings, &'static str)> {
    let secret = Budget { secrets: 1, ..NOTHING };
    let deleted = Budget { deletions: 1, ..ONE };
    let creates = Foreign { creates: true, ..Foreign::default() };
    let stranger = Budget { specs: 1, foreign: 1, ..NOTHING };
    let two = |settings| Settings { operators: 2, ..settings };
    let lags = |settings| Settings { lag: true, ..settings };
    vec![
        (Rule::ResourceVersions, two(LIVE(secret)), "TOO-MANY"),
        (Rule::OperationFirst, LIVE(Budget { crashes: 1, ..secret }), "TOO-MANY"),
        (Rule::OperationFirst, NEW(ONE), "FORGOTTEN"),
        (Rule::Deadline, two(NEW(deleted)), "ORPHAN"),
        (Rule::Calm, NEW(deleted), "ORPHAN"),
        (Rule::Identity, Settings { foreign: creates, ..NEW(stranger) }, "STRANGER"),
        (Rule::Fit, Settings { foreign: creates, ..NEW(Budget { lost: 1, ..stranger }) }, "STRANGER"),
        (Rule::SeenBusy, LIVE(secret), "READY-WRONG"),
        (Rule::TwoAbsences, lags(NEW(NOTHING)), "FORGOTTEN"),
        (Rule::ForgottenDigest, LIVE(Budget { specs: 2, lost: 1, ..NOTHING }), "READY-WRONG"),
        (Rule::OutstandingCreate, NEW(deleted), "ORPHAN"),
        (Rule::OldReads, lags(LIVE(Budget { specs: 1, ..NOTHING })), "READY-WRONG"),
        (Rule::HandledRequest, LIVE(Budget { requests: 1, ..NOTHING }), "TOO-MANY"),
        (Rule::UnknownDigest, Settings { sources: true, ..LIVE(Budget { keys: 1, ..NOTHING }) }, "TOO-MANY"),
        (Rule::AnsweredUndeploy, lags(NEW(deleted)), "ORPHAN"),
    ]
}

#[test]
fn every_broken_rule_is_noticed() {
    let mut unnoticed = Vec::new();
    for (rule, settings, expected) in rules() {
        let found = explore(Settings { without: Some(rule), ..settings }).map_err(|(property, _)| property);
        println!("without {rule:?}: {found:?}");
        if found != Err(expected) {
            unnoticed.push(format!("without {rule:?}: {expected} was to break, but {found:?}"));
        }
        if let Err((property, trace)) = explore(settings) {
            unnoticed.push(format!("with {rule:?}: {property}\n{trace}"));
        }
    }
    assert!(unnoticed.is_empty(), "{}", unnoticed.join("\n"));
}
