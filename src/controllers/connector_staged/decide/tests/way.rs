//! The steps of a tag, and its deletion.

use super::*;

#[test]
fn rules_1_2_and_13_who_owns_a_key() {
    let adopts = || Intent { adopt: true, ..desired() };
    let known = || Intent { remote_id: Some(ID.into()), ..desired() };
    check(vec![
        ("free", Row::of(PersistedState::default(), desired(), None), "create"),
        ("taken", Row::of(PersistedState::default(), desired(), met()), "KeyTaken"),
        ("adopted as it is", Row::of(PersistedState::default(), adopts(), met()), "Settled(Staged)"),
        ("adopted and changed", Row::of(PersistedState::default(), adopts(), of_the_first_tag()), "update from 7"),
        ("restored from a backup", Row::of(PersistedState::default(), known(), met()), "Settled(Staged)"),
        (
            "another connector's id in the annotation",
            Row::of(PersistedState::default(), Intent { remote_id: Some("two".into()), ..desired() }, met()),
            "KeyTaken",
        ),
        (
            "suspended",
            Row::of(PersistedState::default(), Intent { suspended: true, ..desired() }, None),
            "HeldBySuspend",
        ),
    ]);
    let adopted =
        Row::of(PersistedState::default(), adopts(), ObservedConnector { preview: Preview::Granted, ..met() }).decide();
    assert_eq!(adopted.persisted.id.as_deref(), Some(ID));
    assert_eq!(adopted.persisted.previewed, None, "the tag for which a permission was granted cannot be read");
    let applied = adopted.persisted.applied.expect("it was taken over");
    assert_eq!((applied.generation, applied.at), (2, after(Duration::from_hours(1))));
    let live = || ObservedConnector { listed: true, ..met() };
    for (name, observed, published) in [
        ("the tag is published", live(), Some("2")),
        ("it was never published", met(), None),
        ("it was changed since", ObservedConnector { changed: true, ..live() }, None),
        ("another tag is published", ObservedConnector { listed: true, ..of_the_first_tag() }, None),
    ] {
        let adopted = Row::of(PersistedState::default(), adopts(), observed).decide();
        assert_eq!(adopted.persisted.published.as_deref(), published, "{name}");
    }
    let wants = || Intent { adopt: true, ..previewable() };
    let granted = || ObservedConnector { preview: Preview::Granted, ..met() };
    check(vec![(
        "adopted with a permission",
        Row::of(PersistedState::default(), wants(), granted()),
        "preview from 7",
    )]);
}

