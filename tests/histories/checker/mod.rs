//! Counts and checks what happens, based on what is externally visible: the objects of the cluster, the calls that
//! arrived at the remote, and the deployments there. It does not see the internal state of an operator.
//!
//! What a resource asks for is a list of *asks*: one entry for each combination of values and redeploy request that was
//! ever desired. A redeploy has to serve an ask that is newer than the last one that was served: this is how "exactly
//! once" is counted. What the rules allow beyond that is listed in [`Allowance`].

mod allowed;
mod call_rate;
mod checks;
mod checks_settled;
mod life;
mod permitted;
mod projects;
mod ready;
mod staged;
mod staged_spec;
mod truth;

use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use connect_operator::crd::{AdoptionPolicy, DeletionPolicy, DriftPolicy, ManagementPolicy};
use connect_operator::operator::deployment::persisted::{OperationState, PersistedState};
use connect_operator::operator::deployment::state::shown;
use connect_operator::operator::reporting::conditions;
use kube::ResourceExt;
use serde::Deserialize;

use self::allowed::Allowance;
use self::life::{Ask, Life};
use self::truth::Truth;
pub(crate) use self::truth::{State, TOKEN};
use crate::cluster::Change;
use crate::desired;
use crate::prelude::*;
use crate::remote::{Arrived, Asked, Remote, Values, Verb};

/// The kind of call that was sent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sent {
    Create,
    Redeploy,
    /// A redeploy that also moves to the latest version of the connector.
    Move,
}

/// The checker.
#[derive(Default)]
pub(crate) struct Checker {
    checked: u64,
    pub(crate) lives: BTreeMap<String, Life>,
    /// The resources that may change a deployment: those that created it, or adopted it as the rules allow.
    pub(crate) owners: BTreeMap<String, BTreeSet<String>>,
    pub(crate) truth: Truth,
    /// The same for staged connectors.
    pub(crate) staged: staged::StagedRecords,
    checks: checks::Checks,
    /// The difference between the clocks of two operators.
    pub(crate) skew: Duration,
    /// The first violation.
    pub(crate) broken: Option<String>,
    /// How often each thing happened, for the report.
    pub(crate) counts: BTreeMap<String, u64>,
    call_rate: call_rate::CallRate,
    /// When the oldest reconcile in progress for an object began; what it reports may be as old as that.
    pub(crate) began: BTreeMap<ObjectRef, Timestamp>,
}

impl Checker {
    /// Checks everything that is new.
    pub(crate) fn check_new(&mut self, cluster: &Cluster, remote: &mut Remote, now: Timestamp) {
        for arrived in std::mem::take(&mut remote.arrived) {
            self.truth.see(&mut remote.world, now, true);
            self.staged.see(&mut remote.world, now, true);
            match &arrived.asked {
                Asked::Deployment(verb) => self.arrived(cluster, &arrived, verb, now),
                Asked::Staged(verb) => self.staged_arrived(cluster, &arrived, verb, now),
            }
        }
        self.truth.see(&mut remote.world, now, false);
        self.staged.see(&mut remote.world, now, false);
        if let Some(key) = cluster.needless().first() {
            self.wrong(format!("rule 21: a write of {key:?} changes nothing"));
        }
        let changes = cluster.changes_after(self.checked).to_vec();
        for change in &changes {
            match change.key.kind {
                Kind::Deployment => {
                    self.changed(change, now);
                    self.checks.deployment_changed(change, now);
                }
                Kind::Check => self.check_changed(change, now),
                Kind::Project if change.deleted && change.operator.is_some() => self.project_removed(cluster, change),
                Kind::Staged => self.staged_changed(change, now),
                _ => {}
            }
        }
        if !changes.is_empty() {
            self.checked = cluster.version();
            self.note_asks(cluster, now);
        }
    }

    fn count(&mut self, what: &str) {
        *self.counts.entry(what.to_owned()).or_default() += 1;
    }

    /// Returns how often that was counted.
    pub(crate) fn counted(&self, what: &str) -> u64 {
        self.counts.get(what).copied().unwrap_or_default()
    }

