//! Tables of [`super`].

use super::*;
use crate::controllers::remote::testing::{START, at, subject};

const INTERVAL: Duration = Duration::from_mins(5);

fn tax() -> OfferName {
    OfferName { selector: Selector::Key("tax".into()), staged: false }
}

fn offer(seconds: u64, version: i64) -> Offer {
    let offering = Offering { version, ..Offering::default() };
    Offer { at: at(seconds), found: Offered::There(Arc::new(offering)), current: true }
}

fn see(offers: &mut Offers, Offer { at: left, found, .. }: Offer, seconds: u64) -> Vec<Subject> {
    offers.see(&tax(), left, found, at(seconds), &mut Jitter::new(1)).into_iter().collect()
}

fn without(seconds: u64, found: Offered) -> Offer {
    let current = found != Offered::Unreadable;
    Offer { at: at(seconds), found, current }
}

#[test]
fn one_read_serves_everybody_who_waits_and_only_a_change_wakes_the_others() {
    let mut offers = Offers::default();
    let all: Vec<_> = (0..3).map(subject).collect();
    for subject in &all {
        assert_eq!(offers.take(subject, &tax(), INTERVAL, START, at(1)), None);
    }
    assert_eq!(offers.due(at(1)), [tax()]);
    assert_eq!(see(&mut offers, offer(1, 1), 2), all);
    for subject in &all {
        assert_eq!(offers.take(subject, &tax(), INTERVAL, START, at(3)), Some(offer(1, 1)));
    }
    assert!(offers.due(at(300)).is_empty() && offers.next() <= at(332), "at the interval, and a tenth more");
    assert!(see(&mut offers, offer(310, 1), 311).is_empty(), "nothing new");
    assert_eq!(see(&mut offers, offer(620, 2), 621), all, "another version");
    assert_eq!(see(&mut offers, without(930, Offered::Absent), 931), all, "gone");
    assert!(see(&mut offers, without(1_240, Offered::Absent), 1_241).is_empty());
}

#[test]
fn what_is_older_than_asked_for_is_not_given_and_read_again() {
    let mut offers = Offers::default();
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, START, at(0)), None);
    see(&mut offers, offer(0, 1), 0);
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, at(5), at(6)), None, "older");
    assert_eq!(offers.due(at(6)), [tax()]);
    assert!(see(&mut offers, offer(4, 1), 6).is_empty(), "its request left before");
    assert_eq!(offers.due(at(6)), [tax()], "still wanted");
    assert_eq!(see(&mut offers, offer(6, 1), 7), [subject(0)]);
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, at(5), at(7)), Some(offer(6, 1)));
}

#[test]
fn who_names_another_one_or_goes_is_not_kept() {
    let mut offers = Offers::default();
    let other = OfferName { staged: true, ..tax() };
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, START, START), None);
    assert_eq!(offers.take(&subject(1), &tax(), Duration::from_secs(30), START, START), None);
    assert_eq!(offers.take(&subject(0), &other, INTERVAL, START, START), None);
    assert_eq!(see(&mut offers, offer(0, 1), 0), [subject(1)]);
    assert_eq!(offers.due(START), std::slice::from_ref(&other));
    offers.forget(&subject(1));
    assert!(see(&mut offers, offer(1, 2), 1).is_empty());
    assert_eq!(offers.dismiss(|dismissed| *dismissed == subject(0)), [subject(0)]);
    assert_eq!((offers.next(), offers.subjects().count(), offers.waiting().count()), (Timestamp::MAX, 0, 0));
}

#[test]
fn new_credentials_make_what_was_read_worthless() {
    let mut offers = Offers::default();
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, START, START), None);
    see(&mut offers, without(0, Offered::Unreadable), 0);
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, START, at(1)), Some(without(0, Offered::Unreadable)));
    offers.distrust(at(2));
    assert_eq!(offers.due(at(2)), [tax()]);
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, START, at(2)), None);
    assert_eq!(
        offers.take(&subject(1), &tax(), INTERVAL, Timestamp::MIN, at(2)).map(|offer| offer.found),
        Some(Offered::Unreadable)
    );
    assert_eq!(see(&mut offers, offer(3, 1), 3), [subject(0), subject(1)], "it can be read now");
}

#[test]
fn what_cannot_be_read_any_more_stays_known_without_being_current() {
    let mut offers = Offers::default();
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, START, START), None);
    see(&mut offers, offer(0, 1), 0);
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, at(9), at(9)), None);
    assert_eq!(see(&mut offers, without(10, Offered::Unreadable), 11), [subject(0)], "it waited");
    let known = offers.take(&subject(0), &tax(), INTERVAL, at(9), at(12)).expect("an offer");
    assert_eq!(known, Offer { current: false, at: at(10), ..offer(0, 1) });
    assert!(see(&mut offers, offer(320, 1), 321).is_empty(), "as before");
    assert_eq!(offers.take(&subject(0), &tax(), INTERVAL, at(9), at(322)), Some(offer(320, 1)));
}
