//! Counts and checks what is done to staged connectors, as the other files do for deployments.
//!
//! A *visit* of a tag lasts until the remote has another repository or tag, or the preview permission is withdrawn. A
//! visit of a content, which is everything that users choose, lasts until the content changes. The operator may request
//! a preview once for each visit of a tag, and publish once for each visit of a content. A request to try again allows
//! both once more. Both are also allowed again if the answer was not read: it is then unknown which tag the preview
//! request was for, and whether a publication arrived after which the record shows the same status as before it.

mod calls;
mod permitted;

use std::collections::BTreeSet;

use connect_api::model::{ConnectorStaged as Record, IsPreviewable};
use connect_operator::crd::connector_staged_status::ConnectorStagedStatus;
use connect_operator::crd::{
    AdoptionPolicy, ConnectorStaged, ConnectorStagedSpec, DeletionPolicy, PublishPolicy, StagedCallKind, StagedState,
};
use connect_operator::operator::reporting::conditions;
use dev_server::World;
use kube::ResourceExt;
use serde::Deserialize;

use super::staged_spec::{content, is_as_wanted, projects, reason_for};
use crate::cluster::Change;
use crate::prelude::*;
use crate::remote::{Arrived, StagedVerb};
use crate::simulation::LIMIT;

/// A state of a staged connector, and since when.
#[derive(Clone, Debug)]
pub(crate) struct Row {
    at: Timestamp,
    /// `None`: it does not exist any more.
    pub(crate) record: Option<Record>,
    /// Number of the visit of its repository and tag.
    tag: u64,
    /// Number of the visit of its content.
    content: u64,
}

/// One resource, from its creation to its end.
#[derive(Debug)]
pub(crate) struct StagedLife {
    object_ref: ObjectRef,
    /// Every spec that it had, and since when.
    specs: Vec<(Timestamp, ConnectorStagedSpec)>,
    /// Every call that was written: what it does, from which version, and the request that it serves.
    written: BTreeMap<(String, Option<i64>), Option<String>>,
    /// Every call that was about to be sent: what it does, and when.
    begun: BTreeSet<(String, Timestamp)>,
    /// Versions from which a preview or a publication was requested, and that was observed to have arrived.
    answered: BTreeSet<i64>,
    /// When a DELETE was about to be sent.
    deletes: Vec<Timestamp>,
    status: ConnectorStagedStatus,
    alive: bool,
    /// Its connector may outlive it.
    may_leave: bool,
    /// Another client changed its connector before its id was known, so that it does not look like the operator's own.
    disguised: bool,
}

/// Everything that is known of staged connectors.
#[derive(Default)]
pub(crate) struct StagedRecords {
    lives: BTreeMap<String, StagedLife>,
    owners: BTreeMap<String, BTreeSet<String>>,
    rows: BTreeMap<String, Vec<Row>>,
    /// Visits of tags for which a preview was requested, each with the request that it served and the resource; the
    /// value is the version from which it was last requested.
    asked: BTreeMap<(String, u64, Option<String>, String), i64>,
    /// Visits of contents that were published, with or without certification, each with the request that it served; the
    /// value is the version from which it was last published.
    published: BTreeMap<(String, u64, bool, Option<String>), i64>,
    /// Visits of tags whose preview counts as requested, because another client requested it.
    taken_over: BTreeSet<(String, u64)>,
    seen: Option<Timestamp>,
}

impl StagedRecords {
    /// Records the current state.
    pub(super) fn see(&mut self, world: &mut World, now: Timestamp, changed: bool) {
        if !changed && self.seen == Some(now) {
            return;
        }
        self.seen = Some(now);
        let all = world.all_staged(now);
        let gone = self.rows.keys().filter(|id| all.iter().all(|record| record.id != **id)).cloned();
        let gone: Vec<String> = gone.collect();
        for record in all {
            self.note(record.id.clone(), Some(record), now);
        }
        for id in gone {
            self.note(id, None, now);
        }
    }