#[test]
#[allow(clippy::too_many_lines, reason = "a table")]
fn a_tag_passes_its_steps_in_order() {
    let granted = || ObservedConnector { preview: Preview::Granted, ..met() };
    let asked = || PersistedState { previewed: Some("2".into()), ..ours() };
    let tried = |outcome| PersistedState {
        publication: Some(Publication { digest: "private:second".into(), outcome, at: begun() }),
        ..ours()
    };
    let live = || ObservedConnector { phase: Phase::Published, listed: true, ..met() };
    let both = || Intent { previewable: true, ..published() };
    let unproven = || Intent { proven: false, ..published() };
    let certified = || Intent { publish: Some(true), publication: Some("certified:second".into()), ..desired() };
    check(vec![
        ("as it is", Row::of(ours(), desired(), met()), "Settled(Staged)"),
        ("another tag", Row::of(ours(), desired(), of_the_first_tag()), "update from 7"),
        (
            "cannot be changed",
            Row::of(ours(), desired(), ObservedConnector { impossible: true, met: false, ..met() }),
            "CannotChange",
        ),
        ("to be previewed", Row::of(ours(), previewable(), met()), "preview from 7"),
        (
            "granted for an earlier tag",
            Row::of(PersistedState { previewed: Some("1".into()), ..ours() }, previewable(), granted()),
            "preview from 7",
        ),
        ("pending", Row::of(asked(), previewable(), ObservedConnector { preview: Preview::Pending, ..met() }), "Busy"),
        ("granted", Row::of(asked(), previewable(), granted()), "Settled(Previewable)"),
        (
            "refused",
            Row::of(asked(), previewable(), ObservedConnector { preview: Preview::Refused, ..met() }),
            "PreviewRefused",
        ),
        ("requested, and never answered", Row::of(asked(), previewable(), met()), "PreviewRefused"),
        (
            "granted once, and removed by another client",
            Row::of(
                PersistedState { deployable: Some(Deployable { source: "two".into(), version: 5 }), ..asked() },
                previewable(),
                met(),
            ),
            "preview from 7",
        ),
        (
            "refused once, and forgotten by the service",
            Row::of(PersistedState { refused: true, ..asked() }, previewable(), met()),
            "preview from 7",
        ),
        ("not before the preview", Row::of(ours(), both(), met()), "preview from 7"),
        (
            "not without the preview",
            Row::of(asked(), both(), ObservedConnector { preview: Preview::Refused, ..met() }),
            "PreviewRefused",
        ),
        ("after the preview", Row::of(asked(), both(), granted()), "publish from 7"),
        ("to be published", Row::of(ours(), published(), met()), "publish from 7"),
        ("to be proven first", Row::of(ours(), unproven(), met()), "AwaitingProof"),
        ("published, and not proven", Row::of(ours(), unproven(), live()), "Settled(Published)"),
        ("another tag that is not proven", Row::of(ours(), unproven(), of_the_first_tag()), "update from 7"),
        ("failed, and not proven", Row::of(tried(Phase::Failed), unproven(), met()), "PublishingFailed"),
        ("publishing", Row::of(ours(), published(), ObservedConnector { phase: Phase::Processing, ..met() }), "Busy"),
        ("published", Row::of(ours(), published(), live()), "Settled(Published)"),
        (
            "published, and changed since",
            Row::of(ours(), published(), ObservedConnector { changed: true, ..live() }),
            "publish from 7",
        ),
        (
            "a change that the service reports after publishing",
            Row::of(tried(Phase::Published), published(), ObservedConnector { changed: true, ..live() }),
            "Settled(Published)",
        ),
        (
            "not published",
            Row::of(tried(Phase::Failed), published(), ObservedConnector { phase: Phase::Failed, ..met() }),
            "PublishingFailed",
        ),
        ("left as it was", Row::of(tried(Phase::Draft), published(), met()), "PublishingFailed"),
        (
            "another content failed",
            Row::of(tried(Phase::Failed), Intent { publication: Some("private:third".into()), ..published() }, met()),
            "publish from 7",
        ),
        ("to be certified", Row::of(ours(), certified(), met()), "publish from 7 certified"),
        ("private, to be certified", Row::of(ours(), certified(), live()), "publish from 7 certified"),
        (
            "certified",
            Row::of(ours(), certified(), ObservedConnector { private: false, ..live() }),
            "Settled(Published)",
        ),
        (
            "in certification",
            Row::of(ours(), certified(), ObservedConnector { phase: Phase::Certifying, ..met() }),
            "Certifying",
        ),
        (
            "in certification, and not to be published",
            Row::of(ours(), desired(), ObservedConnector { phase: Phase::Certifying, ..met() }),
            "Settled(Staged)",
        ),
        (
            "changed while in certification",
            Row::of(ours(), certified(), ObservedConnector { phase: Phase::Certifying, ..of_the_first_tag() }),
            "update from 7",
        ),
        ("an unknown status", Row::of(ours(), desired(), ObservedConnector { phase: Phase::Other, ..met() }), "Busy"),
    ]);
    for (name, row) in [
        (
            "another client set another tag",
            Row::of(asked(), Intent { suspended: true, ..previewable() }, of_the_first_tag()),
        ),
        (
            "an earlier tag is desired again, and another client set it",
            Row::of(PersistedState { previewed: Some("1".into()), ..ours() }, desired(), granted()),
        ),
    ] {
        assert_eq!(row.decide().persisted.previewed, None, "{name}: permission is requested again");
    }
    let refused = ObservedConnector { preview: Preview::Refused, ..met() };
    let seen = Row::of(asked(), previewable(), refused).decide();
    assert!(seen.persisted.refused, "a refusal is remembered");
    let again = Row::of(seen.persisted, previewable(), met()).decide();
    assert!(!again.persisted.refused, "permission is requested once more, and not again and again");
    let update = Row::of(asked(), previewable(), of_the_first_tag()).decide();
    assert_eq!(update.persisted.previewed, None, "permission is for one tag");
    let renamed = Row::of(asked(), previewable(), ObservedConnector { met: false, ..granted() }).decide();
    assert_eq!(renamed.persisted.previewed.as_deref(), Some("2"), "another name is not another tag");
}

