use super::super::call::{Response, after, begin, digest};
use super::super::state::{RequestedPreview, SentContent};
use super::*;
use crate::crd::StagedRepository;
use crate::operator::context::staged_memory::RefusedCall;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

const NOW: i64 = 10_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(seconds).expect("a time in range")
}

/// Previewed and published, with tag 2.
fn wanted() -> Intent {
    Intent {
        generation: 1,
        digest: "content-2".into(),
        repository: StagedRepository { url: "https://example.com/kit.git".into(), tag: "2".into() },
        remote_id: None,
        request: None,
        deletion: None,
        adopt: false,
        suspended: false,
        previewable: true,
        certified: false,
        publication: Some("private:content-2".into()),
        proven: true,
    }
}

fn with(change: impl FnOnce(&mut Intent)) -> Intent {
    let mut intent = wanted();
    change(&mut intent);
    intent
}

/// A record at version 7 that is as wanted: previewed, and published.
fn done() -> Observed {
    Observed {
        id: "one".into(),
        version: 7,
        phase: Phase::Published,
        permission: Permission::Yes,
        private: true,
        listed: true,
        changed: false,
        digest: "content-2".into(),
        met: true,
        repository_met: true,
        impossible: false,
    }
}

#[allow(clippy::unnecessary_wraps, reason = "what a decision takes")]
fn seen(change: impl FnOnce(&mut Observed)) -> Option<Observed> {
    let mut record = done();
    change(&mut record);
    Some(record)
}

/// It shows tag 1, as before an update.
fn old(record: &mut Observed) {
    record.digest = "content-1".into();
    (record.met, record.repository_met) = (false, false);
}

fn draft(record: &mut Observed) {
    (record.phase, record.listed) = (Phase::Draft, false);
}

fn failed(record: &mut Observed) {
    (record.phase, record.listed) = (Phase::Failed, false);
}

/// A call of this age, from a version.
fn call(kind: CallKind, age: i64, from: Option<i64>, open: bool) -> StagedCall {
    StagedCall { kind, at: at(NOW - age), from, digest: digest(kind, &wanted()), open }
}

fn begun(kind: CallKind, age: i64, from: i64) -> State {
    owned(|state| state.call = Some(call(kind, age, Some(from), true)))
}

fn accepted(kind: CallKind, age: i64, from: i64) -> State {
    owned(|state| state.call = Some(call(kind, age, Some(from), false)))
}

fn creating(age: i64) -> State {
    State { call: Some(call(CallKind::Create, age, None, true)), ..State::default() }
}

/// It owns the record, and permission for tag 2 was granted.
fn owned(change: impl FnOnce(&mut State)) -> State {
    let preview = Some(RequestedPreview { tag: "2".into(), shown: true });
    let mut state = State { id: Some("one".into()), preview, ..State::default() };
    change(&mut state);
    state
}

/// The request for the preview was accepted, and the record has not shown it yet.
fn unanswered(state: &mut State) {
    state.preview = Some(RequestedPreview { tag: "2".into(), shown: false });
}

fn published(state: &mut State) {
    state.publication = wanted().publication;
}

fn asked(intent: &mut Intent) {
    intent.request = Some("again".into());
}

fn deleted(intent: &mut Intent) {
    intent.deletion = Some((DeletionPolicy::Delete, at(NOW - 1)));
}

fn decided(state: &State, intent: &Intent, record: Option<&Observed>, memory: &Memory) -> Decision {
    decide(&Input { state, intent, record, memory, now: at(NOW) })
}

/// The step, without its pause.
fn step(decision: &Decision) -> String {
    match &decision.step {
        Step::Report(outcome, _) => format!("{outcome:?}"),
        Step::Send(kind) => format!("send {kind:?}"),
        Step::Release => "release".to_owned(),
    }
}

fn check(rows: Vec<(&str, State, Intent, Option<Observed>, &str)>) {
    for (case, state, intent, record, expected) in rows {
        let decision = decided(&state, &intent, record.as_ref(), &Memory::default());
        assert_eq!(step(&decision), expected, "{case}: {decision:?}");
    }
}

use CallKind::{Create, Preview, Publish, Update};

