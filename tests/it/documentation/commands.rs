//! Commands of all pages: what a reader would run by mistake without noticing.

use std::path::Path;

use super::book::pages;

/// Returns every line of a code block, with the page that contains it.
fn commands() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    for page in pages(&root.join("docs")).into_iter().chain([root.join("README.md")]) {
        let text = std::fs::read_to_string(&page).unwrap();
        // A backslash continues a line.
        let blocks = text.split("\n```").skip(1).step_by(2).map(|block| block.replace("\\\n", " "));
        let name = page.strip_prefix(root).unwrap().display().to_string();
        for block in blocks {
            found.extend(block.lines().map(|line| (name.clone(), line.to_owned())));
        }
    }
    assert!(found.len() > 500, "{} lines of commands", found.len());
    found
}

/// Words of a command, such as `ctp` and `cdep` of `kubectl get ctp,cdep`.
fn words(command: &str) -> Vec<&str> {
    command.split([' ', ',', '"', '\'', '/']).collect()
}

#[test]
fn a_command_for_projects_and_deployments_includes_cluster_projects() {
    let mut seen = 0;
    for (page, command) in commands() {
        let words = words(&command);
        let has = |names: &[&str]| names.iter().any(|name| words.contains(name));
        if has(&["ctp", "connectprojects"]) && has(&["cdep", "connectordeployments"]) && !command.contains("resources:")
        {
            seen += 1;
            assert!(has(&["cctp", "clusterconnectprojects"]), "{page}: {command}");
        }
    }
    assert!(seen >= 3, "{seen} commands");
}

/// The variable replaces the default, so later commands in the same shell would refuse the real API.
#[test]
fn no_page_sets_the_allowed_hosts_of_a_shell() {
    let set: Vec<_> = commands().into_iter().filter(|(_, line)| line.contains("ALLOWED_API_HOSTS=")).collect();
    assert!(set.is_empty(), "{set:?}");
}
