//! Runs programs so that nothing of them remains, in whatever way this process ends.
//!
//! A shell waits for the end of its standard input, a pipe that the system closes if this process dies. Then it kills
//! the programs with all processes that they started, and removes their folder. The shell and each program have a
//! process group of their own, so that Ctrl-C in a terminal reaches only this process.

use std::ffi::OsStr;
use std::fs::DirBuilder;
use std::io::{self, PipeWriter};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

/// Reads process groups until nobody can write them any more, kills them, and removes the folder that is its argument. A
/// killed process may still write a file, so the removal is repeated.
const GUARD: &str = r#"
trap '' HUP INT TERM
PATH=$PATH:/usr/bin:/bin
groups=
while read -r group; do groups="$groups $group"; done
[ -z "$groups" ] || kill -s KILL -- $groups
for attempt in 1 2 3 4 5 6 7 8 9 10; do
  rm -rf "$1" && exit
  sleep 0.2
done
exit 1"#;

/// Reports its process group to the guard, then becomes the program that is its arguments. The program itself reports, so
/// that the guard knows of it even if this process dies right after the start.
const GUARDED: &str = r#"echo "-$$" >&0; exec "$@" </dev/null"#;

/// A folder and the programs that work in it. Dropping it kills the programs, removes the folder, and waits for both.
#[derive(Debug)]
pub(super) struct Guard {
    shell: Child,
    /// The end of the pipe that is closed last.
    line: Option<PipeWriter>,
    folder: PathBuf,
}

impl Guard {
    /// Creates `folder`, which only this user can read.
    pub(super) fn of(folder: PathBuf) -> io::Result<Self> {
        let (theirs, ours) = io::pipe()?;
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", GUARD, "sh"]).arg(&folder).process_group(0);
        let shell = shell.stdin(theirs).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
        // Created after the guard has started, which removes it in any case.
        let guard = Self { shell, line: Some(ours), folder };
        DirBuilder::new().mode(0o700).create(&guard.folder)?;
        Ok(guard)
    }

    /// Returns the folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Starts `program`; `with` sets its arguments and the rest, except standard input, which is empty. If the program
    /// cannot be run, the shell in its place ends and says why on standard error.
    pub(super) fn start(&self, program: impl AsRef<OsStr>, with: impl FnOnce(&mut Command)) -> io::Result<Child> {
        let line = self.line.as_ref().map(PipeWriter::try_clone).transpose()?;
        let mut command = Command::new("/bin/sh");
        command.args(["-c", GUARDED, "sh"]).arg(program).process_group(0);
        with(&mut command);
        command.stdin(line.map_or_else(Stdio::null, Stdio::from)).spawn()
    }

    /// Kills the programs and removes the folder.
    pub(super) fn end(&mut self) -> io::Result<()> {
        drop(self.line.take());
        let status = self.shell.wait()?;
        let left = || io::Error::other(format!("{} may be left ({status})", self.folder.display()));
        status.success().then_some(()).ok_or_else(left)
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        // Errors cannot be reported here.
        let _ = self.end();
    }
}

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader, Read};
    use std::process::ChildStderr;

    use super::*;

    /// Starts a build that never ends. The returned reader reaches its end when no process of the build is running any
    /// more.
    fn started(folder: &Path) -> (Guard, Child, BufReader<ChildStderr>) {
        let guard = Guard::of(folder.join("temporary")).expect("it starts");
        let program = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/go/hangs");
        let set = |command: &mut Command| {
            command.env("GOTMPDIR", guard.folder()).stderr(Stdio::piped());
        };
        let mut build = guard.start(program, set).expect("it starts");
        let mut stderr = BufReader::new(build.stderr.take().expect("it is piped"));
        let mut line = String::new();
        stderr.read_line(&mut line).expect("a line");
        assert_eq!(line, "compiling\n");
        assert!(folder.join("temporary/half").exists());
        (guard, build, stderr)
    }

    #[test]
    fn nothing_remains_of_a_program_and_its_children() {
        for (case, drops) in [("dropped", true), ("its process died", false)] {
            let folder = tempfile::tempdir().expect("a temporary folder");
            let (mut guard, mut build, mut stderr) = started(folder.path());
            if drops {
                drop(guard);
            } else {
                // What the system does for a process that died.
                drop(guard.line.take());
                assert!(guard.shell.wait().expect("it ended").success(), "{case}");
            }
            stderr.read_to_end(&mut Vec::new()).expect("nothing runs");
            assert!(!build.wait().expect("it ended").success(), "{case}");
            assert!(!folder.path().join("temporary").exists(), "{case}");
        }
    }
}
