//! The local cluster itself: it starts, serves, keeps its data over a restart, and leaves nothing behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::process::Command;

use local_control_plane::{Assets, LocalCluster, Options, versions};
use rustix::process::{Pid, getpgid, getpgrp, test_kill_process};

use crate::prelude::*;

/// Set for a test process that another test starts in order to kill it: it starts a cluster, prints it and waits.
const TO_BE_KILLED: &str = "CONNECT_OPERATOR_TEST_TO_BE_KILLED";

async fn options() -> Options {
    let assets = Assets::find_or_build(|step| eprintln!("{step}")).await.expect("etcd and kube-apiserver");
    Options::new(assets)
}

async fn start() -> LocalCluster {
    LocalCluster::start(options().await).await.expect("a local cluster")
}

/// One cluster for all tests that stop no process of it; it ends with this process.
async fn shared() -> &'static LocalCluster {
    static SHARED: OnceCell<LocalCluster> = OnceCell::const_new();
    SHARED.get_or_init(start).await
}

/// What must not exist after a cluster has ended.
struct Remains {
    processes: [u32; 2],
    folder: PathBuf,
}

impl Remains {
    fn of(cluster: &LocalCluster) -> Self {
        Self { processes: cluster.process_ids(), folder: cluster.folder().to_owned() }
    }

    fn are_there(&self) -> bool {
        self.folder.exists() || self.processes.iter().any(|id| runs(*id))
    }

    /// Waits for the end of a cluster whose process was killed, so that nothing can await it.
    async fn vanish(&self) {
        while self.are_there() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }
}

fn runs(id: u32) -> bool {
    test_kill_process(pid(id)).is_ok()
}

fn pid(id: u32) -> Pid {
    Pid::from_raw(id.cast_signed()).expect("a process id is not 0")
}

#[tokio::test]
async fn it_serves_the_administrator_alone_over_verified_tls() {
    let cluster = shared().await;
    let version = cluster.client().expect("a client").apiserver_version().await.expect("a response");
    let program = options().await.assets.kube_apiserver;
    let output = Command::new(program).arg("--version").output().expect("kube-apiserver");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("Kubernetes {}\n", version.git_version));
    if std::env::var_os("KUBEBUILDER_ASSETS").is_none() {
        let ours = [versions::KUBERNETES, versions::ENVTEST];
        assert!(ours.contains(&version.git_version.as_str()), "{}", version.git_version);
    }

    let mut config = cluster.config();
    config.root_cert = None;
    let stranger = Client::try_from(config).expect("a client");
    let error = stranger.apiserver_version().await.expect_err("other clients do not trust this certificate");
    assert!(!matches!(error, kube::Error::Api(_)), "a response over an unverified connection: {error}");

    let mut config = cluster.config();
    config.auth_info.token = None;
    let error = Client::try_from(config).expect("a client").apiserver_version().await.expect_err("no credentials");
    assert!(matches!(&error, kube::Error::Api(status) if status.code == 401), "{error}");
}

#[tokio::test]
async fn its_kubeconfig_is_for_its_owner_only_and_works_for_kubectl() {
    use std::os::unix::fs::PermissionsExt;

    let cluster = shared().await;
    let mode = |path: &Path| path.metadata().expect("it exists").permissions().mode() & 0o777;
    assert_eq!(mode(cluster.folder()), 0o700);
    assert_eq!(mode(&cluster.kubeconfig_path()), 0o600);

    let kubectl = options().await.assets.kubectl;
    let output = Command::new(kubectl)
        .args(["get", "namespace", "default", "--output=name"])
        .env("KUBECONFIG", cluster.kubeconfig_path())
        .output()
        .expect("kubectl");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "namespace/default\n", "{output:?}");
}