    fn note(&mut self, id: String, record: Option<Record>, at: Timestamp) {
        let rows = self.rows.entry(id).or_default();
        let Some(last) = rows.last() else {
            rows.push(Row { at, record, tag: 0, content: 0 });
            return;
        };
        if last.record == record {
            return;
        }
        let before = last.record.as_ref();
        let same_tag = before.map(|before| &before.repository) == record.as_ref().map(|record| &record.repository);
        let asked =
            |record: Option<&Record>| record.is_some_and(|record| record.is_previewable != IsPreviewable::NeverAsked);
        // In one reading of the contract, setting the same tag again also withdraws the permission.
        let same_tag = same_tag && asked(record.as_ref()) >= asked(before);
        let same_content = before.map(content) == record.as_ref().map(content);
        let (tag, content) = (last.tag + u64::from(!same_tag), last.content + u64::from(!same_content));
        rows.push(Row { at, record, tag, content });
    }

    /// Records that another client changed it; the next observation is new.
    pub(crate) fn foreign(&mut self, id: &str) {
        self.seen = None;
        for uid in self.owners.get(id).into_iter().flatten() {
            if let Some(life) = self.lives.get_mut(uid) {
                life.disguised |= life.status.id.is_none();
            }
        }
    }

    /// Records that another client requested a preview, or published: it counts as requested and as done.
    pub(crate) fn done_elsewhere(&mut self, id: &str) {
        if let Some(row) = self.rows.get(id).and_then(|rows| rows.last()) {
            self.taken_over.insert((id.to_owned(), row.tag));
        }
    }

    /// Returns the current record.
    pub(crate) fn now(&self, id: &str) -> Option<&Record> {
        self.rows.get(id)?.last()?.record.as_ref()
    }

    /// Whether a preview was requested for its current tag.
    pub(crate) fn was_asked(&self, id: &str) -> bool {
        self.rows.get(id).and_then(|rows| rows.last()).is_some_and(|row| self.was_asked_at(id, row))
    }

    fn was_asked_at(&self, id: &str, row: &Row) -> bool {
        let rows = self.rows.get(id).map(Vec::as_slice).unwrap_or_default();
        let before = rows.iter().rev().skip_while(|other| (other.at, other.tag) > (row.at, row.tag));
        let repository = |row: &Row| row.record.as_ref().map(|record| record.repository.clone());
        let never =
            |row: &Row| row.record.as_ref().is_none_or(|record| record.is_previewable == IsPreviewable::NeverAsked);
        // A request that is pending survives that another client sets another tag, and then this one again.
        let visits = before.take_while(|other| !never(other)).filter(|other| repository(other) == repository(row));
        let mut tags = visits.map(|visit| visit.tag).chain([row.tag]);
        tags.any(|tag| {
            self.asked.keys().any(|(other, asked, ..)| other == id && *asked == tag)
                || self.taken_over.contains(&(id.to_owned(), tag))
        })
    }

    fn since(&self, id: &str, since: Timestamp) -> impl Iterator<Item = &Row> {
        let rows = self.rows.get(id).map(Vec::as_slice).unwrap_or_default();
        rows[rows.partition_point(|row| row.at <= since).saturating_sub(1)..].iter()
    }

    /// Returns a staged connector that should have been deleted with its resource.
    pub(crate) fn left_behind(&self) -> Option<String> {
        let owners = |id: &str| self.owners.get(id).into_iter().flatten().filter_map(|uid| self.lives.get(uid));
        let left = self.owners.keys().find(|id| {
            self.now(id).is_some()
                && owners(id).all(|life| !life.alive)
                && !owners(id).any(|life| life.may_leave || life.disguised)
        })?;
        Some(format!("{left} is orphaned"))
    }

    fn claim(&mut self, uid: &str, id: &str, object: &ConnectorStaged) -> Result<(), String> {
        let name = object.name_any();
        let created = self.owners.get(id).is_some_and(|owners| owners.contains(uid));
        let restored = object.annotations().get(names::REMOTE_ID).is_some_and(|known| known == id);
        if !(created || restored || object.spec.adoption_policy == AdoptionPolicy::Adopt) {
            return Err(format!("{name} claims {id}, which it neither created nor may adopt"));
        }
        let mut others = self.lives.iter().filter(|(other, life)| *other != uid && life.alive);
        if let Some((_, other)) = others.find(|(_, life)| life.status.id.as_deref() == Some(id)) {
            return Err(format!("{name} claims {id}, which {} owns", other.object_ref));
        }
        if !created {
            self.owners.entry(id.to_owned()).or_default().insert(uid.to_owned());
            self.done_elsewhere(id);
        }
        Ok(())
    }
}

