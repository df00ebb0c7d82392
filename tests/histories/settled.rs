//! What must be the case once no faults happen any more, and what operators may keep in memory then.

mod outputs;

use connect_operator::crd::connector_staged_status::ConnectorStagedStatus;
use connect_operator::crd::{
    AdoptionPolicy, ConnectorStaged, DriftPolicy, ManagementPolicy, PreviewPermission, RemovedValuesPolicy,
    UpdatePolicy,
};
use connect_operator::operator::deployment::intent;
use connect_operator::operator::deployment::persisted::OperationType;

use crate::checker::State;
use crate::cluster::is_going;
use crate::desired;
use crate::prelude::*;

/// Limit of the size of a status, in bytes of JSON.
const LARGEST_STATUS: usize = 8 * 1024;

/// Returns what is not yet as it must be.
pub(crate) fn unsettled(simulation: &Simulation) -> Option<String> {
    let cluster = lock(&simulation.reach.cluster);
    let checker = &simulation.checker;
    if simulation.awaits_arrivals() {
        return Some("a call is still to arrive".to_owned());
    }
    if let Some(text) = left_behind(checker).or_else(|| checker.staged.left_behind()) {
        return Some(text);
    }
    if let Some(text) = going(&cluster) {
        return Some(text);
    }
    for (key, value) in cluster.of_kind(Kind::Deployment) {
        let object = ConnectorDeployment::deserialize(&**value).expect("a stored object has its kind");
        let values = desired::values(&cluster, &key.namespace, value);
        if let Some(text) = resource(simulation, &cluster, &object, values.as_ref()) {
            return Some(format!("{}: {text}; it is {}", key.name, short(&object)));
        }
    }
    for (key, value) in cluster.of_kind(Kind::Staged) {
        let object = ConnectorStaged::deserialize(&**value).expect("a stored object has its kind");
        if let Some(text) = checker.unsettled_staged(&object) {
            return Some(format!("{}: {text}; it is {:?}", key.name, object.status));
        }
    }
    let reply = lock(&simulation.reach.frontend).reply();
    for (key, value) in cluster.of_kind(Kind::Check) {
        if let Some(text) = checker.unsettled_check(&cluster, value, reply) {
            return Some(format!("{}: {text}; it is {}", key.name, value["status"]));
        }
    }
    if let Some(text) = unfollowed(simulation, &cluster) {
        return Some(text);
    }
    growth(simulation, &cluster)
}

/// Returns a deployment with `updatePolicy: Latest` that does not run the deployable tag of its staged connector.
fn unfollowed(simulation: &Simulation, cluster: &Cluster) -> Option<String> {
    for (key, value) in cluster.of_kind(Kind::Deployment) {
        let Some(name) = value.pointer("/spec/connector/stagedRef/name").and_then(Value::as_str) else { continue };
        let staged = cluster.get(&Key::new(Kind::Staged, &key.namespace, name))?;
        let parsed = ConnectorStaged::deserialize(&**staged).expect("a stored object has its kind");
        let may = |status: &ConnectorStagedStatus| {
            conditions::is_ready(&status.conditions) && status.preview == Some(PreviewPermission::Granted)
        };
        let status = parsed.status.filter(may).unwrap_or_default();
        let deployable = status.remembered().ok().and_then(|state| state.deployable);
        let Some(deployable) = deployable.map(|deployable| deployable.version) else { continue };
        let id = value.pointer("/status/id").and_then(Value::as_str).unwrap_or_default();
        // The staged connector was deleted and created again under the same name: by rule 3 nothing is touched.
        if is_of_another(value, "IdentityChanged") {
            continue;
        }
        // The same happened while its create had no answer: it is not known as its own.
        let life = value["metadata"]["uid"].as_str().and_then(|uid| simulation.checker.lives.get(uid));
        if is_of_another(value, "KeyTaken") && life.is_some_and(|life| life.disguised) {
            continue;
        }
        let runs = simulation.checker.truth.now(id).map_or(0, |state| state.connector);
        if runs < deployable {
            let reported = &value["status"];
            return Some(format!(
                "{} runs version {runs} of {name}, which has {deployable}; it is {reported}",
                key.name
            ));
        }
    }
    None
}

fn is_of_another(deployment: &Value, reason: &str) -> bool {
    let conditions = deployment.pointer("/status/conditions").and_then(Value::as_array);
    conditions.into_iter().flatten().any(|condition| condition["reason"] == reason)
}

