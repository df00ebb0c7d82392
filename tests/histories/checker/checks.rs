//! `ActionChecks`: how often each called its action and why, and whether its status belongs to a call that was made.
//!
//! A *cause* is what documents promise one POST or PUT for: the spec without `suspend`, the rerun request, and what the
//! deployment that the check follows has applied. Everything is read from the stored objects, by code of its own.

use std::collections::BTreeSet;

use clock::later;
use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::operator::deployment::state;
use serde::Deserialize as _;

use crate::checks::INTERVAL;
use crate::cluster::{Change, is_going};
use crate::frontend::{Called, Reply};
use crate::prelude::*;

/// How long a reconcile takes at most whose begin is not known, because its operator was stopped.
const LONGEST_RECONCILE: Duration = Duration::from_mins(10);
/// Hosts that the operator may call, all of them with https: `--allowed-action-hosts` has its default.
const ALLOWED: [&str; 2] = [".frontastic.live", ".service.live"];

/// Digest and time of what a deployment has applied.
pub(super) type Applied = (Value, Value);

/// What documents promise one POST or PUT for: number of the spec, rerun request, and what the deployment has applied.
type CheckTrigger = (usize, String, String);

/// A version of a check.
pub(super) struct Version {
    pub(super) generation: i64,
    /// The number of the spec, counted without changes of `suspend`.
    number: usize,
    /// The spec without `suspend`.
    pub(super) spec: Value,
    suspended: bool,
    /// The rerun request; null: none.
    pub(super) rerun: Value,
    pub(super) status: Value,
}

/// A call that was recorded before it was sent.
struct Intent {
    cause: CheckTrigger,
    /// `checkedFor` and `checkedAt`.
    recorded: (Value, Value),
    /// Whether a call arrived for it.
    used: bool,
}

/// One check, by its uid.
#[derive(Default)]
pub(super) struct CheckLife {
    /// Its resource versions.
    pub(super) versions: BTreeMap<u64, Version>,
    /// By the version that the reconcile was given.
    intents: BTreeMap<u64, Intent>,
    /// Answers of the frontend, by the version that the reconcile was given: several if two operators were given it.
    replies: BTreeMap<u64, Vec<Reply>>,
    /// Causes for which an action that writes was executed.
    executed: BTreeSet<CheckTrigger>,
}

impl CheckLife {
    /// Returns the spec of a generation.
    pub(super) fn spec_of(&self, generation: &Value) -> Option<&Value> {
        let of = |version: &&Version| Some(version.generation) == generation.as_i64();
        self.versions.values().find(of).map(|version| &version.spec)
    }
}

/// All checks, and the deployments that they may follow.
#[derive(Default)]
pub(crate) struct Checks {
    pub(super) lives: BTreeMap<String, CheckLife>,
    /// What each deployment had applied while it was Ready, since when; `None`: it was not Ready.
    applied: BTreeMap<Key, Vec<(Timestamp, Option<Applied>)>>,
}

impl Checks {
    /// Records what a deployment has applied.
    pub(super) fn deployment_changed(&mut self, change: &Change, now: Timestamp) {
        let states = self.applied.entry(change.key.clone()).or_default();
        let state = if change.deleted { None } else { applied(&change.object) };
        if states.last().map(|(_, last)| last) != Some(&state) {
            states.push((now, state));
        }
    }

    /// Returns what a deployment had applied at some moment since then.
    fn applied_since(&self, key: &Key, since: Timestamp) -> Vec<Option<Applied>> {
        let states = self.applied.get(key).map(Vec::as_slice).unwrap_or_default();
        let first = states.partition_point(|(at, _)| *at < since).saturating_sub(1);
        let earlier = states.first().is_none_or(|(at, _)| *at >= since).then_some(None);
        earlier.into_iter().chain(states[first..].iter().map(|(_, state)| state.clone())).collect()
    }
}

/// Returns what a deployment has applied, if it is Ready with its last generation and nothing is in progress.
pub(super) fn applied(deployment: &Value) -> Option<Applied> {
    let status = &deployment["status"];
    let settled = status["observedGeneration"] == deployment["metadata"]["generation"]
        && ready(status).is_some_and(|ready| ready["status"] == "True")
        && !is_going(deployment);
    let status = ConnectorDeploymentStatus::deserialize(status).ok().filter(|_| settled)?;
    let (digest, at) = state::applied(&status)?;
    Some((json!(digest), json!(at)))
}

/// Returns the `Ready` condition.
pub(super) fn ready(status: &Value) -> Option<&Value> {
    status["conditions"].as_array()?.iter().find(|condition| condition["type"] == names::READY)
}

