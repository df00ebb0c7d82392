//! Which of several resources has a remote key (rule 4). Pure: from claims to one of them.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::controllers::object_ref::ObjectRef;

/// What a resource has to say for itself where others want the same key in the same remote project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose claim it is.
    pub object_ref: ObjectRef,
    /// Id of the remote deployment that it owns.
    pub id: Option<String>,
    /// Whether it has begun something that may have reached the remote.
    pub operation: bool,
    /// Id of the remote deployment that its annotation names, as that of a restored backup does. Anybody can write one, so it
    /// counts only where that very deployment has the key.
    pub annotated: Option<String>,
    /// When it was created.
    pub created: Timestamp,
}

impl Claim {
    /// The smaller, the stronger: who owns it, who may have sent something, who owned `there` before a backup was restored,
    /// the older, the smaller namespace and name.
    fn rank(&self, there: Option<&str>) -> (Reverse<bool>, Reverse<bool>, Reverse<bool>, Timestamp, &ObjectRef) {
        let owns = self.id.is_some();
        let owned = there.is_some() && self.annotated.as_deref() == there;
        (Reverse(owns), Reverse(self.operation), Reverse(owned), self.created, &self.object_ref)
    }

    /// Whether both own a deployment, and not the same one: every call goes by id, so neither can touch the other's.
    fn is_apart_from(&self, other: &Self) -> bool {
        self.id.is_some() && other.id.is_some() && self.id != other.id
    }
}

/// The strongest claim of all. `there`: id of the remote deployment that has the key, if one was seen.
pub(super) fn strongest<'a>(all: impl IntoIterator<Item = &'a Claim>, there: Option<&str>) -> Option<&'a Claim> {
    all.into_iter().min_by(|one, other| one.rank(there).cmp(&other.rank(there)))
}

/// The strongest of those that keep `mine` from the key; `None`: nobody does.
pub fn rival<'a>(mine: &Claim, all: impl IntoIterator<Item = &'a Claim>, there: Option<&str>) -> Option<&'a Claim> {
    let before = |other: &&Claim| other.rank(there) < mine.rank(there) && !mine.is_apart_from(other);
    strongest(all.into_iter().filter(before), there)
}

/// The same before anybody looked: who keeps `mine` from the key whether or not the remote has what its annotation names.
pub fn rival_unseen<'a>(mine: &Claim, all: impl IntoIterator<Item = &'a Claim> + Clone) -> Option<&'a Claim> {
    let rival_if_there = rival(mine, all.clone(), mine.annotated.as_deref());
    rival_if_there.and(rival(mine, all, None))
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
    fn rule_4_who_owns_it_wins_then_who_began_then_who_owned_then_the_older_then_the_smaller_name() {
        type Change = fn(&mut Claim);
        let rows: &[(&str, Change, Change)] = &[
            ("the smaller name", |_| {}, |_| {}),
            ("the smaller namespace", |claim| claim.object_ref.namespace = "a".into(), |_| {}),
            ("the older, whatever its name", older, |claim| claim.object_ref.name = "a".into()),
            ("what was owned, however young", |claim| claim.annotated = Some("1".into()), older),
            (
                "both restored: the older",
                |claim| {
                    claim.annotated = Some("1".into());
                    older(claim);
                },
                |claim| claim.annotated = Some("1".into()),
            ),
            (
                "what may have been sent, before what was owned",
                |claim| claim.operation = true,
                |claim| {
                    claim.annotated = Some("1".into());
                    older(claim);
                },
            ),
            (
                "what is owned, before what may have been sent",
                |claim| claim.id = Some("1".into()),
                |claim| {
                    claim.operation = true;
                    claim.annotated = Some("1".into());
                    older(claim);
                },
            ),
            (
                "both own it: who has begun something there ends it first",
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
            assert_eq!(rival(&winner, &all, Some("1")), None, "{case}");
            assert_eq!(rival(&loser, &all, Some("1")), Some(&winner), "{case}");
        }
    }

    #[test]
    fn rule_4_an_annotation_counts_only_where_the_deployment_that_it_names_has_the_key() {
        let annotated = claim("two", |claim| claim.annotated = Some("2".into()));
        let plain = claim("one", older);
        let all = [annotated.clone(), plain.clone()];
        for (there, winner) in [(None, "one"), (Some("1"), "one"), (Some("2"), "two")] {
            let strongest = strongest(&all, there).map(|claim| claim.object_ref.name.as_str());
            assert_eq!(strongest, Some(winner), "{there:?}");
        }
        assert_eq!(rival_unseen(&plain, &all), None, "it may look");
        assert_eq!(rival_unseen(&annotated, &all), None, "and so may the other: its deployment may be there");
        let owner = claim("three", |claim| claim.id = Some("2".into()));
        let all = [annotated.clone(), plain.clone(), owner.clone()];
        assert_eq!(rival_unseen(&annotated, &all), Some(&owner), "whatever is there");
        assert_eq!(rival_unseen(&plain, &all), Some(&owner));
    }

    #[test]
    fn rule_4_two_that_own_different_deployments_do_not_meet_but_a_third_meets_the_stronger() {
        let one = claim("one", |claim| claim.id = Some("1".into()));
        let two = claim("two", |claim| claim.id = Some("2".into()));
        let three = claim("three", older);
        let all = [three.clone(), two.clone(), one.clone()];
        assert_eq!(rival(&one, &all, None), None);
        assert_eq!(rival(&two, &all, None), None);
        assert_eq!(rival(&three, &all, None), Some(&one));
        let same = claim("zero", |claim| {
            claim.id = Some("2".into());
            older(claim);
        });
        assert_eq!(rival(&two, &[one, two.clone(), same.clone()], None), Some(&same), "the one that owns the same");
    }
}
