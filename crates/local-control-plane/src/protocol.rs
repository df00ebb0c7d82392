//! The protocol between a [`LocalCluster`](super::LocalCluster) and its guardian: one JSON value per line.
//!
//! The cluster sends requests, and the guardian sends one response to each, in order. The protocol carries no secrets:
//! programs read tokens and keys from files. See `guardian.rs` for the server side and `conversation.rs` for the
//! client.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A program that the guardian runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Process {
    /// etcd, the storage of the API server.
    Etcd,
    /// kube-apiserver.
    ApiServer,
}

impl Process {
    /// Returns the name of the program, used in messages and as the name of its log.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
        }
    }

    /// Returns the name of its log in the folder of the cluster.
    pub(super) fn log(self) -> String {
        format!("{}.log", self.name())
    }
}

/// A request of the cluster to its guardian.
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Request {
    /// Runs `program` in the folder of the cluster with an empty environment. Response: [`Answer::Running`].
    Start { process: Process, program: PathBuf, arguments: Vec<String> },
    /// Ends the process and waits until it has ended. Response: [`Answer::NotRunning`].
    Stop(Process),
    /// Asks for the state of the process. Response: [`Answer::Running`] or [`Answer::NotRunning`].
    Look(Process),
}

/// A response of the guardian. The first line is an unsolicited [`Answer::Ready`].
#[derive(Debug, Serialize, Deserialize)]
pub(super) enum Answer {
    /// The guardian has started and created `folder`, which only this user can read.
    Ready { folder: PathBuf },
    /// The process is running.
    Running { id: u32 },
    /// The process is not running; `how_it_ended` is set only if it ended by itself.
    NotRunning { how_it_ended: Option<String> },
    /// The request failed.
    Failed { message: String },
}