#[test]
fn a_tag_can_be_deployed_since_the_version_in_which_its_permission_was_observed() {
    let granted = |version| ObservedConnector { preview: Preview::Granted, version, ..met() };
    let asked = || PersistedState { previewed: Some("2".into()), ..ours() };
    let first = Row::of(asked(), Intent { previewable: true, ..published() }, granted(9)).decide();
    let known = Some(Deployable { source: "two".into(), version: 9 });
    assert_eq!(first.persisted.deployable, known, "before it is published");
    let later = Row::of(PersistedState { deployable: known.clone(), ..asked() }, previewable(), granted(12)).decide();
    assert_eq!(later.persisted.deployable, known, "later steps of the same tag do not cause another deployment");
    let old = PersistedState { deployable: Some(Deployable { source: "one".into(), version: 4 }), ..asked() };
    assert_eq!(
        Row::of(old, previewable(), granted(12)).decide().persisted.deployable.map(|known| known.version),
        Some(12)
    );
    for suspended in [false, true] {
        let too_early = Row::of(ours(), Intent { suspended, ..previewable() }, granted(12)).decide();
        assert_eq!(too_early.persisted.deployable, None, "the permission may be that of an earlier tag");
    }
    let by_others = Row::of(ours(), desired(), granted(12)).decide();
    assert_eq!(by_others.persisted.deployable.map(|known| known.version), Some(12), "no permission is requested");
    let lost = PersistedState { deployable: known, ..asked() };
    let again = Row::of(lost, previewable(), ObservedConnector { version: 12, ..met() }).decide();
    assert_eq!(again.persisted.deployable, None, "another client removed the permission");
}

#[test]
fn normalized_values_are_left_alone_and_later_changes_are_corrected() {
    let applied = |digest: &str, remote: &str| PersistedState {
        applied: Some(Applied {
            digest: Some(digest.into()),
            remote: Some(remote.into()),
            at: begun(),
            ..Applied::default()
        }),
        ..ours()
    };
    let other = |digest: &str| ObservedConnector { digest: digest.into(), met: false, ..met() };
    check(vec![
        (
            "normalized by the service",
            Row::of(applied("second", "Second"), desired(), other("Second")),
            "Settled(Staged)",
        ),
        (
            "changed by another client",
            Row::of(applied("second", "Second"), desired(), other("theirs")),
            "update from 7",
        ),
        ("something else was sent", Row::of(applied("first", "Second"), desired(), other("Second")), "update from 7"),
    ]);
}

#[test]
fn rule_11_a_request_retries_once_what_failed_and_nothing_else() {
    let again = |intent: Intent| Intent { request: Some("now".into()), ..intent };
    let asked = || PersistedState { previewed: Some("2".into()), ..ours() };
    let tried = || PersistedState {
        publication: Some(Publication { digest: "private:second".into(), outcome: Phase::Failed, at: begun() }),
        ..ours()
    };
    let served = |persisted: PersistedState| PersistedState { handled_request: Some("now".into()), ..persisted };
    let refused = || ObservedConnector { preview: Preview::Refused, ..met() };
    let failed = || ObservedConnector { phase: Phase::Failed, ..met() };
    check(vec![
        ("a preview", Row::of(asked(), again(previewable()), refused()), "preview from 7"),
        ("once", Row::of(served(asked()), again(previewable()), refused()), "PreviewRefused"),
        ("a publication", Row::of(tried(), again(published()), failed()), "publish from 7"),
        ("once", Row::of(served(tried()), again(published()), failed()), "PublishingFailed"),
        ("nothing failed", Row::of(ours(), again(desired()), met()), "Settled(Staged)"),
    ]);
    let nothing = Row::of(ours(), again(desired()), met()).decide();
    assert_eq!(nothing.persisted.handled_request.as_deref(), Some("now"), "the request counts as served");
}