/// Rule 24: a namespace that is being deleted ends at last, and so does a project that nothing references.
fn going(cluster: &Cluster) -> Option<String> {
    if let Some((key, _)) = cluster.of_kind(Kind::Namespace).find(|(_, object)| is_going(object)) {
        return Some(format!("namespace {} still exists: {:?}", key.name, cluster.within(&key.name)));
    }
    let users = || cluster.of_kind(Kind::Deployment).chain(cluster.of_kind(Kind::Staged));
    let used = |project: &Key| users().any(|(user, _)| user.namespace == project.namespace);
    let mut going = cluster.of_kind(Kind::Project).filter(|(_, object)| is_going(object));
    let (key, _) = going.find(|(key, _)| !used(key))?;
    Some(format!("the project of {} still exists, and nothing references it", key.namespace))
}

/// Rule 4: checks which resource reports a key conflict, and why.
fn conflict(cluster: &Cluster, object: &ConnectorDeployment) -> Option<String> {
    let reason = |object: &ConnectorDeployment| {
        let status = object.status.clone().unwrap_or_default();
        conditions::ready_reason(&status.conditions).unwrap_or_default().to_owned()
    };
    let parsed = |(_, value): (&Key, &Arc<Value>)| {
        ConnectorDeployment::deserialize(&**value).expect("a stored object has its kind")
    };
    // A create that was begun keeps its claim, whatever happened to its resource since.
    let claims = |other: &ConnectorDeployment| {
        let operation = other.status.as_ref().and_then(|status| shown(status).operation);
        other.spec.management_policy != ManagementPolicy::ObserveOnly
            || operation.is_some_and(|operation| operation.kind == OperationType::Create)
    };
    let rivals: Vec<_> = cluster
        .of_kind(Kind::Deployment)
        .map(parsed)
        .filter(|other| other.uid() != object.uid() && intent::key(other) == intent::key(object))
        .filter(claims)
        .collect();
    let id = |object: &ConnectorDeployment| object.status.as_ref().and_then(|status| status.id.clone());
    let owned = rivals.iter().any(|rival| id(rival).is_some());
    match reason(object) == "KeyConflict" {
        true if rivals.iter().all(|rival| reason(rival) == "KeyConflict") => {
            Some("it reports a key conflict, and nothing else claims its key".to_owned())
        }
        false if owned && id(object).is_none() => Some("another one owns its key, which is not reported".to_owned()),
        _ => None,
    }
}

fn short(object: &ConnectorDeployment) -> String {
    let status = object.status.clone().unwrap_or_default();
    let reported: Vec<_> = status
        .conditions
        .iter()
        .map(|condition| {
            format!("{}={} ({}: {})", condition.type_, condition.status, condition.reason, condition.message)
        })
        .collect();
    format!("{reported:?}, id {:?}, state {:?}", status.id, status.state)
}

/// Returns a deployment that should have been undeployed with its resource.
fn left_behind(checker: &Checker) -> Option<String> {
    let owners = |id: &str| checker.owners.get(id).into_iter().flatten().filter_map(|uid| checker.lives.get(uid));
    let mut ids = checker.owners.keys();
    let left = ids.find(|id| {
        checker.truth.now(id).is_some()
            && owners(id).all(|life| !life.alive)
            && !owners(id).any(|life| life.may_leave || life.disguised)
    })?;
    Some(format!("{left} is orphaned"))
}

