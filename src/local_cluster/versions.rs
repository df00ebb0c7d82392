//! Versions of the programs. A test holds them against the Go modules that they are built from.

/// Version of kube-apiserver and kubectl.
pub const KUBERNETES: &str = "v1.36.3";
/// Version of etcd.
pub const ETCD: &str = "v3.6.16";
/// The oldest Go that builds them, as in the `go` line of both modules.
pub const GO: &str = "1.26";
