//! What users read: conditions with their reasons, messages and remedies. Pure.

pub mod bounds;
pub mod conditions;
pub mod event_reason;
pub mod observed_record;
pub mod outage;
pub mod problem;
pub mod reason;
pub mod reconcile_outcome;
pub mod refusal;
pub mod remedy;
pub mod service_report;
