//! The guardian: a separate process that runs etcd and kube-apiserver for a [`LocalCluster`](super::LocalCluster). It
//! outlives the process that started it only until everything is cleaned up.
//!
//! Its standard input is a socket. When the other end is closed, for whatever reason (stopped, dropped, panicked, ended
//! without running destructors as test binaries do, killed), the guardian kills both programs, kube-apiserver first,
//! removes the folder and ends. A process or folder is left only if the guardian itself is killed with SIGKILL. It does
//! not depend on Kubernetes. See `protocol.rs` for its requests.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::{Child, Command};
use tokio::signal::unix::{SignalKind, signal};

use super::protocol::{Answer, Process, Request};

/// Time that a program has to shut down gracefully before it is killed.
pub const GRACE: Duration = Duration::from_secs(10);

/// Runs the guardian until the other end of the socket that is its standard input is closed, or until SIGTERM, SIGINT
/// or SIGHUP.
///
/// # Errors
/// Fails if standard input is not a socket, the folder cannot be created or removed, or a program cannot be ended.
pub async fn guard() -> io::Result<()> {
    let socket = StdUnixStream::from(io::stdin().as_fd().try_clone_to_owned()?);
    socket.local_addr().map_err(|_| io::Error::other("only connect-operator itself can use this command"))?;
    socket.set_nonblocking(true)?;
    let socket = UnixStream::from_std(socket)?;
    let folder = std::env::temp_dir().join(format!("connect-operator-{}", uuid::Uuid::new_v4().simple()));
    DirBuilder::new().mode(0o700).create(&folder).map_err(naming(&folder))?;
    let mut programs = Programs { folder, etcd: None, api_server: None };
    let conversation = converse(socket, &mut programs).await;
    programs.end().await?;
    conversation
}

async fn converse(socket: UnixStream, programs: &mut Programs) -> io::Result<()> {
    let mut terminate = signal(SignalKind::terminate())?;
    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut hangup = signal(SignalKind::hangup())?;
    let (requests, mut answers) = socket.into_split();
    let mut requests = BufReader::new(requests).lines();
    say(&mut answers, &Answer::Ready { folder: programs.folder.clone() }).await?;
    loop {
        let line = tokio::select! {
            line = requests.next_line() => line?,
            _ = terminate.recv() => None,
            _ = interrupt.recv() => None,
            _ = hangup.recv() => None,
        };
        let Some(line) = line else { return Ok(()) };
        let request = serde_json::from_str(&line)?;
        let answer =
            programs.fulfil(request).await.unwrap_or_else(|error| Answer::Failed { message: error.to_string() });
        say(&mut answers, &answer).await?;
    }
}

async fn say(answers: &mut OwnedWriteHalf, answer: &Answer) -> io::Result<()> {
    let mut line = serde_json::to_vec(answer)?;
    line.push(b'\n');
    answers.write_all(&line).await
}

/// The running programs and their working folder.
struct Programs {
    folder: PathBuf,
    etcd: Option<Child>,
    api_server: Option<Child>,
}

impl Programs {
    async fn fulfil(&mut self, request: Request) -> io::Result<Answer> {
        match request {
            Request::Start { process, program, arguments } => self.start(process, &program, &arguments),
            Request::Stop(process) => {
                if let Some(child) = self.slot(process) {
                    stop(child).await?;
                }
                look(self.slot(process))
            }
            Request::Look(process) => look(self.slot(process)),
        }
    }

    fn start(&mut self, process: Process, program: &Path, arguments: &[String]) -> io::Result<Answer> {
        if let Answer::Running { .. } = look(self.slot(process))? {
            return Err(io::Error::other(format!("{} is already running", process.name())));
        }
        let log = append(&self.folder.join(process.log()))?;
        // The environment is empty, because etcd also reads its flags from there. The child is in the guardian's
        // process group, which is not the terminal's, so that Ctrl-C does not stop the programs in an arbitrary order.
        let child = Command::new(program)
            .args(arguments)
            .env_clear()
            // Less garbage collection for more memory, which these short-lived programs have enough of.
            .env("GOGC", "300")
            .current_dir(&self.folder)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .map_err(naming(program))?;
        *self.slot(process) = Some(child);
        look(self.slot(process))
    }

    fn slot(&mut self, process: Process) -> &mut Option<Child> {
        match process {
            Process::Etcd => &mut self.etcd,
            Process::ApiServer => &mut self.api_server,
        }
    }

    /// Kills the programs and removes the folder. There is no graceful shutdown, because nothing that the programs
    /// could still write is kept.
    async fn end(mut self) -> io::Result<()> {
        let api_server = kill(self.api_server.as_mut()).await;
        let etcd = kill(self.etcd.as_mut()).await;
        std::fs::remove_dir_all(&self.folder).map_err(naming(&self.folder))?;
        api_server.and(etcd)
    }
}

fn look(slot: &mut Option<Child>) -> io::Result<Answer> {
    let Some(child) = slot else { return Ok(Answer::NotRunning { how_it_ended: None }) };
    Ok(match (child.try_wait()?, child.id()) {
        (None, Some(id)) => Answer::Running { id },
        (status, _) => Answer::NotRunning { how_it_ended: status.map(|status| status.to_string()) },
    })
}

/// Asks a program to end with SIGTERM, kills it after [`GRACE`], and waits until it has ended.
async fn stop(child: &mut Child) -> io::Result<()> {
    let id = child.id().and_then(|id| Pid::from_raw(id.cast_signed()));
    let (Some(id), None) = (id, child.try_wait()?) else { return Ok(()) };
    kill_process(id, Signal::TERM)?;
    match tokio::time::timeout(GRACE, child.wait()).await {
        Ok(status) => status.map(drop),
        Err(_) => kill(Some(child)).await,
    }
}

async fn kill(child: Option<&mut Child>) -> io::Result<()> {
    let Some(child) = child else { return Ok(()) };
    if child.try_wait()?.is_none() {
        child.kill().await?;
    }
    Ok(())
}

/// Opens a log that only this user can read. A program that is started again appends to it.
fn append(path: &Path) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o600).open(path).map_err(naming(path))
}

/// Adds the path to an error message.
fn naming(path: &Path) -> impl FnOnce(io::Error) -> io::Error {
    move |error| io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}