#[test]
fn rules_1_to_3_whose_connector_it_is() {
    let nothing = State::default;
    let another = || seen(|record| record.digest = "another".into());
    check(vec![
        ("nothing there", nothing(), wanted(), None, "send Create"),
        ("suspended", nothing(), with(|intent| intent.suspended = true), None, "HeldBySuspend"),
        ("another client's", nothing(), wanted(), seen(|_| {}), "KeyTaken"),
        ("adopted, and its preview requested", nothing(), with(|it| it.adopt = true), seen(|_| {}), "send Preview"),
        ("restored", nothing(), with(|it| it.remote_id = Some("one".into())), seen(|_| {}), "send Preview"),
        ("created, no response, not there", creating(60), wanted(), None, "Running(Create)"),
        ("not there for long", creating(120), wanted(), None, "send Create"),
        ("there as sent", creating(5), wanted(), seen(|_| {}), "send Preview"),
        ("there as sent, late", creating(500), wanted(), seen(|_| {}), "send Preview"),
        ("something else is there", creating(119), wanted(), another(), "Running(Create)"),
        ("something else is there for long", creating(120), wanted(), another(), "KeyTaken"),
        ("and is adopted", creating(120), with(|it| it.adopt = true), another(), "send Preview"),
    ]);
}

#[test]
fn a_tag_is_updated_previewed_and_published_in_steps() {
    let first = || owned(|state| state.preview = None);
    let processing = |record: &mut Observed| (record.phase, record.listed) = (Phase::Processing, false);
    let pending = |record: &mut Observed| record.permission = Permission::Pending;
    let certified = |intent: &mut Intent| intent.certified = true;
    check(vec![
        ("as wanted", owned(|_| {}), wanted(), seen(|_| {}), "Published"),
        ("only staged", first(), with(|it| (it.previewable, it.publication) = (false, None)), seen(draft), "Staged"),
        ("only previewed", owned(|_| {}), with(|it| it.publication = None), seen(draft), "Previewable"),
        ("another tag", owned(|_| {}), wanted(), seen(old), "send Update"),
        ("impossible", owned(|_| {}), wanted(), seen(|it| it.impossible = true), "CannotChange"),
        (
            "normalized",
            owned(|state| state.sent = Some(SentContent { digest: "content-2".into(), shown: "content-1".into() })),
            wanted(),
            seen(|it| it.digest = "content-1".into()),
            "Published",
        ),
        ("another client reviews or publishes it", first(), wanted(), seen(pending), "Busy"),
        ("an unknown status", first(), wanted(), seen(|it| it.phase = Phase::Other("new".into())), "Busy"),
        ("granted for nobody knows which tag", first(), wanted(), seen(draft), "send Preview"),
        ("refused", owned(unanswered), wanted(), seen(|it| it.permission = Permission::No), "PreviewRefused"),
        (
            "refused, and asked for again",
            owned(|_| {}),
            with(asked),
            seen(|it| it.permission = Permission::No),
            "send Preview",
        ),
        ("withdrawn", owned(|_| {}), wanted(), seen(|it| it.permission = Permission::NeverAsked), "send Preview"),
        (
            "never shown",
            owned(unanswered),
            wanted(),
            seen(|it| it.permission = Permission::NeverAsked),
            "PreviewRefused",
        ),
        ("to be published", owned(|_| {}), wanted(), seen(draft), "send Publish"),
        ("to be proven", owned(|_| {}), with(|it| it.proven = false), seen(draft), "AwaitingProof"),
        ("being published", accepted(Publish, 100, 6), wanted(), seen(processing), "Running(Publish)"),
        ("for long", accepted(Publish, 1_800, 6), wanted(), seen(processing), "TakesTooLong"),
        ("changed since it was published", owned(|_| {}), wanted(), seen(|it| it.changed = true), "send Publish"),
        ("published, and said to be changed", owned(published), wanted(), seen(|it| it.changed = true), "Published"),
        ("failed", owned(published), wanted(), seen(failed), "PublishingFailed"),
        ("failed, and asked for again", owned(published), with(asked), seen(failed), "send Publish"),
        ("certifying", owned(published), with(certified), seen(|it| it.phase = Phase::InCertification), "Certifying"),
        ("published without the certification", owned(|_| {}), with(certified), seen(|_| {}), "send Publish"),
    ]);
}