fn resource(
    simulation: &Simulation,
    cluster: &Cluster,
    object: &ConnectorDeployment,
    values: Option<&Values>,
) -> Option<String> {
    let checker = &simulation.checker;
    let status = object.status.clone().unwrap_or_default();
    let generation = object.metadata.generation.unwrap_or_default();
    let reason = conditions::ready_reason(&status.conditions).unwrap_or_default();
    let ready = conditions::is_ready(&status.conditions);
    if object.metadata.deletion_timestamp.is_some() {
        let waits = object.spec.suspend && reason == "Suspended";
        return (!waits).then(|| format!("it still exists, and reports {reason}"));
    }
    if status.observed_generation != generation {
        return Some(format!("generation {generation} was not observed"));
    }
    if reason == "KeyConflict" {
        return conflict(cluster, object);
    }
    // It waits for a staged connector that cannot be deployed, or not in place of what runs; so does a create without
    // an answer.
    let held = ["StagedNotReady", "IdentityChanged"].contains(&reason)
        || (reason == "TakesTooLong" && status.id.is_none() && shown(&status).operation.is_some());
    if object.spec.connector.staged_ref.is_some() && held {
        return None;
    }
    let observed = object.spec.management_policy == ManagementPolicy::ObserveOnly;
    // A resource that is suspended, or whose values are unknown, stays as it is, whatever that was.
    let wanted = values.filter(|_| !observed && !object.spec.suspend)?;
    // A version that does not exist cannot be created, for the first time or again.
    let missing = object.spec.connector.version.is_some_and(|version| version != simulation.latest_connector());
    let gone = status.id.as_ref().is_none_or(|id| checker.truth.now(id).is_none());
    if missing && gone && (reason == "ConnectorVersionUnavailable" || status.id.is_some()) {
        return None;
    }
    // Nothing is deleted that could not be created again.
    let recreates = object.spec.removed_values_policy == RemovedValuesPolicy::Recreate;
    if missing && recreates && reason == "ConnectorVersionUnavailable" {
        return None;
    }
    // Another client has created a deployment with the key of one that was deleted to be created again.
    let overtaken = gone && recreates && reason == "KeyTaken";
    if shown(&status).operation.is_some() && !overtaken {
        return Some("an operation is in progress".to_owned());
    }
    let Some(id) = &status.id else {
        let adopts = object.spec.adoption_policy == AdoptionPolicy::Adopt;
        return (reason != "KeyTaken" || adopts)
            .then(|| "it has no deployment".to_owned())
            .or_else(|| conflict(cluster, object));
    };
    let Some(state) = checker.truth.now(id) else {
        let stays = object.spec.drift_policy != DriftPolicy::Correct || reason == "KeyTaken";
        let reported = ["RemoteDisappeared", "KeyTaken"].contains(&reason);
        return (!(stays && reported)).then(|| "its deployment disappeared".to_owned());
    };
    let failed = ["DeploymentFailed", "RedeployFailed"].contains(&reason);
    let mut other_version = false;
    if let Some(version) = object.spec.connector.version.filter(|version| *version != state.connector) {
        let latest = simulation.latest_connector();
        let unavailable = version > state.connector && version != latest;
        let expected = if unavailable { "ConnectorVersionUnavailable" } else { "ConnectorVersionMismatch" };
        if reason != expected && !failed {
            return Some(format!("it asks for version {version}, and {} runs", state.connector));
        }
        // Rule 15: what is desired together with a version to come waits for it.
        let before = shown(&status).applied.and_then(|applied| applied.connector_version);
        if unavailable && before < Some(version) {
            return None;
        }
        other_version = !failed;
    }
    if let Some(text) = behind(simulation, object, state, reason) {
        return Some(text);
    }
    let requested = object.annotations().get(names::REDEPLOY_REQUESTED_AT);
    if requested.is_some_and(|requested| status.handled_redeploy_request.as_ref() != Some(requested)) {
        return Some("a redeploy request is not served".to_owned());
    }
    let corrects = object.spec.drift_policy == DriftPolicy::Correct;
    let unverified = conditions::is_true(&status.conditions, names::SECRETS_UNVERIFIED);
    let plain_now = state.plain_is(&checker.due(&object.uid().unwrap_or_default(), &status, wanted, state));
    let plain = (state.foreign_visible && !corrects) || plain_now;
    let secured = state.foreign_secured || unverified || state.secured_is(&wanted.secured);
    let reported = match state.status.as_str() {
        "Deployed" if other_version => true,
        "Deployed" if state.malformed => reason == "ApplicationMissing",
        // The remote trimmed values, or another client changed them while the operator's were deployed.
        "Deployed" if reason == "ValuesNotApplied" => state.of(&wanted.plain) != wanted.plain,
        // Rule 16: the operator's own deployment failed, and a foreign one is live.
        "Deployed" if state.foreign_visible && matches!(reason, "DeploymentFailed" | "RedeployFailed") => !plain_now,
        "Deployed" => ready,
        "Failed" => matches!(reason, "DeploymentFailed" | "RedeployFailed"),
        "UndeployFailed" => reason == "UndeployFailed",
        _ => false,
    };
    let life = object.uid().and_then(|uid| checker.lives.get(&uid));
    let sent = |key: &str| life.is_some_and(|life| life.ever_sent.contains(key));
    let named = desired::named(object);
    let tried = life.is_some_and(|life| life.may_have_sent("events/retryPolicy"));
    if let Some(text) = retained(&status, state, (wanted, &named), (recreates && !state.foreign_visible, &sent), tried)
    {
        return Some(text);
    }
    if !(plain && secured && reported) {
        return Some(format!("expected {wanted:?}, and the remote has {state:?}"));
    }
    let record = lock(&simulation.reach.remote).world.all(simulation.now()).into_iter().find(|record| record.id == *id);
    outputs::unwritten(cluster, object, &record.filter(|_| ready)?)
}

