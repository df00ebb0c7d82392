//! The cluster's side of the connection to its guardian.
//!
//! It is blocking and uses no runtime, so that tests with a runtime each can share one cluster, and so that `Drop` can
//! clean up. See `guardian.rs` for the other side.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::Shutdown;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use super::protocol::{Answer, Process, Request};
use super::{Error, GUARDIAN_COMMAND};

/// A running guardian. Dropping the last clone ends it and all its programs, and waits for that.
#[derive(Clone, Debug)]
pub(super) struct Conversation {
    line: Arc<Mutex<Line>>,
    folder: PathBuf,
    guardian_id: u32,
}

impl Conversation {
    /// Starts `program`, a `connect-operator` binary, as guardian.
    pub(super) async fn begin(program: PathBuf) -> Result<Self, Error> {
        blocking(move || {
            let mut line = Line::open(&program)?;
            let guardian_id = line.guardian.id();
            match line.hear()? {
                Answer::Ready { folder } => Ok(Self { line: Arc::new(Mutex::new(line)), folder, guardian_id }),
                answer => Err(unexpected(&answer)),
            }
        })
        .await
    }

    /// Returns the folder that the guardian created and will remove.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the process id of the guardian.
    pub(super) fn guardian_id(&self) -> u32 {
        self.guardian_id
    }

    /// Starts `program` as `process`. Use [`look`](Self::look) to find out whether it keeps running.
    pub(super) async fn start(&self, process: Process, program: PathBuf, arguments: Vec<String>) -> Result<(), Error> {
        match self.ask(Request::Start { process, program, arguments }).await? {
            Answer::Running { .. } | Answer::NotRunning { .. } => Ok(()),
            answer => Err(unexpected(&answer)),
        }
    }

    /// Stops `process` and waits until it has ended.
    pub(super) async fn stop(&self, process: Process) -> Result<(), Error> {
        match self.ask(Request::Stop(process)).await? {
            Answer::NotRunning { .. } => Ok(()),
            answer => Err(unexpected(&answer)),
        }
    }

    /// Returns the id of `process` if it is running, otherwise how it ended by itself.
    pub(super) async fn look(&self, process: Process) -> Result<Result<u32, String>, Error> {
        match self.ask(Request::Look(process)).await? {
            Answer::Running { id } => Ok(Ok(id)),
            Answer::NotRunning { how_it_ended } => {
                Ok(Err(how_it_ended.unwrap_or_else(|| "was not running".to_owned())))
            }
            answer => Err(unexpected(&answer)),
        }
    }

    /// Ends the guardian and all its programs, and waits for that.
    pub(super) async fn end(self) -> Result<(), Error> {
        blocking(move || self.line.lock().unwrap_or_else(PoisonError::into_inner).close()).await
    }

    async fn ask(&self, request: Request) -> Result<Answer, Error> {
        let line = Arc::clone(&self.line);
        blocking(move || line.lock().unwrap_or_else(PoisonError::into_inner).ask(&request)).await
    }
}

/// The guardian as a child process, and the cluster's end of the socket that is its standard input.
#[derive(Debug)]
struct Line {
    guardian: Child,
    socket: BufReader<UnixStream>,
}

impl Line {
    fn open(program: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Guardian { message: format!("cannot start {}: {source}", program.display()) };
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        let guardian = Command::new(program)
            .arg(GUARDIAN_COMMAND)
            .process_group(0)
            .stdin(OwnedFd::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(failed)?;
        Ok(Self { guardian, socket: BufReader::new(ours) })
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, Error> {
        let mut line = serde_json::to_vec(request).map_err(|error| guardian_error(&error))?;
        line.push(b'\n');
        self.socket.get_mut().write_all(&line).map_err(|error| guardian_error(&error))?;
        self.hear()
    }

    fn hear(&mut self) -> Result<Answer, Error> {
        let mut line = String::new();
        self.socket.read_line(&mut line).map_err(|error| guardian_error(&error))?;
        if line.is_empty() {
            self.close()?;
            return Err(guardian_error(&"it ended unexpectedly"));
        }
        match serde_json::from_str(&line).map_err(|error| guardian_error(&error))? {
            Answer::Failed { message } => Err(Error::Guardian { message }),
            answer => Ok(answer),
        }
    }

    /// Closes the connection and waits until the guardian has ended, which happens after its programs have ended.
    fn close(&mut self) -> Result<(), Error> {
        // Fails only if the guardian has already ended, which `wait` reports.
        let _ = self.socket.get_ref().shutdown(Shutdown::Both);
        let status = self.guardian.wait().map_err(|error| guardian_error(&error))?;
        let mut complaint = String::new();
        if let Some(mut stderr) = self.guardian.stderr.take() {
            stderr.read_to_string(&mut complaint).map_err(|error| guardian_error(&error))?;
        }
        if status.success() { Ok(()) } else { Err(guardian_error(&format!("{status}: {}", complaint.trim()))) }
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        // Errors cannot be reported here; the guardian cleans up anyway.
        let _ = self.close();
    }
}

fn unexpected(answer: &Answer) -> Error {
    guardian_error(&format!("unexpected response: {answer:?}"))
}

fn guardian_error(error: &dyn std::fmt::Display) -> Error {
    Error::Guardian { message: error.to_string() }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Result<T, Error> + Send + 'static) -> Result<T, Error> {
    match tokio::task::spawn_blocking(work).await {
        Ok(result) => result,
        Err(error) => Err(guardian_error(&error)),
    }
}
