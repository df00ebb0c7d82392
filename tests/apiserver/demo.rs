//! `demo` as users run it: it does what it prints, and leaves nothing behind, however it ends.
//!
//! Each demo has a folder for temporary files of its own, and every process that it starts inherits its standard
//! output: once that can be read to its end, all of them have ended.

use std::process::ExitStatus;

use local_control_plane::Assets;
use rustix::process::{Pid, kill_process};
use tokio::io::{AsyncReadExt, AsyncWriteExt, Lines};
use tokio::process::ChildStdout;

use crate::operators::until_line;
use crate::prelude::*;
use crate::seen::get;

const PROGRAM: &str = env!("CARGO_BIN_EXE_connect-operator");

/// The steps of an unattended demo on a cluster of its own, as standard output prints them after the seconds.
pub(crate) const STEPS: [&str; 16] = [
    "API server v",
    "The CustomResourceDefinitions are served",
    "Dev server on http://127.0.0.1:",
    "`connectors search --text demo` finds 6 connectors, demo-connector among them",
    "examples/quickstart.yaml is applied",
    "Deployed: https://",
    "The actions addToCart and getCart answer as they should: CheckPassed",
    "The Secret was changed: exactly one redeploy, version 2 is Deployed",
    "LOG_LEVEL was set to loud: Failed, with its report: Error ",
    "LOG_LEVEL was set to debug: Deployed again",
    "my-connector went from Git tag 1.0.0 to a live preview and to its publication",
    "my-live is Deployed with version 1 of my-connector, and Pinned to it",
    "Git tag 1.1.0 is published as version 2: my-live reports UpdateAvailable",
    "updatePolicy was set to Latest: exactly one redeploy, version 2 is Deployed",
    "The ConnectorDeployments were deleted: the remote deployments are gone too",
    "Cleaned up",
];

struct Demo {
    process: Child,
    stdout: Lines<BufReader<ChildStdout>>,
    temporary: TempDir,
}

impl Demo {
    /// Starts `demo` with these arguments, without kubectl in its path.
    async fn start(arguments: &[&str]) -> Self {
        assets().await;
        Self::of(&[&[PROGRAM, "demo"], arguments].concat(), Path::new("/nonexistent"))
    }

