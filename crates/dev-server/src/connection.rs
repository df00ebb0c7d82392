//! Connections that a fault can close without an answer, which a request handler alone cannot do.

use std::io::{Error, ErrorKind, Result};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::{TcpListener, TcpStream};

/// A listener whose connections can be closed by a fault.
#[derive(Debug)]
pub(super) struct CuttableListener(pub(super) TcpListener);

/// A connection whose writes fail once it is cut.
#[derive(Debug)]
pub(super) struct CuttableStream {
    stream: TcpStream,
    scissors: Scissors,
}

/// How a fault closes a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// With an orderly shutdown (FIN).
    Closed,
    /// With a reset (RST).
    Reset,
}

/// Handle that cuts the connection of a request.
#[derive(Clone, Debug, Default)]
pub(super) struct Scissors(Arc<OnceLock<Cut>>);

impl Scissors {
    /// Makes all further writes fail, so that no answer is sent.
    pub(super) fn cut(&self, cut: Cut) {
        self.0.get_or_init(|| cut);
    }
}

impl CuttableStream {
    fn check(&self) -> Result<()> {
        match self.scissors.0.get() {
            None => return Ok(()),
            Some(Cut::Closed) => {}
            // With zero linger, the close that the error below causes sends a reset.
            Some(Cut::Reset) => self.stream.set_zero_linger()?,
        }
        Err(Error::from(ErrorKind::BrokenPipe))
    }
}

impl Connected<IncomingStream<'_, CuttableListener>> for Scissors {
    fn connect_info(stream: IncomingStream<'_, CuttableListener>) -> Self {
        stream.io().scissors.clone()
    }
}

impl Listener for CuttableListener {
    type Io = CuttableStream;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (Self::Io, Self::Addr) {
        let (stream, address) = Listener::accept(&mut self.0).await;
        // Without Nagle's algorithm: answers are small, and delaying them would slow tests down.
        let _ = stream.set_nodelay(true);
        (CuttableStream { stream, scissors: Scissors::default() }, address)
    }

    fn local_addr(&self) -> Result<Self::Addr> {
        self.0.local_addr()
    }
}

impl AsyncRead for CuttableStream {
    fn poll_read(mut self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for CuttableStream {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
