//! `wait`: waits until a `ConnectorDeployment` is ready, or cannot become ready unless a user acts.
//!
//! Trusts a status only for the current generation, so that it can follow `kubectl apply` directly.

use std::time::Duration;

use clap_complete::engine::ArgValueCandidates;
use clock::Clock;
use futures::StreamExt as _;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::cluster::Place;
use super::completion;
use super::printing::print;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ConnectorDeployment, parse_duration};
use crate::names;

/// Wait until a ConnectorDeployment is ready.
///
/// Exits with 0 when it is ready; at once with 1 and the report when a user has to act; with 1 after the timeout.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// The resource to wait for: deployment/NAME.
    #[arg(value_name = "deployment/NAME", value_parser = name, add = ArgValueCandidates::new(completion::deployments))]
    deployment: String,

    /// Maximum time to wait, such as 90s or 20m.
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = parse_duration)]
    timeout: Duration,

    #[command(flatten)]
    place: Place,
}

/// Why the wait failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum WaitError {
    /// The cluster cannot be reached.
    #[error("the cluster cannot be reached: {0}")]
    Cluster(String),
    /// The resource does not exist, or cannot be read.
    #[error("{0}: {1}")]
    Absent(String, String),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
    /// A user has to act.
    #[error("{0}")]
    Stalled(String),
    /// The timeout passed.
    #[error("{name} is not ready after {timeout:?}: {state}")]
    Timeout {
        /// Kind and name of the resource.
        name: String,
        /// The timeout.
        timeout: Duration,
        /// The last observed state.
        state: String,
    },
}

/// Parses the argument; accepts each spelling of the kind that kubectl accepts.
fn name(text: &str) -> Result<String, String> {
    let kinds = ["deployment", "connectordeployment", "connectordeployments", "cdep"];
    match text.split_once('/') {
        Some((kind, name)) if kinds.contains(&kind) && !name.is_empty() && !name.contains('/') => Ok(name.to_owned()),
        _ => Err("write it as deployment/NAME".to_owned()),
    }
}

/// What an observed status means for the wait.
#[derive(Debug, PartialEq, Eq)]
enum ObservedStatus {
    /// The resource is ready.
    Ready(String),
    /// A user has to act.
    Stalled(String),
    /// It may become ready without a user's action.
    Running(String),
}

/// Waits, and prints each change of the state to standard error.
///
/// # Errors
/// If the resource is not ready in the end.
pub(super) async fn run(args: Args) -> Result<(), WaitError> {
    let (client, namespace) = args.place.client().await.map_err(WaitError::Cluster)?;
    let api = Api::<ConnectorDeployment>::namespaced(client, &namespace);
    let name = format!("deployment/{}", args.deployment);
    let absent = |why: String| WaitError::Absent(name.clone(), why);
    let clock = Clock::system();
    let mut over = std::pin::pin!(clock.sleep(args.timeout));
    let found = tokio::select! {
        () = &mut over => return Err(absent("the cluster does not answer".to_owned())),
        found = api.get_opt(&args.deployment) => found.map_err(|error| absent(error.to_string()))?,
    };
    if found.is_none() {
        return Err(absent(format!("it does not exist in the namespace {namespace}")));
    }
    let mut states = std::pin::pin!(watcher::watch_object(api, &args.deployment).default_backoff());
    let mut state = "its status was not read yet".to_owned();
    loop {
        let seen = tokio::select! {
            () = &mut over => return Err(WaitError::Timeout { name, timeout: args.timeout, state }),
            seen = states.next() => seen,
        };
        match seen {
            Some(Ok(Some(object))) => match judge(&object) {
                ObservedStatus::Ready(text) => {
                    return Ok(print(&format!("{name}: {text}\n"))?);
                }
                ObservedStatus::Stalled(text) => return Err(WaitError::Stalled(format!("{name}: {text}"))),
                ObservedStatus::Running(text) if text != state => {
                    eprintln!("{name}: {text}");
                    state = text;
                }
                ObservedStatus::Running(_) => {}
            },
            Some(Ok(None)) => return Err(absent("it was deleted".to_owned())),
            // The watcher retries after a backoff.
            Some(Err(error)) => tracing::debug!(%error, "the watch was interrupted"),
            None => return Err(absent("the watch has ended".to_owned())),
        }
    }
}

