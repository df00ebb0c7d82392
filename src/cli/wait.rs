//! `wait`: waits until a `ConnectorDeployment` or a `ConnectorStaged` is ready, or cannot become ready unless a user
//! acts.
//!
//! Trusts a status only for the current generation, so that it can follow `kubectl apply` directly.

use std::fmt;
use std::time::Duration;

use clap_complete::engine::ArgValueCandidates;
use clock::Clock;
use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;

use super::cluster::Place;
use super::completion;
use super::printing::print;
use crate::controllers::conditions;
use crate::controllers::reason::Reason;
use crate::crd::{ConnectorDeployment, ConnectorStaged, ReportEntry, parse_duration};
use crate::names;

/// Wait until a ConnectorDeployment or a ConnectorStaged is ready.
///
/// Exits with 0 when it is ready; at once with 1 and the report when a user has to act; with 1 after the timeout.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// The resource to wait for: deployment/NAME or staged/NAME.
    #[arg(value_name = "TYPE/NAME", value_parser = target, add = ArgValueCandidates::new(completion::awaitable))]
    target: Target,

    /// Maximum time to wait, such as 90s or 20m.
    #[arg(long, value_name = "DURATION", default_value = "20m", value_parser = parse_duration)]
    timeout: Duration,

    #[command(flatten)]
    place: Place,
}

/// The resource to wait for.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Target {
    kind: Kind,
    name: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Deployment,
    Staged,
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::Deployment => "deployment",
            Kind::Staged => "staged",
        };
        write!(formatter, "{kind}/{}", self.name)
    }
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

/// Parses the argument; accepts each spelling of the kinds that kubectl accepts.
fn target(text: &str) -> Result<Target, String> {
    let kind = |word: &str| match word {
        "deployment" | "connectordeployment" | "connectordeployments" | "cdep" => Some(Kind::Deployment),
        "staged" | "connectorstaged" | "connectorstageds" | "cst" => Some(Kind::Staged),
        _ => None,
    };
    let parts = text.split_once('/').filter(|(_, name)| !name.is_empty() && !name.contains('/'));
    let found = parts.and_then(|(word, name)| Some(Target { kind: kind(word)?, name: name.to_owned() }));
    found.ok_or_else(|| "write it as deployment/NAME or staged/NAME".to_owned())
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

/// The parts of a status on which the wait depends.
struct StatusView<'a> {
    observed_generation: i64,
    conditions: &'a [Condition],
    /// The entries that explain the reason of `Ready`; not those of an operation that it is not about.
    report: &'a [ReportEntry],
    log: &'a [String],
}

/// A kind that can be waited for.
trait Waited: Resource<DynamicType = (), Scope = NamespaceResourceScope> + Clone + fmt::Debug + DeserializeOwned {
    fn view(&self) -> Option<StatusView<'_>>;
}

impl Waited for ConnectorDeployment {
    fn view(&self) -> Option<StatusView<'_>> {
        let status = self.status.as_ref()?;
        let reason = conditions::ready_reason(&status.conditions).and_then(Reason::parse);
        let failed = reason.is_some_and(Reason::is_failed);
        let reported = failed || reason == Some(Reason::WarningsReported);
        Some(StatusView {
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            report: if reported { &status.report } else { &[] },
            log: if failed { &status.last_log_lines } else { &[] },
        })
    }
}

impl Waited for ConnectorStaged {
    fn view(&self) -> Option<StatusView<'_>> {
        let status = self.status.as_ref()?;
        Some(StatusView {
            observed_generation: status.observed_generation,
            conditions: &status.conditions,
            report: match conditions::ready_reason(&status.conditions).and_then(Reason::parse) {
                Some(Reason::PublishingFailed) => &status.publishing_report,
                Some(Reason::PreviewRefused) => &status.previewable_report,
                _ => &[],
            },
            log: &[],
        })
    }
}

