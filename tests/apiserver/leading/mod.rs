//! Which replica and which install reconciles, on real Leases: one of several replicas, and each install its share.

mod election;
pub(crate) mod shards;