    /// Starts a demo with this command line. `path`: the only folder with programs.
    fn of(words: &[&str], path: &Path) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        let mut process = Command::new("/bin/sh")
            .args(["-c", r#"exec 3>&1; exec "$@""#, "sh"])
            .args(words)
            .env("TMPDIR", temporary.path())
            .env("PATH", path)
            .env("KUBECONFIG", "/nonexistent")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let stdout = BufReader::new(process.stdout.take().unwrap()).lines();
        Self { process, stdout, temporary }
    }

    /// Returns the lines of standard output up to the one that contains this text.
    async fn until(&mut self, text: &str) -> Vec<String> {
        until_line(&mut self.stdout, text).await
    }

    fn terminate(&self) {
        let id = self.process.id().and_then(|id| Pid::from_raw(id.cast_signed())).expect("it runs");
        kill_process(id, Signal::TERM).unwrap();
    }

    /// Waits until it and everything that it started have ended. Returns the exit status, the rest of standard output,
    /// and standard error. Nothing may remain.
    async fn end(mut self) -> (ExitStatus, Vec<String>, String) {
        let mut rest = Vec::new();
        let mut stderr = String::new();
        let mut messages = self.process.stderr.take().unwrap();
        let end = async {
            let lines = async {
                while let Some(line) = self.stdout.next_line().await.unwrap() {
                    rest.push(line);
                }
            };
            tokio::join!(lines, async { messages.read_to_string(&mut stderr).await.unwrap() });
            self.process.wait().await.unwrap()
        };
        let status = in_time(end).await.expect("it and everything that it started end");
        let left: Vec<_> =
            std::fs::read_dir(self.temporary.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
        assert_eq!(left, Vec::<PathBuf>::new(), "{stderr}");
        (status, rest, stderr)
    }
}

/// Downloads or builds the programs first if needed: the path of a demo has no Go.
async fn assets() -> Assets {
    Assets::find_or_build(|step| eprintln!("{step}")).await.expect("etcd, kube-apiserver and kubectl")
}

/// Asserts that the lines are these steps, in this order, each after its seconds, and plain text.
fn assert_steps(lines: &[String], steps: &[&str], stderr: &str) {
    assert_eq!(lines.len(), steps.len(), "{lines:#?}\n{stderr}");
    for (line, step) in lines.iter().zip(steps) {
        let (seconds, text) = line.split_once(" s ").unwrap_or_else(|| panic!("no seconds: {line}"));
        assert!(seconds.trim().parse::<f64>().is_ok() && text.starts_with(step), "{step}: {line}");
    }
    assert!(!lines.iter().any(|line| line.contains('\x1b')) && !stderr.contains('\x1b'), "no terminal, no colours");
}

#[tokio::test]
async fn an_unattended_demo_shows_the_whole_job_and_leaves_nothing() {
    let demo = Demo::start(&["--exit-when-ready"]).await;
    let (status, lines, stderr) = demo.end().await;
    assert!(status.success(), "{status}\n{}\n{stderr}", lines.join("\n"));
    assert_steps(&lines, &STEPS, &stderr);
    for shown in ["Event Normal Deployed", "remote Deploying", "answered 202", "Event Warning RedeployFailed"] {
        assert!(stderr.contains(shown), "{shown}: {stderr}");
    }
    assert!(!stderr.contains("my-first-token") && !stderr.contains("dev-secret"), "{stderr}");
}

#[tokio::test]
async fn the_demo_stays_up_and_the_commands_that_it_prints_work() {
    let mut demo = Demo::start(&[]).await;
    let lines = demo.until(" delete cdep tax").await;
    let console = lines.iter().find_map(|line| line.strip_prefix("The dev server in a browser: ")).expect("a title");
    let address = console.trim_start_matches("http://").trim_end_matches('/').parse().expect("an address");
    let state = get(address, "/_console/state").await;
    assert!(state.contains(r#""key":"default_tax""#), "{state}");
    let title = lines.iter().position(|line| line.starts_with("Everything is up")).expect("a title");
    let line = |text: &str| lines[title..].iter().find(|line| line.contains(text)).expect(text).clone();
    let commands = [
        "export KUBECONFIG=",
        "export CTP_PROJECT_KEY=demo",
        " connectors get demo-connector",
        " deployments list",
        "get cdep -w",
        " tree",
        " status tax",
        " wait my-live",
        "get cst",
        "get acheck",
        "patch secret",
        "\"loud\"",
        "patch cst",
    ]
    .map(|text| line(text).replace(" -w", ""));
    let output = Command::new("/bin/sh").args(["-euc", &commands.join("\n")]).output().await.unwrap();
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{output:?}");
    for shown in [
        "demo-connector   1         True",
        "API_TOKEN",
        "default_tax",
        "└─ ConnectorDeployment/tax",
        "Nothing to do.",
        ": Deployed: ",
        "1.1.0   Published   Granted   True",
        "addToCart",
    ] {
        assert!(printed.contains(shown), "{shown}: {printed}");
    }
    assert_eq!(printed.matches("patched").count(), 3, "{printed}");

    demo.terminate();
    let (status, _, stderr) = demo.end().await;
    assert!(status.success(), "it ran until it was asked to end: {status}\n{stderr}");
}

#[tokio::test]
async fn an_interrupted_demo_fails_and_leaves_nothing() {
    for (case, step) in [("the API server just started", STEPS[0]), ("nothing is live yet", STEPS[4])] {
        let mut demo = Demo::start(&["--exit-when-ready"]).await;
        demo.until(step).await;
        demo.terminate();
        let (status, _, stderr) = demo.end().await;
        assert_eq!(status.code(), Some(1), "{case}: {stderr}");
        assert!(stderr.ends_with("Error: interrupted\n"), "{case}: {stderr}");
    }
}

#[tokio::test]
async fn a_killed_demo_leaves_nothing() {
    let mut demo = Demo::start(&[]).await;
    demo.until(STEPS[4]).await;
    demo.process.start_kill().unwrap();
    let (status, ..) = demo.end().await;
    assert_eq!(status.code(), None);
}

#[tokio::test]
async fn a_demo_of_the_plugin_of_kubectl_ends_as_any_other() {
    let (kubectl, folder) = (assets().await.kubectl, tempfile::tempdir().unwrap());
    symlink(PROGRAM, folder.path().join("kubectl-connect")).unwrap();
    let words = [kubectl.to_str().unwrap(), "connect", "demo"];
    let mut demo = Demo::of(&words, folder.path());
    demo.until(STEPS[0]).await;
    // kubectl becomes the plugin, so the signal reaches it.
    demo.terminate();
    let (status, _, stderr) = demo.end().await;
    assert_eq!(status.code(), Some(1), "{stderr}");
    assert!(stderr.ends_with("Error: interrupted\n"), "{stderr}");
}

#[tokio::test]
async fn a_demo_interrupted_while_the_api_server_starts_leaves_nothing() {
    let demo = Demo::start(&[]).await;
    let started = async {
        while std::fs::read_dir(demo.temporary.path()).unwrap().next().is_none() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    in_time(started).await.expect("a folder of the cluster");
    demo.terminate();
    let (status, lines, stderr) = demo.end().await;
    assert_eq!((status.code(), lines.len()), (Some(1), 0), "{stderr}");
}

#[tokio::test]
async fn a_folder_without_the_programs_is_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("etcd"), "").unwrap();
    let output = Command::new(PROGRAM).arg("demo").env("KUBEBUILDER_ASSETS", folder.path()).output().await.unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    let expected = "which has no kube-apiserver, kubectl: point it at";
    assert!(output.status.code() == Some(1) && stderr.contains(expected), "{stderr}");
}

/// The host of the programs can only be reached through the proxy of the environment, which refuses; and there is no
/// Go.
#[tokio::test]
async fn without_network_and_go_every_way_to_an_api_server_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let proxy = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", proxy.local_addr().unwrap());
    let demo = |build_with_go: &str| {
        let mut command = Command::new(PROGRAM);
        command.arg("demo").env_clear().env("PATH", folder.path()).env("XDG_CACHE_HOME", folder.path());
        command.env("HTTPS_PROXY", &address).env("CONNECT_OPERATOR_BUILD_WITH_GO", build_with_go);
        command.kill_on_drop(true);
        async move { command.output().await.unwrap() }
    };
    let refuse = async {
        let (mut connection, _) = proxy.accept().await.unwrap();
        let mut line = String::new();
        BufReader::new(&mut connection).read_line(&mut line).await.unwrap();
        connection.write_all(b"HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        line
    };
    let both = async { tokio::join!(demo(""), refuse) };
    let (output, asked) = in_time(both).await.expect("it sends a request to the proxy, and ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), asked.as_str()), (Some(1), "CONNECT github.com:443 HTTP/1.1\r\n"), "{stderr}");
    for part in [
        "asking github.com for etcd, kube-apiserver and kubectl\n",
        "not downloaded, so they are built with Go: no response from github.com: ",
        "can neither be downloaded nor built:\n- https://github.com/kubernetes-sigs/controller-tools/",
        "(HTTPS_PROXY)",
        "set KUBEBUILDER_ASSETS",
        "install it from https://go.dev/dl",
    ] {
        assert!(stderr.contains(part), "{part}\n{stderr}");
    }

    let output = in_time(demo("1")).await.expect("it sends no request, and ends");
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.code() == Some(1) && stderr.contains("but go cannot be run"), "{stderr}");
    assert!(!stderr.contains("github.com"), "{stderr}");
}