/// Waits, and prints each change of the state to standard error.
///
/// # Errors
/// If the resource is not ready in the end.
pub(super) async fn run(args: Args) -> Result<(), WaitError> {
    let (client, namespace) = args.place.client().await.map_err(WaitError::Cluster)?;
    match args.target.kind {
        Kind::Deployment => follow::<ConnectorDeployment>(client, &namespace, &args).await,
        Kind::Staged => follow::<ConnectorStaged>(client, &namespace, &args).await,
    }
}

async fn follow<K: Waited + Send + 'static>(client: Client, namespace: &str, args: &Args) -> Result<(), WaitError> {
    let api = Api::<K>::namespaced(client, namespace);
    let name = args.target.to_string();
    let absent = |why: String| WaitError::Absent(name.clone(), why);
    let clock = Clock::system();
    let mut over = std::pin::pin!(clock.sleep(args.timeout));
    let found = tokio::select! {
        () = &mut over => return Err(absent("the cluster does not answer".to_owned())),
        found = api.get_opt(&args.target.name) => found.map_err(|error| absent(error.to_string()))?,
    };
    if found.is_none() {
        return Err(absent(format!("it does not exist in the namespace {namespace}")));
    }
    let mut states = std::pin::pin!(watcher::watch_object(api, &args.target.name).default_backoff());
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

fn judge(object: &impl Waited) -> ObservedStatus {
    let Some(status) = object.view() else { return ObservedStatus::Running("waiting for the operator".to_owned()) };
    if object.meta().deletion_timestamp.is_some() {
        return ObservedStatus::Running("it is being deleted".to_owned());
    }
    if Some(status.observed_generation) != object.meta().generation {
        return ObservedStatus::Running("waiting for the operator".to_owned());
    }
    let find = |type_: &str| status.conditions.iter().find(|condition| condition.type_ == type_);
    let is_true = |type_: &str| find(type_).filter(|condition| condition.status == "True");
    let text =
        find(names::READY).map_or_else(|| "Unknown".to_owned(), |ready| format!("{}: {}", ready.reason, ready.message));
    if is_true(names::READY).is_some() {
        let unverified = is_true(names::SECRETS_UNVERIFIED);
        let unverified = unverified.map(|condition| format!("\n  {}: {}", condition.type_, condition.message));
        ObservedStatus::Ready(text + &unverified.unwrap_or_default())
    } else if is_true(names::STALLED).is_some() {
        ObservedStatus::Stalled(text + &report(&status))
    } else {
        ObservedStatus::Running(text)
    }
}

