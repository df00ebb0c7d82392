//! The progress of locating the programs of a local cluster.

use std::fmt;

/// A progress step while programs are located. `Display` formats it as a line for users.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// Another process downloads or builds the same programs; this one waits until the other one has finished.
    WaitingForAnotherProcess,
    /// The archive is requested from its host.
    Asking {
        /// The host.
        host: String,
    },
    /// The download of the archive has started.
    Downloading {
        /// Its size, if the server announced it.
        bytes: Option<u64>,
    },
    /// The archive was verified, and its programs are available.
    Downloaded,
    /// The archive could not be downloaded; the programs are built instead.
    NotDownloaded {
        /// The reason.
        why: String,
    },
    /// A missing program is being built, which takes minutes.
    Building {
        /// Name of the program.
        program: &'static str,
        /// How long it usually takes on 2 cores.
        usually: &'static str,
    },
    /// The program of the last [`Step::Building`] is available.
    Built {
        /// Name of the program.
        program: &'static str,
    },
}

impl Step {
    /// Returns whether the step completes an activity, so that nothing runs until the next step.
    #[must_use]
    pub fn is_an_end(&self) -> bool {
        matches!(self, Self::Downloaded | Self::NotDownloaded { .. } | Self::Built { .. })
    }
}

impl fmt::Display for Step {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WaitingForAnotherProcess => {
                write!(formatter, "waiting for another process that downloads or builds the same programs")
            }
            Self::Asking { host } => write!(formatter, "asking {host} for etcd, kube-apiserver and kubectl"),
            Self::Downloading { bytes: Some(bytes) } => {
                write!(
                    formatter,
                    "downloading etcd, kube-apiserver and kubectl, once; {} MB",
                    bytes.div_ceil(1_000_000)
                )
            }
            Self::Downloading { bytes: None } => {
                write!(formatter, "downloading etcd, kube-apiserver and kubectl, once")
            }
            Self::Downloaded => write!(formatter, "downloaded etcd, kube-apiserver and kubectl"),
            Self::NotDownloaded { why } => {
                write!(formatter, "not downloaded, so they are built with Go: {why}")
            }
            Self::Building { program, usually } => {
                write!(formatter, "building {program} with Go, once; on 2 cores this usually takes {usually}")
            }
            Self::Built { program } => write!(formatter, "built {program}"),
        }
    }
}
