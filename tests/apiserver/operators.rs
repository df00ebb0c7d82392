//! Operators inside the process of a test.

use connect_api::hosts::AllowedHosts;
use connect_api::http::Authorities;
use connect_operator::operator::clients::action_factory::HttpActionFactory;
use connect_operator::operator::cluster::objects::secret;
use connect_operator::operator::context::Settings;
use connect_operator::operator::manager;
use connect_operator::operator::values::digest::DigestKey;
use tokio::io::{AsyncBufRead, Lines};
use tokio::sync::oneshot;

use crate::prelude::*;

/// The factories of HTTP clients for remotes and frontends on this machine.
pub(crate) fn http_factories(around: ClientContext) -> (HttpFactory, HttpActionFactory) {
    let allowed_hosts = AllowedHosts::parse(["http://127.0.0.1:*"]).expect("a host");
    let actions = HttpActionFactory {
        allowed_hosts: allowed_hosts.clone(),
        around: around.clone(),
        authorities: Authorities::default(),
    };
    let remotes = HttpFactory { allowed_hosts, around, limits: Limits::default(), authorities: Authorities::default() };
    (remotes, actions)
}

/// The options of an operator of this scope, whose own objects are in the namespace `home`.
pub(crate) fn options(client: Client, clock: Clock, scope: Scope, home: &str) -> manager::Options {
    let metrics = Metrics::new(clock.now());
    let around = ClientContext { observer: metrics.clone(), ..ClientContext::plain(clock.clone()) };
    let (remotes, actions) = http_factories(around);
    manager::Options {
        client,
        settings: Settings {
            scope,
            operator_namespace: home.to_owned(),
            secrets: secret::Policy::default(),
            digest_key: DigestKey::new([7; 32]),
            actions: Arc::new(actions),
            default_deletion_policy: None,
        },
        concurrency: 16,
        clock,
        factory: Arc::new(remotes),
        lists: InitialLists::new(Arc::clone(&metrics)),
        metrics,
        jitter_seed: 1,
    }
}

/// The operator as a process that watches these namespaces, separated by commas; its own objects are in that of the sandbox.
pub(crate) fn process(sandbox: &Sandbox, watched: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_connect-operator"));
    command
        .args(["run", "--watch-namespaces", watched, "--operator-namespace", &sandbox.namespace])
        .args(["--allowed-api-hosts", "http://127.0.0.1:*"])
        .env("KUBECONFIG", sandbox.kubeconfig())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .kill_on_drop(true);
    command
}

/// Returns the lines of a log up to the one that contains this text; fails with them if there is none in time.
pub(crate) async fn until_line(log: &mut Lines<impl AsyncBufRead + Unpin>, text: &str) -> Vec<String> {
    let mut seen = Vec::new();
    let lines = async {
        while let Some(line) = log.next_line().await.unwrap() {
            seen.push(line);
            if seen.last().is_some_and(|line| line.contains(text)) {
                return true;
            }
        }
        false
    };
    let found = in_time(lines).await.unwrap_or_default();
    assert!(found, "not seen: {text}\n{}", seen.join("\n"));
    seen
}

/// A running operator; it ends with the runtime of its test at the latest.
pub(crate) struct Running {
    stop: oneshot::Sender<()>,
    ended: JoinHandle<()>,
}

impl Running {
    pub(crate) fn start(options: manager::Options) -> Self {
        let (stop, stopped) = oneshot::channel::<()>();
        let ended = tokio::spawn(manager::run(options, async {
            let _ = stopped.await;
        }));
        Self { stop, ended }
    }

    /// Stops it in an orderly way, as on SIGTERM.
    pub(crate) async fn stop(self) {
        let _ = self.stop.send(());
        in_time(self.ended).await.expect("the operator ends in time").expect("the operator ends without a panic");
    }

    /// Kills it at an arbitrary point.
    pub(crate) async fn kill(self) {
        self.ended.abort();
        assert!(self.ended.await.is_err_and(|error| error.is_cancelled()), "it still ran");
    }
}
