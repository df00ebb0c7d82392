//! Chooses a port for kube-apiserver, which cannot choose one itself.

use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::ops::Range;

use rand::RngExt;

use super::Error;

/// Below the ephemeral ports (Linux from 32768, macOS from 49152) and below Kubernetes' node ports (from 30000), so
/// that no other process gets the chosen port by chance while kube-apiserver is down.
const RANGE: Range<u16> = 20_000..30_000;

/// Number of ports to try before giving up.
const LOOKS: usize = 50;

/// Returns a port that was free a moment ago.
pub(super) fn choose() -> Result<u16, Error> {
    let mut last = None;
    for _ in 0..LOOKS {
        let port = rand::rng().random_range(RANGE);
        match bind(port) {
            Ok(()) => return Ok(port),
            Err(error) => last = Some(error),
        }
    }
    Err(Error::Port(last.unwrap_or_else(|| io::ErrorKind::AddrInUse.into())))
}

/// Returns whether a process is listening on `port` now.
pub(super) fn is_taken(port: u16) -> bool {
    bind(port).is_err_and(|error| error.kind() == io::ErrorKind::AddrInUse)
}

fn bind(port: u16) -> io::Result<()> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chosen_port_is_free_until_somebody_binds_it() {
        let port = choose().expect("10,000 ports are not all taken");
        assert!(RANGE.contains(&port));
        assert!(!is_taken(port));
        let _holder = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).expect("it was free");
        assert!(is_taken(port));
    }
}
