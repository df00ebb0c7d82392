//! Which of several resources owns a remote key (rule 4). Pure: selects one of the given claims.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::controllers::object_ref::ObjectRef;

/// A claim on a key in a remote project, with everything that ranks it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The resource that claims.
    pub object_ref: ObjectRef,
    /// Id of the remote deployment that it owns.
    pub id: Option<String>,
    /// Whether it has begun an operation that may have reached the remote.
    pub operation: bool,
    /// Id of the remote deployment that its annotation names, such as that of a restored backup. Any user can write the
    /// annotation, so it counts only if that very deployment has the key.
    pub annotated: Option<String>,
    /// When it was created.
    pub created: Timestamp,
}

impl Claim {
    /// Returns the rank; a smaller rank is stronger. The order is: owns the deployment, may have sent an operation,
    /// owned `existing` before a backup was restored, is older, has the smaller namespace and name.
    fn rank(&self, existing: Option<&str>) -> (Reverse<bool>, Reverse<bool>, Reverse<bool>, Timestamp, &ObjectRef) {
        #[cfg(test)]
        RANKED.set(RANKED.get() + 1);
        let owns = self.id.is_some();
        let owned = existing.is_some() && self.annotated.as_deref() == existing;
        (Reverse(owns), Reverse(self.operation), Reverse(owned), self.created, &self.object_ref)
    }

    /// Whether both own a deployment, and different ones: every call goes by id, so neither can touch the other's
    /// deployment.
    fn is_apart_from(&self, other: &Self) -> bool {
        self.id.is_some() && other.id.is_some() && self.id != other.id
    }
}

/// Returns the strongest claim. `existing`: id of the remote deployment that has the key, if one was observed.
pub(super) fn strongest<'a>(all: impl IntoIterator<Item = &'a Claim>, existing: Option<&str>) -> Option<&'a Claim> {
    all.into_iter().min_by(|one, other| one.rank(existing).cmp(&other.rank(existing)))
}

/// Returns the owner of a key: without a remote record, and for each remote record that an annotation names. In one pass,
/// because any user can create many resources with one key.
pub(super) fn owners<'a>(all: impl IntoIterator<Item = &'a Claim>) -> BTreeMap<Option<&'a str>, &'a ObjectRef> {
    let mut first: Option<&Claim> = None;
    let mut annotated: BTreeMap<&str, &Claim> = BTreeMap::new();
    for claim in all {
        first = strongest(first.into_iter().chain([claim]), None);
        if let Some(record) = claim.annotated.as_deref() {
            let before = annotated.get(record).copied();
            annotated.extend(strongest(before.into_iter().chain([claim]), Some(record)).map(|claim| (record, claim)));
        }
    }
    let of_record = |(record, claim)| {
        let owner = strongest(first.into_iter().chain([claim]), Some(record));
        owner.map(|owner| (Some(record), &owner.object_ref))
    };
    let mut owners: BTreeMap<_, _> = annotated.into_iter().filter_map(of_record).collect();
    owners.extend(first.map(|first| (None, &first.object_ref)));
    owners
}

/// Returns the strongest of the claims that keep `mine` from the key; `None`: there is none.
pub fn prior_claim<'a>(
    mine: &Claim,
    all: impl IntoIterator<Item = &'a Claim>,
    existing: Option<&str>,
) -> Option<&'a Claim> {
    let before = |other: &&Claim| other.rank(existing) < mine.rank(existing) && !mine.is_apart_from(other);
    strongest(all.into_iter().filter(before), existing)
}

/// Returns the claim that keeps `mine` from the key before the remote was read: one that is stronger whether or not the
/// remote deployment that the annotation of `mine` names has the key.
pub fn prior_claim_unseen<'a>(mine: &Claim, all: impl IntoIterator<Item = &'a Claim> + Clone) -> Option<&'a Claim> {
    let prior_if_there = prior_claim(mine, all.clone(), mine.annotated.as_deref());
    prior_if_there.and(prior_claim(mine, all, None))
}

