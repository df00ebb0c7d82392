//! Which projects are admitted, as tables of the order of their creation.

use tokio::sync::mpsc::{self, UnboundedReceiver};

use super::*;

const LIMITS: ProjectLimits = ProjectLimits { per_namespace: 2, total: 3 };

/// Returns a project; `a1` is one of namespace `a`, and `s1` has none.
fn project(name: &str) -> ObjectRef {
    if name.starts_with('s') { ObjectRef::cluster_project(name) } else { ObjectRef::project(&name[..1], name) }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).expect("a time in range")
}

/// Returns a quota after this number of lists, with projects that were created in this order.
fn quota(lists: usize, names: &str) -> (ProjectQuota, UnboundedReceiver<ObjectRef>) {
    let (enqueue, mut enqueued) = mpsc::unbounded_channel();
    let quota = ProjectQuota::new(LIMITS, lists, enqueue);
    for (at, name) in (0..).zip(names.split_whitespace()) {
        quota.saw(&project(name), second(at));
    }
    quota.settle();
    for _ in 0..lists {
        quota.listed();
    }
    drain(&mut enqueued);
    (quota, enqueued)
}

fn drain(enqueued: &mut UnboundedReceiver<ObjectRef>) -> String {
    let names: Vec<_> =
        std::iter::from_fn(|| enqueued.try_recv().ok()).map(|object_ref| object_ref.name.clone()).collect();
    names.join(" ")
}

fn admission(quota: &ProjectQuota, name: &str) -> Admission {
    quota.admission(&project(name), second(1_000))
}

#[test]
fn the_oldest_projects_are_admitted() {
    use Admission::{Admitted, Full, NamespaceFull};
    for (case, names, expected) in [
        ("fewer than the bounds", "a1 a2 b1", vec![("a1", Admitted), ("a2", Admitted), ("b1", Admitted)]),
        ("a full namespace", "a1 a2 a3 b1", vec![("a2", Admitted), ("a3", NamespaceFull), ("b1", Admitted)]),
        ("all full", "a1 a2 b1 b2 c1", vec![("b1", Admitted), ("b2", Full), ("c1", Full)]),
        ("no namespace to fill", "s1 s2 s3 s4", vec![("s2", Admitted), ("s3", Admitted), ("s4", Full)]),
        ("one that is new", "a1 a2", vec![("a9", NamespaceFull), ("b1", Admitted), ("c1", Full), ("a2", Admitted)]),
    ] {
        let (quota, _woken) = quota(1, names);
        for (name, expected) in expected {
            assert_eq!(admission(&quota, name), expected, "{case}: {name}");
        }
    }
}

#[test]
fn a_project_is_recorded_from_its_watch_until_it_is_forgotten() {
    let (quota, _enqueued) = quota(1, "a1 a2 a3");
    quota.forget(&project("a2"));
    let has = ["a1", "a2", "a3", "b1"].map(|name| quota.has(&project(name)));
    assert_eq!(has, [true, false, true, false], "one that is not admitted too, or its resources would read it");
}

#[test]
fn a_project_whose_admission_changes_is_enqueued_and_no_other() {
    let (quota, mut enqueued) = quota(1, "a1 a2 a3 b1 b2");
    quota.forget(&project("a2"));
    assert_eq!(drain(&mut enqueued), "a3", "the next of its namespace");
    quota.forget(&project("a1"));
    assert_eq!(drain(&mut enqueued), "b2", "the next of all");
    quota.forget(&project("a1"));
    assert_eq!(drain(&mut enqueued), "");
    // A project that counts because of new labels may be older than the admitted ones.
    quota.saw(&project("c1"), second(-1));
    quota.settle();
    assert_eq!(drain(&mut enqueued), "b2");
    assert_eq!(admission(&quota, "b2"), Admission::Full);
    quota.saw(&project("c1"), second(-1));
    quota.settle();
    assert_eq!(drain(&mut enqueued), "", "recorded again");
    quota.saw(&project("c1"), second(9));
    quota.settle();
    assert!(!quota.index.lock().changed, "compared once");
    quota.saw(&project("c1"), second(9));
    assert!(!quota.index.lock().changed, "most events concern only a status");
    assert_eq!(drain(&mut enqueued), "b2 c1", "created again, it is the newest");
    assert_eq!(quota.object_refs().len(), 4);
}

#[test]
fn nothing_is_known_before_every_namespace_was_listed() {
    let (enqueue, mut enqueued) = mpsc::unbounded_channel();
    let quota = ProjectQuota::new(LIMITS, 2, enqueue);
    quota.saw(&project("a1"), second(1));
    quota.settle();
    quota.listed();
    for name in ["a1", "b1"] {
        assert_eq!(admission(&quota, name), Admission::Unknown);
    }
    quota.forget(&project("b1"));
    quota.saw(&project("a1"), second(1));
    assert_eq!(drain(&mut enqueued), "");
    quota.listed();
    assert_eq!(drain(&mut enqueued), "a1");
    assert_eq!(admission(&quota, "a1"), Admission::Admitted);
}

#[test]
fn the_condition_names_the_flag_to_raise() {
    let (quota, _woken) = quota(0, "");
    for (admission, words) in [
        (Admission::NamespaceFull, Some(["2 oldest ConnectProjects of a namespace", "--max-projects-per-namespace"])),
        (Admission::Full, Some(["3 oldest projects of all", "--max-projects"])),
        (Admission::Admitted, None),
    ] {
        let condition = quota.condition(admission);
        assert_eq!(condition.is_some(), words.is_some(), "{admission:?}");
        let message = condition.map(|condition| condition.message).unwrap_or_default();
        assert!(words.into_iter().flatten().all(|word| message.contains(word)), "{message}");
    }
}
