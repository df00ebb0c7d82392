//! Leaves objects of other installs alone, and polls the Leases of those installs.
//!
//! Nothing is written to such an object but an Event: two installs must not argue in one status.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::ResourceExt as _;
use kube::api::Api;

use crate::controllers::context::Context;
use crate::controllers::context::foreign_installs::Left;
use crate::controllers::kinds::managed_kind::ManagedKind;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::reporting::conditions::ConditionUpdate;
use crate::controllers::reporting::reason::Reason;
use crate::leader::{LeaseName, Scope};

/// Time limit for reading a Lease.
const READ_LIMIT: Duration = Duration::from_secs(10);

/// Pause between two reads of the Leases of installs that objects are left to.
const READ_AGAIN: Duration = Duration::from_secs(3);

/// Returns whether an object is left to another install, and reports that once in an Event and in the log.
pub(in crate::controllers) fn is_left<K: ManagedKind>(context: &Context, object_ref: &ObjectRef, object: &K) -> bool {
    let Some(Left { install, message }) = context.foreign_installs.left_to(object_ref, object) else { return false };
    if let Some(message) = message
        && context.foreign_installs.is_new(object_ref, &install)
    {
        tracing::warn!(object = %object_ref, kind = ?object_ref.kind, %install, "left alone: {message}");
        context.event(object, "Reconcile", &ConditionUpdate::new(Reason::ManagedElsewhere, message));
    }
    true
}

/// Returns whether this install manages an object whose watch shows those of all installs: it selects the object, and no
/// other install has it.
pub(in crate::controllers) fn is_managed<K: ManagedKind>(
    context: &Context,
    object_ref: &ObjectRef,
    object: &K,
) -> bool {
    if !context.foreign_installs.selects(object.labels()) {
        context.foreign_installs.free(object_ref);
        return false;
    }
    !is_left(context, object_ref, object)
}

/// Polls the Leases of installs that objects are left to, as long as there are any. Never returns.
pub(in crate::controllers) async fn follow(context: Arc<Context>) {
    let foreign_installs = &context.foreign_installs;
    loop {
        let leases = foreign_installs.other_installs.lock().to_look_at();
        for lease in &leases {
            let Some(read) = read(&context, lease).await else { continue };
            let enqueued = foreign_installs.other_installs.lock().saw(lease, read, context.clock.elapsed());
            for object_ref in enqueued {
                context.enqueue(object_ref);
            }
        }
        if leases.is_empty() {
            foreign_installs.asked.notified().await;
        } else {
            context.clock.sleep(READ_AGAIN).await;
        }
    }
}

/// Reads a Lease. The inner error is for users: the API server refuses the read. `None`: the read failed for a reason
/// that passes, so nothing is known.
async fn read(context: &Context, name: &LeaseName) -> Option<Result<Option<(LeaseSpec, Scope)>, String>> {
    let api = Api::<Lease>::namespaced(context.client.clone(), &name.namespace);
    let read = tokio::select! {
        read = api.get_opt(&name.name) => read,
        () = context.clock.sleep(READ_LIMIT) => return None,
    };
    match read {
        Ok(None) => Some(Ok(None)),
        Ok(Some(lease)) => {
            let scope = Scope::of_annotations(lease.annotations());
            Some(Ok(Some((lease.spec.unwrap_or_default(), scope))))
        }
        Err(kube::Error::Api(status)) if matches!(status.code, 401 | 403) => Some(Err(status.message.clone())),
        Err(error) => {
            tracing::debug!(lease = %name, %error, "the Lease of another install cannot be read now");
            None
        }
    }
}
