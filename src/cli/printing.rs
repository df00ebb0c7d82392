//! Standard output, for all commands: results in one piece, to whoever reads them.
//!
//! Whoever reads may stop early (`| head -1`): that ends a command quietly, it is no error.

use std::io::{self, Write};

/// Whether anybody reads on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reader {
    /// It may.
    There,
    /// The pipe is closed.
    Gone,
}

/// Writes to standard output and says whether it is still read, for a command that goes on.
pub(super) fn offer(text: &str) -> io::Result<Reader> {
    offer_to(io::stdout().lock(), text)
}

/// Writes to standard output. That nobody reads it any more is no error.
pub(super) fn print(text: &str) -> io::Result<()> {
    offer(text).map(|_| ())
}

fn offer_to(mut output: impl Write, text: &str) -> io::Result<Reader> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Ok(()) => Ok(Reader::There),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(Reader::Gone),
        Err(error) => Err(error),
    }
}

/// Columns of the terminal that standard output is; `None`: it is none, whatever standard error is.
pub(super) fn columns() -> Option<u16> {
    terminal_size::terminal_size_of(io::stdout()).map(|(width, _)| width.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fails(io::ErrorKind);

    impl Write for Fails {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_closed_pipe_is_no_error_and_a_full_disk_is_one() {
        assert_eq!(offer_to(Vec::new(), "text").ok(), Some(Reader::There));
        assert_eq!(offer_to(Fails(io::ErrorKind::BrokenPipe), "text").ok(), Some(Reader::Gone));
        assert!(offer_to(Fails(io::ErrorKind::StorageFull), "text").is_err());
    }
}
