//! Manifests that must be refused, each with a message that tells its author what to do, and manifests that must be
//! accepted as they are.

use super::small;
use crate::manifests::{FULL, MINIMAL, deployment};
use crate::prelude::*;

const REFUSED: &str = include_str!("../../fixtures/manifests/refused.yaml");
const ACCEPTED: &str = include_str!("../../fixtures/manifests/accepted.yaml");

#[derive(Deserialize)]
struct Group {
    #[serde(default)]
    rule: String,
    kind: String,
    /// Whether the manifest is created: a server-side apply refuses duplicates with other words.
    #[serde(default)]
    create: bool,
    /// Part of the refusal of rows that have none of their own.
    #[serde(default)]
    message: String,
    rows: Vec<Row>,
}

#[derive(Deserialize)]
struct Row {
    case: String,
    spec: Value,
    message: Option<String>,
}

fn groups(table: &str) -> Vec<Group> {
    serde_saphyr::from_str(table).unwrap()
}

/// Replaces each `{times: 3, of: x}` by a list or a text of that many.
fn expanded(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expanded).collect(),
        Value::Object(members) => match (members.get("times").and_then(Value::as_u64), members.get("of")) {
            (Some(times), Some(Value::String(text))) => json!(text.repeat(usize::try_from(times).unwrap())),
            (Some(times), Some(item)) => {
                let numbered = |number: u64| item.to_string().replace('$', &number.to_string());
                (0..times).map(|number| serde_json::from_str::<Value>(&numbered(number)).unwrap()).collect()
            }
            _ => members.iter().map(|(name, value)| (name.clone(), expanded(value))).collect(),
        },
        other => other.clone(),
    }
}

#[tokio::test]
async fn what_must_be_refused_is_refused_with_what_to_do() {
    let sandbox = Sandbox::new().await;
    let mut rows = BTreeMap::<String, usize>::new();
    for Group { rule, kind, create, message, rows: of_group } in groups(REFUSED) {
        for Row { case, spec, message: own } in of_group {
            let (manifest, words) =
                (with_spec(small(&kind, "refused"), &expanded(&spec)), own.unwrap_or(message.clone()));
            let answer = if create { sandbox.create(&manifest).await } else { sandbox.apply(&manifest).await };
            let refusal = answer.err().unwrap_or_else(|| panic!("{kind}, {rule}, {case}: accepted"));
            assert!(!words.is_empty() && refusal.contains(&words), "{kind}, {rule}, {case}: {refusal}");
            *rows.entry(kind.clone()).or_default() += 1;
        }
    }
    let counted = rows.iter().map(|(kind, rows)| format!("{kind} {rows}")).collect::<Vec<_>>();
    assert_eq!(counted.len(), 5, "{counted:?}");
}

#[tokio::test]
async fn what_must_be_accepted_is_stored_as_it_is() {
    let sandbox = Sandbox::new().await;
    let small_and_full = documents(MINIMAL).into_iter().chain(documents(FULL));
    let mut all: Vec<_> = small_and_full.map(|it| (it["metadata"]["name"].to_string(), it)).collect();
    for Group { kind, rows, .. } in groups(ACCEPTED) {
        all.push((format!("a small {kind}"), small(&kind, &sandbox.namespace)));
        for (index, Row { case, spec, .. }) in rows.into_iter().enumerate() {
            let name = format!("{}-{index}", sandbox.namespace);
            all.push((format!("{kind}, {case}"), with_spec(small(&kind, &name), &expanded(&spec))));
        }
    }
    for (case, manifest) in all {
        let stored = sandbox.apply(&manifest).await.unwrap_or_else(|refusal| panic!("{case}: {refusal}"));
        assert_eq!(stored.data["spec"], manifest["spec"], "{case}");
    }
}

#[tokio::test]
async fn a_null_counts_as_absent() {
    let sandbox = Sandbox::new().await;
    let mut manifest = deployment("nulls");
    for member in ["key", "type", "region", "interval", "driftPolicy", "globalConfiguration", "outputs"] {
        manifest["spec"][member] = Value::Null;
    }
    sandbox.create(&manifest).await.unwrap();
    let stored = sandbox.api(&manifest).get("nulls").await.unwrap();
    assert_eq!(stored.data["spec"], deployment("nulls")["spec"]);
}

/// Other ways to write it are in the table.
#[tokio::test]
async fn a_secured_value_cannot_be_written_as_text() {
    let secured = json!([{"key": "API_TOKEN", "value": "canary"}]);
    let spec = json!({"configurations": [{"applicationName": "service", "securedConfiguration": secured}]});
    let (sandbox, manifest) = (Sandbox::new().await, with_spec(deployment("lax"), &spec));
    let strict = sandbox.apply(&manifest).await.unwrap_err();
    assert!(strict.contains(".value: field not declared in schema"), "{strict}");
    // A client without strict validation is refused too.
    let created = sandbox.kubectl(&["create", "--validate=ignore", "--filename", "-"], &manifest.to_string()).await;
    let refusal = String::from_utf8_lossy(&created.stderr);
    assert!(refusal.contains("securedConfiguration[0].valueFrom: Required value"), "{refusal}");
}
