//! `docs/troubleshooting.md`: a section for each reason, with a generated head and a handwritten rest.

use connect_operator::controllers::reporting::reason::{ConditionState, Reason};

use super::reasons::{of_kinds, place_beside_ready};
use crate::golden::assert_golden_parts;

const PAGE: &str = include_str!("../../../docs/troubleshooting.md");

#[test]
fn every_reason_has_a_section_that_begins_with_its_generated_head() {
    let mut heads = Vec::new();
    for reason in Reason::ALL {
        let kinds: Vec<_> =
            of_kinds().iter().filter(|(_, reasons)| reasons.contains(reason)).map(|(kind, _)| *kind).collect();
        let place = match kinds.as_slice() {
            [] => place_beside_ready(*reason),
            kinds => format!("{}: {}", reason.state().as_str(), kinds.join(", ")),
        };
        heads.push((reason.as_str(), format!("{}\n\n*{place}*", reason.sentence())));
    }
    assert_golden_parts("docs/troubleshooting.md", &heads);
}

#[test]
fn every_section_explains_more_than_the_code_and_none_is_superfluous() {
    let sections: Vec<_> = PAGE.split("\n## ").skip(1).collect();
    let titles: Vec<_> = sections.iter().filter_map(|section| section.lines().next()).collect();
    for reason in Reason::ALL {
        let section = sections.iter().find(|section| section.lines().next() == Some(reason.as_str()));
        let section = section.unwrap_or_else(|| panic!("{reason} has no section"));
        let (_, written) = section.split_once(&format!("<!-- end: {reason} -->")).expect("a head");
        let said = written.split_whitespace().count();
        assert!(said >= 8, "{reason}: {said} words beside the generated head");
        if reason.state() == ConditionState::Stalled {
            assert!(said >= 20, "{reason} needs a user, and is explained in {said} words");
        }
    }
    let known = |title: &&&str| Reason::ALL.iter().any(|reason| reason.as_str() == **title) || title.contains(' ');
    let unknown: Vec<_> = titles.iter().filter(|title| !known(title)).collect();
    assert_eq!(unknown, Vec::<&&str>::new(), "sections of unknown reasons");
}
