//! Local Git repositories, read by tag with the program `git`: `--repositories DIR`.
//!
//! Only reads Git objects: no work tree, no hooks, no network. Names from a request are validated before they become
//! part of a path or a command line. Next: `staged/repository.rs` for parsing the file.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::process::Command;

use super::refusal::cut;
use super::staged::repository::{Found, RepositoryProblem, read};
use connect_api::model::Repository;

/// The file that describes a connector.
const FILE: &str = "connect.yaml";
/// Maximum size of the file, in bytes.
const LONGEST_FILE: u64 = 256 * 1024;
/// Timeout of one command: each reads only a few objects from a local disk.
const PATIENCE: Duration = Duration::from_secs(10);
/// Environment variables that would make git read another place than `--git-dir`.
const MISLEADING: [&str; 8] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_CONFIG_PARAMETERS",
];

/// Reads the declarations at a tag of a local repository. `None` if there is no repository with this name.
pub(super) async fn find(folder: &Path, repository: &Repository) -> Option<Result<Found, RepositoryProblem>> {
    let place = place(folder, name(&repository.url)?).await?;
    Some(found(&place, repository).await)
}

async fn found(place: &Path, repository: &Repository) -> Result<Found, RepositoryProblem> {
    let tag = &repository.tag;
    if !is_tag(tag) {
        let text = format!("'{}' cannot be the name of a Git tag.", cut(tag));
        return Err(RepositoryProblem::NotReachable(text));
    }
    let reference = format!("refs/tags/{tag}");
    let shown = git(place, &["show-ref", "--verify", "--hash", &reference]).await?;
    let object = String::from_utf8(shown.bytes).unwrap_or_default();
    let Some(object) = shown.ok.then(|| object.trim()).filter(|object| is_object(object)) else {
        let text = format!("The local repository of {} has no tag '{}'.", cut(&repository.url), cut(tag));
        return Err(RepositoryProblem::NotReachable(text));
    };
    let blob = git(place, &["cat-file", "blob", &format!("{object}:{FILE}")]).await?;
    if blob.too_long {
        let text = format!(
            "connect.yaml at tag '{}' of {} has more than {LONGEST_FILE} bytes.",
            cut(tag),
            cut(&repository.url)
        );
        return Err(RepositoryProblem::WrongFile(text));
    }
    let text = String::from_utf8(blob.bytes).map_err(|_| {
        let place = format!("tag '{}' of {}", cut(tag), cut(&repository.url));
        RepositoryProblem::WrongFile(format!("connect.yaml at {place} is not UTF-8: save it as UTF-8."))
    })?;
    let specification = read(repository, blob.ok.then_some(text.as_str()))?;
    Ok(Found { specification, ..Found::default() })
}

/// Returns the last part of a URL without `.git`, if it is safe as the name of a folder.
fn name(url: &str) -> Option<&str> {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next()?;
    let name = last.strip_suffix(".git").unwrap_or(last);
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte));
    (is_plain && !name.is_empty() && !name.starts_with(['.', '-'])).then_some(name)
}

/// Returns the Git directory of a repository, for `--git-dir`: if git searched for it, git could find a repository in a
/// parent folder.
async fn place(folder: &Path, name: &str) -> Option<PathBuf> {
    let places = [folder.join(name).join(".git"), folder.join(name), folder.join(format!("{name}.git"))];
    for place in places {
        let is_file = tokio::fs::metadata(&place).await.is_ok_and(|found| found.is_file());
        if is_file || tokio::fs::try_exists(place.join("HEAD")).await.unwrap_or_default() {
            return Some(place);
        }
    }
    None
}

/// Whether a text is a valid name of a tag (`git check-ref-format`). This keeps texts that mean something else to git
/// (`HEAD~1`, `a:b`, `@{1}`, options) out of its arguments.
fn is_tag(text: &str) -> bool {
    let forbidden = |character: char| character.is_control() || " ~^:?*[\\".contains(character);
    !text.is_empty()
        && text.len() <= 200
        && !text.contains(forbidden)
        && !text.contains("..")
        && !text.contains("@{")
        && !text.ends_with('.')
        && !text.starts_with('-')
        && text.split('/').all(|part| {
            !part.is_empty() && !part.starts_with('.') && Path::new(part).extension().is_none_or(|end| end != "lock")
        })
}

fn is_object(text: &str) -> bool {
    [40, 64].contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The output of a command.
struct Written {
    ok: bool,
    bytes: Vec<u8>,
    too_long: bool,
}

async fn git(place: &Path, arguments: &[&str]) -> Result<Written, RepositoryProblem> {
    let failed = |what: &str| RepositoryProblem::NotReachable(format!("The local repository cannot be read: {what}."));
    let mut command = Command::new("git");
    for name in MISLEADING {
        command.env_remove(name);
    }
    command.env("GIT_NO_LAZY_FETCH", "1").env("GIT_TERMINAL_PROMPT", "0").env("GIT_NO_REPLACE_OBJECTS", "1");
    command.args(["-c", "protocol.allow=never"]).arg("--git-dir").arg(place).args(arguments);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| failed(&format!("the program git does not start ({error})")))?;
    let output = child.stdout.take().ok_or_else(|| failed("git has no output"))?;
    let reading = async {
        let mut bytes = Vec::new();
        let mut bounded = output.take(LONGEST_FILE + 1);
        bounded.read_to_end(&mut bytes).await?;
        let too_long = bytes.len() as u64 > LONGEST_FILE;
        // Closes the pipe, so that git ends even if it has more to write.
        drop(bounded);
        let status = child.wait().await?;
        Ok::<_, std::io::Error>(Written { ok: status.success() || too_long, bytes, too_long })
    };
    let written = tokio::time::timeout(PATIENCE, reading).await.map_err(|_| failed("git does not answer"))?;
    written.map_err(|error| failed(&error.to_string()))
}
