//! Flags of etcd and kube-apiserver, chosen for a small footprint and a fast start in tests and `demo`.
//!
//! Both programs work in the folder of the cluster, so all file names are relative to it. They communicate over a Unix
//! socket in that folder: etcd requires no authentication, so no other user of this machine may reach it. Source: the
//! programs' `--help`.

use super::identity::{CHECKING_KEY, SERVING_CERTIFICATE, SERVING_KEY, SIGNING_KEY, TOKENS};

/// Returns the flags of etcd. `profiling`: whether it serves profiles to who may reach its socket.
pub(super) fn etcd(profiling: bool) -> Vec<String> {
    let mut flags = [
        "--data-dir=etcd",
        // The data lives only as long as the cluster, so it need not survive a power failure.
        "--unsafe-no-fsync",
        "--listen-client-urls=unix://etcd.sock",
        "--listen-peer-urls=unix://peer.sock",
        // Required but unused: there are no peers, and the only client connects to the socket.
        "--advertise-client-urls=http://localhost:2379",
        "--enable-grpc-gateway=false",
        "--log-level=warn",
    ]
    .map(str::to_owned)
    .to_vec();
    flags.push(format!("--enable-pprof={profiling}"));
    flags
}

/// Returns the flags of kube-apiserver, which listens on `port` of 127.0.0.1. `profiling`: whether it serves profiles to its
/// administrator.
pub(super) fn api_server(port: u16, profiling: bool) -> Vec<String> {
    let mut flags = vec![format!("--secure-port={port}"), format!("--profiling={profiling}")];
    flags.extend(
        [
            "--etcd-servers=unix://etcd.sock",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // Nothing here uses the Endpoints of the API server.
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            "--anonymous-auth=false",
            "--service-account-issuer=https://kubernetes.default.svc",
            // No controller creates the service accounts that this plugin requires.
            "--disable-admission-plugins=ServiceAccount",
            // Ends open watches at shutdown; otherwise kube-apiserver waits a minute for them.
            "--shutdown-watch-termination-grace-period=1s",
        ]
        .map(str::to_owned),
    );
    for (flag, file) in [
        ("tls-cert-file", SERVING_CERTIFICATE),
        ("tls-private-key-file", SERVING_KEY),
        ("service-account-key-file", CHECKING_KEY),
        ("service-account-signing-key-file", SIGNING_KEY),
        ("token-auth-file", TOKENS),
    ] {
        flags.push(format!("--{flag}={file}"));
    }
    flags
}
