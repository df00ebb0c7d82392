//! `docs/troubleshooting.md`: a section for each reason, which begins with its place and sentence.

use connect_operator::operator::reporting::reason::{ConditionState, Reason};

use super::reasons::{of_kinds, place_beside_ready};
use crate::golden::assert_golden;

const PAGE: &str = include_str!("../../../docs/troubleshooting.md");

#[test]
fn every_reason_has_a_section_that_begins_with_its_place_and_sentence() {
    let mut page = PAGE.to_owned();
    for reason in Reason::ALL {
        let kinds: Vec<_> =
            of_kinds().iter().filter(|(_, reasons)| reasons.contains(reason)).map(|(kind, _)| *kind).collect();
        let place = match kinds.as_slice() {
            [] => place_beside_ready(*reason),
            kinds => format!("{}: {}", reason.state().as_str(), kinds.join(", ")),
        };
        let heading = format!("\n## {reason}\n\n");
        let (before, section) = page.split_once(&heading).unwrap_or_else(|| panic!("{reason} has no section"));
        let written = section.find('\n').map_or("", |end| &section[end..]);
        page = format!("{before}{heading}*{place}.* {}{written}", reason.sentence());
    }
    assert_golden("docs/troubleshooting.md", &page);
}

#[test]
fn sections_of_what_needs_a_user_explain_more_than_the_sentence_and_none_is_superfluous() {
    let sections: Vec<_> = PAGE.split("\n## ").skip(1).collect();
    let titles: Vec<_> = sections.iter().filter_map(|section| section.lines().next()).collect();
    for reason in Reason::ALL.iter().filter(|reason| reason.state() == ConditionState::Stalled) {
        let section = sections.iter().find(|section| section.lines().next() == Some(reason.as_str()));
        let section = section.unwrap_or_else(|| panic!("{reason} has no section"));
        let words: usize = section.lines().skip(3).map(|line| line.split_whitespace().count()).sum();
        assert!(words >= 20, "{reason} needs a user, and is explained in {words} words");
    }
    let known = |title: &&&str| Reason::ALL.iter().any(|reason| reason.as_str() == **title) || title.contains(' ');
    let unknown: Vec<_> = titles.iter().filter(|title| !known(title)).collect();
    assert_eq!(unknown, Vec::<&&str>::new(), "sections of unknown reasons");
}