#[test]
fn rules_22_and_23_deleting() {
    let deletes = || Intent { deletion: Some(DeletionPolicy::Delete), ..desired() };
    let orphans = || Intent { deletion: Some(DeletionPolicy::Orphan), ..desired() };
    let deleting = |accepted| with(Operation { accepted, from_version: None, ..doing(OperationType::Delete) });
    let creating = || PersistedState { operation: Some(doing(OperationType::Create)), ..PersistedState::default() };
    let publishing = || ObservedConnector { phase: Phase::Processing, ..met() };
    let published_just_now = || with(Operation { accepted: true, ..doing(OperationType::Publish) });
    let without_id = || PersistedState { id: None, ..with(doing(OperationType::Update)) };
    check(vec![
        ("orphan", Row::of(ours(), orphans(), met()), "released"),
        ("orphan, while it is created", Row::of(creating(), orphans(), None).at(seconds(1)), "released"),
        ("there", Row::of(ours(), deletes(), met()), "delete"),
        ("even if suspended", Row::of(ours(), Intent { suspended: true, ..deletes() }, met()), "delete"),
        ("being published", Row::of(ours(), deletes(), publishing()), "Running(Delete)"),
        (
            "in certification",
            Row::of(ours(), deletes(), ObservedConnector { phase: Phase::Certifying, ..met() }),
            "delete",
        ),
        ("absent, nothing was sent", Row::of(ours(), deletes(), None), "delete"),
        ("absent, after an accepted DELETE", Row::of(deleting(true), deletes(), None), "released"),
        (
            "absent, after an accepted DELETE that only this process knows",
            Row {
                transient: TransientState { deleted: Some(1), ..TransientState::default() },
                ..Row::of(deleting(false), deletes(), None)
            },
            "released",
        ),
        (
            "absent, and a former DELETE was accepted",
            Row {
                transient: TransientState { deleted: Some(2), ..TransientState::default() },
                ..Row::of(deleting(false), deletes(), None).at(seconds(5))
            },
            "Running(Delete)",
        ),
        (
            "absent, after a DELETE whose response was lost",
            Row::of(deleting(false), deletes(), None).at(seconds(6)),
            "delete again",
        ),
        (
            "absent, and a DELETE whose response was lost may still arrive",
            Row::of(deleting(false), deletes(), None).at(seconds(5)),
            "Running(Delete)",
        ),
        ("still exists", Row::of(deleting(true), deletes(), met()).at(seconds(11)), "Running(Delete)"),
        ("still exists after the pause", Row::of(deleting(true), deletes(), met()).at(seconds(12)), "delete again"),
        ("published meanwhile", Row::of(published_just_now(), deletes(), met()).at(seconds(1)), "delete"),
        ("an update without an id", Row::of(without_id(), deletes(), None).at(seconds(1)), "released"),
        ("exists again", Row::of(deleting(true), deletes(), met()), "delete again"),
        ("never created", Row::of(PersistedState::default(), deletes(), None), "released"),
        ("another client's", Row::of(PersistedState::default(), deletes(), met()), "released"),
        (
            "named by the annotation",
            Row::of(PersistedState::default(), Intent { remote_id: Some(ID.into()), ..deletes() }, met()),
            "delete",
        ),
        ("a create may still arrive", Row::of(creating(), deletes(), None).at(seconds(119)), "Running(Delete)"),
        ("a create can no longer arrive", Row::of(creating(), deletes(), None).at(QUIET_PERIOD), "released"),
        ("the create has arrived", Row::of(creating(), deletes(), met()).at(seconds(1)), "delete"),
        ("the create has not arrived", Row::of(creating(), deletes(), of_the_first_tag()).at(QUIET_PERIOD), "released"),
    ]);
}

/// Until then, nothing is read: what is read would only be read again when the call is due.
#[test]
fn a_lost_delete_is_observed_when_it_is_due() {
    let deletes = || Intent { deletion: Some(DeletionPolicy::Delete), ..desired() };
    let deleting = |attempt| Operation { attempt, from_version: None, ..doing(OperationType::Delete) };
    let mut rows = Vec::new();
    for (attempt, pause) in [(1, 6), (2, 12), (3, 24), (100, 300)] {
        assert_eq!(needless_until(&deleting(attempt)), Some(after(seconds(pause))), "attempt {attempt}");
        for observed in [None, Some(met())] {
            let row = |at| Row::of(with(deleting(attempt)), deletes(), observed.clone()).at(at);
            rows.push(("early", row(seconds(pause - 1)), "Running(Delete)"));
            rows.push(("due", row(seconds(pause)), "delete again"));
        }
    }
    check(rows);
    for ends in
        [Operation { accepted: true, ..deleting(1) }, doing(OperationType::Update), doing(OperationType::Create)]
    {
        assert_eq!(needless_until(&ends), None, "{:?} may end with the next observation", ends.kind);
    }
}
