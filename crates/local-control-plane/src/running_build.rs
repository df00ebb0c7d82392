//! Runs `go build` and its compilers so that nothing of them remains, in whatever way this process ends.
//!
//! Go removes its temporary folder only if it is not interrupted, and its compilers outlive it. They therefore get
//! their own process group and temporary folder. A shell in that group kills the whole group once the pipe to this
//! process is closed, which the system does if this process dies. See `build.rs` for what is built.

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

/// Runs its arguments. A background `cat` waits for the end of standard input, and the shell then kills its process
/// group.
const GUARDED: &str = r#"exec 3<&0 </dev/null; { cat <&3; kill -s KILL 0; } >/dev/null 2>&1 & exec 3<&-; "$@""#;

/// Time limit for killed processes to disappear.
const GONE_WITHIN: Duration = Duration::from_secs(5);

/// Pause between two checks whether they have disappeared.
const LOOK_AT_END: Duration = Duration::from_millis(20);

/// A running build. Dropping it kills all its processes and removes its temporary folder.
pub(super) struct RunningBuild {
    shell: Child,
    /// Closing it ends the build.
    line: Option<ChildStdin>,
    temporary: PathBuf,
}

impl RunningBuild {
    /// Starts `command` with `temporary` as the folder for its temporary files. Files that an earlier build left there
    /// are removed, so only one build may use it at a time.
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
        // Taken out of the child, because waiting for the child would close it.
        let line = shell.stdin.take();
        Ok(Self { shell, line, temporary })
    }

    /// Waits until the build has ended; returns its exit status and its last lines of output.
    pub(super) async fn end(&mut self, lines: usize) -> io::Result<(ExitStatus, Vec<String>)> {
        let mut last_lines = VecDeque::new();
        if let Some(stderr) = self.shell.stderr.take() {
            let mut stderr = BufReader::new(stderr).lines();
            while let Some(line) = stderr.next_line().await? {
                if last_lines.len() == lines {
                    last_lines.pop_front();
                }
                last_lines.push_back(line);
            }
        }
        let status = self.shell.wait().await?;
        // The build has ended, so its processes need no guard any more.
        drop(self.line.take());
        Ok((status, last_lines.into()))
    }
}

impl Drop for RunningBuild {
    fn drop(&mut self) {
        // The id is `None` once the shell was waited for.
        if let Some(group) = self.shell.id().and_then(|id| Pid::from_raw(id.cast_signed())) {
            // Fails only if all processes of the group have ended.
            let _ = kill_process_group(group, Signal::KILL);
        }
        // A compiler may still write a file while it is being killed, so the removal is repeated.
        let since_then = Clock::system();
        while !(matches!(self.shell.try_wait(), Ok(Some(_))) && remove(&self.temporary).is_ok()) {
            if since_then.elapsed() > GONE_WITHIN {
                break;
            }
            std::thread::sleep(LOOK_AT_END);
        }
    }
}

/// Removes a folder if it exists.
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

    /// Starts a build that never ends. The returned reader reaches its end when no process of the build is running any
    /// more.
    async fn started(folder: &Path) -> (RunningBuild, BufReader<ChildStderr>) {
        let mut command = Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/go/hangs"));
        command.current_dir(folder);
        let mut build = RunningBuild::start(&command, folder.join("temporary")).expect("it starts");
        let mut stderr = BufReader::new(build.shell.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).await.expect("a line");
        assert_eq!(line, "compiling\n");
        assert!(folder.join("temporary/half").exists());
        (build, stderr)
    }

    async fn ended(mut stderr: BufReader<ChildStderr>) {
        let mut rest = Vec::new();
        let ended = stderr.read_to_end(&mut rest);
        in_time(ended).await.expect("nothing runs").expect("it can be read");
    }

    #[tokio::test]
    async fn a_dropped_build_leaves_no_compiler_and_no_temporary_folder() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (build, stderr) = started(folder.path()).await;
        drop(build);
        assert!(!folder.path().join("temporary").exists());
        ended(stderr).await;
    }

    #[tokio::test]
    async fn a_build_ends_with_the_process_that_began_it() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let (mut build, stderr) = started(folder.path()).await;
        // What the system does for a process that died.
        drop(build.line.take());
        ended(stderr).await;
        assert!(!build.shell.wait().await.expect("it ended").success());
    }
}