#[cfg(test)]
thread_local! {
    /// How many claims were ranked in this thread.
    pub(super) static RANKED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, change: fn(&mut Claim)) -> Claim {
        let mut claim = Claim {
            object_ref: ObjectRef::deployment("shop", name),
            id: None,
            operation: false,
            annotated: None,
            created: Timestamp::from_second(100).expect("a time in range"),
        };
        change(&mut claim);
        claim
    }

    fn older(claim: &mut Claim) {
        claim.created = Timestamp::from_second(99).expect("a time in range");
    }

    #[test]
    fn rule_4_the_owner_wins_then_an_operation_then_a_former_owner_then_the_older_then_the_smaller_name() {
        type Change = fn(&mut Claim);
        let rows: &[(&str, Change, Change)] = &[
            ("the smaller name", |_| {}, |_| {}),
            (
                "the smaller namespace",
                |claim| claim.object_ref = ObjectRef::deployment("a", &claim.object_ref.name),
                |_| {},
            ),
            ("the older, whatever its name", older, |claim| {
                claim.object_ref = ObjectRef::deployment(&claim.object_ref.namespace, "a");
            }),
            ("a former owner, however young", |claim| claim.annotated = Some("1".into()), older),
            (
                "both restored: the older",
                |claim| {
                    claim.annotated = Some("1".into());
                    older(claim);
                },
                |claim| claim.annotated = Some("1".into()),
            ),
            (
                "an operation, before a former owner",
                |claim| claim.operation = true,
                |claim| {
                    claim.annotated = Some("1".into());
                    older(claim);
                },
            ),
            (
                "an owner, before an operation",
                |claim| claim.id = Some("1".into()),
                |claim| {
                    claim.operation = true;
                    claim.annotated = Some("1".into());
                    older(claim);
                },
            ),
            (
                "both own it: the one with an operation ends it first",
                |claim| {
                    claim.id = Some("1".into());
                    claim.operation = true;
                },
                |claim| {
                    claim.id = Some("1".into());
                    older(claim);
                },
            ),
            (
                "both own it: the older",
                |claim| {
                    claim.id = Some("1".into());
                    older(claim);
                },
                |claim| claim.id = Some("1".into()),
            ),
        ];
        for (case, one, other) in rows {
            let (winner, loser) = (claim("one", *one), claim("two", *other));
            let all = [loser.clone(), winner.clone()];
            assert_eq!(prior_claim(&winner, &all, Some("1")), None, "{case}");
            assert_eq!(prior_claim(&loser, &all, Some("1")), Some(&winner), "{case}");
        }
    }

    #[test]
    fn rule_4_an_annotation_counts_only_where_the_deployment_that_it_names_has_the_key() {
        let annotated = claim("two", |claim| claim.annotated = Some("2".into()));
        let plain = claim("one", older);
        let all = [annotated.clone(), plain.clone()];
        for (existing, winner) in [(None, "one"), (Some("1"), "one"), (Some("2"), "two")] {
            let strongest = strongest(&all, existing).map(|claim| claim.object_ref.name.as_str());
            assert_eq!(strongest, Some(winner), "{existing:?}");
        }
        assert_eq!(prior_claim_unseen(&plain, &all), None, "it may read the remote");
        assert_eq!(prior_claim_unseen(&annotated, &all), None, "so may the other: its deployment may have the key");
        let owner = claim("three", |claim| claim.id = Some("2".into()));
        let all = [annotated.clone(), plain.clone(), owner.clone()];
        assert_eq!(prior_claim_unseen(&annotated, &all), Some(&owner), "whatever the remote has");
        assert_eq!(prior_claim_unseen(&plain, &all), Some(&owner));
    }

    #[test]
    fn rule_4_while_no_deployment_has_the_key_an_annotation_neither_helps_nor_harms() {
        let annotated = claim("two", |claim| {
            claim.annotated = Some("2".into());
            older(claim);
        });
        let all = [claim("one", |_| {}), annotated.clone()];
        assert_eq!(strongest(&all, None), Some(&annotated), "it is the older");
    }

    #[test]
    fn rule_4_owners_of_different_deployments_do_not_compete_but_a_third_claim_competes_with_the_stronger() {
        let one = claim("one", |claim| claim.id = Some("1".into()));
        let two = claim("two", |claim| claim.id = Some("2".into()));
        let three = claim("three", older);
        let all = [three.clone(), two.clone(), one.clone()];
        assert_eq!(prior_claim(&one, &all, None), None);
        assert_eq!(prior_claim(&two, &all, None), None);
        assert_eq!(prior_claim(&three, &all, None), Some(&one));
        let same = claim("zero", |claim| {
            claim.id = Some("2".into());
            older(claim);
        });
        assert_eq!(
            prior_claim(&two, &[one, two.clone(), same.clone()], None),
            Some(&same),
            "the one that owns the same deployment"
        );
    }

    /// All kinds of claims, with the annotations 1 and 2: the owners are those that each record by itself would have.
    #[test]
    fn rule_4_the_owners_of_all_records_are_found_in_one_pass() {
        let mut all = Vec::new();
        for number in 0..96_u8 {
            let mut claim = claim(&format!("{}-{number}", number % 5), |_| {});
            claim.annotated = [None, Some("1"), Some("2")][usize::from(number) % 3].map(str::to_owned);
            claim.operation = number % 7 == 0;
            claim.id = (number % 11 == 0).then(|| "1".to_owned());
            if number % 4 == 0 {
                older(&mut claim);
            }
            all.push(claim);
        }
        for few in (0..all.len()).map(|first| &all[first..]).chain((0..all.len()).map(|last| &all[..last])) {
            let records = few.iter().map(|claim| claim.annotated.as_deref()).chain([None]);
            let one_by_one = records.filter_map(|record| Some((record, &strongest(few, record)?.object_ref)));
            assert_eq!(owners(few), one_by_one.collect(), "{}", few.len());
        }
    }
}
