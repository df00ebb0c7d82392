//! Finds changes that no event has enqueued: every few minutes it compares, in memory, the store with the objects that
//! reconciles were given.
//!
//! It makes no calls, and normally enqueues nothing but what waits for its reconcile already. It does not read from the
//! API server, so it cannot find what a watch has not shown.
//! Next: `changes.rs`, which should miss no change.

use std::sync::Arc;
use std::time::Duration;

use kube::runtime::reflector::Store;

use crate::controllers::context::Context;
use crate::controllers::kinds::managed_kind::{Object, Stored};
use crate::controllers::object_map::ObjectMap;
use crate::controllers::object_ref::{Kind, ObjectRef};
use crate::controllers::remote::Jitter;

/// Time between two comparisons of one kind, extended by a random jitter of up to a tenth.
pub const INTERVAL: Duration = Duration::from_mins(5);

/// Records that a reconcile begins with this object, as a hash that changes when users change it.
pub fn note<K: Stored>(context: &Context, object: &K) {
    context.given.insert(&object.reference(), object.user_changes());
}

/// Returns what differs from what its last reconcile was given, or had no reconcile, in order.
#[must_use]
pub fn outdated<K: Stored>(given: &ObjectMap<u64>, objects: &[Arc<K>]) -> Vec<ObjectRef> {
    let mut outdated: Vec<_> = given.with(|given| {
        let outdated = |object: &Arc<K>| {
            let object_ref = object.reference();
            (given.get(&object_ref) != Some(&object.user_changes())).then_some(object_ref)
        };
        objects.iter().filter_map(outdated).collect()
    });
    outdated.sort();
    outdated
}

/// Compares periodically and enqueues outdated objects. Never returns. `seed`: seed of the jitter.
pub async fn resync<K: Object + Stored>(kind: Kind, store: Store<K>, context: Arc<Context>, seed: u64) {
    let mut jitter = Jitter::new(seed);
    loop {
        context.clock.sleep(jitter.stretch(INTERVAL)).await;
        compare(kind, &store.state(), &context);
    }
}

fn compare<K: Stored>(kind: Kind, objects: &[Arc<K>], context: &Context) {
    let outdated = outdated(&context.given, objects);
    if !outdated.is_empty() {
        tracing::debug!(kind = kind.as_str(), count = outdated.len(), "resources are due for a reconcile");
    }
    for object_ref in outdated {
        context.enqueue(object_ref);
    }
}
