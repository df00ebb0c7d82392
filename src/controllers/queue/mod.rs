//! What waits to be reconciled, when it is reconciled again, and what runs.

pub mod backoff;
pub mod fair_queue;
pub mod inventory;
pub mod lists;
pub mod requeue_timers;
pub mod spans;
pub mod tracker;
