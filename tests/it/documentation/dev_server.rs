//! `docs/dev-server.md` and `docs/dev-server-control.md`: what the pages say about the dev server, compared with the code.

use dev_server::{ActionDefinition, ActionFile, FaultFile, VARIANTS};

use crate::prelude::*;
use crate::sources;

const PAGE: &str = include_str!("../../../docs/dev-server.md");
const CONTROL: &str = include_str!("../../../docs/dev-server-control.md");

#[test]
fn the_page_of_the_dev_server_lists_what_it_offers() {
    let catalogue = Catalogue::built_in();
    let operations: Vec<_> = OPERATIONS.iter().map(|name| format!("`{name}`")).collect();
    let mut connectors = String::from("| Connector | What it is |\n|---|---|\n");
    for connector in &catalogue.connectors {
        let staged = if connector.staged { ", staged" } else { "" };
        let what = connector.description.as_deref().unwrap_or_default();
        writeln!(connectors, "| `{}`{staged} | {what} |", connector.key).unwrap();
    }
    let mut clients = String::from("| Client id | Client secret | Scopes |\n|---|---|---|\n");
    for client in &catalogue.clients {
        let scopes: Vec<_> = client.scopes.iter().map(|scope| format!("`{scope}`")).collect();
        writeln!(clients, "| `{}` | `{}` | {} |", client.id, client.secret, scopes.join(", ")).unwrap();
    }
    let mut repositories = String::from("| Repository | Tag |\n|---|---|\n");
    for repository in &catalogue.repositories {
        for tag in &repository.tags {
            writeln!(repositories, "| `{}` | `{}` |", repository.url, tag.tag).unwrap();
        }
    }
    assert_golden_parts(
        "docs/dev-server.md",
        &[
            ("operations", format!("{}.", operations.join(", "))),
            ("connectors", connectors),
            ("clients", clients),
            ("repositories", repositories),
        ],
    );
}

#[test]
fn every_variant_and_each_of_its_values_is_on_the_page() {
    for choice in VARIANTS.split(", ") {
        let (name, values) = choice.split_once('=').unwrap();
        let mut row = CONTROL.lines().filter(|line| line.starts_with(&format!("| `{name}=")));
        let row = row.next().unwrap_or_else(|| panic!("{name} is not on the page"));
        for value in values.split('|') {
            assert!(row.contains(value), "{name}={value} is not on the page");
        }
    }
}

#[test]
fn every_route_of_the_control_is_on_the_page() {
    let sources = sources::all();
    let control = sources.iter().find(|source| source.path == "dev-server/control.rs").expect("the file exists");
    let routes = control.words.windows(3).filter(|words| words[..2] == ["route", "("]).map(|words| &words[2]);
    let routes: Vec<_> = routes.map(|route| route.trim_matches('"')).collect();
    assert!(routes.len() > 5, "{routes:?}");
    for route in routes {
        assert!(CONTROL.contains(&format!("/_dev{route}`")), "{route} is not on the page");
    }
}

#[test]
fn every_member_of_a_fault_is_on_the_page() {
    let faults = CONTROL.split("## Faults").nth(1).and_then(|rest| rest.split("## Control").next()).expect("a chapter");
    let fault = serde_json::to_value(Fault::default()).expect("faults are JSON");
    let answer = fault["answer"].as_object().expect("an answer").keys();
    for member in fault.as_object().expect("an object").keys().filter(|name| *name != "answer").chain(answer) {
        assert!(faults.contains(&format!("{member}`")), "{member} is not on the page");
    }
}

#[test]
fn the_actions_on_the_page_are_valid_and_have_every_member() {
    let chapter =
        PAGE.split("## Frontend actions").nth(1).and_then(|rest| rest.split("\n## ").next()).expect("a chapter");
    let (file, _) = chapter.split_once("```yaml\n").and_then(|(_, rest)| rest.split_once("```")).expect("a file");
    let file = ActionFile::parse(file).expect(file);
    let action: &ActionDefinition = &file.actions[0];
    for member in serde_json::to_value(action).expect("actions are JSON").as_object().expect("an object").keys() {
        assert!(chapter.contains(&format!("`{member}`")), "{member} is not on the page");
    }
}

#[test]
fn the_faults_on_the_page_are_valid() {
    let blocks = CONTROL.split("```yaml\n").skip(1).filter_map(|rest| rest.split_once("```")).map(|(block, _)| block);
    let files: Vec<_> = blocks.filter(|block| block.contains("faults:")).collect();
    assert_eq!(files.len(), 1);
    for file in files {
        FaultFile::parse(file).expect(file);
    }
}