#[test]
fn what_a_lost_or_recent_call_means_depends_on_the_version_that_the_record_shows() {
    let at_6 = |change: fn(&mut Observed)| {
        seen(|record| {
            change(record);
            record.version = 6;
        })
    };
    let rows = vec![
        ("an update that has not arrived", begun(Update, 5, 6), at_6(old), "Running(Update)", true),
        ("is sent again", begun(Update, 10, 6), at_6(old), "send Update", true),
        ("set back: it may still arrive", begun(Update, 89, 6), at_6(|_| {}), "Running(Update)", true),
        ("set back, and it cannot arrive any more", begun(Update, 90, 6), at_6(|_| {}), "Published", false),
        ("an update, or another client's", begun(Update, 5, 6), seen(|_| {}), "Published", false),
        ("an older read", begun(Update, 30, 8), at_6(old), "Running(Update)", true),
        ("a read from before an accepted update", accepted(Update, 89, 6), at_6(old), "Running(Update)", false),
        ("a service that keeps its versions", accepted(Update, 90, 6), at_6(old), "send Update", false),
        ("a preview that has not arrived", begun(Preview, 10, 6), at_6(draft), "send Preview", true),
        ("a preview for nobody knows which tag", begun(Preview, 10, 6), seen(draft), "send Preview", false),
        ("a publication that has not arrived", begun(Publish, 10, 6), at_6(draft), "send Publish", true),
        ("a publication that failed", begun(Publish, 10, 6), seen(failed), "PublishingFailed", false),
        ("a publication that succeeded", begun(Publish, 10, 6), seen(|_| {}), "Published", false),
        ("a publication of which nothing shows", begun(Publish, 10, 6), seen(draft), "send Publish", false),
        ("another leader's clock is ahead", begun(Update, -50, 6), at_6(old), "Running(Update)", true),
        ("a clock that was set back", begun(Update, -5_000, 6), at_6(old), "Running(Update)", true),
    ];
    for (case, mut state, record, expected, open) in rows {
        if state.call.as_ref().is_some_and(|call| call.kind == Preview && call.open) {
            state.preview = None;
        }
        let decision = decided(&state, &wanted(), record.as_ref(), &Memory::default());
        assert_eq!(step(&decision), expected, "{case}: {decision:?}");
        let call = decision.state.call.expect("the call stays");
        assert_eq!(call.open, open, "{case}");
        assert!(call.at <= at(NOW + 120), "{case}: nothing waits for ever");
    }
}

#[test]
fn rule_5_two_404s_30_s_apart_and_late_enough_after_the_last_call_prove_absence() {
    let since = |seconds: Option<i64>| Memory { absent_since: seconds.map(|ago| at(NOW - ago)), ..Memory::default() };
    for (case, state, memory, expected, counts_since) in [
        ("the first", owned(|_| {}), since(None), "Missing", Some(0)),
        ("another, too early", owned(|_| {}), since(Some(29)), "Missing", Some(29)),
        ("proven", owned(|_| {}), since(Some(30)), "Disappeared", Some(30)),
        ("too soon after a call", accepted(Update, 119, 6), since(None), "Running(Update)", None),
        ("late enough", accepted(Update, 120, 6), since(None), "Missing", Some(0)),
    ] {
        let decision = decided(&state, &wanted(), None, &memory);
        assert_eq!(step(&decision), expected, "{case}");
        assert_eq!(decision.memory.absent_since, counts_since.map(|ago| at(NOW - ago)), "{case}");
    }
    let lost = decided(&begun(Update, 120, 6), &wanted(), None, &since(None));
    assert_eq!(lost.state.call.map(|call| call.open), Some(false), "nothing is in progress any more");
    let found = decided(&owned(|_| {}), &wanted(), Some(&done()), &since(Some(29)));
    assert_eq!(found.memory.absent_since, None, "it is there");
}