    pub(crate) fn wrong(&mut self, text: String) {
        self.broken.get_or_insert(text);
    }

    /// Records that another client changed a deployment; `visible`: its plain values differ now.
    pub(crate) fn foreign(&mut self, id: &str, visible: bool, secured: bool) {
        self.truth.foreign(id, visible, secured);
        for uid in self.owners.get(id).into_iter().flatten() {
            if let Some(life) = self.lives.get_mut(uid).filter(|_| visible) {
                life.allowed.insert(Allowance::Drift);
                life.disguised |= life.status.id.is_none();
            }
        }
    }

    fn note_asks(&mut self, cluster: &Cluster, now: Timestamp) {
        for (key, value) in cluster.of_kind(Kind::Deployment) {
            let uid = value["metadata"]["uid"].as_str().unwrap_or_default();
            let Some(life) = self.lives.get_mut(uid) else { continue };
            let asked = value["metadata"]["annotations"][names::REDEPLOY_REQUESTED_AT].as_str();
            let before = life.asks.last();
            let request = asked.map(str::to_owned).or_else(|| before.and_then(|ask| ask.request.clone()));
            let values = desired::values(cluster, &key.namespace, value);
            let version = value["spec"]["connector"]["version"].as_i64();
            let same = |before: &Ask| (&before.values, &before.request, before.version) == (&values, &request, version);
            let spec = hash(&value["spec"]);
            if !before.is_some_and(same) {
                let generation = value["metadata"]["generation"].as_i64().unwrap_or_default();
                let edited = before.is_none_or(|before| before.spec != spec);
                life.asks.push(Ask { values, version, request, since: now, generation, spec, edited });
            } else if let Some(last) = life.asks.last_mut() {
                // What an edit leaves unchanged is asked for by both generations.
                last.spec = spec;
            }
        }
    }

    fn changed(&mut self, change: &Change, now: Timestamp) {
        let object = ConnectorDeployment::deserialize(&*change.object).expect("a stored object has its kind");
        let uid = object.uid().unwrap_or_default();
        let object_ref = ObjectRef::deployment(&change.key.namespace, &change.key.name);
        let status = object.status.clone().unwrap_or_default();
        let life = self.lives.entry(uid.clone()).or_insert_with(|| Life::new(object_ref));
        life.alive = !change.deleted;
        life.observes = object.spec.management_policy == ManagementPolicy::ObserveOnly;
        life.corrected |= object.spec.drift_policy == DriftPolicy::Correct;
        let kept = object.spec.deletion_policy_of(None) == DeletionPolicy::Orphan
            || object.spec.management_policy == ManagementPolicy::ObserveOnly;
        life.may_leave |= kept && object.metadata.deletion_timestamp.is_some();
        let before = std::mem::replace(&mut life.status, status.clone());
        if status == before {
            return;
        }
        let (state, earlier) = (shown(&status), shown(&before));
        if let Some(operation) = state
            .operation
            .as_ref()
            .filter(|operation| operation.state == OperationState::Planned && state.operation != earlier.operation)
        {
            // A request that came while a call was repeated does not belong to that operation: a redeploy serves it.
            let request = operation.redeploy_request.as_ref().or(status.handled_redeploy_request.as_ref());
            let newest = life.asks.len().saturating_sub(1);
            life.planned = life.asks.iter().rposition(|ask| ask.request.as_ref() == request).unwrap_or(newest);
        }
        // The same write may begin the next operation; giving an operation up does not end it.
        let at = |state: &PersistedState| state.applied.as_ref().map(|applied| applied.at);
        let ended = earlier.operation.is_some() && at(&state) != at(&earlier);
        if ended {
            let plain = status.id.as_ref().and_then(|id| self.truth.now(id)).map(|state| state.of(&life.sent));
            life.difference = plain.filter(|plain| *plain != life.sent).map(|plain| (life.sent.clone(), plain));
            if life.difference.as_ref().is_some_and(|difference| !life.differences.contains(difference)) {
                life.allowed.insert(Allowance::Drift);
            }
        }
        self.check_operations(&uid, &before, &status, now);
        self.check_written(&uid, &object, &before, now);
        if status.id != before.id
            && let Some(id) = &status.id
        {
            self.check_claim(&uid, id, &object, now);
        }
        if conditions::ready_reason(&status.conditions) == Some("ProjectNotAllowed") {
            self.count("reports that a namespace is not allowed");
        }
        if conditions::is_ready(&status.conditions) {
            self.count("Ready resources checked");
            self.check_ready(&uid, &object, &status, now);
        }
    }