/// Returns the report and the last log lines, one per line.
fn report(status: &StatusView<'_>) -> String {
    let entries = status.report.iter().map(|entry| {
        let place = entry.application.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
        let message = entry.message.as_deref().map(|message| format!(" {message}")).unwrap_or_default();
        format!("\n  {} {place}{}{message}", entry.entry_type, entry.title)
    });
    entries.chain(status.log.iter().map(|line| format!("\n  log: {line}"))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn deployment(status: &Value) -> ConnectorDeployment {
        serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorDeployment",
            "metadata": {"name": "tax", "namespace": "shop", "generation": 2},
            "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "tax"}},
            "status": status,
        }))
        .expect("a resource")
    }

    fn staged(status: &Value) -> ConnectorStaged {
        serde_json::from_value(json!({
            "apiVersion": "connect-operator.io/v1alpha1", "kind": "ConnectorStaged",
            "metadata": {"name": "kit", "namespace": "shop", "generation": 2},
            "spec": {
                "projectRef": {"name": "shop"}, "key": "kit", "name": "Kit", "creator": {"email": "dev@example.com"},
                "repository": {"url": "https://example.com/kit.git", "tag": "1"},
            },
            "status": status,
        }))
        .expect("a resource")
    }

    /// Conditions of `Ready`, and of another type that is true, in a status of this generation with every report.
    fn status(generation: i64, ready: (&str, &str), more: Option<&str>) -> Value {
        let condition = |kind: &str, status: &str, reason: &str| {
            json!({"type": kind, "status": status, "reason": reason, "message": "because",
                "lastTransitionTime": "2026-01-01T00:00:00Z"})
        };
        let mut conditions = vec![condition("Ready", ready.0, ready.1)];
        conditions.extend(more.map(|kind| condition(kind, "True", ready.1)));
        let report =
            |title: &str| json!([{"type": "Error", "title": title, "message": "not so", "application": "service"}]);
        json!({"observedGeneration": generation, "conditions": conditions, "report": report("No"),
            "publishingReport": report("Publishing"), "previewableReport": report("Preview"), "lastLogLines": ["why"]})
    }

    #[test]
    fn only_the_status_of_the_current_generation_counts() {
        let condition = |reason: &str| format!("{reason}: because");
        let waits = || ObservedStatus::Running("waiting for the operator".into());
        for (case, status, expected) in [
            ("no status yet", json!(null), waits()),
            ("ready", status(2, ("True", "Deployed"), None), ObservedStatus::Ready(condition("Deployed"))),
            ("ready before the edit", status(1, ("True", "Deployed"), None), waits()),
            (
                "ready with unverified secrets",
                status(2, ("True", "Deployed"), Some("SecretsUnverified")),
                ObservedStatus::Ready("Deployed: because\n  SecretsUnverified: because".into()),
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
                ObservedStatus::Stalled("DeploymentFailed: because\n  Error service: No not so\n  log: why".into()),
            ),
            (
                "the report is about warnings",
                status(2, ("False", "WarningsReported"), Some("Stalled")),
                ObservedStatus::Stalled("WarningsReported: because\n  Error service: No not so".into()),
            ),
            (
                "the report is that of an earlier operation",
                status(2, ("False", "ConfigurationInvalid"), Some("Stalled")),
                ObservedStatus::Stalled(condition("ConfigurationInvalid")),
            ),
            ("failed before the edit", status(1, ("False", "DeploymentFailed"), Some("Stalled")), waits()),
        ] {
            assert_eq!(judge(&deployment(&status)), expected, "{case}");
        }
    }

    #[test]
    fn a_staged_connector_shows_the_report_of_the_step_that_failed() {
        for (case, status, expected) in [
            ("no status yet", json!(null), ObservedStatus::Running("waiting for the operator".into())),
            ("published", status(2, ("True", "Published"), None), ObservedStatus::Ready("Published: because".into())),
            (
                "publishing",
                status(2, ("False", "PublishingFailed"), Some("Stalled")),
                ObservedStatus::Stalled("PublishingFailed: because\n  Error service: Publishing not so".into()),
            ),
            (
                "preview",
                status(2, ("False", "PreviewRefused"), Some("Stalled")),
                ObservedStatus::Stalled("PreviewRefused: because\n  Error service: Preview not so".into()),
            ),
            (
                "neither",
                status(2, ("False", "RepositoryInvalid"), Some("Stalled")),
                ObservedStatus::Stalled("RepositoryInvalid: because".into()),
            ),
        ] {
            assert_eq!(judge(&staged(&status)), expected, "{case}");
        }
    }

    #[test]
    fn the_resource_is_written_as_for_kubectl() {
        for (good, expected) in [
            ("deployment/tax", "deployment/tax"),
            ("cdep/tax", "deployment/tax"),
            ("connectordeployment/tax", "deployment/tax"),
            ("connectordeployments/tax", "deployment/tax"),
            ("staged/kit", "staged/kit"),
            ("cst/kit", "staged/kit"),
            ("connectorstaged/kit", "staged/kit"),
            ("connectorstageds/kit", "staged/kit"),
        ] {
            assert_eq!(target(good).map(|target| target.to_string()).as_deref(), Ok(expected), "{good}");
        }
        for bad in ["tax", "deployment/", "/tax", "pod/tax", "deployment/a/b", "deployment", "staged/"] {
            assert!(target(bad).is_err(), "{bad}");
        }
    }
}
