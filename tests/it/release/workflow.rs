//! The workflows: one runs `.ci/run` for each change, one makes a release on its tag, and one runs `just nightly`, whose commands a page
//! lists.

use crate::prelude::*;

#[test]
fn each_workflow_calls_its_one_command_and_may_change_nothing() {
    for (file, command) in [
        ("ci.yml", ".ci/run"),
        ("release.yml", "scripts/release \"${GITHUB_REF_NAME#v}\""),
        ("nightly.yml", "just nightly"),
    ] {
        let workflow: Value = yaml_of(format!(".github/workflows/{file}"));
        match file {
            "ci.yml" => assert_eq!(workflow["on"], json!({"push": {"branches": ["main"]}, "pull_request": {}})),
            "release.yml" => assert_eq!(workflow["on"], json!({"push": {"tags": ["v*"]}})),
            _ => assert_eq!(workflow["on"]["schedule"].as_array().map(Vec::len), Some(1)),
        }
        assert_eq!(workflow["permissions"], json!({"contents": "read"}), "{file}");
        let jobs = workflow["jobs"].as_object().unwrap();
        let steps: Vec<_> = jobs.values().flat_map(|job| job["steps"].as_array().unwrap()).collect();
        assert!(
            steps.iter().all(|step| step["uses"].is_null()),
            "{file}: an action would have to be pinned to a commit"
        );
        assert_eq!(steps.last().unwrap()["run"], command, "{file}");
    }
}

/// Returns the lines of a recipe after those of the recipes that it depends on, as a person would type them.
fn commands(justfile: &str, recipe: &str) -> Vec<String> {
    let mut lines = justfile.lines().skip_while(|line| !line.starts_with(&format!("{recipe}:")));
    let depends_on = lines.next().and_then(|line| line.split_once(':')).expect(recipe).1;
    let body = lines.take_while(|line| line.starts_with(' ')).map(|line| line.trim().to_owned());
    depends_on.split_whitespace().flat_map(|other| commands(justfile, other)).chain(body).collect()
}

#[test]
fn the_nightly_run_makes_a_release_and_the_book() {
    let commands = commands(&text_of("justfile"), "nightly");
    for needed in ["scripts/release --dry-run", "scripts/book"] {
        assert!(commands.iter().any(|command| command == needed), "{needed}");
    }
}