    /// Rule 4: returns another existing resource that owns this deployment.
    fn held_by_another(&self, uid: &str, id: &str) -> Option<String> {
        let mut others = self.lives.iter().filter(|(other, life)| *other != uid && life.alive && !life.observes);
        others.find(|(_, life)| life.status.id.as_deref() == Some(id)).map(|(_, life)| life.object_ref.to_string())
    }

    fn check_claim(&mut self, uid: &str, id: &str, object: &ConnectorDeployment, now: Timestamp) {
        let created = self.owners.get(id).is_some_and(|owners| owners.contains(uid));
        let restored = object.annotations().get(names::REMOTE_ID).is_some_and(|known| known == id);
        let adopted = object.spec.adoption_policy == AdoptionPolicy::Adopt;
        if !(created || restored || adopted) {
            return self.wrong(format!("{} claims {id}, which it neither created nor may adopt", object.name_any()));
        }
        if let Some(other) = self.held_by_another(uid, id) {
            return self.wrong(format!("{} claims {id}, which {other} owns", object.name_any()));
        }
        if !created {
            self.owners.entry(id.to_owned()).or_default().insert(uid.to_owned());
        }
        let differs = self.lives.get(uid).is_none_or(|life| self.shows_other_than_asked(life, id, now));
        let Some(life) = self.lives.get_mut(uid) else { return };
        if !created {
            life.connector = self.truth.now(id).map_or(0, |state| state.connector);
            life.served = Some(life.asks.len().saturating_sub(1));
        }
        let newer = life.asks.last().and_then(|ask| ask.version).is_some_and(|version| version > life.connector);
        // A deployment that does not look like the resource's own is adopted like any other.
        if (!created || (life.disguised && adopted)) && (differs || newer) {
            life.allowed.insert(Allowance::TakenOver);
        }
    }

    /// A call that may change something arrived.
    fn arrived(&mut self, cluster: &Cluster, arrived: &Arrived, verb: &Verb, now: Timestamp) {
        self.count(match (verb, arrived.changed.is_some()) {
            (Verb::Create { .. }, true) => "creates",
            (Verb::Redeploy { .. }, true) => "redeploys",
            (Verb::Undeploy { .. }, true) => "undeploys",
            (_, false) => "refused by the remote",
        });
        let (object_ref, uid) = &arrived.caller;
        if arrived.denied {
            let text = "rule 29: a reconcile that began while the namespace was known not to be allowed";
            return self.wrong(format!("{text}: {object_ref} sent {verb:?}"));
        }
        let key = crate::cluster::Key::new(Kind::Deployment, &object_ref.namespace, &object_ref.name);
        let object = cluster.get(&key).filter(|object| object["metadata"]["uid"] == **uid);
        let written: Vec<bool> = self.written_for(uid, verb, now).map(|written| written.follows).collect();
        if written.is_empty() {
            return self.wrong(format!("{object_ref} sent {verb:?} without persisting the operation first"));
        }
        if let Some(life) = self.lives.get_mut(uid) {
            life.follows = written.contains(&true);
        }
        let owned = |id: &str| self.owners.get(id).is_some_and(|owners| owners.contains(uid));
        match verb {
            Verb::Create { values } => {
                let Some(id) = &arrived.changed else { return };
                self.truth.sent_by_operator(id);
                self.owners.entry(id.clone()).or_default().insert(uid.clone());
                self.serve(uid, id, values, Sent::Create);
                let blanks = values.plain.values().any(|value| value.trim() != value);
                let life = self.lives.get_mut(uid);
                // A user who removes the finalizer by hand may do so while the call is in progress.
                let torn_out = life.as_ref().is_some_and(|life| life.may_leave);
                if let Some(life) = life {
                    life.disguised = self.truth.trims && blanks;
                }
                if object.is_none() && !torn_out {
                    self.wrong(format!("{object_ref} does not exist any more, and {id} was created for it"));
                }
            }
            Verb::Redeploy { id, values, moves } => {
                if !owned(id) {
                    self.wrong(format!("{object_ref} asked for a redeploy of {id}, which it does not own"));
                } else if arrived.changed.is_some() {
                    self.truth.sent_by_operator(id);
                    self.serve(uid, id, values, if *moves { Sent::Move } else { Sent::Redeploy });
                }
            }
            Verb::Undeploy { id } => {
                if !owned(id) {
                    self.wrong(format!("{object_ref} asked to undeploy {id}, which it does not own"));
                }
            }
        }
    }

