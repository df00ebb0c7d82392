use super::*;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

fn outcome(action: Action) -> Projection {
    Projection { action, ..Projection::default() }
}

fn planning(kind: &'static str, name: &str, outcome: Projection) -> Planning {
    let [namespace, name, key] = ["shop".to_owned(), name.to_owned(), format!("shop_{name}")];
    Planning { kind, namespace, name, key, outcome }
}

/// A difference of a value whose kind and key are separated by a blank.
fn difference(value: &'static str, change: Change, before: Option<&str>, after: Option<&str>) -> Difference {
    let (kind, key) = value.split_once(' ').unwrap_or((value, ""));
    let key = Some(key.to_owned()).filter(|key| !key.is_empty());
    let [before, after] = [before, after].map(|text| text.map(ToOwned::to_owned));
    Difference { application: Some("service".to_owned()), kind, key, change, before, after }
}

fn report() -> Report {
    let long = "x".repeat(LONGEST_VALUE + 1);
    let redeploy = Projection {
        connector: Some(Versions { before: 1, after: 2 }),
        differences: vec![
            difference("plain KEY", Change::Changed, Some("a\nb\u{1b}[2J"), Some(&long)),
            difference("plain KEY", Change::Retained, Some("old"), Some("old")),
            difference("secured KEY", Change::Changed, None, None),
            difference("schedule", Change::Added, None, Some("0 5 * * *")),
            difference("retryPolicy strategy", Change::Added, None, Some("immediate")),
            difference("retryPolicy maxAttempts", Change::Changed, Some("5"), None),
        ],
        notes: vec!["a note".to_owned()],
        ..outcome(Action::Redeploy)
    };
    let unknown = Projection {
        differences: vec![difference("secured KEY", Change::Unknown, None, None)],
        ..outcome(Action::Unknown)
    };
    let moved = Projection {
        differences: vec![difference("field repository.tag", Change::Changed, Some("1"), Some("2"))],
        ..outcome(Action::Update)
    };
    let (staged, deployment) = ("ConnectorStaged", "ConnectorDeployment");
    let [kind, namespace, name, message] = ["Secret", "shop", "tax", "no\nwords"].map(ToOwned::to_owned);
    let staged = vec![planning(staged, "kit", moved), planning(staged, "made", outcome(Action::Create))];
    let missing = ConditionUpdate::new(Reason::SecretMissing, "Missing: Secret tax");
    let held = Projection { held: Some(Action::Redeploy), ..outcome(Action::None) };
    let outcomes = [
        ("one", outcome(Action::Create)),
        ("two", redeploy),
        ("three", unknown),
        ("four", outcome(Action::Adopt)),
        ("five", outcome(Action::None)),
        ("six", Projection::problem(missing)),
        ("seven", held),
    ];
    let deployments = outcomes.map(|(name, outcome)| planning(deployment, name, outcome)).into();
    Report::new([staged, deployments], vec![Invalid { kind, namespace, name, message }], vec!["of the plan".to_owned()])
}

#[test]
fn lines_contain_no_control_characters() {
    let value = format!("\"{}\"…", "x".repeat(LONGEST_VALUE));
    let expected = format!(
        r#"! Secret shop/tax: no words
~ ConnectorStaged shop/kit: is updated
    ~ repository.tag: "1" -> "2"
+ ConnectorStaged shop/made: is created, with the key shop_made
+ ConnectorDeployment shop/one: is created, with the key shop_one
~ ConnectorDeployment shop/two: is redeployed
    ~ version of the connector: 1 -> 2
    ~ service KEY: "a\nb\u001b[2J" -> {value}
    = service KEY: no longer named, and stays "old"
    ~ service KEY: (secured) changed
    + service schedule: "0 5 * * *"
    + service retryPolicy.strategy: "immediate"
    ~ service retryPolicy.maxAttempts: "5" -> none
      a note
? ConnectorDeployment shop/three: is redeployed if a secured value has changed
    ? service KEY: (secured) may have changed
+ ConnectorDeployment shop/four: adopts what has the key shop_four, without changes
  ConnectorDeployment shop/five: nothing to do
! ConnectorDeployment shop/six: SecretMissing: Missing: Secret tax
  ConnectorDeployment shop/seven: nothing is sent while suspend is true; once it is false, it is redeployed
Note: of the plan
Plan: 1 possibly to redeploy, 1 to adopt, 2 to create, 1 to redeploy, 1 to update, 2 unchanged, 2 with problems."#
    );
    assert_eq!(report().lines().join("\n"), expected);
}

/// Collects every member, with the path to it.
fn members(value: &serde_json::Value, path: &str, found: &mut std::collections::BTreeSet<String>) {
    match value {
        serde_json::Value::Object(inner) => {
            for (name, value) in inner {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                found.insert(path.clone());
                members(value, &path, found);
            }
        }
        serde_json::Value::Array(items) => items.iter().for_each(|item| members(item, &format!("{path}[]"), found)),
        _ => {}
    }
}

/// Returns the paths in the first cell of a row: `staged[].key`, and those beside it, such as `.tag`.
fn paths(row: &str) -> Vec<String> {
    let Some(cell) = row.strip_prefix("| `").and_then(|row| row.split(" |").next()) else { return Vec::new() };
    let mut words = cell.split('`').step_by(2);
    let first = words.next().unwrap_or_default();
    if !first.starts_with(char::is_lowercase) {
        return Vec::new();
    }
    let parent = first.rsplit_once('.').map_or("", |(parent, _)| parent);
    let others = words
        .filter(|word| !word.is_empty())
        .map(|word| if word.starts_with('.') { format!("{parent}{word}") } else { word.to_owned() });
    std::iter::once(first.to_owned()).chain(others).collect()
}

#[test]
fn the_page_describes_exactly_the_members_of_the_json() {
    let page = include_str!("../../../docs/plan.md");
    let described: std::collections::BTreeSet<String> = page.lines().flat_map(paths).collect();
    let mut found = std::collections::BTreeSet::new();
    members(&json!(report()), "", &mut found);
    assert_eq!(found, described);
    for action in [
        Action::None,
        Action::Create,
        Action::Redeploy,
        Action::Recreate,
        Action::Adopt,
        Action::AdoptAndRedeploy,
        Action::Unknown,
        Action::Update,
        Action::Preview,
        Action::Publish,
        Action::NotKnown,
    ] {
        let word = serde_json::to_string(&action).expect("a word");
        assert!(page.contains(&format!("`{}`", word.trim_matches('"'))), "{word}");
    }
}
