//! `docs/troubleshooting.md`: a section for each reason, which begins with its state and sentence.

use super::reasons::{of_kinds, place_beside_ready};
use crate::prelude::*;

const PAGE: &str = include_str!("../../../docs/troubleshooting.md");

#[test]
fn every_reason_has_a_section_that_begins_with_its_state_and_sentence() {
    let mut page = PAGE.to_owned();
    for reason in Reason::ALL {
        let is_of_ready = of_kinds().iter().any(|(_, reasons)| reasons.contains(reason));
        let place = if is_of_ready { reason.state().as_str().to_owned() } else { place_beside_ready(*reason) };
        let heading = format!("\n## {reason}\n\n");
        let (before, section) = page.split_once(&heading).unwrap_or_else(|| panic!("{reason} has no section"));
        let written = section.find('\n').map_or("", |end| &section[end..]);
        page = format!("{before}{heading}*{place}.* {}{written}", reason.sentence());
    }
    assert_golden("docs/troubleshooting.md", &page);
}

#[test]
fn no_section_is_superfluous() {
    let titles = PAGE.split("\n## ").skip(1).filter_map(|section| section.lines().next());
    let unknown: Vec<_> = titles.filter(|title| Reason::parse(title).is_none() && !title.contains(' ')).collect();
    assert_eq!(unknown, Vec::<&str>::new(), "sections of unknown reasons");
}
