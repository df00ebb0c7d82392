//! The operator as a process, and its figures from Linux.

use std::process::Stdio;

use local_control_plane::LocalCluster;
use tokio::process::{Child, Command};

use crate::report::{Report, rounded};
use crate::{NAMESPACE, Outcome, ratio};

/// The operator as a separate process.
pub(crate) struct Operator(Child);

impl Operator {
    /// `more`: further arguments.
    pub(crate) fn start(cluster: &LocalCluster, binary: &str, more: &[&str]) -> Outcome<Self> {
        let child = Command::new(binary)
            .args(["run", "--operator-namespace", NAMESPACE])
            .args(["--allowed-api-hosts", "http://127.0.0.1:*,127.0.0.1:*", "--log-format", "text"])
            .args(more)
            .env("KUBECONFIG", cluster.kubeconfig_path())
            .stdin(Stdio::null())
            .kill_on_drop(true)
            .spawn()?;
        Ok(Self(child))
    }

    /// Reports memory and processor time so far, as Linux has them.
    pub(crate) fn figures(&self, report: &mut Report, resources: usize) -> Outcome {
        report.figure("memory now, MiB", rounded(ratio(self.kibibytes("VmRSS:")?, 1024), 1));
        report.figure("memory at most, MiB", rounded(ratio(self.kibibytes("VmHWM:")?, 1024), 1));
        let stat = self.file("stat")?;
        let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or_default().split_whitespace().collect();
        let ticks: usize = fields[11].parse::<usize>()? + fields[12].parse::<usize>()?;
        // A tick is 10 ms on all supported Linux systems.
        report.figure("processor time for each resource, ms", rounded(ratio(ticks * 10, resources), 2));
        Ok(())
    }

    /// Returns a field of the process's status, in KiB.
    pub(crate) fn kibibytes(&self, field: &str) -> Outcome<usize> {
        let status = self.file("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix(field)).unwrap_or_default();
        Ok(line.split_whitespace().next().unwrap_or("0").parse()?)
    }

    fn file(&self, name: &str) -> Outcome<String> {
        let id = self.0.id().ok_or("the operator has ended")?;
        Ok(std::fs::read_to_string(format!("/proc/{id}/{name}"))?)
    }

    pub(crate) async fn stop(mut self) -> Outcome {
        if let Some(id) = self.0.id().and_then(|id| rustix::process::Pid::from_raw(id.cast_signed())) {
            rustix::process::kill_process(id, rustix::process::Signal::TERM)?;
        }
        self.0.wait().await?;
        Ok(())
    }
}
