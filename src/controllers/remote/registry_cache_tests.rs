//! Table tests of [`super`].

use super::*;
use crate::controllers::remote::testing::{START, at, object_ref};

const INTERVAL: Duration = Duration::from_mins(5);

fn tax() -> RegistryKey {
    RegistryKey { selector: Selector::Key("tax".into()), staged: false }
}

fn registry_entry(seconds: u64, version: i64) -> RegistryEntry {
    let offering = RegistryConnector { version, ..RegistryConnector::default() };
    RegistryEntry { at: at(seconds), found: RegistryAnswer::There(Arc::new(offering)), current: true }
}

fn observe(
    registry_cache: &mut RegistryCache,
    RegistryEntry { at: left, found, .. }: RegistryEntry,
    seconds: u64,
) -> Vec<ObjectRef> {
    registry_cache.observe(&tax(), left, found, at(seconds), &mut Jitter::new(1)).into_iter().collect()
}

fn without(seconds: u64, found: RegistryAnswer) -> RegistryEntry {
    let current = found != RegistryAnswer::Unreadable;
    RegistryEntry { at: at(seconds), found, current }
}

#[test]
fn one_read_serves_all_waiting_objects_and_only_a_change_enqueues_the_others() {
    let mut registry_cache = RegistryCache::default();
    let all: Vec<_> = (0..3).map(object_ref).collect();
    for object_ref in &all {
        assert_eq!(registry_cache.take(object_ref, &tax(), INTERVAL, START, at(1)), None);
    }
    assert_eq!(registry_cache.due(at(1)), [tax()]);
    assert_eq!(observe(&mut registry_cache, registry_entry(1, 1), 2), all);
    for object_ref in &all {
        assert_eq!(registry_cache.take(object_ref, &tax(), INTERVAL, START, at(3)), Some(registry_entry(1, 1)));
    }
    assert!(
        registry_cache.due(at(300)).is_empty() && registry_cache.next() <= at(332),
        "at the interval, or up to a tenth later"
    );
    assert!(observe(&mut registry_cache, registry_entry(310, 1), 311).is_empty(), "no change");
    assert_eq!(observe(&mut registry_cache, registry_entry(620, 2), 621), all, "another version");
    assert_eq!(observe(&mut registry_cache, without(930, RegistryAnswer::Absent), 931), all, "gone");
    assert!(observe(&mut registry_cache, without(1_240, RegistryAnswer::Absent), 1_241).is_empty());
}

#[test]
fn an_entry_older_than_asked_for_is_not_returned_and_is_read_again() {
    let mut registry_cache = RegistryCache::default();
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, at(0)), None);
    observe(&mut registry_cache, registry_entry(0, 1), 0);
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, at(5), at(6)), None, "older");
    assert_eq!(registry_cache.due(at(6)), [tax()]);
    assert!(observe(&mut registry_cache, registry_entry(4, 1), 6).is_empty(), "its request left too early");
    assert_eq!(registry_cache.due(at(6)), [tax()], "still pending");
    assert_eq!(observe(&mut registry_cache, registry_entry(6, 1), 7), [object_ref(0)]);
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, at(5), at(7)), Some(registry_entry(6, 1)));
}

#[test]
fn an_object_that_names_another_connector_or_is_gone_is_not_kept() {
    let mut registry_cache = RegistryCache::default();
    let other = RegistryKey { staged: true, ..tax() };
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, START), None);
    assert_eq!(registry_cache.take(&object_ref(1), &tax(), Duration::from_secs(30), START, START), None);
    assert_eq!(registry_cache.take(&object_ref(0), &other, INTERVAL, START, START), None);
    assert_eq!(observe(&mut registry_cache, registry_entry(0, 1), 0), [object_ref(1)]);
    assert_eq!(registry_cache.due(START), std::slice::from_ref(&other));
    assert_eq!(registry_cache.waiting().collect::<Vec<_>>(), [&object_ref(0)]);
    assert_eq!(registry_cache.object_refs().collect::<Vec<_>>(), [&object_ref(0), &object_ref(1)]);
    registry_cache.forget(&object_ref(1));
    assert!(observe(&mut registry_cache, registry_entry(1, 2), 1).is_empty());
    assert_eq!(registry_cache.dismiss(|dismissed| *dismissed == object_ref(0)), [object_ref(0)]);
    assert_eq!(
        (registry_cache.next(), registry_cache.object_refs().count(), registry_cache.waiting().count()),
        (Timestamp::MAX, 0, 0)
    );
}

