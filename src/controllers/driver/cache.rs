//! Takes what this process keeps of a resource for its reconcile.

use k8s_openapi::api::core::v1::ObjectReference;
use kube::api::ApiResource;
use kube::runtime::events::EventType;

use crate::controllers::context::Context;
use crate::controllers::context::event_recorder::NewEvent;
use crate::controllers::context::local_cache::LocalCache;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reporting::event_reason::EventReason;

use super::RemoteKind;

impl<K: RemoteKind> LocalCache<K> {
    /// Whether the watch does not show the write before an accepted call yet. It does so in a moment, and enqueues the
    /// resource: to read the object would only be one more request.
    pub(super) fn waits_for_watch(&self, context: &Context, cached: &K) -> bool {
        let now = context.clock.now();
        let is_new = self.accepted_call.as_ref().is_some_and(|accepted| accepted.is_new(now));
        is_new && context.own_writes.awaits(cached)
    }

    /// Whether this copy of the object lacks the operation of the accepted call. It may come from the store as it was just
    /// before the watch showed that operation, and must not end what is known of the call.
    pub(super) fn knows_more_than(&self, cached: &K) -> bool {
        let Some(accepted) = &self.accepted_call else { return false };
        let pending = cached.pending_create();
        let operation = cached.status().and_then(K::operation).or(pending.as_ref().map(|pending| &pending.operation));
        !operation.is_some_and(|operation| accepted.is_of(operation))
    }

    /// Reports what an object that seems to be gone has left at the remote: it was deleted without its finalizer, so that its
    /// record stays. That happens also if no client removes the finalizer: the API server ignores one that is added after its
    /// DELETE has read the object.
    pub(super) fn report_left_behind(&self, context: &Context, object_ref: &ObjectRef) {
        let accepted = self.accepted_call.as_ref();
        let Some(status) = accepted.and_then(|accepted| accepted.status::<K>()) else { return };
        let Some(id) = K::record_id(&status) else { return };
        let note = format!(
            "The object was deleted without its finalizer while an operation was in progress, so {id} stays at the remote: \
             delete it there, or create the object again with adoptionPolicy: Adopt"
        );
        let regarding = ObjectReference {
            api_version: Some(K::api_version(&()).into_owned()),
            kind: Some(K::kind(&()).into_owned()),
            namespace: Some(object_ref.namespace.clone()),
            name: Some(object_ref.name.clone()),
            uid: Some(self.uid.clone()),
            ..ObjectReference::default()
        };
        let reason = EventReason::Orphaned.as_str();
        let if_gone = Some(Box::new(ApiResource::erase::<K>(&())));
        let event = NewEvent { regarding, type_: EventType::Warning, reason, action: "Reconcile", note, if_gone };
        context.recorder.record(event, context.clock.now());
    }
}

/// Returns what is kept of this resource; an empty cache if that was another resource of the same name, which is gone.
#[must_use]
pub(super) fn local_cache<K: RemoteKind>(context: &Context, object_ref: &ObjectRef, uid: &str) -> Box<LocalCache<K>> {
    let kept = K::caches(context).with(|map| {
        let kept = map.get_mut(object_ref)?;
        // Removed from the map: during the reconcile, an event about the deletion of the object does not report it.
        let accepted_call = kept.accepted_call.take();
        Some(Box::new(LocalCache { accepted_call, ..(**kept).clone() }))
    });
    match kept {
        Some(kept) if kept.uid == uid => kept,
        other => {
            if let Some(former) = other {
                former.report_left_behind(context, object_ref);
            }
            Box::new(LocalCache { uid: uid.to_owned(), ..LocalCache::default() })
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::controllers::context::accepted_call::AcceptedCall;
    use crate::controllers::kinds::pending_create::PendingCreate;
    use crate::controllers::kinds::remote_object::RemoteObject;
    use crate::controllers::reporting::conditions::ConditionUpdate;
    use crate::controllers::reporting::reason::Reason;
    use crate::crd::ConnectorDeployment;
    use crate::crd::connector_deployment_status::{ConnectorDeploymentStatus, Operation};

    fn status(operation: &Value) -> ConnectorDeploymentStatus {
        let status = json!({"observedGeneration": 1, "conditions": [], "operation": operation});
        serde_json::from_value(status).expect("a status")
    }

    fn object(operation: &Value) -> ConnectorDeployment {
        let spec = json!({"projectRef": {"name": "shop"}, "connector": {"key": "tax"}, "region": "europe-west1.gcp"});
        let mut object = ConnectorDeployment::new("tax", serde_json::from_value(spec).expect("a spec"));
        object.metadata.uid = Some("1".into());
        object.status = Some(status(operation));
        object
    }

    #[test]
    fn a_copy_without_the_operation_of_an_accepted_call_is_not_believed() {
        let operation = |attempt: u32| {
            json!({"type": "Redeploy", "state": "Planned", "attempt": attempt, "generation": 1,
                "startedAt": "2026-01-01T00:00:00Z"})
        };
        let sent: Operation = serde_json::from_value(operation(1)).expect("an operation");
        let accepted = AcceptedCall::new::<ConnectorDeployment>(
            (&sent, &status(&operation(1))),
            ConditionUpdate::new(Reason::Redeploying, "sent"),
            (1, None),
            Timestamp::UNIX_EPOCH,
            Duration::ZERO,
            true,
        );
        let accepted = Box::new(accepted.expect("a status"));
        let cache = |accepted| LocalCache::<ConnectorDeployment> { accepted_call: accepted, ..LocalCache::default() };
        let mut annotated = object(&Value::Null);
        let remote = serde_json::from_value(json!({"apiUrl": "https://api", "projectKey": "demo"})).expect("a remote");
        let pending = PendingCreate::new(&annotated.metadata, None, remote, sent);
        let text = format!("signature:{}", serde_json::to_string(&pending).expect("JSON"));
        annotated.metadata.annotations = Some([(crate::names::PENDING_CREATE.to_owned(), text)].into());
        assert!(annotated.pending_create().is_some(), "the annotation is readable");
        for (case, accepted, copy, expected) in [
            ("no call", None, object(&Value::Null), false),
            ("from before the operation", Some(&accepted), object(&Value::Null), true),
            ("with another attempt", Some(&accepted), object(&operation(2)), true),
            ("with the operation", Some(&accepted), object(&operation(1)), false),
            ("with the operation of a first create", Some(&accepted), annotated, false),
        ] {
            assert_eq!(cache(accepted.cloned()).knows_more_than(&copy), expected, "{case}");
        }
    }
}
