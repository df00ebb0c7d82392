//! What a spec permits: each operation on a staged connector is written under a spec that allows it, and each DELETE
//! follows one that was written.
//!
//! An operation is written on the version of the resource that was read, so the spec that counts is the one in the same
//! object; an edit does not cancel a call in progress.

use connect_operator::crd::{ConnectorStaged, DeletionPolicy, StagedCallKind as Type};

use super::remembered;
use crate::prelude::*;

/// Returns why the spec does not allow to begin this operation, or to send it again.
fn forbidden(object: &ConnectorStaged, kind: Type) -> Option<&'static str> {
    let going = object.metadata.deletion_timestamp.is_some();
    let orphans = object.spec.effective_deletion_policy() == DeletionPolicy::Orphan;
    if object.spec.suspend {
        return Some("it is suspended");
    }
    match kind {
        Type::Delete if !going => Some("it is not being deleted"),
        Type::Delete => orphans.then_some("its staged connector must be orphaned"),
        _ if going => Some("it is being deleted"),
        Type::Create | Type::Update | Type::Preview | Type::Publish => None,
    }
}

impl Checker {
    /// Checks an operation that is about to be sent, and records that of a DELETE.
    pub(super) fn check_staged_written(&mut self, uid: &str, object: &ConnectorStaged, now: Timestamp) {
        let call = object.status.as_ref().and_then(|status| remembered(status).call);
        let begun = call.filter(|call| call.open);
        let Some(begun) = begun else { return };
        let kind = begun.kind;
        let Some(life) = self.staged.lives.get_mut(uid) else { return };
        // The call before a refused one comes back, and that is none that begins.
        if !life.begun.insert((format!("{kind:?}"), begun.at)) {
            return;
        }
        if kind == Type::Delete {
            life.deletes.push(now);
        }
        if let Some(why) = forbidden(object, kind) {
            let text = format!("{} is about to send {kind:?}, though {why}", life.object_ref);
            self.wrong(text);
        }
    }

    /// Whether a DELETE that arrives now was persisted before.
    pub(super) fn is_delete_written(&self, uid: &str, now: Timestamp) -> bool {
        let oldest = self.oldest_written(now);
        self.staged.lives.get(uid).is_some_and(|life| life.deletes.iter().any(|at| *at >= oldest))
    }
}
