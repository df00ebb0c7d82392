//! Suggestions for what to try next, as commands to copy.

use super::cluster::{DemoCluster, program, quoted};
use super::display::{result, title};
use super::steps::{CONNECTOR, DEPLOYMENT, LIVE, STAGED};

/// Prints the address of the console, and commands to copy into another terminal. `variables`: the environment of a
/// user who calls the remote project.
pub(super) fn print(place: &DemoCluster, console: &str, variables: &[(&str, String)]) {
    let (first, kubectl) = place.kubectl();
    title(&format!("The dev server in a browser: {console}"));
    title("Everything is up until Ctrl-C. In another terminal:");
    result(&first);
    result(&format!("{kubectl} get cdep -w"));
    let log_level = |value: &str| {
        format!(
            r#"{kubectl} patch cdep {DEPLOYMENT} --type json -p '[{{"op": "replace", "path": "/spec/configurations/0/standardConfiguration/0/value", "value": "{value}"}}]'"#
        )
    };
    let change_secret =
        format!(r#"{kubectl} patch secret {DEPLOYMENT} -p '{{"stringData": {{"API_TOKEN": "my-next-token"}}}}'"#);
    let tag = |tag: &str| {
        format!(r#"{kubectl} patch cst {STAGED} --type merge -p '{{"spec": {{"repository": {{"tag": "{tag}"}}}}}}'"#)
    };
    let words: Vec<_> = variables.iter().map(|(name, value)| format!("{name}={}", quoted(value))).collect();
    let program = program();
    let verbs = ["tree".to_owned(), format!("status {DEPLOYMENT}"), format!("wait {LIVE}")]
        .map(|verb| format!("{program} {verb}"));
    for (what, lines) in [
        ("Query the remote project", {
            let export = format!("export {}", words.join(" "));
            let asked = [&format!("connectors get {CONNECTOR}"), "deployments list"];
            std::iter::once(export).chain(asked.map(|command| format!("{program} {command}"))).collect()
        }),
        ("List the staged connectors and the action checks", {
            ["cst", "acheck"].map(|kind| format!("{kubectl} get {kind}")).to_vec()
        }),
        ("Show what the operator reports, and wait for it", verbs.to_vec()),
        ("Change the Secret: one redeploy", vec![change_secret]),
        (
            "Break a value: Failed, with the cause in the report of the status",
            vec![log_level("loud"), format!("{kubectl} describe cdep {DEPLOYMENT}")],
        ),
        ("Fix the value", vec![log_level("info")]),
        (
            "Publish a tag whose build fails: the status of the connector has the cause, the deployment keeps serving",
            vec![
                tag("1.2.0-not-published"),
                format!("{kubectl} describe cst {STAGED}"),
                format!("{kubectl} get cdep {LIVE}"),
            ],
        ),
        ("Delete it: the remote deployment is deleted too", vec![format!("{kubectl} delete cdep {DEPLOYMENT}")]),
    ] {
        title(what);
        for line in lines {
            result(&line);
        }
    }
    result("");
}
