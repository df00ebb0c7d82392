//! Which of several resources has a remote key (rule 4). Pure: from claims to one of them.

use std::cmp::Reverse;

use jiff::Timestamp;

use crate::controllers::subject::Subject;

/// What a resource has to say for itself where others want the same key in the same remote project.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Whose claim it is.
    pub subject: Subject,
    /// Id of the remote deployment that it owns.
    pub id: Option<String>,
    /// Whether it has begun something that may have reached the remote.
    pub operation: bool,
    /// Whether its annotation names a remote deployment, as a restored backup does.
    pub annotated: bool,
    /// When it was created.
    pub created: Timestamp,
}

impl Claim {
    /// The smaller, the stronger: who owns it, who may have sent something, who owned it before a backup was restored,
    /// the older, the smaller namespace and name.
    fn rank(&self) -> (Reverse<bool>, Reverse<bool>, Reverse<bool>, Timestamp, &Subject) {
        let owns = self.id.is_some();
        (Reverse(owns), Reverse(self.operation), Reverse(self.annotated), self.created, &self.subject)
    }

    /// Whether both own a deployment, and not the same one: every call goes by id, so neither can touch the other's.
    fn is_apart_from(&self, other: &Self) -> bool {
        self.id.is_some() && other.id.is_some() && self.id != other.id
    }
}

/// The strongest claim of all.
pub fn strongest<'a>(all: impl IntoIterator<Item = &'a Claim>) -> Option<&'a Claim> {
    all.into_iter().min_by(|one, other| one.rank().cmp(&other.rank()))
}

/// The strongest of those that keep `mine` from the key; `None`: nobody does.
pub fn rival<'a>(mine: &Claim, all: impl IntoIterator<Item = &'a Claim>) -> Option<&'a Claim> {
    strongest(all.into_iter().filter(|other| other.rank() < mine.rank() && !mine.is_apart_from(other)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn claim(name: &str, change: fn(&mut Claim)) -> Claim {
        let mut claim = Claim {
            subject: Subject::deployment("shop", name),
            id: None,
            operation: false,
            annotated: false,
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
            ("the smaller namespace", |claim| claim.subject.namespace = "a".into(), |_| {}),
            ("the older, whatever its name", older, |claim| claim.subject.name = "a".into()),
            ("what was owned, however young", |claim| claim.annotated = true, older),
            (
                "both restored: the older",
                |claim| {
                    claim.annotated = true;
                    older(claim);
                },
                |claim| claim.annotated = true,
            ),
            (
                "what may have been sent, before what was owned",
                |claim| claim.operation = true,
                |claim| {
                    claim.annotated = true;
                    older(claim);
                },
            ),
            (
                "what is owned, before what may have been sent",
                |claim| claim.id = Some("1".into()),
                |claim| {
                    claim.operation = true;
                    claim.annotated = true;
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
            assert_eq!(rival(&winner, &all), None, "{case}");
            assert_eq!(rival(&loser, &all), Some(&winner), "{case}");
        }
    }

    #[test]
    fn rule_4_two_that_own_different_deployments_do_not_meet_but_a_third_meets_the_stronger() {
        let one = claim("one", |claim| claim.id = Some("1".into()));
        let two = claim("two", |claim| claim.id = Some("2".into()));
        let three = claim("three", older);
        let all = [three.clone(), two.clone(), one.clone()];
        assert_eq!(rival(&one, &all), None);
        assert_eq!(rival(&two, &all), None);
        assert_eq!(rival(&three, &all), Some(&one));
        let same = claim("zero", |claim| {
            claim.id = Some("2".into());
            older(claim);
        });
        assert_eq!(rival(&two, &[one, two.clone(), same.clone()]), Some(&same), "the one that owns the same");
    }
}
