//! The clients of the API server, of the Connect API and of frontends, and whether the API server serves our kinds.

pub mod action_factory;
pub mod cluster_access;
pub mod connect_factory;
pub mod kube_client;
pub mod served_crds;
