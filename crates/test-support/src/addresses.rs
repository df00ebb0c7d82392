//! Addresses of this machine for servers that a test starts later, or never.
//!
//! A port that the system chose and that nobody holds can be anybody's a moment later: it also chooses the ports of
//! outgoing connections, and those of other tests.

use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::Range;
use std::sync::atomic::{AtomicU16, Ordering};

use tokio::net::TcpSocket;

/// Below the ports that the system chooses (Linux from 32768), and those of the local control planes (from 20000).
const RANGE: Range<u16> = 10_000..20_000;

/// Returns an address for a program that cannot choose its port itself. This process returns no address twice, and the
/// system gives it to nobody.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn free() -> SocketAddr {
    listener().local_addr().expect("it is bound")
}

/// Returns a listener at such an address. Whoever can listen itself uses this: a program that another test starts at that
/// moment holds the sockets of this process for an instant, so an address may still be in use just after it was closed.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn listener() -> TcpListener {
    static RETURNED: AtomicU16 = AtomicU16::new(0);
    // Test programs that run at the same time begin at different ports.
    let start = std::process::id().wrapping_mul(101);
    for _ in RANGE {
        let place = start.wrapping_add(RETURNED.fetch_add(1, Ordering::Relaxed).into());
        let port =
            RANGE.start + u16::try_from(place % u32::from(RANGE.end - RANGE.start)).expect("less than the range");
        if let Ok(listener) = TcpListener::bind((Ipv4Addr::LOCALHOST, port)) {
            listener.set_nonblocking(true).expect("a socket can be");
            return listener;
        }
    }
    panic!("no port from {} to {} is free", RANGE.start, RANGE.end);
}

/// Returns an address that refuses connections as long as the socket is kept and does not listen.
///
/// # Panics
/// If no port is free.
#[must_use]
pub fn closed() -> (SocketAddr, TcpSocket) {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.bind((Ipv4Addr::LOCALHOST, 0).into()).expect("a free port");
    (socket.local_addr().expect("it is bound"), socket)
}

#[cfg(test)]
mod tests {
    use tokio::net::TcpStream;

    use super::*;

    #[test]
    fn no_address_is_returned_twice() {
        let (one, other) = (free(), free());
        assert_ne!(one, other);
        assert!(RANGE.contains(&one.port()) && RANGE.contains(&other.port()), "{one} {other}");
    }

    #[tokio::test]
    async fn a_closed_address_refuses_until_its_socket_listens() {
        let (address, socket) = closed();
        assert!(TcpStream::connect(address).await.is_err());
        let _listener = socket.listen(1).expect("the port is held");
        assert!(TcpStream::connect(address).await.is_ok());
    }
}
