//! A Git repository that is served over HTTP, as Flux and Argo CD fetch it: the two requests of a fetch, answered by
//! `git upload-pack`.
#![allow(clippy::unwrap_used, reason = "tests may panic")]

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use axum::Router;
use axum::body::Bytes;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;
use axum::routing::{get, post};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::JoinHandle;

use crate::go_tools::succeed;

/// Its branch.
pub const BRANCH: &str = "main";
/// The first line of the response that lists the references, as a packet, and the packet that ends this section.
const SERVICE: &[u8] = b"001e# service=git-upload-pack\n0000";

/// A repository with one branch.
pub struct Repository {
    folder: TempDir,
    address: SocketAddr,
    server: JoinHandle<()>,
}

impl Repository {
    /// Creates an empty repository and serves it.
    ///
    /// # Panics
    /// If git does not run.
    pub async fn serve() -> Self {
        let folder = tempfile::tempdir().unwrap();
        git_with(folder.path(), &["init", "--quiet", "--initial-branch", BRANCH], b"").await;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (listed, packed) = (folder.path().to_owned(), folder.path().to_owned());
        let routes = Router::new()
            .route("/repository.git/info/refs", get(async move || references(&listed).await))
            .route("/repository.git/git-upload-pack", post(async move |body: Bytes| pack(&packed, &body).await));
        let server = tokio::spawn(async move { axum::serve(listener, routes).await.unwrap() });
        Self { folder, address, server }
    }

    /// Its URL.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/repository.git", self.address)
    }

    /// Path of a file in the work tree.
    #[must_use]
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Copies a folder with everything in it into the work tree.
    ///
    /// # Panics
    /// If a file cannot be read or written.
    pub fn copy(&self, from: &Path, to: &str) {
        copy(from, &self.path(to));
    }

    /// Writes these files, removes those without content, and commits the whole work tree. Returns the hash of the
    /// commit.
    ///
    /// # Panics
    /// If a file cannot be written, or git fails.
    pub async fn commit(&self, files: &[(&str, Option<&str>)]) -> String {
        for (name, content) in files {
            let path = self.path(name);
            match content {
                Some(content) => {
                    std::fs::create_dir_all(path.parent().expect("a file in a folder")).unwrap();
                    std::fs::write(path, content).unwrap();
                }
                None => std::fs::remove_file(path).unwrap(),
            }
        }
        let folder = self.folder.path();
        git_with(folder, &["add", "--all"], b"").await;
        let identity = ["-c", "user.name=dev", "-c", "user.email=dev@example.com", "-c", "commit.gpgsign=false"];
        git_with(folder, &[&identity[..], &["commit", "--quiet", "--message", "change"]].concat(), b"").await;
        let hash = String::from_utf8(git_with(folder, &["rev-parse", "HEAD"], b"").await).unwrap();
        hash.trim().to_owned()
    }
}

impl Drop for Repository {
    fn drop(&mut self) {
        self.server.abort();
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

async fn references(folder: &Path) -> impl IntoResponse + use<> {
    let list = git_with(folder, &["upload-pack", "--stateless-rpc", "--advertise-refs", "."], b"").await;
    ([(CONTENT_TYPE, "application/x-git-upload-pack-advertisement")], [SERVICE, &list].concat())
}

async fn pack(folder: &Path, request: &[u8]) -> impl IntoResponse + use<> {
    let pack = git_with(folder, &["upload-pack", "--stateless-rpc", "."], request).await;
    ([(CONTENT_TYPE, "application/x-git-upload-pack-result")], pack)
}

/// Runs git in this folder, as a user with a name.
pub fn git(folder: &Path, arguments: &[&str]) {
    let user = ["-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "commit.gpgsign=false"];
    succeed(std::process::Command::new("git").arg("-C").arg(folder).args(user).args(arguments));
}

/// Returns the output of git, which must succeed.
async fn git_with(folder: &Path, arguments: &[&str], input: &[u8]) -> Vec<u8> {
    let mut command = Command::new("git");
    command.current_dir(folder).args(arguments).kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().expect("git runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    // What git does not read is not an error of this test; its exit code shows one.
    let _ = stdin.write_all(input).await;
    drop(stdin);
    let output = child.wait_with_output().await.unwrap();
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}
