use serde_json::json;

use super::testing::{Stage, by_key, demo, failure};
use super::{Outcomes, Rules, StagedBook};
use crate::catalogue::Catalogue;
use crate::staged::StagedListQuery;
use connect_api::Selector;
use connect_api::model::{ConnectorStaged, EntryType};

/// Returns status, listed, changed, and the newest published version.
fn state(stage: &mut Stage) -> (String, bool, bool, Option<i64>) {
    let shown = stage.shown();
    let published = stage.book.published().map(|connector| connector.version).max();
    (shown.status.to_string(), shown.already_listed, shown.has_changes, published)
}

fn is(status: &str, listed: bool, changed: bool, version: Option<i64>) -> (String, bool, bool, Option<i64>) {
    (status.to_owned(), listed, changed, version)
}

fn titles(shown: &ConnectorStaged) -> (Vec<String>, Vec<String>) {
    let titles = |report: &Option<connect_api::model::Report>| {
        let entries = report.iter().flat_map(|report| &report.entries);
        entries.map(|entry| entry.title.clone()).collect::<Vec<_>>()
    };
    (titles(&shown.publishing_report), titles(&shown.previewable_report))
}

#[test]
fn a_connector_is_published_privately_and_again_with_a_higher_version() {
    let mut stage = Stage::with_mine(&[]);
    assert_eq!(state(&mut stage), is("Draft", false, false, None));
    stage.publish(false);
    stage.step(9);
    assert_eq!(state(&mut stage), is("Processing", false, false, None));
    stage.step(1);
    assert_eq!(state(&mut stage), is("Published", true, false, Some(1)));
    stage.act(&json!({"action": "setDescription", "description": "New"}));
    assert_eq!(state(&mut stage), is("Published", true, true, Some(1)));
    stage.act(&json!({"action": "setDescription", "description": ""}));
    assert!(stage.shown().has_changes, "no description and an empty one differ");
    stage.publish(false);
    assert_eq!(state(&mut stage), is("Processing", true, true, Some(1)), "the old version stays listed meanwhile");
    stage.step(10);
    assert_eq!(state(&mut stage), is("Published", true, false, Some(2)));
    let offered: Vec<_> = stage.book.offered().cloned().collect();
    let last = offered.last().expect("it is listed");
    assert_eq!((last.private, last.certified, last.staged), (true, false, false));
    assert_eq!(last.id, stage.shown().id, "staged and published have the same id");
    assert_eq!(offered.iter().map(|connector| connector.version).collect::<Vec<_>>(), [1, 2], "both are listed");
}

#[test]
fn the_version_that_was_submitted_is_published_and_publishing_lists_it_again() {
    let mut stage = Stage::with_mine(&[]);
    stage.publish(true);
    stage.step(29);
    stage.act(&json!({"action": "setName", "name": "Changed meanwhile"}));
    stage.step(1);
    assert_eq!(state(&mut stage), is("Published", true, true, Some(1)));
    assert_eq!(stage.book.offered().next().map(|offered| offered.name.as_str()), Some("Mine"));
    stage.act(&json!({"action": "unlist"}));
    assert_eq!(state(&mut stage), is("Published", false, true, Some(1)));
    assert_eq!((stage.book.offered().count(), stage.book.published().count()), (0, 1));
    stage.publish(true);
    stage.step(30);
    assert_eq!(state(&mut stage), is("Published", true, false, Some(2)));
}

#[test]
fn one_long_step_is_the_same_as_many_short_ones() {
    let mut stages = [1, 40].map(|seconds| {
        let mut stage = Stage::with_mine(&["versions=status"]);
        stage.act(&json!({"action": "updatePreviewable"}));
        stage.publish(true);
        (0..40 / seconds).for_each(|_| drop(stage.step(seconds)));
        stage
    });
    let shown = stages.each_mut().map(Stage::shown);
    assert_eq!(shown[0], shown[1]);
    // Created, two updates, preview, ready, in certification, published.
    assert_eq!(shown[0].version, 7);
}

