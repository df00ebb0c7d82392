//! Passes enqueued objects to the controller of their kind and namespace, as slots become free.

use std::collections::BTreeMap;

use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender};

use super::reconciled;
use crate::controllers::initial_lists::InitialLists;
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::queue::fair_queue::FairQueue;

/// The channels to the controllers of one namespace, by kind.
pub(super) type Route = BTreeMap<Kind, UnboundedSender<ObjectRef>>;

/// Passes enqueued objects to their controllers as slots become free. `ended` yields objects whose reconcile has ended.
pub(super) async fn dispatch(
    lists: &InitialLists,
    mut enqueued: UnboundedReceiver<ObjectRef>,
    mut ended: UnboundedReceiver<ObjectRef>,
    routes: BTreeMap<Option<String>, Route>,
) {
    let mut queues = BTreeMap::from(Kind::ALL.map(|kind| (kind, FairQueue::new(reconciled::slots(kind)))));
    let route = |object_ref: &ObjectRef| {
        let route = routes.get(&Some(object_ref.namespace.clone())).or_else(|| routes.get(&None))?;
        route.get(&object_ref.kind)
    };
    loop {
        let (object_ref, is_event) = tokio::select! {
            // Events first, so that a free slot goes to the namespace with the best claim by now.
            biased;
            Some(object_ref) = enqueued.recv() => (object_ref, true),
            Some(object_ref) = ended.recv() => (object_ref, false),
            else => return,
        };
        let Some(queue) = queues.get_mut(&object_ref.kind).filter(|_| route(&object_ref).is_some()) else { continue };
        if is_event {
            // No controller reconciles before its initial list is complete, so an object would hold a slot until then.
            // The list enqueues its objects itself.
            if !lists.is_listed(&object_ref) {
                continue;
            }
            queue.push(object_ref);
        } else {
            queue.done(object_ref);
        }
        while let Some(object_ref) = queue.pop() {
            // A controller that has ended has dropped its receiver.
            let _ = route(&object_ref).map(|events| events.send(object_ref));
        }
    }
}
