//! What a release consists of, as `scripts/release --dry-run` makes it in a copy of the working tree: placeholders
//! replace the binaries, everything else is as it would be published.

mod compilers;
mod files;
mod refused;
mod workflow;

use crate::prelude::*;

const VERSION: &str = env!("CARGO_PKG_VERSION");
const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The files of the working tree, as the only commit of a repository.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let repository = Self(tempfile::tempdir().unwrap());
        let folder = repository.folder();
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(repository.authorities(), "not really certificates\n").unwrap();
        // With the user's settings, which may be what lets Git read this folder.
        let list = ["-C", ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
        let names = String::from_utf8(succeed(Command::new("git").args(list))).unwrap();
        for name in names.split_terminator('\0') {
            let (from, to) = (in_checkout(name), folder.join(name));
            // A file may be deleted in the working tree, but not in the index.
            if from.is_file() {
                std::fs::create_dir_all(to.parent().unwrap()).unwrap();
                std::fs::copy(from, to).unwrap();
            }
        }
        succeed(git(&folder).args(["init", "--quiet"]));
        repository.commit();
        succeed(git(&folder).args(["tag", "start"]));
        repository
    }

    fn folder(&self) -> PathBuf {
        self.0.path().join("repository")
    }

    fn authorities(&self) -> PathBuf {
        self.0.path().join("authorities.pem")
    }

    /// Returns the folder into which a dry run writes.
    fn dist(&self) -> PathBuf {
        self.folder().join("target/dist-dry-run")
    }

    /// Commits every change.
    fn commit(&self) {
        succeed(git(&self.folder()).args(["add", "--all"]));
        succeed(git(&self.folder()).args(["commit", "--quiet", "--message", "Test"]));
    }

    /// Goes back to the first commit.
    fn reset(&self) {
        succeed(git(&self.folder()).args(["reset", "--quiet", "--hard", "start"]));
        succeed(git(&self.folder()).args(["clean", "--quiet", "--force", "-d"]));
    }

    /// Runs `scripts/release` in a shell with this umask and time zone.
    fn release(&self, [umask, zone]: [&str; 2], arguments: &[&str]) -> Output {
        let mut shell = Command::new("sh");
        shell.current_dir(self.folder()).args(["-c", &format!("umask {umask}; exec scripts/release \"$@\""), "sh"]);
        without_settings(&mut shell).args(arguments);
        shell.env("TZ", zone).env("CA_CERTIFICATES", self.authorities()).output().expect("the script runs")
    }

    fn dry_run(&self) -> Output {
        self.release(["022", "UTC"], &["--dry-run"])
    }
}

/// Returns `git` in this folder, without the user's settings: the same files become the same commit.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    without_settings(git.current_dir(folder));
    for role in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{role}_NAME"), "Nobody").env(format!("GIT_{role}_EMAIL"), "nobody@example.com");
        git.env(format!("GIT_{role}_DATE"), "1700000000 +0000");
    }
    git
}

fn without_settings(command: &mut Command) -> &mut Command {
    for variable in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(variable);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1")
}

fn error(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}
