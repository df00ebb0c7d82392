//! The chart and what is generated from it, without a cluster. Next: `tests/apiserver/chart/` for tests with an API
//! server.

mod changes;
mod comments;
mod deploy;
mod generated;
mod image;
mod kube_state_metrics;
mod metadata;
mod monitoring;
mod renders;
mod rights;
mod sbom;
mod schema;
mod values;
