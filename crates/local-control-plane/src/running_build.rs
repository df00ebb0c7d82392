//! One run of `go build` with its compilers, of which nothing is left however this process ends.
//!
//! Go removes its temporary folder only if nobody interrupts it, and its compilers outlive it. So they get a process
//! group and a temporary folder of their own, and a shell in that group kills all of it once the pipe to this process
//! is closed, which the system does if this process dies. Next: `build.rs` for what is built.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt, BufReader};
use tokio::process::{Child, ChildStdin, Command};

use super::Error;
use clock::Clock;

/// Runs its arguments; kills its process group when its standard input ends.
const GUARDED: &str = r#"exec 3<&0 </dev/null; { cat <&3; kill -s KILL 0; } >/dev/null 2>&1 & exec 3<&-; "$@""#;

/// How long what was killed may take to be gone.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Pause between two looks at whether it is.
const LOOK_AT_END: Duration = Duration::from_millis(20);

/// A build that runs; dropping it kills all of it and removes its temporary folder.
pub(super) struct RunningBuild {
    shell: Child,
    /// Closed, it ends the build.
    line: Option<ChildStdin>,
    temporary: PathBuf,
}

impl RunningBuild {
    /// Starts `command` with `temporary` as the folder for its temporary files. What an earlier build left there is
    /// removed, so only one may use it at a time.
    pub(super) fn start(command: &Command, temporary: PathBuf) -> Result<Self, Error> {
        remove(&temporary).map_err(Error::file(&temporary))?;
        std::fs::create_dir_all(&temporary).map_err(Error::file(&temporary))?;
        let command = command.as_std();
        let mut shell = Command::new("sh");
        shell.args(["-c", GUARDED, "sh"]).arg(command.get_program()).args(command.get_args());
        if let Some(folder) = command.get_current_dir() {
            shell.current_dir(folder);
        }
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        let mut shell = shell
            .env("GOTMPDIR", &temporary)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Error::Go { problem: format!("it cannot be run ({error})") })?;
        // Taken, because waiting for a child closes it.
        let line = shell.stdin.take();
        Ok(Self { shell, line, temporary })
    }

    /// Waits for the end: how it ended, and its last lines.
    pub(super) async fn end(&mut self, lines: usize) -> io::Result<(ExitStatus, Vec<String>)> {
        let mut last_lines = VecDeque::new();
        if let Some(stderr) = self.shell.stderr.take() {
            let mut said = BufReader::new(stderr).lines();
            while let Some(line) = said.next_line().await? {
                if last_lines.len() == lines {
                    last_lines.pop_front();
                }
                last_lines.push_back(line);
            }
        }
        let status = self.shell.wait().await?;
        // Nobody has to be watched over any more.
        drop(self.line.take());
        Ok((status, last_lines.into()))
    }
}

impl Drop for RunningBuild {
    fn drop(&mut self) {
        // None once it was waited for.
        if let Some(group) = self.shell.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // Fails only if all of it has ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A compiler may write its last file while it is killed.
        let since_then = Clock::system();
        while !(matches!(self.shell.try_wait(), Ok(Some(_))) && remove(&self.temporary).is_ok()) {
            if since_then.elapsed() > GONE_WITHIN {
                break;
            }
            std::thread::sleep(LOOK_AT_END);
        }
    }
}

/// Removes a folder, if it is there.
pub(super) fn remove(folder: &Path) -> io::Result<()> {
    match std::fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed,
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;
    use tokio::process::ChildStderr;

    use super::*;
    use crate::patience::in_time;

    /// A build that never ends. What it answers ends when nothing of the build runs any more.
    async fn started(folder: &Path) -> (RunningBuild, BufReader<ChildStderr>) {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/go/hangs"));
        command.current_dir(folder);
        let mut build = RunningBuild::start(&command, folder.join("temporary")).expect("it starts");
        let mut said = BufReader::new(build.shell.stderr.take().expect("it is piped"));
        let mut line = String::new();
        said.read_line(&mut line).await.expect("a line");
        assert_eq!(line, "compiling\n");
        assert!(folder.join("temporary/half").exists());
        (build, said)
    }

    async fn ended(mut said: BufReader<ChildStderr>) {
        let mut rest = Vec::new();
        let ended = said.read_to_end(&mut rest);
        in_time(ended).await.expect("nothing runs").expect("it can be read");
    }

    #[tokio::test]
    async fn a_dropped_build_leaves_no_compiler_and_no_temporary_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (build, said) = started(folder.path()).await;
        drop(build);
        assert!(!folder.path().join("temporary").exists());
        ended(said).await;
    }

    #[tokio::test]
    async fn a_build_ends_with_the_process_that_began_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (mut build, said) = started(folder.path()).await;
        // As the system does it for a process that died.
        drop(build.line.take());
        ended(said).await;
        assert!(!build.shell.wait().await.expect("it ended").success());
    }
}
