use simulation::Projection;

use super::*;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;

fn outcome(action: Action) -> Projection {
    Projection { action, ..Projection::default() }
}

fn planning(name: &str, outcome: Projection) -> Planning {
    let object = serde_json::from_value(json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "tax"}},
    }))
    .expect("a resource");
    Planning::deployment(&Planned { before: None, after: object, written: name != "user", unchecked: None }, outcome)
}

fn staging(name: &str, outcome: staged::Projection) -> Planning {
    let object = serde_json::from_value(json!({
        "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged",
        "metadata": {"name": name, "namespace": "shop"},
        "spec": {
            "projectRef": {"name": "shop"}, "key": name, "name": name, "creator": {"email": "dev@example.com"},
            "repository": {"url": "https://example.com/kit.git", "tag": "2"},
        },
    }))
    .expect("a resource");
    Planning::staged(&Planned { before: None, after: object, written: true, unchecked: None }, outcome)
}

fn difference(kind: Kind, change: Change, before: Option<&str>, after: Option<&str>) -> Difference {
    let key = matches!(kind, Kind::Plain | Kind::Secured).then(|| "KEY".to_owned());
    let [before, after] = [before, after].map(|text| text.map(ToOwned::to_owned));
    Difference { application: Some("service".to_owned()), kind, key, change, before, after }
}

fn report() -> Report {
    let long = "x".repeat(LONGEST_VALUE + 1);
    let redeploy = Projection {
        connector: Some(Versions { before: 1, after: 2 }),
        differences: vec![
            difference(Kind::Plain, Change::Changed, Some("a\nb\u{1b}[2J"), Some(&long)),
            difference(Kind::Plain, Change::Retained, Some("old"), Some("old")),
            difference(Kind::Secured, Change::Changed, None, None),
            difference(Kind::Schedule, Change::Added, None, Some("0 5 * * *")),
            difference(Kind::RetryPolicy, Change::Added, None, Some("immediate")),
        ],
        undeclared: vec!["OTHER of Secret tax".to_owned()],
        notes: vec!["a note".to_owned()],
        ..outcome(Action::Redeploy)
    };
    let unknown = Projection {
        differences: vec![difference(Kind::Secured, Change::Unknown, None, None)],
        ..outcome(Action::Unknown)
    };
    let deployments = vec![
        planning("one", outcome(Action::Create)),
        planning("two", redeploy),
        planning("three", unknown),
        planning("four", outcome(Action::Adopt)),
        planning("five", outcome(Action::None)),
        planning("six", Projection::problem(ConditionUpdate::new(Reason::SecretMissing, "Missing: Secret tax"))),
        planning("user", outcome(Action::None)),
        planning("seven", Projection { held: Some(Action::Redeploy), ..outcome(Action::None) }),
    ];
    let moved = staged::Projection {
        actions: vec![staged::Action::Update, staged::Action::Preview],
        differences: vec![staged::Difference {
            field: "repository.tag".to_owned(),
            before: "1".to_owned(),
            after: "2".to_owned(),
        }],
        waits: vec!["ActionCheck cart is missing".to_owned()],
        notes: vec!["a note".to_owned()],
        ..staged::Projection::default()
    };
    let taken = staged::Projection::problem(ConditionUpdate::new(Reason::KeyTaken, "It is taken"));
    let made = staged::Projection {
        actions: vec![staged::Action::Create, staged::Action::Publish],
        ..staged::Projection::default()
    };
    let held = staged::Projection {
        held: vec![staged::Action::Update, staged::Action::Publish],
        ..staged::Projection::default()
    };
    let staged = vec![staging("kit", moved), staging("taken", taken), staging("made", made), staging("held", held)];
    let [kind, namespace, name, message] = ["Secret", "shop", "tax", "no\nwords"].map(ToOwned::to_owned);
    Report::of((deployments, staged), vec![Invalid { kind, namespace, name, message }], vec!["of the plan".to_owned()])
}

