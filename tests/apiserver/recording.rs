//! The recording of the demo in the README shows the demo of today.

use connect_operator::operator::reporting::event_reason::EventReason;
use connect_operator::operator::reporting::reason::Reason;

use crate::demo::STEPS;

const RECORDING: &str = include_str!("../../docs/images/demo.svg");

/// Returns the lines of the recording.
fn lines() -> Vec<String> {
    let texts = RECORDING.split("<text ").skip(1);
    let texts = texts.filter_map(|text| text.split_once('>')?.1.split_once("</text>"));
    let plain = |text: &str| {
        text.replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&quot;", "\"")
            .replace("&#x27;", "'")
            .replace("&amp;", "&")
    };
    texts.map(|(text, _)| plain(text)).collect()
}

#[test]
fn the_recording_shows_each_milestone_of_the_demo_in_order() {
    let lines = lines();
    let mut rest = lines.iter();
    for step in STEPS {
        // A line of the recording ends at its right margin.
        let shown =
            |line: &&String| line.split_once(" s ").is_some_and(|(_, text)| !text.is_empty() && agree(text, step));
        assert!(rest.any(|line| shown(&line)), "not shown, run `just recording`: {step}");
    }
}

/// Whether one of two texts begins with the other.
fn agree(text: &str, step: &str) -> bool {
    let text = text.trim_start();
    text.starts_with(step) || (text.len() > 40 && step.starts_with(text))
}

#[test]
fn every_event_of_the_recording_has_a_reason_of_the_code() {
    let lines = lines();
    let reasons: Vec<_> = lines
        .iter()
        .filter_map(|line| line.trim_start().strip_prefix("Event "))
        .filter_map(|event| event.split_whitespace().nth(1))
        .collect();
    assert!(reasons.len() > 10, "{reasons:?}");
    for reason in reasons {
        let known = EventReason::OF_NO_CONDITION.iter().any(|known| known.as_str() == reason);
        assert!(known || Reason::parse(reason).is_some(), "run `just recording`: {reason}");
        // What begins a record is reported with its outcome, unless the response is lost.
        assert!(!["Creating", "Staging"].contains(&reason), "run `just recording`: {reason}");
    }
}