impl Checker {
    /// Checks a resource that was written.
    pub(super) fn staged_changed(&mut self, change: &Change, now: Timestamp) {
        let object = ConnectorStaged::deserialize(&*change.object).expect("a stored object has its kind");
        let uid = object.uid().unwrap_or_default();
        let status = object.status.clone().unwrap_or_default();
        let going = object.metadata.deletion_timestamp.is_some();
        let life = self.staged.lives.entry(uid.clone()).or_insert_with(|| StagedLife {
            object_ref: ObjectRef::staged(&change.key.namespace, &change.key.name),
            specs: Vec::new(),
            written: BTreeMap::new(),
            begun: BTreeSet::new(),
            answered: BTreeSet::new(),
            deletes: Vec::new(),
            status: ConnectorStagedStatus::default(),
            alive: true,
            may_leave: false,
            disguised: false,
        });
        life.alive = !change.deleted;
        if change.deleted {
            // Another staged connector of this name has another id, which a create without an answer did not have.
            for life in self.lives.values_mut() {
                life.disguised |= life.status.id.is_none();
            }
        }
        life.may_leave |= going && object.spec.effective_deletion_policy() == DeletionPolicy::Orphan;
        if life.specs.last().is_none_or(|(_, before)| *before != object.spec) {
            life.specs.push((now, object.spec.clone()));
        }
        let before = std::mem::replace(&mut life.status, status.clone());
        if status == before {
            return;
        }
        let state = remembered(&status);
        if let Some(call) = &state.call {
            let what = (format!("{:?}", call.kind), call.from);
            let has_arrived = match call.kind {
                StagedCallKind::Preview => state.preview.is_some(),
                StagedCallKind::Publish => state.publication.as_ref() == Some(&call.digest),
                StagedCallKind::Create | StagedCallKind::Update | StagedCallKind::Delete => false,
            };
            if has_arrived && !call.open {
                life.answered.extend(call.from);
            }
            if call.open {
                life.written.insert(what, state.handled_request);
            }
        }
        self.check_staged_written(&uid, &object, now);
        if status.id != before.id
            && let Some(id) = &status.id
            && let Err(text) = self.staged.claim(&uid, id, &object)
        {
            return self.wrong(text);
        }
        if conditions::is_ready(&status.conditions) {
            self.count("Ready staged connectors checked");
            self.check_staged_ready(&uid, &object, &status, now);
        }
    }

    /// Checks a call that may change a staged connector.
    pub(super) fn staged_arrived(&mut self, cluster: &Cluster, arrived: &Arrived, verb: &StagedVerb, now: Timestamp) {
        let (object_ref, uid) = &arrived.caller;
        let key = Key::new(Kind::Staged, &object_ref.namespace, &object_ref.name);
        let object = cluster.get(&key).filter(|object| object["metadata"]["uid"] == **uid);
        // A call may arrive after its caller has given up, and began to reconcile anew.
        let since = self.since(object_ref, now).saturating_sub(LIMIT).unwrap_or(Timestamp::MIN);
        let owned = |id: &str| self.staged.owners.get(id).is_some_and(|owners| owners.contains(uid));
        let result = match (verb, &arrived.changed) {
            (StagedVerb::Update { id, .. } | StagedVerb::Discard { id }, _) if !owned(id) => {
                Err(format!("{object_ref} asked to change {id}, which it does not own"))
            }
            (_, None) => Ok("refused by the remote"),
            (StagedVerb::Stage, Some(id)) => {
                self.staged.owners.entry(id.clone()).or_default().insert(uid.clone());
                let life = self.staged.lives.get(uid);
                let written = life.is_some_and(|life| life.written.contains_key(&("Create".to_owned(), None)));
                match object {
                    // With `Orphan` the finalizer is removed at once, also while a create may still arrive.
                    None if life.is_some_and(|life| life.may_leave) => Ok("stagings whose resource was deleted"),
                    None => Err(format!("{object_ref} does not exist any more, and {id} was created for it")),
                    Some(_) if !written => Err(format!("{id} was created without a persisted operation")),
                    Some(_) => Ok("stagings"),
                }
            }
            (StagedVerb::Update { version, actions, .. }, Some(id)) => {
                self.staged.update(uid, id, (*version, actions), since)
            }
            (StagedVerb::Discard { id }, Some(_)) => {
                let going = object.is_none_or(|object| object["metadata"].get("deletionTimestamp").is_some());
                if !going {
                    Err(format!("{id} was deleted, and {object_ref} is not"))
                } else if self.is_delete_written(uid, now) {
                    Ok("discards")
                } else {
                    Err(format!("{id} was deleted without a persisted operation"))
                }
            }
        };
        match result {
            Ok(what) => self.count(what),
            Err(text) => self.wrong(text),
        }
    }

