//! Calls and responses that were lost or late, stale reads, and refusals.

use super::*;

#[test]
fn nothing_is_concluded_from_a_stale_read() {
    let wrote = || PersistedState {
        applied: Some(Applied { from_version: Some(7), at: begun(), ..Applied::default() }),
        ..ours()
    };
    let at = |version, age| Row::of(wrote(), desired(), ObservedConnector { version, ..of_the_first_tag() }).at(age);
    check(vec![
        ("the version before the last write", at(7, seconds(5)), "Running(Update)"),
        ("an older version", at(6, seconds(5)), "Running(Update)"),
        ("the next version", at(8, seconds(5)), "update from 8"),
        ("for a while", at(7, seconds(89)), "Running(Update)"),
        ("for so long that the read is not stale", at(7, LAG + LIMIT), "update from 7"),
        ("not found yet", Row::of(wrote(), desired(), None).at(seconds(5)), "Running(Update)"),
        ("not found for so long that the read is not stale", Row::of(wrote(), desired(), None).at(LAG), "Missing"),
        ("not found", Row::of(wrote(), desired(), None).at(QUIET_PERIOD), "Missing"),
    ]);
}

#[test]
fn a_create_whose_response_was_lost_is_found_or_sent_again() {
    let creating = || PersistedState { operation: Some(doing(OperationType::Create)), ..PersistedState::default() };
    let changed = || Intent { digest: "third".into(), ..desired() };
    check(vec![
        ("absent", Row::of(creating(), desired(), None).at(seconds(59)), "Running(Create)"),
        ("absent after 2 L", Row::of(creating(), desired(), None).at(seconds(60)), "create again"),
        (
            "absent, and something else is desired",
            Row::of(creating(), changed(), None).at(seconds(60)),
            "Running(Create)",
        ),
        ("the same after the quiet period", Row::of(creating(), changed(), None).at(QUIET_PERIOD), "create again"),
        ("it arrived", Row::of(creating(), desired(), met()).at(seconds(1)), "Settled(Staged)"),
        ("another client's", Row::of(creating(), desired(), of_the_first_tag()).at(seconds(60)), "Running(Create)"),
        (
            "another client's after the quiet period",
            Row::of(creating(), desired(), of_the_first_tag()).at(QUIET_PERIOD),
            "KeyTaken",
        ),
        (
            "another client's after the quiet period, and it may be adopted with the next observation",
            Row::of(creating(), Intent { adopt: true, ..desired() }, of_the_first_tag()).at(QUIET_PERIOD),
            "KeyTaken",
        ),
    ]);
    let third = Intent { generation: 3, tag: "3".into(), ..changed() };
    let renewed = Row::of(creating(), third, None).at(QUIET_PERIOD).decide().persisted.operation.expect("a create");
    let sends = (renewed.digest.as_deref(), renewed.tag.as_deref(), renewed.generation);
    assert_eq!(sends, (Some("third"), Some("3"), 3));
    let found = Row::of(creating(), desired(), met()).at(seconds(1)).decide();
    assert_eq!((found.persisted.id.as_deref(), &found.persisted.operation), (Some(ID), &None));
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn a_change_whose_response_was_lost_is_sent_again_from_the_same_version_only() {
    use OperationType::{Preview as Asks, Publish, Update};
    let same = |observed: ObservedConnector| ObservedConnector { version: 6, ..observed };
    let of = |kind, intent, observed: ObservedConnector| Row::of(with(doing(kind)), intent, observed).at(seconds(10));
    let changed = || Intent { digest: "third".into(), publication: Some("private:third".into()), ..published() };
    let granted = || ObservedConnector { preview: Preview::Granted, ..met() };
    check(vec![
        ("update, not yet", of(Update, desired(), same(of_the_first_tag())).at(seconds(9)), "Running(Update)"),
        ("update, not arrived", of(Update, desired(), same(of_the_first_tag())), "update from 6 again"),
        ("update, something else is desired", of(Update, changed(), same(of_the_first_tag())), "update from 6"),
        (
            "update, the spec is back to what shows",
            of(Update, desired(), same(met())).at(seconds(89)),
            "Running(Update)",
        ),
        (
            "update, the spec is back to what shows for a long time",
            of(Update, changed(), same(met())).at(LAG + LIMIT),
            "publish from 6",
        ),
        ("update, arrived", of(Update, desired(), met()), "Settled(Staged)"),
        ("update, another client was first", of(Update, desired(), of_the_first_tag()), "update from 7"),
        (
            "update, an older read",
            of(Update, desired(), ObservedConnector { version: 5, ..of_the_first_tag() }),
            "Running(Update)",
        ),
        (
            "update, another client publishes it",
            of(Update, desired(), ObservedConnector { phase: Phase::Processing, ..of_the_first_tag() }),
            "Running(Update)",
        ),
        ("preview, not arrived", of(Asks, previewable(), same(met())), "preview from 6 again"),
        ("preview, no longer requested", of(Asks, desired(), same(met())), "Settled(Staged)"),
        (
            "preview, busy",
            of(Asks, previewable(), ObservedConnector { preview: Preview::Pending, ..met() }),
            "Running(Preview)",
        ),
        // The permission may be that of an earlier tag, or of a tag that another client set for a while.
        ("preview, granted for an unknown tag", of(Asks, previewable(), granted()), "preview from 7"),
        (
            "preview, refused for an unknown tag",
            of(Asks, previewable(), ObservedConnector { preview: Preview::Refused, ..met() }),
            "preview from 7",
        ),
        (
            "preview, granted for an unknown tag, and no longer requested",
            of(Asks, desired(), granted()),
            "Settled(Staged)",
        ),
        (
            "preview, the same version still shows the permission of an earlier tag",
            of(Asks, previewable(), same(granted())),
            "preview from 6 again",
        ),
        ("preview, another client changed it", of(Asks, previewable(), met()), "preview from 7"),
        ("publish, not arrived", of(Publish, published(), same(met())), "publish from 6 again"),
        (
            "publish, and a preview is desired first by now",
            of(Publish, Intent { previewable: true, ..published() }, same(met())),
            "preview from 6",
        ),
        (
            "publish, not arrived and no longer proven",
            of(Publish, Intent { proven: false, ..published() }, same(met())),
            "AwaitingProof",
        ),
        (
            "publish, busy",
            of(Publish, published(), ObservedConnector { phase: Phase::Processing, ..met() }),
            "Running(Publish)",
        ),
        (
            "publish, done",
            of(Publish, published(), ObservedConnector { phase: Phase::Published, listed: true, ..met() }),
            "Settled(Published)",
        ),
        (
            "publish, failed",
            of(Publish, published(), ObservedConnector { phase: Phase::Failed, ..met() }),
            "PublishingFailed",
        ),
        ("publish, another client changed it", of(Publish, published(), met()), "publish from 7"),
        (
            "publish, an older read for so long that it is not stale",
            of(Publish, published(), ObservedConnector { version: 5, ..met() }).at(LAG),
            "publish from 5",
        ),
    ]);
    let waits = of(Update, desired(), same(met())).at(seconds(85)).decide();
    assert_eq!(waits.again, Some(seconds(5)), "until the update can neither arrive nor be hidden");
    for (name, intent, digest) in [("arrived", desired(), Some("second")), ("the spec has changed", changed(), None)] {
        let applied = of(Update, intent, met()).decide().persisted.applied.expect("the update has ended");
        assert_eq!(applied.digest.as_deref(), digest, "{name}");
    }
    let working = of(Publish, published(), ObservedConnector { phase: Phase::Processing, ..met() }).decide();
    let operation = working.persisted.operation.expect("it runs");
    assert!(operation.accepted && operation.seen_busy, "{operation:?}");
    let live = || ObservedConnector { phase: Phase::Published, listed: true, ..met() };
    let once_more = Operation { from_phase: Some(Phase::Published), ..doing(Publish) };
    let done = Row::of(with(once_more), published(), live()).at(seconds(10)).decide();
    assert_eq!(
        done.persisted.publication.map(|tried| tried.outcome),
        Some(Phase::Published),
        "the change is published"
    );
}

/// The status is the only sign of a publication: without its response, the failure from before may mean that the call
/// never arrived, or that it failed as well.
#[test]
fn a_repeated_publication_without_a_response_is_sent_once_more_if_only_the_failure_from_before_shows() {
    let of = |accepted, version| {
        let failed = |digest: &str| Publication { digest: digest.into(), outcome: Phase::Failed, at: begun() };
        let retried = Operation {
            accepted,
            from_phase: Some(Phase::Failed),
            request: Some("retry".into()),
            ..doing(OperationType::Publish)
        };
        let persisted = PersistedState { publication: Some(failed("private:second")), ..with(retried) };
        let intent = Intent { request: Some("retry".into()), ..published() };
        Row::of(persisted, intent, ObservedConnector { version, phase: Phase::Failed, ..met() })
    };
    check(vec![
        ("the version from before", of(false, 6).at(seconds(10)), "publish from 6 again"),
        ("a higher version", of(false, 7).at(seconds(60)), "publish from 7"),
        ("its response was read", of(true, 7).at(seconds(10)), "Running(Publish)"),
        ("its response was read, and no read lags", of(true, 7).at(LAG), "PublishingFailed"),
    ]);
}

const RUNS: &str = "Running(Preview)";

#[test]
fn an_accepted_operation_ends_with_the_observation_after_it() {
    use OperationType::{Preview as Asks, Publish};
    let of = |kind, seen_busy, intent, observed: ObservedConnector| {
        Row::of(with(Operation { accepted: true, seen_busy, ..doing(kind) }), intent, observed).at(seconds(10))
    };
    let pending = || ObservedConnector { preview: Preview::Pending, ..met() };
    let failed = || ObservedConnector { phase: Phase::Failed, ..met() };
    check(vec![
        ("preview, busy", of(Asks, true, previewable(), pending()), "Running(Preview)"),
        ("preview, busy for a long time", of(Asks, true, previewable(), pending()).at(TOO_LONG), "TakesTooLong"),
        (
            "preview, a stale read with the permission of an earlier tag",
            of(Asks, false, previewable(), ObservedConnector { version: 6, preview: Preview::Granted, ..met() }),
            "Running(Preview)",
        ),
        (
            "preview, refused",
            of(Asks, true, previewable(), ObservedConnector { preview: Preview::Refused, ..met() }),
            "PreviewRefused",
        ),
        ("preview, not begun", of(Asks, false, previewable(), met()), "Running(Preview)"),
        ("preview, never begun", of(Asks, false, previewable(), met()).at(LAG), "PreviewRefused"),
        ("publish, not begun", of(Publish, false, published(), met()), "Running(Publish)"),
        ("publish, never begun", of(Publish, false, published(), met()).at(LAG), "PublishingFailed"),
        ("publish, failed", of(Publish, true, published(), failed()), "PublishingFailed"),
        (
            "publish, a stale read",
            of(Publish, true, published(), ObservedConnector { version: 6, ..failed() }),
            "Running(Publish)",
        ),
    ]);
    let elsewhere = || ObservedConnector { preview: Preview::Pending, ..of_the_first_tag() };
    let for_tag = |tag: &str| Operation { accepted: true, tag: Some(tag.into()), ..doing(Asks) };
    let stale = ObservedConnector { version: 6, ..elsewhere() };
    check(vec![
        ("another client set another tag", Row::of(with(for_tag("2")), previewable(), elsewhere()), "Busy"),
        ("a stale read of another tag", Row::of(with(for_tag("2")), previewable(), stale).at(seconds(10)), RUNS),
        ("the spec moved on", Row::of(with(for_tag("1")), previewable(), elsewhere()).at(seconds(10)), RUNS),
    ]);
    for (name, accepted, expected) in [("the response was read", true, true), ("the response was lost", false, false)] {
        let operation = Operation { accepted, ..doing(Asks) };
        let worked = Row::of(with(operation), previewable(), pending()).at(seconds(10)).decide();
        let granted = ObservedConnector { preview: Preview::Granted, ..met() };
        let ended = Row::of(worked.persisted, previewable(), granted).at(seconds(30)).decide();
        assert_eq!(
            ended.persisted.previewed.is_some(),
            expected,
            "{name}: it is not known whose request was processed"
        );
    }
    let worked = Row::of(with(Operation { accepted: true, ..doing(Asks) }), previewable(), pending()).decide();
    let forgotten = Row::of(worked.persisted, previewable(), met()).at(seconds(30)).decide();
    let again = forgotten.persisted.operation.expect("another request");
    assert_eq!((again.kind, again.accepted), (Asks, false), "the answer was removed before it was observed");
    let done =
        of(Publish, true, published(), ObservedConnector { phase: Phase::Published, listed: true, ..met() }).decide();
    assert_eq!(done.persisted.published.as_deref(), Some("2"));
    assert_eq!(done.persisted.publication.map(|tried| tried.outcome), Some(Phase::Published));
}

#[test]
fn rule_5_a_connector_is_gone_after_two_absences() {
    let missing = |since: Option<Duration>| {
        let row = Row::of(ours(), desired(), None);
        let absent_since = since.map(|ago| row.now.saturating_sub(ago).expect("a time in range"));
        Row { transient: TransientState { absent_since, ..TransientState::default() }, ..row }
    };
    check(vec![
        ("once", missing(None), "Missing"),
        ("twice, too soon", missing(Some(seconds(29))), "Missing"),
        ("twice", missing(Some(seconds(30))), "Disappeared"),
        (
            "twice, while an update runs",
            Row { persisted: with(doing(OperationType::Update)), ..missing(Some(seconds(30))) },
            "Disappeared",
        ),
    ]);
}

#[test]
fn a_response_decides_the_result_of_a_call() {
    use OperationType::{Create, Delete, Preview as Asks, Publish, Update};
    let call = |kind, first| {
        let (id, version) = (ID.to_owned(), 6);
        let kind = match kind {
            OperationType::Create => CallKind::Create,
            OperationType::Update => CallKind::Update { id, version },
            OperationType::Preview => CallKind::Preview { id, version },
            OperationType::Publish => CallKind::Publish { id, version, certification: false },
            OperationType::Delete => CallKind::Delete { id },
        };
        Call { kind, first }
    };
    let of = |kind, first, answer| {
        let persisted = PersistedState { operation: Some(doing(kind)), ..ours() };
        let cause = Cause { kind, digest: "second".into(), generation: 2, version: Some(6), request: None };
        apply_response(
            &persisted,
            &TransientState::default(),
            &call(kind, first),
            Some(cause),
            &answer,
            after(seconds(1)),
        )
    };
    let status_conversion =
        |outcome: &AppliedResponse| outcome.persisted.operation.as_ref().map(|operation| operation.accepted);
    for (name, outcome, operation, refused, paused) in [
        ("a create", of(Create, true, Response::Accepted(met())), None, false, false),
        ("an update", of(Update, true, Response::Accepted(met())), None, false, false),
        ("a preview", of(Asks, true, Response::Accepted(met())), Some(true), false, false),
        ("a publication", of(Publish, true, Response::Accepted(met())), Some(true), false, false),
        ("a delete", of(Delete, true, Response::Accepted(met())), Some(false), false, false),
        ("refused", of(Update, true, Response::Refused), None, true, false),
        ("refused when it was sent again", of(Update, false, Response::Refused), Some(false), true, false),
        ("another version", of(Update, true, Response::Retryable), None, false, true),
        ("another version, sent again", of(Update, false, Response::Retryable), Some(false), false, false),
        ("lost", of(Publish, true, Response::Unknown), Some(false), false, false),
        ("gone", of(Update, true, Response::NotFound), None, false, true),
        ("a value that is taken", of(Update, true, Response::Duplicate), None, true, false),
        ("the key exists, when it was sent again", of(Create, false, Response::Duplicate), Some(false), false, false),
    ] {
        assert_eq!(status_conversion(&outcome), operation, "{name}");
        assert_eq!(outcome.transient.refused.is_some(), refused, "{name}");
        assert_eq!(outcome.transient.pause.is_some(), paused, "{name}");
        assert!(!outcome.remove_finalizer && !outcome.key_taken, "{name}");
    }
    assert!(of(Create, true, Response::Duplicate).key_taken, "created between lookup and POST: another client's");
    let accepted = of(Delete, true, Response::Accepted(met()));
    assert_eq!(accepted.transient.deleted, Some(1), "in memory, until the next observation is written");
    assert!(of(Delete, true, Response::NotFound).remove_finalizer, "a 404 is the end");
    for (name, phase, busy) in [("it is being published", Phase::Processing, true), ("idle", Phase::Draft, false)] {
        let shown = ObservedConnector { phase, ..met() };
        let operation = of(Publish, true, Response::Accepted(shown)).persisted.operation.expect("it continues");
        assert_eq!(operation.seen_busy, busy, "{name}");
    }
    let applied = of(Update, true, Response::Accepted(met())).persisted.applied.expect("it was applied");
    assert_eq!((applied.digest.as_deref(), applied.from_version), (Some("second"), Some(6)));
}

#[test]
fn nothing_is_sent_during_a_pause_which_a_clock_that_was_set_back_does_not_extend() {
    let paused = |left: Duration| {
        let row = Row::of(ours(), desired(), of_the_first_tag());
        let pause = Some(Pause { until: later(row.now, left), times: 1 });
        Row { transient: TransientState { pause, ..TransientState::default() }, ..row }
    };
    check(vec![
        ("before its end", paused(seconds(1)), "Running(Update)"),
        ("after its end", paused(seconds(0)), "update from 7"),
    ]);
    assert_eq!(paused(seconds(1)).decide().again, Some(seconds(1)));
    assert_eq!(paused(Duration::from_hours(24)).decide().again, Some(PASSING_AT_MOST));
}

#[test]
fn a_refused_call_is_not_repeated_for_the_same_cause_and_version() {
    let refused = |version| {
        let cause =
            Cause { kind: OperationType::Update, digest: "second".into(), generation: 2, version, request: None };
        let refused = Refused::after(None, Some(cause), begun());
        TransientState { refused: Some(refused), ..TransientState::default() }
    };
    let row = |transient| Row { transient, ..Row::of(ours(), desired(), of_the_first_tag()).at(seconds(60)) };
    check(vec![
        ("the same", row(refused(Some(7))), "Refused"),
        ("some of it was applied", row(refused(Some(6))), "update from 7"),
        ("after ten minutes", Row { now: after(seconds(600)), ..row(refused(Some(7))) }, "update from 7"),
        (
            "another desired connector",
            Row { intent: Intent { digest: "third".into(), ..desired() }, ..row(refused(Some(7))) },
            "update from 7",
        ),
    ]);
}

#[test]
fn a_call_that_was_refused_when_it_was_sent_again_does_not_run_any_more() {
    let repeated = || with(Operation { from_version: Some(7), attempt: 2, ..doing(OperationType::Publish) });
    let refused = |digest: &str| {
        let cause = Cause {
            kind: OperationType::Publish,
            digest: digest.into(),
            generation: 2,
            version: Some(7),
            request: None,
        };
        TransientState { refused: Some(Refused::after(None, Some(cause), begun())), ..TransientState::default() }
    };
    let row = |refused| Row { transient: refused, ..Row::of(repeated(), published(), met()) };
    let same = || row(refused("private:second"));
    let requested = || Intent { request: Some("again".into()), ..published() };
    for (name, row, expected, runs) in [
        ("an earlier one may still arrive", same().at(seconds(89)), "Refused", true),
        ("none can arrive", same().at(LAG + LIMIT), "Refused", false),
        ("a retry is requested", Row { intent: requested(), ..same() }.at(LAG + LIMIT), "publish from 7", true),
        ("the refusal is too long ago", same().at(seconds(600)), "publish from 7 again", true),
        ("another one was refused", row(refused("private:first")).at(LAG + LIMIT), "publish from 7 again", true),
        ("it is not known", row(TransientState::default()).at(LAG + LIMIT), "publish from 7 again", true),
    ] {
        let decision = row.decide();
        assert_eq!((outcome(&decision).as_str(), decision.persisted.operation.is_some()), (expected, runs), "{name}");
    }
}
