//! Scopes on pages: only those of the one table (`scopes.rs` of `crates/connect-api`).

use connect_api::scopes::{MANAGE_PROJECT, Right};
use dev_server::DESCRIPTION;

use crate::prelude::*;

/// Scopes that only a connector's own API client has, in examples.
const OF_CONNECTORS: &[&str] = &["manage_orders", "view_products"];
/// Folders and files with texts for users.
const PAGES: &[&str] =
    &["docs", "charts", "deploy", "examples", "crds", "README.md", "CHANGELOG.md", "crates/dev-server/src"];
/// A task for which a user creates an API client.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Task {
    /// What the task is, as the end of a sentence.
    purpose: &'static str,
    /// The rights that the task needs; all of them are required.
    rights: &'static [Right],
}

impl Task {
    /// The tasks for which the documentation lists scopes.
    const ALL: [Self; 6] = [
        Self { purpose: "to deploy connectors", rights: &[Right::ManageDeployments, Right::ViewConnectors] },
        Self {
            purpose: "to deploy connectors, including those whose API client is generated",
            rights: &[Right::ManageDeployments, Right::ViewConnectors, Right::GenerateApiClients],
        },
        Self { purpose: "to observe deployments", rights: &[Right::ViewDeployments, Right::ViewConnectors] },
        Self { purpose: "to stage and publish connectors", rights: &[Right::ManageConnectors] },
        Self {
            purpose: "to stage connectors and deploy them as previews",
            rights: &[Right::ManageConnectors, Right::ManageDeployments],
        },
        Self {
            purpose: "to look up the resources in `spec.verify`",
            rights: &[Right::ReadExtensions, Right::ReadSubscriptions],
        },
    ];

    /// Returns the scopes that allow the task and as little else as possible.
    fn least(self) -> Vec<&'static str> {
        self.rights.iter().filter_map(|right| right.scopes().last().copied()).collect()
    }

    /// Returns the scopes that allow the task with [`MANAGE_PROJECT`]: that scope and those that it does not include.
    fn with_manage_project(self) -> Vec<&'static str> {
        let beside = self.rights.iter().filter(|right| !right.scopes().contains(&MANAGE_PROJECT));
        std::iter::once(MANAGE_PROJECT).chain(beside.filter_map(|right| right.scopes().last().copied())).collect()
    }
}

#[test]
fn a_task_has_its_least_scopes_and_those_beside_manage_project() {
    for task in Task::ALL {
        for scopes in [task.least(), task.with_manage_project()] {
            let scopes: Vec<_> = scopes.iter().map(|scope| format!("{scope}:shop")).collect();
            let granted = || scopes.iter().map(String::as_str);
            assert!(task.rights.iter().all(|right| right.is_granted(granted(), "shop")), "{task:?}: {scopes:?}");
            for one in &scopes {
                let others: Vec<_> = granted().filter(|other| other != one).collect();
                let enough = task.rights.iter().all(|right| right.is_granted(others.iter().copied(), "shop"));
                assert!(!enough, "{task:?} does not need {one}");
            }
        }
    }
}

#[test]
fn the_page_of_connectproject_names_the_scopes_of_each_right_and_task() {
    let quoted = |scopes: &[&str], word: &str| {
        let scopes: Vec<_> = scopes.iter().map(|scope| format!("`{scope}`")).collect();
        scopes.join(word)
    };
    let mut tasks = String::from("| API client | Minimal scopes | With `manage_project` |\n|---|---|---|\n");
    for task in Task::ALL {
        let (least, all) = (quoted(&task.least(), ", "), quoted(&task.with_manage_project(), ", "));
        writeln!(tasks, "| {} | {least} | {all} |", task.purpose).unwrap();
    }
    let mut rights = String::from("| Right | Any one of these scopes |\n|---|---|\n");
    for right in Right::ALL {
        writeln!(rights, "| {} | {} |", right.purpose(), quoted(right.scopes(), ", ")).unwrap();
    }
    assert_golden_parts("docs/kinds/connectproject.md", &[("tasks", tasks), ("rights", rights)]);
}

#[test]
fn no_page_names_a_scope_that_the_table_does_not_have() {
    let known: BTreeSet<_> = Right::ALL.iter().flat_map(|right| right.scopes()).chain(OF_CONNECTORS).copied().collect();
    let mut found = 0;
    for path in files(PAGES, &["md", "txt", "yaml", "tpl"]) {
        let text = text_of(&path);
        let words = text.split(|letter: char| !(letter.is_ascii_alphanumeric() || letter == '_'));
        for scope in words.filter(|word| word.starts_with("manage_") || word.starts_with("view_")) {
            assert!(known.contains(scope), "{}: {scope}", path.display());
            found += 1;
        }
    }
    assert!(found > 50, "{found}");
}

/// Checks that each operation of the Connect and HTTP API has the scopes of the description.
#[test]
fn operations_need_the_scopes_of_the_dev_servers_description() {
    let description: serde_json::Value = serde_saphyr::from_str(DESCRIPTION).expect("YAML");
    let paths = description["paths"].as_object().expect("paths");
    let operations = paths.values().filter_map(|path| path.as_object()).flat_map(|path| path.values());
    let mut compared = BTreeSet::new();
    for operation in operations {
        let Some(name) = operation["operationId"].as_str() else { continue };
        let security = operation["security"].as_array().into_iter().flatten();
        let described: Vec<_> = security.filter_map(|any| any["oauth2"][0].as_str()?.split_once(':')).collect();
        // The contract leaves open what the paths without the project need.
        let right = Right::of_operation(name).filter(|_| !name.ends_with("Unscoped"));
        let Some(right) = right else {
            assert_eq!(described, [], "{name}");
            continue;
        };
        compared.insert(name);
        let described: BTreeSet<_> = described.into_iter().map(|(scope, _)| scope).collect();
        assert_eq!(described, right.scopes().iter().copied().collect(), "{name}");
    }
    let specified = |name: &&str| Right::of_operation(name).is_some() && !name.ends_with("Unscoped");
    let known: BTreeSet<_> = OPERATIONS.into_iter().filter(specified).collect();
    assert_eq!(compared, known, "operations with a right, and those that are described");
}
