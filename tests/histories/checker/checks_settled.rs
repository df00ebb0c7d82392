//! What a check reports once no faults happen any more.

use super::checks::{applied, followed, passes, ready, recorded_applied, with_last_call, writes};
use crate::frontend::Reply;
use crate::prelude::*;
use crate::users::PROJECT_NAME;

impl Checker {
    /// Returns what is not yet as it must be. `reply`: what the frontend answers now.
    pub(crate) fn unsettled_check(&self, cluster: &Cluster, object: &Value, reply: Reply) -> Option<String> {
        let (metadata, spec, status) = (&object["metadata"], &object["spec"], &with_last_call(&object["status"]));
        let namespace = metadata["namespace"].as_str().unwrap_or_default();
        let life = self.checks.lives.get(metadata["uid"].as_str()?)?;
        let (_, now) = life.versions.last_key_value()?;
        if status["observedGeneration"] != metadata["generation"] {
            return Some("its generation was not observed".to_owned());
        }
        let reason = ready(status).and_then(|ready| ready["reason"].as_str()).unwrap_or_default();
        let one_of = |wanted: &[&str]| {
            (!wanted.contains(&reason)).then(|| format!("it reports {reason} instead of {}", wanted.join(" or ")))
        };
        let in_force = match followed(namespace, spec) {
            Some(deployment) => match cluster.get(&deployment).and_then(|deployment| applied(deployment)) {
                Some(applied) => applied,
                None => return one_of(&["DeploymentNotReady"]),
            },
            None => (Value::Null, Value::Null),
        };
        let checked_for = &status["checkedFor"];
        let known = life.spec_of(&checked_for["generation"]) == Some(&now.spec)
            && (now.rerun.is_null() || checked_for["rerunRequest"] == now.rerun)
            && recorded_applied(checked_for) == in_force;
        let mut obstacles = obstacles(cluster, namespace, spec);
        let suspended = spec["suspend"] == true;
        let (reads, free) = (!writes(spec), !suspended && obstacles.is_empty());
        match status["outcome"].as_str().filter(|_| known) {
            None if suspended => one_of(&["Suspended"]),
            None if obstacles.is_empty() => Some("its action was not called".to_owned()),
            None => one_of(&obstacles),
            Some("Sent") if writes(spec) => one_of(&["AnswerLost"]),
            Some("Passed" | "Failed") if reads && free && (reason == "CheckPassed") != passes(spec, reply) => {
                Some(format!("the frontend answers {reply:?} now"))
            }
            Some(outcome @ ("Passed" | "Failed" | "NotSent")) => {
                if outcome == "NotSent" && free {
                    return Some("its action was not called again".to_owned());
                }
                obstacles.push(match (outcome, reads) {
                    ("Passed", _) => "CheckPassed",
                    ("NotSent", _) => "FrontendUnavailable",
                    (_, true) => "CheckFailing",
                    (_, false) => "CheckFailed",
                });
                one_of(&obstacles)
            }
            outcome => Some(format!("its last call has the outcome {outcome:?}")),
        }
    }
}

/// Returns the reasons why nothing can be sent.
fn obstacles(cluster: &Cluster, namespace: &str, spec: &Value) -> Vec<&'static str> {
    let get = |kind, name: &str| cluster.get(&Key::new(kind, namespace, name));
    let mut obstacles = Vec::new();
    let token = get(Kind::Secret, "tokens").and_then(|secret| secret["data"]["token"].as_str());
    if !spec["headers"].is_null() && token.is_none() {
        obstacles.push("SecretMissing");
    }
    if !spec["projectRef"].is_null() && get(Kind::Project, PROJECT_NAME).is_none() {
        obstacles.push("ProjectMissing");
    }
    if spec["frontend"]["url"].as_str().is_some_and(|url| !url.ends_with(".service.live")) {
        obstacles.push("HostNotAllowed");
    }
    obstacles
}