    /// `Ready=True`: when the remote was observed, it was as far as the spec asked for then.
    fn check_staged_ready(
        &mut self,
        uid: &str,
        object: &ConnectorStaged,
        status: &ConnectorStagedStatus,
        now: Timestamp,
    ) {
        let Some(life) = self.staged.lives.get(uid) else { return };
        let name = object.name_any();
        let Some(id) = &status.id else { return self.wrong(format!("{name} is Ready without an id")) };
        let since = self.since(&life.object_ref, now);
        let reason = conditions::ready_reason(&status.conditions).unwrap_or_default().to_owned();
        let is_far = |row: &Row, spec: &ConnectorStagedSpec| {
            row.record.as_ref().is_some_and(|record| {
                let may = record.is_previewable == IsPreviewable::Yes && self.staged.was_asked_at(id, row);
                let published = record.already_listed && !record.has_changes;
                is_as_wanted(spec, record)
                    && (!spec.requests_preview() || may)
                    && (spec.publish_policy == PublishPolicy::Never || published)
                    && (spec.publish_policy != PublishPolicy::Certified || !record.private)
            })
        };
        let fits = self.staged.since(id, since).any(|row| specs_since(life, since).any(|spec| is_far(row, spec)));
        if !fits {
            let seen: Vec<_> = self.staged.since(id, since).collect();
            self.wrong(format!("{name} is Ready ({reason}), but asks for {:?}, and there was {seen:?}", object.spec));
        }
    }

    /// Returns what is not yet as a resource asks for it.
    pub(crate) fn unsettled_staged(&self, object: &ConnectorStaged) -> Option<String> {
        let status = object.status.clone().unwrap_or_default();
        let generation = object.metadata.generation.unwrap_or_default();
        let reason = conditions::ready_reason(&status.conditions).unwrap_or_default();
        let requested = object.annotations().get(names::RETRY_REQUESTED_AT);
        if object.metadata.deletion_timestamp.is_some() {
            let waits = object.spec.suspend && reason == "Suspended";
            return (!waits).then(|| format!("it still exists, and reports {reason}"));
        }
        if status.observed_generation != generation {
            return Some(format!("generation {generation} was not observed"));
        }
        if object.spec.suspend || reason == "KeyConflict" {
            return None;
        }
        if remembered(&status).is_call_open() {
            return Some("an operation is in progress".to_owned());
        }
        let Some(id) = &status.id else {
            let uid = object.uid().unwrap_or_default();
            let own =
                self.staged.owners.iter().filter(|(id, owners)| owners.contains(&uid) && self.staged.now(id).is_some());
            let known = self.staged.lives.get(&uid).is_none_or(|life| life.disguised);
            if reason != "KeyTaken" {
                return Some("it has no staged connector".to_owned());
            }
            return (!known && own.count() > 0).then(|| "it does not recognize what it created itself".to_owned());
        };
        let Some(record) = self.staged.now(id) else {
            return (reason != "RemoteDisappeared").then(|| "its staged connector disappeared".to_owned());
        };
        let public = !record.private;
        let refused = match reason {
            // In one reading of the contract a connector is certified only once, even if it is requested again.
            "RequestRejected" => public && object.spec.publish_policy == PublishPolicy::Certified,
            "CannotBeChanged" => public && projects(&object.spec) != record.private_projects.iter().cloned().collect(),
            _ => false,
        };
        if refused {
            return None;
        }
        let waits = reason == "InCertification";
        if requested.is_some_and(|requested| status.handled_retry_request.as_ref() != Some(requested)) && !waits {
            return Some("a request is not served".to_owned());
        }
        let wanted = reason_for(&object.spec, record, self.staged.was_asked(id));
        (wanted != Some(reason)).then(|| format!("expected {wanted:?}, and the remote has {record:?}"))
    }
}

/// Returns what the operator remembers.
fn remembered(status: &ConnectorStagedStatus) -> StagedState {
    status.remembered().expect("the operator reads what it writes")
}

fn specs_since(life: &StagedLife, since: Timestamp) -> impl Iterator<Item = &ConnectorStagedSpec> {
    let first = life.specs.partition_point(|(at, _)| *at <= since).saturating_sub(1);
    life.specs[first..].iter().map(|(_, spec)| spec)
}
