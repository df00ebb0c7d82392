//! What Argo CD shows: the health check of `examples/argocd/`, run by the Lua interpreter of Argo CD.

use connect_operator::operator::reporting::reason::ConditionState;
use test_support::gitops::is_requested;

use super::TOOL;
use crate::gitops::states::{self, Means};
use crate::gitops::{self, ToolStatus};
use crate::prelude::*;

/// The check, as one file.
const SCRIPT: &str = include_str!("../../../../examples/argocd/health.lua");
/// The check for each kind, in the form that Argo CD reads.
pub(super) const PATCH: &str = include_str!("../../../../examples/argocd/argocd-cm-patch.yaml");

#[test]
fn argo_cd_shows_the_intended_health_of_every_state_of_every_kind() {
    every_state_is_as_intended(gitops::argo_cd);
}

/// The same with the code of Argo CD around the interpreter.
#[test]
fn argo_cd_as_released_shows_the_intended_health_of_every_state_of_every_kind() {
    if is_requested() {
        every_state_is_as_intended(|objects| verdicts(TOOL, objects));
    }
}

fn every_state_is_as_intended(argo_cd: impl Fn(&[Value]) -> Vec<ToolStatus>) {
    let states = states::all();
    let objects: Vec<_> = states.iter().map(|state| state.object.clone()).collect();
    let verdicts = argo_cd(&objects);
    assert_eq!(verdicts.len(), states.len());
    for (state, verdict) in states.iter().zip(&verdicts) {
        let expected = match state.means {
            Means::Said(ConditionState::Ready) => "Healthy",
            Means::Said(ConditionState::Progressing | ConditionState::Waiting)
            | Means::NotSeenYet
            | Means::BeingDeleted => "Progressing",
            Means::Said(ConditionState::Stalled | ConditionState::Failing) => "Degraded",
            Means::Said(ConditionState::Paused) => "Suspended",
        };
        assert_eq!(verdict.status, expected, "{}: {}", state.name, verdict.message);
        if matches!(state.means, Means::Said(_)) {
            assert!(verdict.message.ends_with(": so it is"), "{}: {}", state.name, verdict.message);
        }
    }
}

/// The statuses that a tool in `tests/tools/` computes for objects with the checks of the patch.
pub(in crate::gitops) fn verdicts(tool: &str, objects: &[Value]) -> Vec<ToolStatus> {
    let checks = checks();
    let question = |object: &Value| json!({"script": checks[object["kind"].as_str().unwrap()], "object": object});
    go_tools::ask(&go_tools::built(tool, "."), &objects.iter().map(question).collect())
}

/// The checks of the patch by kind: one for each existing kind, each identical to the file.
fn checks() -> BTreeMap<String, String> {
    let [patch] = &documents(PATCH)[..] else { panic!("one ConfigMap") };
    let data: BTreeMap<String, String> = serde_json::from_value(patch["data"].clone()).unwrap();
    let mut checks = BTreeMap::new();
    for (key, script) in data {
        let kind = key.strip_prefix("resource.customizations.health.connect-operator.io_").expect("a key of Argo CD");
        assert_eq!(script, SCRIPT, "{kind}: `UPDATE_GOLDEN=1 cargo test --test it` writes the check into the patch");
        checks.insert(kind.to_owned(), script);
    }
    let kinds: Vec<_> = crd::resources().into_iter().map(|resource| resource.kind).collect();
    assert!(kinds.iter().all(|kind| checks.contains_key(kind)) && checks.len() == kinds.len(), "{:?}", checks.keys());
    checks
}

/// Argo CD compares Git with the cluster: a default that the API server adds would be a difference that users cannot
/// remove.
#[test]
fn the_api_server_adds_nothing_to_a_spec() {
    for crd in crd::all() {
        let schema = json!(crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema);
        let mut found = Vec::new();
        defaults("spec", &schema["properties"]["spec"], &mut found);
        assert_eq!(found, Vec::<String>::new(), "{}", crd.spec.names.kind);
    }
}

fn defaults(path: &str, schema: &Value, found: &mut Vec<String>) {
    if !schema["default"].is_null() {
        found.push(path.to_owned());
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        defaults(&format!("{path}.{name}"), field, found);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            defaults(&format!("{path}[]"), &schema[inner], found);
        }
    }
}
