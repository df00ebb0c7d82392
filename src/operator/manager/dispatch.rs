//! Runs the reconciles of all kinds, as the work queues have slots.
//!
//! kube's `Controller` has neither part: its timers follow the clock of the machine, which tests cannot step, and it shares
//! no slots between namespaces (rule 27). What it has beside them, one reconcile of an object at a time, the queue has too.

use std::collections::BTreeMap;
use std::panic;
use std::sync::Arc;

use connect_api::trace;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinSet;
use tracing::Instrument as _;

use super::reconciled::{self, slots};
use crate::operator::cluster::queue::fair_queue::FairQueue;
use crate::operator::context::Context;
use crate::operator::object_ref::{Kind, ObjectName, ObjectRef};
use crate::operator::spans;

/// Reconciles enqueued objects as slots become free, each in a task of `running`, which yields it when its reconcile has
/// ended. Never ends.
pub(super) async fn dispatch(
    context: &Arc<Context>,
    mut enqueued: UnboundedReceiver<ObjectRef>,
    running: &mut JoinSet<ObjectRef>,
) {
    let mut queues = BTreeMap::from(Kind::ALL.map(|kind| (kind, FairQueue::new(slots(kind)))));
    loop {
        let (object_ref, is_event) = tokio::select! {
            // Events first, so that a free slot goes to the namespace with the best claim by now.
            biased;
            Some(object_ref) = enqueued.recv() => (object_ref, true),
            Some(ended) = running.join_next() => match ended {
                Ok(object_ref) => (object_ref, false),
                // What a reconcile does not catch itself ends the process, because its slot could not be given to another.
                Err(error) => panic::resume_unwind(error.into_panic()),
            },
            else => return,
        };
        let Some(queue) = queues.get_mut(&object_ref.kind) else { continue };
        if is_event {
            queue.push(object_ref);
        } else {
            queue.done(object_ref);
        }
        while let Some(object_ref) = queue.pop() {
            running.spawn(reconcile(object_ref, Arc::clone(context)));
        }
    }
}

/// Reconciles an object with a new trace id, and measures it. Returns the object.
async fn reconcile(object_ref: ObjectRef, context: Arc<Context>) -> ObjectRef {
    let (kind, began) = (object_ref.kind.as_str(), context.clock.elapsed());
    let ObjectName { namespace, name, .. } = &*object_ref;
    let trace_id = trace::Id::random();
    let span = tracing::info_span!("reconcile", kind, namespace, object = name, %trace_id);
    let exported = spans::reconcile(&object_ref);
    let run = async {
        let ended = reconciled::bounded(&object_ref, &context).await;
        let duration = context.clock.elapsed().saturating_sub(began);
        spans::reconciled(&exported, ended);
        let duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
        tracing::debug!(reason = ended.label(), duration_ms, "the reconcile ended");
        context.metrics.reconciled(kind, ended.label(), duration);
    };
    // The exported span begins within the trace, whose id it takes.
    trace::within(trace_id, run.instrument(exported.clone())).instrument(span).await;
    object_ref
}
