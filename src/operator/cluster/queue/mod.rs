//! What waits to be reconciled, and how long.

pub mod backoff;
pub mod fair_queue;
pub mod requeue_timers;
