//! The options with which every command selects the cluster, the user and the namespace, written as for kubectl.

use std::error::Error;
use std::path::PathBuf;

use kube::config::{InClusterError, Kubeconfig};
use kube::{Client, Config};

use crate::error_text::with_causes;
use crate::operator::clients::cluster_access::Access;
use crate::operator::clients::kube_client::{self, Limits};

/// Heading of the options in the help. `next_help_heading` would also apply to the options that follow these.
const HEADING: &str = "Cluster options";

/// Which cluster to talk to, and as whom.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Connection {
    /// Context of the kubeconfig. Default: the current context.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(super) context: Option<String>,

    /// Kubeconfig file. Default: those that KUBECONFIG names, otherwise ~/.kube/config; without any, the service account
    /// of the pod.
    #[arg(long, value_name = "FILE", help_heading = HEADING, value_hint = clap::ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,

    /// User to impersonate, as in system:serviceaccount:shop:deployer.
    #[arg(long = "as", value_name = "USER", help_heading = HEADING)]
    pub(super) user: Option<String>,

    /// Group to impersonate, with --as; may be repeated.
    #[arg(long = "as-group", value_name = "GROUP", requires = "user", help_heading = HEADING)]
    pub(super) groups: Vec<String>,
}

/// Which cluster and which namespace.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ClusterOptions {
    /// Namespace. Default: that of the context.
    #[arg(long, short, value_name = "NAMESPACE", help_heading = HEADING)]
    pub(super) namespace: Option<String>,

    #[command(flatten)]
    pub(super) connection: Connection,
}

/// Whether to look in all namespaces.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct AllNamespaces {
    /// Look in all namespaces.
    #[arg(id = "all_namespaces", long = "all-namespaces", short = 'A', conflicts_with = "namespace", help_heading = HEADING)]
    pub(super) given: bool,
}

impl Connection {
    /// Returns a client of the cluster, and the namespace to use: the given one, or that of the context.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn client(&self, namespace: Option<&str>) -> Result<(Client, String), String> {
        let access = self.access().await?;
        let namespace = namespace.unwrap_or(&access.config.default_namespace).to_owned();
        let client = kube_client::client(access, Limits { repeats: true, ..Limits::default() })
            .map_err(|error| with_causes(&error))?;
        Ok((client, namespace))
    }

    /// Returns where the cluster is, and as whom to talk to it.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn access(&self) -> Result<Access, String> {
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let access = match kubeconfig {
            Ok(kubeconfig) => Access::of_kubeconfig(kubeconfig, self.context.as_deref()).await,
            Err(error) => Err(error.into()),
        };
        let mut access = match (access, &self.kubeconfig) {
            (Ok(access), _) => access,
            (Err(error), Some(path)) => {
                return Err(format!("--kubeconfig {}: {}", path.display(), first_line(&*error)));
            }
            (Err(error), None) if self.context.is_some() => return Err(first_line(&*error)),
            (Err(error), None) => Access::direct(Config::incluster().map_err(|in_pod| neither(&*error, &in_pod))?),
        };
        if self.user.is_some() {
            let who = &mut access.config.auth_info;
            who.impersonate.clone_from(&self.user);
            who.impersonate_groups = (!self.groups.is_empty()).then(|| self.groups.clone());
        }
        Ok(access)
    }
}

/// Returns the first line of an error: the others may quote the file, which has secrets. kube quotes a path twice.
fn first_line(error: &dyn Error) -> String {
    error.to_string().lines().next().unwrap_or_default().replace("'\"", "'").replace("\"'", "'")
}

/// Variable that every pod has (Kubernetes: accessing the API from a pod).
const IN_A_POD: &str = "KUBERNETES_SERVICE_HOST";

/// Returns why neither a kubeconfig nor the service account of a pod can be used.
fn neither(kubeconfig: &dyn Error, in_pod: &InClusterError) -> String {
    if std::env::var_os(IN_A_POD).is_some() {
        return first_line(in_pod);
    }
    let why = first_line(kubeconfig);
    format!("no kubeconfig can be used ({why}), and this is no pod: name one with --kubeconfig or KUBECONFIG")
}

impl ClusterOptions {
    /// Returns a client of the cluster, and the namespace to use.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn client(&self) -> Result<(Client, String), String> {
        self.connection.client(self.namespace.as_deref()).await
    }
}
