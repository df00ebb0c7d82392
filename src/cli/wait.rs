//! `wait`: until a `ConnectorDeployment` is ready, or cannot become ready without a person.
//!
//! Believes only a status of the generation that is there, so that `kubectl apply` may stand right before it.

use std::time::Duration;

use clap_complete::engine::ArgValueCandidates;
use clock::Clock;
use futures::StreamExt as _;
use kube::Api;
use kube::runtime::{WatchStreamExt as _, watcher};

use super::completion;
use super::printing::print;
use crate::crd::connector_deployment_status::ConnectorDeploymentStatus;
use crate::crd::{ConnectorDeployment, parse_duration};
use crate::names;

/// Wait until a ConnectorDeployment is ready.
///
/// Ends with 0 when it is; at once with 1 and the report when only a person can help; with 1 when the time is over.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// What to wait for: deployment/NAME.
    #[arg(value_name = "deployment/NAME", value_parser = name, add = ArgValueCandidates::new(completion::deployments))]
    deployment: String,

    /// Its namespace. Default: that of the current context.
    #[arg(long, short, value_name = "NAMESPACE", add = ArgValueCandidates::new(completion::namespaces))]
    namespace: Option<String>,

    /// Longest time to wait, such as 90s or 20m.
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = parse_duration)]
    timeout: Duration,
}

/// Why it does not end well.
#[derive(Debug, thiserror::Error)]
pub(super) enum WaitError {
    /// No cluster.
    #[error("the cluster cannot be reached: {0}")]
    Cluster(String),
    /// There is none, or it cannot be read.
    #[error("{0}: {1}")]
    Absent(String, String),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
    /// Only a person can help.
    #[error("{0}")]
    Stalled(String),
    /// Too long.
    #[error("{name} is not ready after {timeout:?}: {state}")]
    Timeout {
        /// Its name.
        name: String,
        /// How long was waited.
        timeout: Duration,
        /// What was the case last.
        state: String,
    },
}

/// The kind may be written in the ways that kubectl knows.
fn name(text: &str) -> Result<String, String> {
    let kinds = ["deployment", "connectordeployment", "connectordeployments", "cdep"];
    match text.split_once('/') {
        Some((kind, name)) if kinds.contains(&kind) && !name.is_empty() && !name.contains('/') => Ok(name.to_owned()),
        _ => Err("write it as deployment/NAME".to_owned()),
    }
}

/// What a state of the resource means for whoever waits.
#[derive(Debug, PartialEq, Eq)]
enum Seen {
    /// It is what was asked for.
    Ready(String),
    /// Only a person can help.
    Stalled(String),
    /// It may come by itself.
    Running(String),
}

/// Waits, and says what changes meanwhile.
///
/// # Errors
/// When it is not ready.
pub(super) async fn run(args: Args) -> Result<(), WaitError> {
    let (client, namespace) = super::cluster(args.namespace.as_deref()).await.map_err(WaitError::Cluster)?;
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
        return Err(absent(format!("there is none in the namespace {namespace}")));
    }
    let mut states = std::pin::pin!(watcher::watch_object(api, &args.deployment).default_backoff());
    let mut state = "nothing was seen of it yet".to_owned();
    loop {
        let seen = tokio::select! {
            () = &mut over => return Err(WaitError::Timeout { name, timeout: args.timeout, state }),
            seen = states.next() => seen,
        };
        match seen {
            Some(Ok(Some(object))) => match judge(&object) {
                Seen::Ready(text) => {
                    return Ok(print(&format!("{name}: {text}\n"))?);
                }
                Seen::Stalled(text) => return Err(WaitError::Stalled(format!("{name}: {text}"))),
                Seen::Running(text) if text != state => {
                    eprintln!("{name}: {text}");
                    state = text;
                }
                Seen::Running(_) => {}
            },
            Some(Ok(None)) => return Err(absent("it was deleted".to_owned())),
            // Tried again after a pause.
            Some(Err(error)) => tracing::debug!(%error, "watching is interrupted"),
            None => return Err(absent("watching has ended".to_owned())),
        }
    }
}

fn judge(object: &ConnectorDeployment) -> Seen {
    let Some(status) = &object.status else { return Seen::Running("waiting for the operator".to_owned()) };
    if object.metadata.deletion_timestamp.is_some() {
        return Seen::Running("it is being deleted".to_owned());
    }
    if Some(status.observed_generation) != object.metadata.generation {
        return Seen::Running("waiting for the operator".to_owned());
    }
    let is =
        |kind: &str| status.conditions.iter().any(|condition| condition.type_ == kind && condition.status == "True");
    let condition = condition(status);
    if is(names::READY) {
        Seen::Ready(condition)
    } else if is(names::STALLED) {
        Seen::Stalled(format!("{condition}{}", report(status)))
    } else {
        Seen::Running(condition)
    }
}

/// Reason and message of Ready.
fn condition(status: &ConnectorDeploymentStatus) -> String {
    let ready = status.conditions.iter().find(|condition| condition.type_ == names::READY);
    ready.map_or_else(|| "Unknown".to_owned(), |ready| format!("{}: {}", ready.reason, ready.message))
}

/// The report and the last lines of the log, one line each.
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
    fn only_the_status_of_this_generation_is_believed() {
        let condition = |reason: &str| format!("{reason}: because");
        for (case, status, expected) in [
            ("not seen", json!(null), Seen::Running("waiting for the operator".into())),
            ("ready", status(2, ("True", "Deployed"), None), Seen::Ready(condition("Deployed"))),
            (
                "ready before the edit",
                status(1, ("True", "Deployed"), None),
                Seen::Running("waiting for the operator".into()),
            ),
            (
                "runs",
                status(2, ("Unknown", "Redeploying"), Some("Reconciling")),
                Seen::Running(condition("Redeploying")),
            ),
            (
                "may come",
                status(2, ("False", "SecretMissing"), Some("Reconciling")),
                Seen::Running(condition("SecretMissing")),
            ),
            (
                "a person has to act",
                status(2, ("False", "DeploymentFailed"), Some("Stalled")),
                Seen::Stalled("DeploymentFailed: because\n  Error service: No not so".into()),
            ),
            (
                "failed before the edit",
                status(1, ("False", "DeploymentFailed"), Some("Stalled")),
                Seen::Running("waiting for the operator".into()),
            ),
        ] {
            assert_eq!(judge(&object(&status)), expected, "{case}");
        }
    }

    #[test]
    fn what_to_wait_for_is_written_as_for_kubectl() {
        for good in ["deployment/tax", "cdep/tax", "connectordeployment/tax"] {
            assert_eq!(name(good).as_deref(), Ok("tax"));
        }
        for bad in ["tax", "deployment/", "/tax", "pod/tax", "deployment/a/b", "deployment"] {
            assert!(name(bad).is_err(), "{bad}");
        }
    }
}
