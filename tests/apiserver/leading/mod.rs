//! Who does the work, on real Leases: of replicas one, and of installs each its share.

mod election;
mod shards;