/// Whether an answer is as the spec of a check expects.
pub(super) fn passes(spec: &Value, (status, body): Reply) -> bool {
    let expected = &spec["expect"];
    let json: Option<Value> = serde_json::from_str(body).ok();
    let status_fits = match expected["status"].as_u64() {
        Some(wanted) => wanted == u64::from(status),
        None => (200..300).contains(&status),
    };
    let body_fits = match expected["body"].as_str() {
        Some(wanted) => {
            assert_eq!(wanted, r#"{"ok": true}"#, "the only body of histories");
            json.is_some_and(|json| json["ok"] == true)
        }
        None => !expected.is_null() || body.is_empty() || json.is_some(),
    };
    status_fits && body_fits
}

pub(super) fn writes(spec: &Value) -> bool {
    spec["method"] != "GET"
}

/// Returns the deployment that a check follows.
pub(super) fn followed(namespace: &str, spec: &Value) -> Option<Key> {
    let name = spec.pointer("/deploymentRef/name")?.as_str()?;
    Some(Key::new(Kind::Deployment, namespace, name))
}

/// What a status reports of the last call.
fn called(status: &Value) -> [&Value; 4] {
    ["checkedFor", "checkedAt", "outcome", "httpStatus"].map(|field| &status[field])
}

/// Returns a status with what it remembers of the last call among its members: its cause as `checkedFor`, and its result.
pub(super) fn with_last_call(status: &Value) -> Value {
    let mut status = status.clone();
    let state = status["state"].as_str().and_then(|state| serde_json::from_str::<Value>(state).ok());
    if let Some(mut state) = state {
        status["checkedFor"] = state["cause"].take();
        status["checkedFor"]["rerunRequest"] = status["handledRerunRequest"].clone();
        for field in ["outcome", "httpStatus"] {
            status[field] = state[field].take();
        }
    }
    status
}

/// Returns what a recorded cause says about the deployment.
pub(super) fn recorded_applied(checked_for: &Value) -> Applied {
    (checked_for["deploymentDigest"].clone(), checked_for["deploymentAppliedAt"].clone())
}

impl Checker {
    /// A check was changed.
    pub(super) fn check_changed(&mut self, change: &Change, now: Timestamp) {
        let object = &change.object;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        let mut spec = object["spec"].clone();
        let suspended = spec.as_object_mut().and_then(|spec| spec.remove("suspend")) == Some(Value::Bool(true));
        let life = self.checks.lives.entry(uid.clone()).or_default();
        let last = life.versions.last_key_value();
        let number = last.map_or(0, |(_, last)| last.number + usize::from(last.spec != spec));
        let before = last.map(|(version, last)| (*version, last.status.clone()));
        let version = Version {
            generation: object["metadata"]["generation"].as_i64().unwrap_or_default(),
            number,
            spec,
            suspended,
            rerun: object["metadata"]["annotations"][names::RERUN_REQUESTED_AT].clone(),
            status: with_last_call(&object["status"]),
        };
        let status = version.status.clone();
        let future = status["observedGeneration"].as_i64() > Some(version.generation);
        life.versions.insert(change.version, version);
        if future {
            self.wrong(format!("{} reports a future generation", change.key.name));
        }
        let Some((given, before)) = before.filter(|(_, before)| *before != status) else { return };
        if called(&before) != called(&status) {
            let wrong = match status["outcome"].as_str() {
                Some("Sent") => self.wrong_intent(&change.key, &uid, given, change.version, now),
                _ => self.wrong_result(&uid, given, &status),
            };
            if let Some(why) = wrong {
                self.wrong(format!("{}: {why}: {status}", change.key.name));
            }
        }
        if let Some(why) = self.wrong_report(&uid, &status) {
            self.wrong(format!("{} {why}: {status}", change.key.name));
        }
    }

    /// Checks a call that is recorded before it is sent: the reasons for it are those of the version that was read.
    fn wrong_intent(&mut self, key: &Key, uid: &str, given: u64, written: u64, now: Timestamp) -> Option<String> {
        let object_ref = ObjectRef::check(&key.namespace, &key.name);
        let earliest = now.saturating_sub(LONGEST_RECONCILE).unwrap_or(Timestamp::MIN);
        let since = self.began.get(&object_ref).copied().unwrap_or(earliest);
        let life = self.checks.lives.get(uid)?;
        let version = life.versions.get(&written)?;
        let checked_for = &version.status["checkedFor"];
        if checked_for["generation"].as_i64() != Some(version.generation) {
            return Some("the recorded call is of another generation".to_owned());
        }
        if !version.rerun.is_null() && checked_for["rerunRequest"] != version.rerun {
            return Some("the recorded call is of another rerun request".to_owned());
        }
        let applied = recorded_applied(checked_for);
        let deployment = followed(&key.namespace, &version.spec);
        let possible = deployment.map(|deployment| self.checks.applied_since(&deployment, since));
        if possible.is_some_and(|possible| !possible.contains(&Some(applied.clone()))) {
            return Some("the deployment was not Ready with what the recorded call is for".to_owned());
        }
        let rerun = checked_for["rerunRequest"].to_string();
        let cause = (version.number, rerun, format!("{} {}", applied.0, applied.1));
        let recorded = (checked_for.clone(), version.status["checkedAt"].clone());
        let intent = Intent { cause, recorded, used: false };
        self.checks.lives.get_mut(uid)?.intents.insert(given, intent);
        None
    }

    /// Checks the result of a call: it is that of the call that was recorded.
    fn wrong_result(&self, uid: &str, given: u64, status: &Value) -> Option<String> {
        let life = self.checks.lives.get(uid)?;
        let recorded = (status["checkedFor"].clone(), status["checkedAt"].clone());
        let intent = life.intents.iter().find(|(_, intent)| intent.recorded == recorded);
        let given = intent.map_or(given, |(given, _)| *given);
        let version = life.versions.get(&given)?;
        if intent.is_none() && writes(&version.spec) {
            return Some("the result of a call that was not recorded before".to_owned());
        }
        if status["checkedFor"]["generation"].as_i64() != Some(version.generation) {
            return Some("the result of a call of another generation".to_owned());
        }
        let replies = life.replies.get(&given).map(Vec::as_slice).unwrap_or_default();
        let is_shown = |http: u64, passed: bool| {
            replies.iter().any(|reply| u64::from(reply.0) == http && passes(&version.spec, *reply) == passed)
        };
        let fits = match (status["outcome"].as_str().unwrap_or_default(), status["httpStatus"].as_u64()) {
            ("Passed", Some(http)) => is_shown(http, true),
            ("Failed", Some(http)) => is_shown(http, false),
            ("Failed", None) => true,
            // Two operators may read from one version, and only the call of the other one arrive.
            ("NotSent", None) => replies.is_empty() || !writes(&version.spec),
            _ => false,
        };
        (!fits).then(|| format!("the result does not belong to the answers {replies:?}"))
    }

    /// Checks that what is reported belongs to the observed generation.
    fn wrong_report(&self, uid: &str, status: &Value) -> Option<String> {
        let life = self.checks.lives.get(uid)?;
        let reason = ready(status)?["reason"].as_str().unwrap_or_default();
        let outcome = match reason {
            "CheckPassed" => "Passed",
            "CheckFailed" | "CheckFailing" => "Failed",
            "FrontendUnavailable" => "NotSent",
            "AnswerLost" => "Sent",
            _ => return None,
        };
        let called = life.spec_of(&status["checkedFor"]["generation"]);
        let belongs = status["outcome"] == outcome && called == life.spec_of(&status["observedGeneration"]);
        (!belongs).then(|| format!("reports {reason} without such a call of the observed generation"))
    }

    /// Checks calls that the frontend answered.
    pub(crate) fn check_calls(&mut self, calls: Vec<Called>, now: Timestamp) {
        for call in calls {
            self.count(if call.executed { "actions executed" } else { "actions refused on the way" });
            if let Some(why) = self.wrong_call(&call, now) {
                self.wrong(format!("{why}: {call:?}"));
            }
        }
    }

    fn wrong_call(&mut self, call: &Called, now: Timestamp) -> Option<String> {
        if call.scheme != "https" || !ALLOWED.iter().any(|allowed| call.host.ends_with(allowed)) {
            return Some("a host was called that is not allowed".to_owned());
        }
        let early = self.is_early(call, now);
        let Some(life) = self.checks.lives.get_mut(&call.by.uid) else {
            return Some("a check called that does not exist".to_owned());
        };
        let given = call.by.version;
        life.replies.entry(given).or_default().push(call.reply);
        if life.versions.get(&given).is_none_or(|version| version.suspended) {
            return Some("a check called while it was suspended".to_owned());
        }
        if !call.writes {
            return early.then(|| "a GET was repeated before its interval had passed".to_owned());
        }
        let Some(intent) = life.intents.get_mut(&given) else {
            return Some("a call that was not recorded before".to_owned());
        };
        if std::mem::replace(&mut intent.used, true) {
            return Some("a recorded call was sent twice".to_owned());
        }
        // What is refused on the way counts as sent: the operator cannot tell.
        if !life.executed.insert(intent.cause.clone()) {
            return Some(format!("called twice for {:?}", intent.cause));
        }
        None
    }

    /// Whether a GET comes before its interval has passed, as far as the version shows that its reconcile was given.
    fn is_early(&self, call: &Called, now: Timestamp) -> bool {
        let Some(life) = self.checks.lives.get(&call.by.uid) else { return false };
        let Some(version) = life.versions.get(&call.by.version) else { return false };
        let status = &version.status;
        let checked_for = &status["checkedFor"];
        let same = life.spec_of(&checked_for["generation"]) == Some(&version.spec)
            && (version.rerun.is_null() || version.rerun == checked_for["rerunRequest"]);
        let answered = ["Passed", "Failed"].contains(&status["outcome"].as_str().unwrap_or_default());
        let at = status["checkedAt"].as_str().and_then(|at| at.parse::<Timestamp>().ok());
        let Some(at) = at.filter(|_| answered && same) else { return false };
        let deployment = followed(&call.by.namespace, &version.spec);
        // It may have been applied again.
        let unchanged = deployment.is_none_or(|deployment| {
            let applied = Some(recorded_applied(checked_for));
            self.checks.applied_since(&deployment, call.by.began).iter().all(|state| *state == applied)
        });
        unchanged && later(now, self.skew) < later(at, Duration::from_secs(INTERVAL))
    }
}