#[tokio::test]
async fn profiles_are_served_only_if_they_are_asked_for() {
    let started = LocalCluster::start(Options { profiling: true, ..options().await }).await.expect("a local cluster");
    for (cluster, profiling) in [(&started, true), (shared().await, false)] {
        let request = http::Request::get("/debug/pprof/goroutine?debug=1").body(Vec::new()).unwrap();
        let served = cluster.client().expect("a client").request_text(request).await;
        assert_eq!(served.is_ok_and(|text| text.contains("goroutine profile")), profiling, "kube-apiserver");
        let mut socket = UnixStream::connect(cluster.folder().join("etcd.sock")).expect("the socket of etcd");
        socket.write_all(b"GET /debug/pprof/goroutine?debug=1 HTTP/1.0\r\nHost: localhost\r\n\r\n").expect("a request");
        let mut response = String::new();
        socket.read_to_string(&mut response).expect("a response");
        assert_eq!(response.contains("goroutine profile"), profiling, "etcd: {response}");
    }
    started.stop().await.expect("stopped");
}

#[tokio::test]
async fn stopping_and_dropping_leave_no_process_and_no_folder() {
    let (stopped, dropped) = tokio::join!(start(), start());
    for (case, cluster, ends) in [("stopped", stopped, true), ("dropped", dropped, false)] {
        let remains = Remains::of(&cluster);
        assert!(remains.are_there(), "{case}");
        for id in remains.processes {
            assert_ne!(getpgid(Some(pid(id))).expect("a process group"), getpgrp(), "Ctrl-C reaches process {id}");
        }
        if ends {
            cluster.stop().await.expect("stopped");
        } else {
            drop(cluster);
        }
        assert!(!remains.are_there(), "{case}");
    }
}

#[tokio::test]
async fn a_program_that_ends_while_starting_is_reported_with_its_log_and_leaves_nothing() {
    let mut absent = options().await;
    absent.assets.etcd = "/nonexistent/etcd".into();
    let error = LocalCluster::start(absent).await.expect_err("there is none").to_string();
    assert!(
        error.starts_with("etcd ended by itself (exit status: 127)") && error.contains("/nonexistent/etcd"),
        "{error}"
    );

    let mut options = options().await;
    options.assets.kube_apiserver = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/kube-apiserver-ends").into();
    let error = LocalCluster::start(options).await.expect_err("it ended").to_string();
    let expected = "kube-apiserver ended by itself (exit status: 3); the end of its log:\nworking in ";
    let folder = error.strip_prefix(expected).unwrap_or_else(|| panic!("{error}"));
    assert!(folder.contains("connect-operator-") && !Path::new(folder).exists(), "{folder}");
}

/// Does nothing unless started by [`a_cluster_starts_in_any_environment_and_ends_when_its_process_is_killed`].
#[tokio::test]
async fn to_be_killed() {
    if std::env::var_os(TO_BE_KILLED).is_none() {
        return;
    }
    let cluster = start().await;
    let Remains { processes: [etcd, apiserver], folder } = Remains::of(&cluster);
    println!("\ncluster {etcd} {apiserver} {}", folder.display());
    std::future::pending::<()>().await;
}

#[tokio::test]
async fn a_cluster_starts_in_any_environment_and_ends_when_its_process_is_killed() {
    // The programs must exist before: a download or a Go build would not work with this proxy.
    let _ = options().await;
    let mut process = Command::new(std::env::current_exe().expect("this test"))
        .args(["--exact", "control_plane::to_be_killed", "--nocapture"])
        .env(TO_BE_KILLED, "1")
        .env("HTTPS_PROXY", "http://127.0.0.1:9")
        .env("ETCD_CONFIG_FILE", "/nonexistent")
        .stdout(Stdio::piped())
        .spawn()
        .expect("this test again");
    let stdout = BufReader::new(process.stdout.take().expect("it is piped"));
    let line = stdout.lines().map_while(Result::ok).find(|line| line.starts_with("cluster ")).expect("a cluster");
    let words: Vec<_> = line.splitn(4, ' ').collect();
    let id = |word: &str| word.parse().expect("a process id");
    let remains = Remains { processes: [id(words[1]), id(words[2])], folder: words[3].into() };
    assert!(remains.are_there());

    process.kill().expect("killed");
    process.wait().expect("it is gone");
    in_time(remains.vanish()).await.expect("nothing remains");
}
