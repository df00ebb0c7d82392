//! Decides which objects are written and which are removed, from the existing objects and the observed connectors.
//! Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::desired::{Identity, Print};
use super::names;
use crate::crd::ProjectRef;

/// An existing object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kept {
    /// Id of the connector in its spec.
    pub id: String,
    /// Its digest state.
    pub print: Print,
}

/// An observed connector of the registry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObservedObject {
    /// Its identity.
    pub identity: Identity,
    /// Digest of the desired content of its object.
    pub digest: String,
}

/// What to write and what is absent.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// Names of the objects to write, each with the index of its connector in the observation.
    pub write: Vec<(String, usize)>,
    /// Objects of connectors that were not observed, or exceed the limit. A single observation proves nothing. An object
    /// whose connector gets another name stays until the object with that name is there.
    pub absent: BTreeSet<String>,
}

/// Decides what to write and what is absent. `whole`: whether the registry was read completely, so that a connector
/// that was not observed may be deleted. Of more than `most` connectors the first by key stay, and those without a key
/// come last, so the choice does not depend on the order of pages.
#[must_use]
pub fn decide(
    project: &ProjectRef,
    kept: &BTreeMap<String, Kept>,
    seen: &[ObservedObject],
    whole: bool,
    most: usize,
) -> Plan {
    let holder = |name: &str| kept.get(name).map(|kept| kept.id.clone());
    let names = names::all(project, seen.iter().map(|seen| &seen.identity), holder);
    let mut order: Vec<usize> = (0..seen.len()).collect();
    order.sort_by_key(|at| {
        let Identity { id, key, .. } = &seen[*at].identity;
        (key.is_none(), key, id)
    });
    if whole {
        order.truncate(most);
    } else {
        // No object is removed to make room for a new one.
        let mut room = most.saturating_sub(kept.len());
        order.retain(|at| {
            let there = kept.contains_key(&names[*at]);
            let fits = there || room > 0;
            room -= usize::from(fits && !there);
            fits
        });
    }
    let mut plan = Plan::default();
    if whole {
        plan.absent = kept.keys().cloned().collect();
    }
    let mut moving = BTreeSet::new();
    for at in order {
        let name = &names[at];
        let id = &seen[at].identity.id;
        plan.absent.remove(name);
        if kept.get(name).is_none_or(|kept| kept.id != *id) {
            moving.insert(id);
        }
        let as_it_should_be =
            kept.get(name).is_some_and(|kept| kept.print.intact && kept.print.digest == seen[at].digest);
        if !as_it_should_be {
            plan.write.push((name.clone(), at));
        }
    }
    plan.absent.retain(|name| !moving.contains(&kept[name].id));
    plan
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::ProjectKind;

    fn shop() -> ProjectRef {
        ProjectRef { kind: ProjectKind::ConnectProject, name: "shop".into() }
    }

    fn seen(key: &str, digest: &str) -> ObservedObject {
        let identity = Identity { id: format!("id-of-{key}"), key: Some(key.into()), name: key.into() };
        ObservedObject { identity, digest: digest.into() }
    }

    fn object(key: &str, digest: &str) -> (String, Kept) {
        let print = Print { digest: digest.into(), intact: true, changed_by_others: false };
        (format!("shop.{key}"), Kept { id: format!("id-of-{key}"), print })
    }

    fn touched(key: &str, digest: &str) -> (String, Kept) {
        let (name, mut kept) = object(key, digest);
        kept.print = Print { intact: false, changed_by_others: true, ..kept.print };
        (name, kept)
    }

    #[test]
    fn what_differs_is_written_and_what_a_whole_read_lacks_is_absent() {
        type Row<'r> = (&'r str, Vec<(String, Kept)>, Vec<ObservedObject>, bool, usize, &'r [&'r str], &'r [&'r str]);
        let rows: [Row<'_>; 14] = [
            ("nothing at all", vec![], vec![], true, 9, &[], &[]),
            ("a first one", vec![], vec![seen("a", "1")], true, 9, &["shop.a"], &[]),
            ("all up to date", vec![object("a", "1")], vec![seen("a", "1")], true, 9, &[], &[]),
            ("changed in the registry", vec![object("a", "1")], vec![seen("a", "2")], true, 9, &["shop.a"], &[]),
            ("changed by hand", vec![touched("a", "x")], vec![seen("a", "1")], true, 9, &["shop.a"], &[]),
            (
                "only its digest changed by hand",
                vec![touched("a", "1")],
                vec![seen("a", "1")],
                true,
                9,
                &["shop.a"],
                &[],
            ),
            ("gone", vec![object("a", "1"), object("b", "1")], vec![seen("b", "1")], true, 9, &[], &["shop.a"]),
            ("perhaps gone", vec![object("a", "1"), object("b", "1")], vec![seen("b", "1")], false, 9, &[], &[]),
            ("all gone", vec![object("a", "1")], vec![], true, 9, &[], &["shop.a"]),
            (
                "too many",
                vec![],
                vec![seen("c", "1"), seen("a", "1"), seen("b", "1")],
                true,
                2,
                &["shop.a", "shop.b"],
                &[],
            ),
            (
                "a new one pushes the last one out",
                vec![object("a", "1"), object("c", "1")],
                vec![seen("c", "1"), seen("b", "1"), seen("a", "1")],
                true,
                2,
                &["shop.b"],
                &["shop.c"],
            ),
            (
                "not so if the read was incomplete",
                vec![object("a", "1"), object("c", "1")],
                vec![seen("c", "2"), seen("b", "1"), seen("a", "1")],
                false,
                2,
                &["shop.c"],
                &[],
            ),
            (
                "room for one of two in an incomplete read",
                vec![object("c", "1")],
                vec![seen("b", "1"), seen("a", "1")],
                false,
                2,
                &["shop.a"],
                &[],
            ),
            (
                "a lower limit",
                vec![object("a", "1"), object("b", "1")],
                vec![seen("a", "1"), seen("b", "1")],
                true,
                1,
                &[],
                &["shop.b"],
            ),
        ];
        for (case, kept, seen, whole, most, write, absent) in rows {
            let kept = kept.into_iter().collect();
            let plan = decide(&shop(), &kept, &seen, whole, most);
            let names: Vec<_> = plan.write.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, write, "{case}");
            assert_eq!(plan.absent.iter().map(String::as_str).collect::<Vec<_>>(), absent, "{case}");
            for (name, at) in &plan.write {
                assert_eq!(*name, names::usual(&shop(), &seen[*at].identity), "{case}");
            }
            // The result does not depend on the order of pages.
            let mut turned = seen.clone();
            turned.reverse();
            let again = decide(&shop(), &kept, &turned, whole, most);
            assert_eq!(again.write.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), write, "{case}, turned");
            assert_eq!(again.absent, plan.absent, "{case}, turned");
        }
    }

    #[test]
    fn an_object_stays_until_its_connector_has_one_with_its_new_name() {
        let first = seen("a", "1");
        let mut second = seen("a", "2");
        second.identity.id = "id-of-another".into();
        let of = |name: String, of: &ObservedObject| {
            let print = Print { digest: of.digest.clone(), intact: true, changed_by_others: false };
            (name, Kept { id: of.identity.id.clone(), print })
        };
        let usual = "shop.a".to_owned();
        let by_id = names::by_id(&shop(), &second.identity);
        // The connector that holds the usual name is not in the registry any more.
        let mut kept = BTreeMap::from([of(usual.clone(), &first), of(by_id.clone(), &second)]);
        let plan = decide(&shop(), &kept, std::slice::from_ref(&second), true, 9);
        assert_eq!((plan.write, plan.absent), (vec![(usual.clone(), 0)], BTreeSet::new()));
        kept.extend([of(usual, &second)]);
        let plan = decide(&shop(), &kept, std::slice::from_ref(&second), true, 9);
        assert_eq!((plan.write, plan.absent), (vec![], BTreeSet::from([by_id])));
    }

    #[test]
    fn connectors_without_a_key_are_cut_first() {
        let mut nameless = seen("a", "1");
        nameless.identity.key = None;
        let all = [nameless, seen("b", "1")];
        let plan = decide(&shop(), &BTreeMap::new(), &all, true, 1);
        assert_eq!(plan.write, [("shop.b".to_owned(), 1)]);
    }
}