#[test]
fn rules_22_and_23_what_a_deletion_does() {
    let delete = |age| owned(|state| state.call = Some(call(CallKind::Delete, age, None, false)));
    let lost = owned(|state| state.call = Some(call(CallKind::Delete, 1, None, true)));
    let orphans = |intent: &mut Intent| intent.deletion = Some((DeletionPolicy::Orphan, at(NOW - 1)));
    let restored = |intent: &mut Intent| {
        deleted(intent);
        intent.remote_id = Some("one".into());
    };
    let locked = |record: &mut Observed| record.phase = Phase::Processing;
    let another = seen(|record| record.digest = "another".into());
    check(vec![
        ("to be left", owned(|_| {}), with(orphans), seen(|_| {}), "release"),
        ("never created", State::default(), with(deleted), None, "release"),
        ("not its own", State::default(), with(deleted), seen(|_| {}), "release"),
        ("its own by the annotation", State::default(), with(restored), seen(|_| {}), "send Delete"),
        ("its create may arrive", creating(119), with(deleted), None, "Running(Delete)"),
        ("its create cannot arrive", creating(120), with(deleted), None, "release"),
        ("its create has arrived", creating(1), with(deleted), seen(|_| {}), "send Delete"),
        ("somebody else was faster", creating(120), with(deleted), another, "release"),
        ("there", owned(|_| {}), with(deleted), seen(|_| {}), "send Delete"),
        ("not found, which a DELETE confirms", owned(|_| {}), with(deleted), None, "send Delete"),
        ("being published", owned(|_| {}), with(deleted), seen(locked), "Running(Delete)"),
        ("suspended", owned(|_| {}), with(|it| (deleted(it), it.suspended = true).0), seen(|_| {}), "HeldBySuspend"),
        ("suspended and gone", owned(|_| {}), with(|it| (deleted(it), it.suspended = true).0), None, "Missing"),
        ("the DELETE was accepted", delete(1), with(deleted), None, "release"),
        ("and is not shown yet", delete(59), with(deleted), seen(|_| {}), "Running(Delete)"),
        ("and has done nothing", delete(60), with(deleted), seen(|_| {}), "send Delete"),
        ("its response was lost", lost, with(deleted), None, "send Delete"),
    ]);
}

#[test]
fn a_refused_call_is_not_sent_again_for_the_same_cause() {
    let refused = |until| {
        let cause = cause(Update, &wanted(), seen(old).as_ref());
        let condition = ConditionUpdate::new(Reason::RequestRejected, "no");
        Memory { refused: Some(RefusedCall { cause, until: at(until), times: 1, condition }), ..Memory::default() }
    };
    let newer = seen(|record| (old(record), record.version = 8).0);
    for (case, intent, record, until, expected) in [
        ("refused", wanted(), seen(old), NOW + 1, "Refused"),
        ("long ago", wanted(), seen(old), NOW, "send Update"),
        ("the spec has changed", with(|intent| intent.generation = 2), seen(old), NOW + 1, "send Update"),
        ("a retry is requested", with(asked), seen(old), NOW + 1, "send Update"),
        ("the record has changed", wanted(), newer, NOW + 1, "send Update"),
    ] {
        let decision = decided(&owned(|_| {}), &intent, record.as_ref(), &refused(until));
        assert_eq!(step(&decision), expected, "{case}");
    }
}

#[test]
fn a_state_has_what_is_about_to_be_sent_and_then_what_came_of_it() {
    let record = done();
    let before = owned(|state| (published(state), state.handled_request = Some("before".into())).0);
    for (kind, response, open, is_as_before) in [
        (Update, Response::Accepted(done()), Some(false), false),
        (Preview, Response::Accepted(done()), Some(false), false),
        (Publish, Response::Accepted(done()), Some(false), false),
        (Publish, Response::Unknown, Some(true), false),
        (Preview, Response::Refused, None, true),
        (Publish, Response::NotTaken, None, true),
        (Update, Response::Gone, None, true),
        (CallKind::Delete, Response::Gone, Some(false), false),
    ] {
        let case = format!("{kind:?}, {response:?}");
        let begun = begin(&before, kind, &with(asked), Some(&record), at(NOW));
        let sent = begun.call.as_ref().expect("a call");
        assert_eq!((sent.kind, sent.at, sent.open), (kind, at(NOW), true), "{case}");
        assert_eq!(sent.from, (kind != CallKind::Delete).then_some(7), "{case}");
        let handled = if kind == CallKind::Delete { "before" } else { "again" };
        assert_eq!(begun.handled_request.as_deref(), Some(handled), "{case}");
        let after = after(&before, &begun, "2", &response);
        assert_eq!(after.call.as_ref().map(|call| call.open), open, "{case}");
        let unsent = State { handled_request: after.handled_request.clone(), ..before.clone() };
        assert_eq!(after == unsent, is_as_before, "{case}");
    }
    let created = after(&State::default(), &creating(0), "2", &Response::Accepted(done()));
    assert_eq!(created.id.as_deref(), Some("one"));
    assert_eq!(Create, created.call.expect("the call").kind);
}
