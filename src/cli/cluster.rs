//! The options with which every command selects the cluster, the user and the namespace, written as for kubectl.

use std::path::PathBuf;

use clap_complete::engine::ArgValueCandidates;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::completion;
use crate::controllers::connection::{self, Limits};

/// Which cluster to talk to, and as whom.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster options")]
pub(super) struct Connection {
    /// Context of the kubeconfig. Default: the current context.
    #[arg(long, value_name = "NAME", add = ArgValueCandidates::new(completion::contexts))]
    pub(super) context: Option<String>,

    /// Kubeconfig file. Default: those that KUBECONFIG names, otherwise ~/.kube/config; without any, the service account
    /// of the pod.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,

    /// User to impersonate, as in system:serviceaccount:shop:deployer.
    #[arg(long = "as", value_name = "USER")]
    pub(super) user: Option<String>,

    /// Group to impersonate; may be repeated.
    #[arg(long = "as-group", value_name = "GROUP", requires = "user")]
    pub(super) groups: Vec<String>,
}

/// Which cluster and which namespace.
#[derive(Clone, Debug, Default, clap::Args)]
#[command(next_help_heading = "Cluster options")]
pub(super) struct Place {
    /// Namespace. Default: that of the context.
    #[arg(long, short, value_name = "NAMESPACE", add = ArgValueCandidates::new(completion::namespaces))]
    pub(super) namespace: Option<String>,

    #[command(flatten)]
    pub(super) connection: Connection,
}

impl Connection {
    /// Returns a client of the cluster, and the namespace to use: the given one, or that of the context.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn client(&self, namespace: Option<&str>) -> Result<(Client, String), String> {
        let config = self.config().await?;
        let namespace = namespace.unwrap_or(&config.default_namespace).to_owned();
        let client = connection::client(config, Limits::default()).map_err(|error| error.to_string())?;
        Ok((client, namespace))
    }

    async fn config(&self) -> Result<Config, String> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let mut config = match &self.kubeconfig {
            Some(path) => {
                let unusable = |error| format!("--kubeconfig {}: {error}", path.display());
                let kubeconfig = Kubeconfig::read_from(path).map_err(unusable)?;
                Config::from_custom_kubeconfig(kubeconfig, &options).await.map_err(unusable)?
            }
            None if self.context.is_some() => {
                Config::from_kubeconfig(&options).await.map_err(|error| error.to_string())?
            }
            None => Config::infer().await.map_err(|error| error.to_string())?,
        };
        if self.user.is_some() {
            config.auth_info.impersonate.clone_from(&self.user);
            config.auth_info.impersonate_groups = (!self.groups.is_empty()).then(|| self.groups.clone());
        }
        Ok(config)
    }
}

impl Place {
    /// Returns a client of the cluster, and the namespace to use.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn client(&self) -> Result<(Client, String), String> {
        self.connection.client(self.namespace.as_deref()).await
    }
}
