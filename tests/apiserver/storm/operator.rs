//! The operator as the process that users run, and its end by signals.

use std::process::ExitStatus;

use rustix::process::Pid;

use crate::prelude::*;
use crate::storm::jumping::Jumping;

/// A running operator.
pub(crate) struct Operator {
    start: Start,
    process: Child,
}

/// How to start it.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) kubeconfig: PathBuf,
    /// The namespaces that it watches.
    pub(crate) namespace: String,
    /// The namespace of its own objects.
    pub(crate) home: String,
    /// The file to which its log is appended.
    pub(crate) log: PathBuf,
    /// Whether leader election is on.
    pub(crate) elects: bool,
    /// Its clock; `None`: the machine's.
    pub(crate) clock: Option<Jumping>,
    /// Other arguments.
    pub(crate) arguments: Vec<String>,
}

impl Start {
    pub(crate) fn now(&self) -> Operator {
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
            .args(["run", "--watch-namespaces", &self.namespace, "--operator-namespace", &self.home])
            .args(["--allowed-api-hosts", "http://127.0.0.1:*", "--log-format", "text"])
            .args(self.elects.then_some("--leader-elect"))
            .args(&self.arguments)
            .env("KUBECONFIG", &self.kubeconfig)
            .env("RUST_LOG", if self.elects { "info,connect_api=debug" } else { "info" })
            .envs(self.clock.iter().flat_map(Jumping::environment))
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .kill_on_drop(true)
            .spawn()
            .expect("the operator starts");
        Operator { start: self.clone(), process }
    }
}

impl Operator {
    /// Kills it with `kill -9`: the process does not exist any more when this returns.
    pub(crate) async fn kill(mut self) -> Start {
        // The tests must notice a process that ended by itself.
        assert_eq!(self.process.try_wait().unwrap(), None, "it still runs; log: {}", last_lines(&self.start.log, ""));
        self.process.kill().await.unwrap();
        self.start
    }

    /// Sends it a signal.
    pub(crate) fn signal(&self, signal: Signal) {
        let id = self.process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
        rustix::process::kill_process(id.expect("it still runs"), signal).unwrap();
    }

    /// Waits until it ends by itself.
    pub(crate) async fn ended(mut self) -> (Start, ExitStatus) {
        let ended = in_time(self.process.wait()).await;
        let status = ended.unwrap_or_else(|_| panic!("it still runs; log: {}", last_lines(&self.start.log, "")));
        (self.start, status.unwrap())
    }

    /// Whether it logged that it leads, since it was started for the first time with this log.
    pub(crate) fn leads(&self) -> bool {
        !last_lines(&self.start.log, "this process leads").is_empty()
    }

    /// Returns the path of its log.
    pub(crate) fn log(&self) -> &Path {
        &self.start.log
    }

    /// Kills it and starts it at once.
    pub(crate) async fn restart(self) -> Self {
        self.kill().await.now()
    }

    /// Kills and restarts it that many times. It runs for a random time in between: often for a moment, now and then
    /// long enough to collect changes and to redeploy.
    pub(crate) async fn kill_repeatedly(mut self, kills: u32, longest: Duration, chance: &mut StdRng) -> Self {
        for _ in 0..kills {
            let share = 250_f64.powf(-chance.random_range(0.0..1.0));
            tokio::time::sleep(longest.mul_f64(share)).await;
            self = self.restart().await;
        }
        self
    }
}

/// Returns the last lines of a log that contain this text.
pub(crate) fn last_lines(log: &Path, containing: &str) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().filter(|line| line.contains(containing)).collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