#[test]
fn a_failure_has_a_report_and_can_be_retried() {
    let outcomes = |which: &str| {
        let planned = Some(failure(which));
        match which {
            "publishing" => Outcomes { publishing: planned, ..Outcomes::default() },
            "certification" => Outcomes { certification: planned, ..Outcomes::default() },
            _ => Outcomes { preview: planned, ..Outcomes::default() },
        }
    };
    for (which, certification, status) in
        [("publishing", false, "Failed"), ("publishing", true, "Failed"), ("certification", true, "Failed")]
    {
        let mut stage = Stage::with_mine(&[]);
        stage.plan(outcomes(which));
        stage.publish(certification);
        let shown = stage.step(30);
        assert_eq!((shown.status.as_str(), titles(&shown).0), (status, vec![which.to_owned()]), "{which}");
        let entry = &shown.publishing_report.expect(which).entries[0];
        assert_eq!((&entry.kind, &entry.application), (&EntryType::Error, &None), "{which}");
        assert!(!shown.already_listed && stage.book.offered().next().is_none(), "{which}");
        stage.publish(certification);
        let shown = stage.step(30);
        assert_eq!((shown.status.as_str(), titles(&shown).0.len()), ("Published", 0), "{which}");
    }
    let mut stage = Stage::with_mine(&[]);
    stage.plan(outcomes("preview"));
    stage.act(&json!({"action": "updatePreviewable"}));
    let shown = stage.step(5);
    assert_eq!((shown.is_previewable.as_str(), titles(&shown).1), ("false", vec!["preview".to_owned()]));
    stage.act(&json!({"action": "updatePreviewable"}));
    assert_eq!(stage.step(4).is_previewable.as_str(), "pending");
    let shown = stage.step(1);
    assert_eq!((shown.is_previewable.as_str(), titles(&shown).1.len()), ("true", 0));
}

#[test]
fn the_tag_determines_the_outcomes() {
    for (tag, certification, expected) in [
        ("1.0.0", true, ("Published", "true")),
        ("1.2.0-not-previewable", true, ("Published", "false")),
        ("1.2.0-not-published", false, ("Failed", "true")),
        ("1.2.0-not-certified", true, ("Failed", "true")),
        ("1.2.0-not-certified", false, ("Published", "true")),
    ] {
        let mut stage = Stage::with_mine(&[]);
        stage.act(&json!({"action": "setRepository", "tag": tag}));
        stage.act(&json!({"action": "updatePreviewable"}));
        stage.publish(certification);
        let shown = stage.step(40);
        assert_eq!((shown.status.as_str(), shown.is_previewable.as_str()), expected, "{tag} {certification}");
    }
}

#[test]
fn the_choices_of_the_variant_take_effect() {
    let mut stage = Stage::with_mine(&["certification=by-hand"]);
    stage.publish(true);
    assert_eq!(stage.step(1_000).status.as_str(), "ReadyForCertification");
    let id = stage.shown().id;
    let rules = Rules { variant: &stage.variant, lasts: super::testing::LASTS };
    stage.book.by_id(&id).expect("the connector exists").hasten(stage.now, rules);
    assert_eq!(stage.shown().status.as_str(), "Published");

    for (choice, expected) in [("keeps-preview", "true"), ("resets-preview", "none")] {
        let mut stage = Stage::with_mine(&[&format!("new-tag={choice}")]);
        stage.act(&json!({"action": "updatePreviewable"}));
        stage.step(5);
        let shown = stage.act(&json!({"action": "setRepository", "tag": "1.1.0"}));
        assert_eq!(shown.is_previewable.as_str(), expected, "{choice}");
    }

    let mut stage = Stage::with_mine(&["repository-check=later"]);
    stage.act(&json!({"action": "setRepository", "tag": "0.1.0-empty"}));
    stage.act(&json!({"action": "updatePreviewable"}));
    stage.publish(false);
    let shown = stage.step(10);
    assert_eq!((shown.status.as_str(), shown.is_previewable.as_str()), ("Failed", "false"));
    let title = vec!["Connector specification file not found".to_owned()];
    assert_eq!(titles(&shown), (title.clone(), title));
    stage.act(&json!({"action": "setRepository", "tag": "1.0.0"}));
    stage.publish(false);
    assert_eq!(stage.step(10).status.as_str(), "Published", "another tag fixes it");

    let mut stage = Stage::with_mine(&["certified-again=never"]);
    stage.publish(true);
    stage.step(30);
    stage.act(&json!({"action": "setName", "name": "New"}));
    let refusal = stage.update(&json!([{"action": "publish", "certification": true}])).expect_err("certified once");
    assert_eq!(refusal.codes(), ["ConnectorAlreadyCertified"]);
    stage.publish(false);
    stage.step(10);
    let newest = stage.book.offered().last().expect("it is listed");
    assert_eq!((newest.version, newest.certified, newest.private), (2, true, false));
}

