//! What to try next, as lines to copy.

use super::display::Display;
use super::follow::DEPLOYMENT;
use super::place::Place;

/// Prints the lines to copy for another terminal.
pub(super) fn print(place: &Place, display: &Display) {
    let (first, kubectl) = place.kubectl();
    display.title("Everything is up until Ctrl-C. In another terminal:");
    if let Some(line) = first {
        display.result(&line);
    }
    display.result(&format!("{kubectl} get cdep -w"));
    let log_level = |value: &str| {
        format!(
            r#"{kubectl} patch cdep {DEPLOYMENT} --type json -p '[{{"op": "replace", "path": "/spec/configurations/0/standardConfiguration/0/value", "value": "{value}"}}]'"#
        )
    };
    let change_secret =
        format!(r#"{kubectl} patch secret {DEPLOYMENT} -p '{{"stringData": {{"token": "my-next-token"}}}}'"#);
    for (what, lines) in [
        ("Change the Secret: one redeploy", vec![change_secret]),
        (
            "Break a value: Failed, and the report in the status says why",
            vec![log_level("loud"), format!("{kubectl} describe cdep {DEPLOYMENT}")],
        ),
        ("Put it right", vec![log_level("info")]),
        ("Delete it: the remote deployment goes too", vec![format!("{kubectl} delete cdep {DEPLOYMENT}")]),
    ] {
        display.title(what);
        for line in lines {
            display.result(&line);
        }
    }
    display.result("");
}