#[test]
fn a_staged_connector_differs_from_a_published_one_by_whether_it_is_previewable() {
    let record = serde_json::json!({
        "id": "1", "key": "tax", "version": 3, "name": "Tax", "creator": {"email": "dev@example.com"}, "status": "Draft",
        "repository": {"url": "https://example.com/tax.git", "tag": "2"}, "isPreviewable": "true",
        "supportedRegions": ["a.b"], "configurations": [], "globalConfiguration": {}, "apiClient": {"scopes": ["x"]},
    });
    let published = RegistryConnector::from(serde_json::from_value::<Connector>(record.clone()).expect("a connector"));
    let staged = RegistryConnector::from(serde_json::from_value::<ConnectorStaged>(record).expect("a connector"));
    assert_eq!((published.tag.as_str(), published.version), ("2", 3));
    assert_eq!(staged, RegistryConnector { previewable: Some(IsPreviewable::Yes), ..published });
}

#[test]
fn new_credentials_outdate_all_entries() {
    let mut registry_cache = RegistryCache::default();
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, START), None);
    observe(&mut registry_cache, without(0, RegistryAnswer::Unreadable), 0);
    assert_eq!(
        registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, at(1)),
        Some(without(0, RegistryAnswer::Unreadable))
    );
    registry_cache.distrust(at(2));
    assert_eq!(registry_cache.due(at(2)), [tax()]);
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, at(2)), None);
    assert_eq!(
        registry_cache
            .take(&object_ref(1), &tax(), INTERVAL, Timestamp::MIN, at(2))
            .map(|registry_entry| registry_entry.found),
        Some(RegistryAnswer::Unreadable)
    );
    assert_eq!(
        observe(&mut registry_cache, registry_entry(3, 1), 3),
        [object_ref(0), object_ref(1)],
        "it can be read now"
    );
}

#[test]
fn an_entry_that_becomes_unreadable_stays_but_is_not_current() {
    let mut registry_cache = RegistryCache::default();
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, START), None);
    observe(&mut registry_cache, registry_entry(0, 1), 0);
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, at(9), at(9)), None);
    assert_eq!(observe(&mut registry_cache, without(10, RegistryAnswer::Unreadable), 11), [object_ref(0)], "it waited");
    let known = registry_cache.take(&object_ref(0), &tax(), INTERVAL, at(9), at(12)).expect("the entry is kept");
    assert_eq!(known, RegistryEntry { current: false, at: at(10), ..registry_entry(0, 1) });
    assert!(observe(&mut registry_cache, registry_entry(320, 1), 321).is_empty(), "no change");
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, at(9), at(322)), Some(registry_entry(320, 1)));
}

#[test]
fn what_an_object_waits_for_is_read_before_what_is_only_due() {
    let mut registry_cache = RegistryCache::default();
    let other = RegistryKey { selector: Selector::Key("other".into()), staged: false };
    assert_eq!(registry_cache.take(&object_ref(0), &tax(), INTERVAL, START, START), None);
    observe(&mut registry_cache, registry_entry(0, 1), 0);
    assert_eq!(registry_cache.take(&object_ref(1), &other, INTERVAL, START, at(350)), None);
    assert_eq!(registry_cache.due(at(360)), [other, tax()]);
}