    /// Records that these values were sent and took effect.
    fn serve(&mut self, uid: &str, id: &str, values: &Values, sent: Sent) {
        let running = self.truth.now(id).map_or(0, |state| state.connector);
        let had = self.truth.before(id).cloned();
        let Some(life) = self.lives.get_mut(uid) else { return };
        let served = life.served;
        let create = sent == Sent::Create;
        let from = life.served.map_or(0, |served| served + 1);
        let newer = if create { 0 } else { from };
        let before = std::mem::replace(&mut life.connector, running);
        let asked = life.follows || life.asks.iter().any(|ask| ask.version.is_some_and(|version| version > before));
        if sent == Sent::Move && !asked {
            let text = format!("{} moved {id} from {before} to {running}, which nothing asked for", life.object_ref);
            return self.wrong(text);
        }
        if sent == Sent::Move && life.follows && running > before {
            life.allowed.insert(Allowance::Followed);
        }
        // A new version alone is served only by a call that moves to another version.
        let news = |index: &usize| sent != Sent::Redeploy || !life.asks_for_a_version_only(*index);
        let fits = (newer..=life.planned)
            .rev()
            .filter(news)
            .find(|index| life.asks.get(*index).is_some_and(|ask| ask.values.as_ref() == Some(values)));
        let torn = (from..=life.planned).filter(news).count() > 1;
        // A value that is removed, or set again, is a change like any other (rule 8), although the service kept it.
        let changes_keys = !life.sent.keys().eq(values.plain.keys());
        life.sent.clone_from(&values.plain);
        if create {
            life.ever_sent.clear();
            // What an earlier deployment showed says nothing about this one.
            (life.difference, life.differences) = (None, BTreeSet::new());
        }
        // A default exists without having been sent.
        let own = values.plain.iter().filter(|(key, value)| !Values::is_default(key, value));
        life.ever_sent.extend(own.map(|(key, _)| key.clone()));
        // A call that serves an ask in between sends other values, and says nothing about this difference.
        life.differences.extend(life.difference.take().filter(|(sent, _)| *sent == values.plain));
        let used = match fits {
            Some(index) => {
                life.served = Some(index);
                None
            }
            None if create => {
                life.served = Some(life.planned);
                Some(Allowance::Torn)
            }
            None if torn => {
                life.served = Some(from);
                Some(Allowance::Torn)
            }
            None => {
                let mut allowed =
                    life.allowed.iter().filter(|allowance| **allowance != Allowance::Drift || life.corrected);
                let Some(allowance) = allowed.next().copied() else {
                    let text = format!(
                        "{} was redeployed with {values:?} without a change: served {:?}, planned {}, asks {:?}",
                        life.object_ref, life.served, life.planned, life.asks
                    );
                    return self.wrong(text);
                };
                Some(allowance)
            }
        };
        let plain = sent == Sent::Redeploy && used.is_none() && life.allowed.is_empty() && !life.is_new_request(served);
        let plain = plain && !changes_keys;
        life.allowed.clear();
        if plain && had.is_some_and(|had| had.has_already(values)) {
            let text = format!("{} was redeployed with {values:?}, which {id} already had", life.object_ref);
            return self.wrong(text);
        }
        if let Some(used) = used {
            self.count(&format!("redeploys allowed as {used:?}"));
        }
    }
}

fn hash(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