#[test]
fn lagging_reads_show_the_previous_state() {
    let mut stage = Stage::with_mine(&["read-lag=2s"]);
    let read = |stage: &Stage| stage.book.read(&demo(), &by_key(), stage.now).ok().map(|shown| shown.name);
    let listed = |stage: &Stage| stage.book.list(&demo(), &StagedListQuery::default(), stage.now).total;
    assert_eq!((read(&stage), listed(&stage)), (None, 0), "it does not exist yet");
    stage.step(2);
    assert_eq!((read(&stage).as_deref(), listed(&stage)), (Some("Mine"), 1));
    assert_eq!(stage.act(&json!({"action": "setName", "name": "New"})).name, "New", "the answer does not lag");
    assert_eq!(read(&stage).as_deref(), Some("Mine"));
    stage.step(2);
    assert_eq!(read(&stage).as_deref(), Some("New"));
}

#[test]
fn a_delete_removes_the_published_versions_and_frees_the_key() {
    for (choice, seconds, free) in [("key-held=0s", 0, true), ("key-held=5s", 4, false), ("key-held=5s", 5, true)] {
        let mut stage = Stage::with_mine(&[choice]);
        stage.publish(false);
        let rules = Rules { variant: &stage.variant, lasts: super::testing::LASTS };
        let refusal = stage.book.delete(&demo(), &by_key(), stage.now, rules).expect_err("publishing runs");
        assert_eq!((refusal.status, refusal.codes()), (400, vec!["ConnectorStagedInCertification"]));
        stage.step(10);
        let rules = Rules { variant: &stage.variant, lasts: super::testing::LASTS };
        let deleted = stage.book.delete(&demo(), &by_key(), stage.now, rules).expect("nothing runs");
        assert_eq!(deleted.status.as_str(), "Published");
        assert_eq!(stage.book.published().count(), 0);
        assert!(stage.book.read(&demo(), &Selector::Id(deleted.id), stage.now).is_err());
        stage.now = clock::later(stage.now, std::time::Duration::from_secs(seconds));
        stage.book.advance(stage.now, Rules { variant: &stage.variant, lasts: super::testing::LASTS });
        assert_eq!(stage.book.is_free("mine"), free, "{choice} after {seconds} s");
    }
}

#[test]
fn connectors_of_the_catalogue_are_seeded_again_only_if_nobody_changed_or_deleted_them() {
    let catalogue = Catalogue::built_in();
    let mut book = StagedBook::default();
    book.seed(&catalogue.connectors);
    let keys = |book: &StagedBook| {
        let mut keys: Vec<_> =
            book.records().map(|record| (record.definition.key.clone(), record.definition.version)).collect();
        keys.sort();
        keys
    };
    assert_eq!(keys(&book), [("demo-staged".to_owned(), 1), ("demo-staged-hidden".to_owned(), 1)]);
    let id = book.named(&Selector::Key("demo-staged-hidden".into())).expect("it is seeded").definition.id.clone();
    book.remove(&id).expect("the connector exists");
    book.raise("demo-staged", true, |_| ()).expect("the connector exists");
    let kept = serde_json::to_string(&book).expect("it is JSON");
    let mut book: StagedBook = serde_json::from_str(&kept).expect("what was written is read");
    book.seed(&catalogue.connectors);
    assert_eq!(keys(&book), [("demo-staged".to_owned(), 2)]);

    let order = |book: &StagedBook| {
        let page = book.list(&demo(), &StagedListQuery::default(), jiff::Timestamp::UNIX_EPOCH);
        page.results.into_iter().filter_map(|shown| shown.key).collect::<Vec<_>>()
    };
    let mut stage = Stage::with_mine(&[]);
    stage.book.seed(&catalogue.connectors);
    let before = order(&stage.book);
    stage.book.seed(&catalogue.connectors);
    assert_eq!(order(&stage.book), before, "a restart keeps the order");
    assert_eq!(before, ["mine", "demo-staged", "demo-staged-hidden"]);
}
