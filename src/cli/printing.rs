//! Standard output of all commands: writes each result in one piece. Whatever its source, no text controls the terminal.
//!
//! A reader may stop early (`| head -1`): that ends a command quietly, and is not an error.

use std::io::{self, Write};

use connect_api::text::clean;

/// Writes a line to standard error. If nobody reads it, that is no error: what was done is done.
macro_rules! tell {
    ($($words:tt)*) => {{
        use std::io::Write as _;
        let _ = writeln!(std::io::stderr().lock(), "{}", connect_api::text::clean(&format!($($words)*)));
    }};
}
pub(super) use tell;

/// Writes to standard output. A closed pipe is not an error.
pub(super) fn print(text: &str) -> io::Result<()> {
    print_to(io::stdout().lock(), &clean(text))
}

fn print_to(mut output: impl Write, text: &str) -> io::Result<()> {
    match output.write_all(text.as_bytes()).and_then(|()| output.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        written => written,
    }
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
    fn a_full_disk_is_an_error_and_a_closed_pipe_is_not() {
        assert!(print_to(Vec::new(), "text").is_ok());
        assert!(print_to(Fails(io::ErrorKind::BrokenPipe), "text").is_ok());
        assert!(print_to(Fails(io::ErrorKind::StorageFull), "text").is_err());
    }
}