fn judge(object: &ConnectorDeployment) -> ObservedStatus {
    let Some(status) = &object.status else { return ObservedStatus::Running("waiting for the operator".to_owned()) };
    if object.metadata.deletion_timestamp.is_some() {
        return ObservedStatus::Running("it is being deleted".to_owned());
    }
    if Some(status.observed_generation) != object.metadata.generation {
        return ObservedStatus::Running("waiting for the operator".to_owned());
    }
    let is =
        |kind: &str| status.conditions.iter().any(|condition| condition.type_ == kind && condition.status == "True");
    let condition = condition(status);
    if is(names::READY) {
        ObservedStatus::Ready(condition)
    } else if is(names::STALLED) {
        ObservedStatus::Stalled(format!("{condition}{}", report(status)))
    } else {
        ObservedStatus::Running(condition)
    }
}

/// Returns reason and message of the condition `Ready`.
fn condition(status: &ConnectorDeploymentStatus) -> String {
    let ready = status.conditions.iter().find(|condition| condition.type_ == names::READY);
    ready.map_or_else(|| "Unknown".to_owned(), |ready| format!("{}: {}", ready.reason, ready.message))
}

/// Returns the deployment report and the last log lines, one per line.
fn report(status: &ConnectorDeploymentStatus) -> String {
    let entries = status.report.iter().map(|entry| {
        let place = entry.application.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
        let message = entry.message.as_deref().map(|message| format!(" {message}")).unwrap_or_default();
        format!("\n  {} {place}{}{message}", entry.entry_type, entry.title)
    });
    entries.chain(status.last_log_lines.iter().map(|line| format!("\n  log: {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(status: &serde_json::Value) -> ConnectorDeployment {
        serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment",
            "metadata": {"name": "tax", "namespace": "shop", "generation": 2},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "tax"}},
            "status": status,
        }))
        .expect("a resource")
    }

    fn status(generation: i64, ready: (&str, &str), more: Option<&str>) -> serde_json::Value {
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({"type": kind, "status": status, "reason": reason, "message": "because",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let mut conditions = vec![condition("Ready", ready.0, ready.1)];
        conditions.extend(more.map(|kind| condition(kind, "True", ready.1)));
        json!({"observedGeneration": generation, "conditions": conditions,
            "report": [{"type": "Error", "title": "No", "message": "not so", "application": "service"}]})
    }

    #[test]
    fn only_the_status_of_the_current_generation_counts() {
        let condition = |reason: &str| format!("{reason}: because");
        for (case, status, expected) in [
            ("no status yet", json!(null), ObservedStatus::Running("waiting for the operator".into())),
            ("ready", status(2, ("True", "Deployed"), None), ObservedStatus::Ready(condition("Deployed"))),
            (
                "ready before the edit",
                status(1, ("True", "Deployed"), None),
                ObservedStatus::Running("waiting for the operator".into()),
            ),
            (
                "in progress",
                status(2, ("Unknown", "Redeploying"), Some("Reconciling")),
                ObservedStatus::Running(condition("Redeploying")),
            ),
            (
                "waiting for a Secret",
                status(2, ("False", "SecretMissing"), Some("Reconciling")),
                ObservedStatus::Running(condition("SecretMissing")),
            ),
            (
                "a user has to act",
                status(2, ("False", "DeploymentFailed"), Some("Stalled")),
                ObservedStatus::Stalled("DeploymentFailed: because\n  Error service: No not so".into()),
            ),
            (
                "failed before the edit",
                status(1, ("False", "DeploymentFailed"), Some("Stalled")),
                ObservedStatus::Running("waiting for the operator".into()),
            ),
        ] {
            assert_eq!(judge(&object(&status)), expected, "{case}");
        }
    }

    #[test]
    fn the_resource_is_written_as_for_kubectl() {
        for good in ["deployment/tax", "cdep/tax", "connectordeployment/tax"] {
            assert_eq!(name(good).as_deref(), Ok("tax"));
        }
        for bad in ["tax", "deployment/", "/tax", "pod/tax", "deployment/a/b", "deployment"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
