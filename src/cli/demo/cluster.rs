//! The cluster of the demo: a local API server with the CRDs. Knows nothing of the steps of the demo. Next: `steps/`.

use std::ffi::OsStr;
use std::path::PathBuf;

use clock::Clock;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Patch, PatchParams};
use kube::runtime::conditions::is_crd_established;
use kube::runtime::wait::await_condition;
use kube::{Api, Client, ResourceExt};
use local_control_plane::{Assets, LocalCluster, Options};

use super::display::{detail, done};
use super::{Error, names};
use crate::crd;

/// A local cluster.
pub(super) struct DemoCluster {
    /// The cluster.
    pub(super) local: LocalCluster,
    /// Its administrator.
    pub(super) client: Client,
    kubectl: PathBuf,
}

impl DemoCluster {
    /// Starts a local API server, and downloads or builds it first if necessary; dropping the future stops both.
    pub(super) async fn start() -> Result<Self, Error> {
        let assets = Assets::find_or_build(detail).await?;
        let kubectl = assets.kubectl.clone();
        detail("etcd and kube-apiserver start");
        let clock = Clock::system();
        let local = LocalCluster::start(Options::new(assets)).await?;
        let took = clock.elapsed();
        let client = local.client()?;
        let version = client.apiserver_version().await?.git_version;
        done(&format!("API server {version} and its etcd are ready"), took);
        Ok(Self { local, client, kubectl })
    }

    /// Applies the CRDs, and waits until they are served.
    pub(super) async fn serve(&self) -> Result<(), Error> {
        let definitions: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        let all = crd::all();
        for definition in &all {
            let parameters = PatchParams::apply(names::FIELD_MANAGER);
            definitions.patch(&definition.name_any(), &parameters, &Patch::Apply(definition)).await?;
        }
        for definition in &all {
            await_condition(definitions.clone(), &definition.name_any(), is_crd_established()).await?;
        }
        Ok(())
    }

    /// Returns a shell command to run first, and the word with which each kubectl command begins.
    pub(super) fn kubectl(&self) -> (String, String) {
        let command = if is_in_path("kubectl") { "kubectl".to_owned() } else { quoted(&self.kubectl) };
        (format!("export KUBECONFIG={}", quoted(self.local.kubeconfig_path())), command)
    }
}

fn is_in_path(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

/// Returns the word with which a command of this program begins.
pub(super) fn program() -> String {
    const NAME: &str = env!("CARGO_PKG_NAME");
    let path = std::env::current_exe().ok().filter(|_| !is_in_path(NAME));
    path.map_or_else(|| NAME.to_owned(), |path| quoted(&path))
}

/// Quotes a path or name as one word of a shell.
pub(super) fn quoted(word: impl AsRef<OsStr>) -> String {
    let text = word.as_ref().to_string_lossy();
    let plain = |character: char| character.is_ascii_alphanumeric() || "/._-+:@%".contains(character);
    if !text.is_empty() && text.chars().all(plain) {
        text.into_owned()
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_a_shell_would_split_are_quoted() {
        for (text, expected) in [
            ("/tmp/connect-operator-1/kubeconfig", "/tmp/connect-operator-1/kubeconfig"),
            ("kind-demo", "kind-demo"),
            ("", "''"),
            ("/home/a b/it's", r"'/home/a b/it'\''s'"),
        ] {
            assert_eq!(quoted(text), expected);
        }
    }
}
