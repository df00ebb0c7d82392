//! What a [`LocalCluster`](super::LocalCluster) and its guardian say to each other: one JSON value on each line.
//!
//! The cluster asks, the guardian answers each question once and in order. Nothing secret is said here: programs read
//! tokens and keys from files. Next: `guardian.rs` answers, `conversation.rs` asks.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A program that the guardian runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Process {
    /// The store of the API server.
    Etcd,
    /// kube-apiserver.
    ApiServer,
}

impl Process {
    /// Name of the program, for messages and for the name of its log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
        }
    }

    /// Name of its log in the folder of the cluster.
    pub(super) fn log(self) -> String {
        format!("{}.log", self.name())
    }
}

/// What the cluster wants of its guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Run `program` in the folder of the cluster, with an empty environment. Answer: [`Answer::Running`].
    Start { process: Process, program: PathBuf, arguments: Vec<String> },
    /// End the process and wait for its end. Answer: [`Answer::NotRunning`].
    Stop(Process),
    /// Say how the process is. Answer: [`Answer::Running`] or [`Answer::NotRunning`].
    Look(Process),
}

/// What the guardian says; the first line is a [`Answer::Ready`] that nobody asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The guardian is there and has made `folder`, which only this user can read.
    Ready { folder: PathBuf },
    /// The process runs.
    Running { id: u32 },
    /// The process does not run; `how_it_ended` only if it ended by itself.
    NotRunning { how_it_ended: Option<String> },
    /// It could not be done.
    Failed { message: String },
}
