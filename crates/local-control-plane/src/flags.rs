//! Flags of etcd and kube-apiserver, as small and as quick to start as tests and `demo` allow.
//!
//! Both work in the folder of the cluster, so that every name here is relative to it. They talk over a Unix socket in
//! that folder: etcd asks nobody for a password, so nobody else on this machine may reach it. Source: the programs'
//! `--help`.

use super::identity::{CHECKING_KEY, SERVING_CERTIFICATE, SERVING_KEY, SIGNING_KEY, TOKENS};

/// Flags of etcd.
pub(super) fn etcd() -> Vec<String> {
    [
        "--data-dir=etcd",
        // The data lives as long as the cluster, so a power cut takes both.
        "--unsafe-no-fsync",
        "--listen-client-urls=unix://etcd.sock",
        "--listen-peer-urls=unix://peer.sock",
        // Demanded, but nobody asks for it: there are no peers, and the one client knows the socket.
        "--advertise-client-urls=http://localhost:2379",
        "--enable-grpc-gateway=false",
        "--log-level=warn",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// Flags of kube-apiserver, listening on `port` of 127.0.0.1.
pub(super) fn api_server(port: u16) -> Vec<String> {
    let mut flags = vec![format!("--secure-port={port}")];
    flags.extend(
        [
            "--etcd-servers=unix://etcd.sock",
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            // There is nothing that Endpoints of the API server could be used by.
            "--endpoint-reconciler-type=none",
            "--service-cluster-ip-range=10.0.0.0/24",
            "--authorization-mode=RBAC",
            "--anonymous-auth=false",
            "--service-account-issuer=https://kubernetes.default.svc",
            // No controller makes the accounts that this would look for.
            "--disable-admission-plugins=ServiceAccount",
            "--profiling=false",
            // Ends open watches when it is asked to end; it waits for them for a minute otherwise.
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