/// Rule 15: with `updatePolicy: Latest` the latest version runs, unless the redeploy to it failed.
fn behind(simulation: &Simulation, object: &ConnectorDeployment, state: &State, reason: &str) -> Option<String> {
    let connector = &object.spec.connector;
    let follows = connector.update_policy == UpdatePolicy::Latest && connector.staged_ref.is_none();
    let (runs, latest) = (state.connector, simulation.latest_connector());
    let failed = matches!(reason, "DeploymentFailed" | "RedeployFailed");
    (follows && runs < latest && !failed).then(|| format!("it runs version {runs}, and the latest is {latest}"))
}

/// `ValuesRetained` is true if, and only if, the deployment has a value that is not wanted; a default does not count.
fn retained(
    status: &ConnectorDeploymentStatus,
    state: &State,
    (wanted, named): (&Values, &BTreeSet<String>),
    (recreates, sent): (bool, &dyn Fn(&str) -> bool),
    tried: bool,
) -> Option<String> {
    let of_type = status.conditions.iter().find(|condition| condition.type_ == names::VALUES_RETAINED);
    let reported = of_type.filter(|condition| condition.status == "True");
    let unwanted = state.plain.iter().filter(|(key, value)| {
        // A default that was never sent is in effect only where no client sent another value.
        let due = |wanted: &String| sent(key) || !Values::is_default(key, wanted) || wanted == *value;
        let known = named.contains(*key) || wanted.plain.get(*key).is_some_and(due) || Values::is_default(key, value);
        // A retry policy that was not sent may be the connector's own.
        !known && (!key.ends_with("retryPolicy") || sent(key))
    });
    let unwanted: Vec<_> = unwanted.map(|(key, _)| (key, key.rsplit('/').next().unwrap_or_default())).collect();
    let right = match reported {
        Some(condition) => unwanted.iter().all(|(_, key)| condition.message.contains(key)),
        None => true,
    };
    // A value that another client set causes no undeploy.
    if recreates && unwanted.iter().any(|(key, _)| sent(key)) {
        return Some(format!("it has {unwanted:?}, which must be removed with the deployment"));
    }
    // A retry policy that may have been sent and is not shown may exist: records of older services do not show it.
    let may_be = reported.is_some() && tried && !wanted.plain.contains_key("events/retryPolicy");
    let wrong = reported.is_some() == unwanted.is_empty() && !may_be;
    (wrong || !right).then(|| format!("it has {unwanted:?} unwanted, and reports {reported:?}"))
}

/// Returns what operators keep in memory though it does not exist, or a status that is too large.
fn growth(simulation: &Simulation, cluster: &Cluster) -> Option<String> {
    let kinds = [Kind::Deployment, Kind::Staged, Kind::Project, Kind::ClusterProject, Kind::Check];
    let exists: BTreeSet<ObjectRef> = kinds.into_iter().flat_map(|kind| object_refs(cluster, kind)).collect();
    for (number, operator) in simulation.operators.iter().enumerate() {
        let Some(operator) = operator else { continue };
        let outdated = operator.outdated();
        if !outdated.is_empty() {
            return Some(format!("operator {number} has seen changes of {outdated:?}, and no reconcile began since"));
        }
        let mut kept = operator.context.object_refs();
        kept.extend(operator.queued().cloned());
        let lost: Vec<_> = kept.difference(&exists).collect();
        if !lost.is_empty() {
            return Some(format!("operator {number} keeps something in memory about {lost:?}"));
        }
    }
    let ours = cluster.of_kind(Kind::Deployment).chain(cluster.of_kind(Kind::Staged));
    let sizes = ours.map(|(key, object)| (key, object["status"].to_string().len()));
    let large = sizes.into_iter().find(|(_, size)| *size > LARGEST_STATUS);
    large.map(|(key, size)| format!("the status of {} has {size} bytes", key.name))
}

fn object_refs(cluster: &Cluster, kind: Kind) -> impl Iterator<Item = ObjectRef> {
    cluster.of_kind(kind).map(move |(Key { namespace, name, .. }, _)| match kind {
        Kind::Project => ObjectRef::project(namespace, name),
        Kind::ClusterProject => ObjectRef::cluster_project(name),
        Kind::Staged => ObjectRef::staged(namespace, name),
        Kind::Check => ObjectRef::check(namespace, name),
        _ => ObjectRef::deployment(namespace, name),
    })
}
