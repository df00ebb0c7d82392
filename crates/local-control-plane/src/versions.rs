//! Versions of the programs: those that are built with Go, and those of the archive that is downloaded instead.
//!
//! They differ, because archives are published later than modules and not for every version. Tests compare them with
//! the Go modules and the address of the archive.

/// Version of kube-apiserver and kubectl when they are built with Go.
pub const KUBERNETES: &str = "v1.36.3";
/// Version of etcd when it is built with Go.
pub const ETCD: &str = "v3.6.16";
/// The oldest supported Go version, as in the `go` line of both modules.
pub const GO: &str = "1.26";
/// Version of the archive, and of kube-apiserver and kubectl in it.
pub const ENVTEST: &str = "v1.36.2";
