//! The workflows: one makes a release on its tag, the other runs `just nightly`, whose commands a page lists.

use std::path::Path;

use serde_json::{Value, json};

use super::ROOT;

fn read(path: &str) -> String {
    std::fs::read_to_string(Path::new(ROOT).join(path)).unwrap()
}

#[test]
fn the_workflow_calls_the_script_and_may_change_nothing() {
    let workflow: Value = serde_saphyr::from_str(&read(".github/workflows/release.yml")).unwrap();
    assert_eq!(workflow["on"], json!({"push": {"tags": ["v*"]}}));
    assert_eq!(workflow["permissions"], json!({"contents": "read"}));
    let jobs = workflow["jobs"].as_object().unwrap();
    let steps: Vec<_> = jobs.values().flat_map(|job| job["steps"].as_array().unwrap()).collect();
    assert!(steps.iter().all(|step| step["uses"].is_null()), "an action would have to be pinned to a commit");
    assert_eq!(steps.last().unwrap()["run"], "scripts/release \"${GITHUB_REF_NAME#v}\"");
}

#[test]
fn the_nightly_workflow_calls_just_nightly_and_may_change_nothing() {
    let workflow: Value = serde_saphyr::from_str(&read(".github/workflows/nightly.yml")).unwrap();
    assert_eq!(workflow["on"]["schedule"].as_array().map(Vec::len), Some(1));
    assert_eq!(workflow["permissions"], json!({"contents": "read"}));
    let jobs = workflow["jobs"].as_object().unwrap();
    let steps: Vec<_> = jobs.values().flat_map(|job| job["steps"].as_array().unwrap()).collect();
    assert!(steps.iter().all(|step| step["uses"].is_null()), "an action would have to be pinned to a commit");
    assert_eq!(steps.last().unwrap()["run"], "just nightly");
}

/// Returns the lines of a recipe after those of the recipes that it depends on, as a person would type them.
fn commands(justfile: &str, recipe: &str) -> Vec<String> {
    let mut lines = justfile.lines().skip_while(|line| !line.starts_with(&format!("{recipe}:")));
    let depends_on = lines.next().and_then(|line| line.split_once(':')).expect(recipe).1;
    let body = lines.take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned());
    depends_on.split_whitespace().flat_map(|other| commands(justfile, other)).chain(body).collect()
}

#[test]
fn contributing_lists_the_commands_of_the_nightly_run() {
    let (justfile, page) = (read("justfile"), read("CONTRIBUTING.md"));
    let section = page.split("\n## ").find(|section| section.starts_with("The long versions\n")).expect("a section");
    let block = section.split("```sh\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let listed: Vec<_> = block.lines().collect();
    assert_eq!(listed, commands(&justfile, "nightly"));
    for needed in ["scripts/release --dry-run", "scripts/book"] {
        assert!(listed.contains(&needed), "{needed}");
    }
}

/// What installs a program, and what stands between its name and its version.
const INSTALLERS: [(&str, &str); 6] = [
    ("cargo install", "@"),
    ("cargo binstall", "@"),
    ("npm install", "@"),
    ("go install", "@v"),
    ("pip install", "=="),
    ("pip3 install", "=="),
];

/// Returns the programs that a script installs without a version, in any spelling that is not `NAME@1.2.3` (or `==`).
fn without_version(script: &str) -> Vec<String> {
    let commands =
        script.split(['\n', ';', '|', '&']).map(|command| command.split_whitespace().collect::<Vec<_>>().join(" "));
    let installs = |command: String| {
        let (start, separator) = INSTALLERS.into_iter().find_map(|(installer, separator)| {
            command.find(installer).map(|start| (start + installer.len(), separator))
        })?;
        let programs = command[start..].split(' ').filter(|word| !word.is_empty() && !word.starts_with('-'));
        let is_pinned = |program: &&str| {
            let version = program.rsplit_once(separator).map(|(_, version)| version);
            version.is_some_and(|version| version.starts_with(|first: char| first.is_ascii_digit()))
        };
        Some(programs.filter(|program| !is_pinned(program)).map(str::to_owned).collect::<Vec<_>>())
    };
    commands.filter_map(installs).flatten().collect()
}

#[test]
fn every_program_that_a_workflow_installs_has_a_version() {
    for (script, expected) in [
        ("cargo install --locked just@1.59.0 cargo-deny@0.20.2", &[][..]),
        ("set -e; cargo  install just cargo-deny@0.20.2 && just", &["just"]),
        ("cargo install --locked just@latest", &["just@latest"]),
        ("sudo npm install -g @mermaid-js/tiny", &["@mermaid-js/tiny"]),
        ("npm install --global @mermaid-js/tiny@11.17.2", &[]),
        ("go install example.com/tool@latest", &["example.com/tool@latest"]),
        ("go install example.com/tool@v1.2.3", &[]),
        ("python3 -m pip install tool==1.2 other", &["other"]),
        ("cargo build", &[]),
    ] {
        assert_eq!(without_version(script), expected, "{script}");
    }
    let mut installing = 0;
    for entry in std::fs::read_dir(Path::new(ROOT).join(".github/workflows")).unwrap() {
        let path = entry.unwrap().path();
        let workflow: Value = serde_saphyr::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
        let steps = workflow["jobs"].as_object().unwrap().values().flat_map(|job| job["steps"].as_array().unwrap());
        for script in steps.filter_map(|step| step["run"].as_str()) {
            assert_eq!(without_version(script), [""; 0], "{}: {script}", path.display());
            installing += usize::from(INSTALLERS.iter().any(|(installer, _)| script.contains(installer)));
        }
    }
    assert_eq!(installing, 2, "the release and the nightly run install something");
}
