//! The operator as the process that people run, ended as hard as a process can be.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rand::RngExt;
use rand::rngs::StdRng;
use tokio::process::{Child, Command};

/// A running operator.
pub(crate) struct Operator {
    start: Start,
    process: Child,
}

/// How to start it, again and again.
#[derive(Clone)]
pub(crate) struct Start {
    pub(crate) kubeconfig: PathBuf,
    /// What it watches.
    pub(crate) namespace: String,
    /// Where it keeps what is its own.
    pub(crate) home: String,
    /// Where its log goes, after what is there already.
    pub(crate) log: PathBuf,
}

impl Start {
    pub(crate) fn now(&self) -> Operator {
        let log = File::options().create(true).append(true).open(&self.log).unwrap();
        let process = Command::new(env!("CARGO_BIN_EXE_connect-operator"))
            .args(["run", "--watch-namespaces", &self.namespace, "--operator-namespace", &self.home])
            .args(["--allowed-api-hosts", "127.0.0.1", "--log-format", "text"])
            .env("KUBECONFIG", &self.kubeconfig)
            .env("RUST_LOG", "info")
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
    /// `kill -9`: nothing of it runs any more when this returns.
    pub(crate) async fn kill(mut self) -> Start {
        // One that ended by itself is what the tests must see.
        assert_eq!(self.process.try_wait().unwrap(), None, "it still runs; log: {}", last_lines(&self.start.log, ""));
        self.process.kill().await.unwrap();
        self.start
    }

    /// Kills it and starts it at once.
    pub(crate) async fn restart(self) -> Self {
        self.kill().await.now()
    }

    /// Kills and restarts it so many times. It lives for a random time in between: often for a moment, now and then long
    /// enough to gather changes and to redeploy.
    pub(crate) async fn suffer(mut self, kills: u32, longest: Duration, chance: &mut StdRng) -> Self {
        for _ in 0..kills {
            let share = 250_f64.powf(-chance.random_range(0.0..1.0));
            tokio::time::sleep(longest.mul_f64(share)).await;
            self = self.restart().await;
        }
        self
    }
}

/// The last lines of a log that contain this text.
pub(crate) fn last_lines(log: &Path, containing: &str) -> String {
    let text = std::fs::read(log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<_> = text.lines().filter(|line| line.contains(containing)).collect();
    lines[lines.len().saturating_sub(40)..].join("\n")
}