#[test]
fn markdown_is_a_heading_and_a_block_that_no_value_ends() {
    for (case, lines, expected) in [
        ("nothing", "Plan: 0 to create.\n", "**Plan: 0 to create.**\n"),
        ("a line", "+ tax: is created\nPlan: 1.\n", "**Plan: 1.**\n\n```diff\n+ tax: is created\n```\n"),
        ("backticks", "+ a: \"```\"\nPlan: 1.\n", "**Plan: 1.**\n\n````diff\n+ a: \"```\"\n````\n"),
    ] {
        assert_eq!(markdown(lines), expected, "{case}");
    }
    let text = report().text(Form::Markdown);
    assert!(text.starts_with("**Plan: ") && text.ends_with("\n```\n") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn lines_contain_no_control_characters() {
    let text = anstream::adapter::strip_str(&report().lines()).to_string();
    let value = format!("\"{}\"…", "x".repeat(LONGEST_VALUE));
    let expected = format!(
        r#"! Secret shop/tax: no words
~ ConnectorStaged shop/kit: is updated, then requests permission to deploy tag 2
    ~ repository.tag: "1" -> "2"
      tag 2 is published only after this is proven: ActionCheck cart is missing
      a note
! ConnectorStaged shop/taken: KeyTaken: It is taken
+ ConnectorStaged shop/made: is created, with the key made, then is published with tag 2
  ConnectorStaged shop/held: nothing is sent while suspend is true; once it is false, it is updated, then is published with tag 2
+ ConnectorDeployment shop/one: is created, with the key shop_one
~ ConnectorDeployment shop/two: is redeployed
    ~ version of the connector: 1 -> 2
    ~ service KEY: "a\nb\u001b[2J" -> {value}
    = service KEY: no longer named, and stays "old"
    ~ service KEY: (secured) changed
    + service schedule: "0 5 * * *"
    + service retryPolicy: "immediate"
      not sent, because the connector does not declare them: OTHER of Secret tax
      a note
? ConnectorDeployment shop/three: is redeployed if a secured value has changed
    ? service KEY: (secured) may have changed
+ ConnectorDeployment shop/four: adopts the deployment with the key shop_four without changes
  ConnectorDeployment shop/five: nothing to do
! ConnectorDeployment shop/six: SecretMissing: Missing: Secret tax
  ConnectorDeployment shop/seven: nothing is sent while suspend is true; once it is false, it is redeployed
Note: of the plan
Plan: 2 to create, 1 to redeploy, 1 to adopt, 1 unchanged, 1 to update, 1 possibly to redeploy, 2 held by suspend, 3 with problems.
"#
    );
    assert_eq!(text, expected);
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
    use staged::Action as Step;
    let page = include_str!("../../../docs/plan.md");
    let described: std::collections::BTreeSet<String> = page.lines().flat_map(paths).collect();
    let mut found = std::collections::BTreeSet::new();
    members(&report().json(), "", &mut found);
    assert_eq!(found, described);
    for action in
        [Action::None, Action::Create, Action::Redeploy, Action::Adopt, Action::AdoptAndRedeploy, Action::Unknown]
    {
        let word = serde_json::to_string(&action).expect("a word");
        assert!(page.contains(&format!("`{}`", word.trim_matches('"'))), "{word}");
    }
    for action in [Step::Create, Step::Adopt, Step::Update, Step::Preview, Step::Publish] {
        let word = serde_json::to_string(&action).expect("a word");
        assert!(page.contains(&format!("`{}`", word.trim_matches('"'))), "{word}");
    }
}

#[test]
fn the_note_names_what_is_verified() {
    let spec = |more: &serde_json::Value| -> ConnectorDeploymentSpec {
        let mut spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "demo"}});
        spec.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        serde_json::from_value(spec).expect("a valid spec")
    };
    let verify = json!({"extensions": [{"key": "cart"}], "subscriptions": [{"key": "orders"}]});
    assert_eq!(proof(&spec(&json!({}))), None);
    assert_eq!(proof(&spec(&json!({"verify": verify}))), None, "Ready does not wait for it");
    let noted = proof(&spec(&json!({"verify": verify, "readyWhen": "Verified"})));
    assert_eq!(noted.as_deref(), Some("it becomes ready once these point to it: Extension cart, Subscription orders"));
}
