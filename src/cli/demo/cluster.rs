//! The cluster of the demo: a local API server, or a new namespace in an existing cluster. Applies the CRDs and cleans
//! up at the end.
//!
//! Knows nothing of the steps of the demo. Next: `steps/`.

use std::cell::RefCell;
use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clock::Clock;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt};
use local_control_plane::{Assets, LocalCluster, Options, Step};

use super::Error;
use super::display::Display;
use crate::cli::cluster::Connection;
use crate::crd::{self, ActionCheck, ConnectProject, ConnectorDeployment, ConnectorStaged};
use crate::error_text::with_causes;
use crate::names;
use crate::operator::clients::cluster_access::Access;
use crate::operator::clients::kube_client::{self, Limits};
use crate::operator::clients::served_crds;

/// Maximum time for the first response of an existing cluster.
const ANSWER_WITHIN: Duration = Duration::from_secs(20);

/// Maximum time until the API server serves new CRDs.
const SERVED_WITHIN: Duration = Duration::from_mins(1);

/// Pause between two checks whether new CRDs are served, or whether what was deleted is gone.
const PAUSE: Duration = Duration::from_millis(50);

/// Maximum time for cleaning up an existing cluster.
const CLEAN_WITHIN: Duration = Duration::from_mins(2);

/// Prefix of the name of the namespace in an existing cluster; a random suffix follows.
const NAMESPACE: &str = "connect-operator-demo";

/// A cluster that is ready for the demo.
pub(super) struct DemoCluster {
    /// The administrator of a local cluster, or the user of the context.
    pub(super) client: Client,
    /// The same connection, for the operator.
    pub(super) access: Access,
    /// Namespace of all objects of the demo.
    pub(super) namespace: String,
    kind: Kind,
}

enum Kind {
    Own { cluster: Box<LocalCluster>, kubectl: PathBuf },
    Existing { context: String },
}

impl DemoCluster {
    /// Starts a local API server, and downloads or builds it first if necessary; dropping the future stops both.
    pub(super) async fn own(display: &Display) -> Result<Self, Error> {
        let clock = Clock::system();
        let assets = {
            // The spinner of the current step of a download or build; the last one is dropped with this block.
            let busy = RefCell::new(None);
            let report = |step: Step| {
                display.line(&step.to_string());
                // Drop the old spinner first, since dropping it later would hide the new one.
                drop(busy.take());
                busy.replace((!step.is_an_end()).then(|| display.busy(&step.to_string())));
            };
            Assets::find_or_build(report).await?
        };
        if clock.elapsed() > Duration::from_secs(1) {
            display.done("etcd, kube-apiserver and kubectl are ready, and cached for the next time", clock.elapsed());
        }
        let clock = Clock::system();
        let busy = display.busy("etcd and kube-apiserver start");
        let kubectl = assets.kubectl.clone();
        let guardian = std::env::current_exe()?;
        let cluster = LocalCluster::start(Options::new(assets, guardian)).await?;
        drop(busy);
        let took = clock.elapsed();
        let client = cluster.client()?;
        let version = client.apiserver_version().await?.git_version;
        display.done(&format!("API server {version} and its etcd are ready"), took);
        Ok(Self {
            client,
            access: Access::direct(cluster.config()),
            namespace: "default".to_owned(),
            kind: Kind::Own { cluster: Box::new(cluster), kubectl },
        })
    }

    /// Connects to the cluster of a context; writes nothing yet.
    pub(super) async fn existing(context: &str, display: &Display) -> Result<Self, Error> {
        let unusable =
            |why: String| Error(format!("--context {context}: {why}; `kubectl config get-contexts` lists them"));
        let connection = Connection { context: Some(context.to_owned()), ..Connection::default() };
        let access = connection.access().await.map_err(unusable)?;
        let client = kube_client::client(access.clone(), Limits { repeats: true, ..Limits::default() })
            .map_err(|error| unusable(with_causes(&error)))?;
        let version = tokio::time::timeout(ANSWER_WITHIN, client.apiserver_version()).await;
        let version = version
            .map_err(|_| unusable(format!("no answer within {} s", ANSWER_WITHIN.as_secs())))?
            .map_err(|error| unusable(with_causes(&error)))?;
        let own: String = uuid::Uuid::new_v4().simple().to_string().chars().take(8).collect();
        let namespace = format!("{NAMESPACE}-{own}");
        display.line(&format!(
            "In the cluster of context {context} (Kubernetes {}), the CRDs of connect-operator are applied if they are \
             missing; they stay. Everything else goes into the new namespace {namespace}, which is removed at the \
             end. Operator and dev server run in this process.",
            version.git_version
        ));
        Ok(Self { client, access, namespace, kind: Kind::Existing { context: context.to_owned() } })
    }

    /// Namespaces that the operator watches; empty: all.
    pub(super) fn watched(&self) -> Vec<String> {
        match self.kind {
            Kind::Own { .. } => Vec::new(),
            Kind::Existing { .. } => vec![self.namespace.clone()],
        }
    }

    /// Creates the namespace, and applies the CRDs if they are missing.
    pub(super) async fn prepare(&self) -> Result<(), Error> {
        if !served_crds::missing(&self.client).await?.is_empty() {
            let served = tokio::time::timeout(SERVED_WITHIN, serve(&self.client)).await;
            let unserved = |_| Error("the API server does not serve the CRDs that it accepted".to_owned());
            served.map_err(unserved)??;
        }
        if matches!(self.kind, Kind::Existing { .. }) {
            let metadata = ObjectMeta { name: Some(self.namespace.clone()), ..ObjectMeta::default() };
            let namespace = Namespace { metadata, ..Namespace::default() };
            Api::all(self.client.clone()).create(&PostParams::default(), &namespace).await?;
        }
        Ok(())
    }

    /// Returns a shell command to run first, if one is needed, and the words with which each kubectl command begins.
    pub(super) fn kubectl(&self) -> (Option<String>, String) {
        match &self.kind {
            Kind::Own { cluster, kubectl } => {
                let command = if is_in_path("kubectl") { "kubectl".to_owned() } else { quoted(kubectl) };
                (Some(format!("export KUBECONFIG={}", quoted(cluster.kubeconfig_path()))), command)
            }
            Kind::Existing { .. } => (None, format!("kubectl{}", self.options())),
        }
    }

    /// Returns the options with which kubectl and this program select the cluster and the namespace, each after a blank.
    pub(super) fn options(&self) -> String {
        match &self.kind {
            Kind::Own { .. } => String::new(),
            Kind::Existing { context } => {
                format!(" --context {} --namespace {}", quoted(context), self.namespace)
            }
        }
    }

    /// Removes everything that the demo created, and returns a message. In an existing cluster the operator must still
    /// run, because it undeploys.
    pub(super) async fn clean_up(self) -> Result<String, Error> {
        let Self { client, namespace, kind, .. } = self;
        match kind {
            Kind::Own { cluster, .. } => {
                cluster.stop().await?;
                Ok("Cleaned up: no process and no folder remains".to_owned())
            }
            Kind::Existing { .. } => {
                let left = || {
                    Error(format!(
                        "the namespace {namespace} still exists; `kubectl get connect --namespace {namespace}` shows what \
                         blocks its deletion"
                    ))
                };
                let clock = Clock::system();
                tokio::select! {
                    removed = remove(&client, &namespace) => removed?,
                    () = clock.sleep(CLEAN_WITHIN) => return Err(left()),
                    // The user interrupts a second time.
                    () = crate::cli::asked_to_end() => return Err(left()),
                }
                Ok(format!("Cleaned up: the namespace {namespace} was deleted"))
            }
        }
    }
}

/// Applies the CRDs, and waits until their objects can be listed.
async fn serve(client: &Client) -> Result<(), kube::Error> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let parameters = PatchParams::apply(names::FIELD_MANAGER);
    for definition in crd::all() {
        definitions.patch(&definition.name_any(), &parameters, &Patch::Apply(&definition)).await?;
    }
    for kind in crd::resources() {
        let objects: Api<DynamicObject> = Api::all_with(client.clone(), &kind);
        while is_missing(&objects.list(&ListParams::default().limit(1)).await) {
            Clock::system().sleep(PAUSE).await;
        }
    }
    Ok(())
}

fn is_missing<T>(answer: &Result<T, kube::Error>) -> bool {
    matches!(answer, Err(kube::Error::Api(status)) if status.code == 404)
}

/// Deletes every object with a finalizer, those that reference others first, then the namespace, and waits until each is
/// gone. The namespace alone would also delete the credentials and their copy, without which nothing is undeployed.
async fn remove(client: &Client, namespace: &str) -> Result<(), kube::Error> {
    for kind in [
        ApiResource::erase::<ActionCheck>(&()),
        ApiResource::erase::<ConnectorDeployment>(&()),
        ApiResource::erase::<ConnectorStaged>(&()),
        ApiResource::erase::<ConnectProject>(&()),
    ] {
        let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
        let deleted = objects.delete_collection(&DeleteParams::default(), &ListParams::default()).await;
        if is_missing(&deleted) {
            // The CRD of this kind does not exist yet.
            continue;
        }
        deleted?;
        while !objects.list_metadata(&ListParams::default()).await?.items.is_empty() {
            Clock::system().sleep(PAUSE).await;
        }
    }
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let deleted = namespaces.delete(namespace, &DeleteParams::default()).await;
    if !is_missing(&deleted) {
        deleted?;
    }
    while namespaces.get_metadata_opt(namespace).await?.is_some() {
        Clock::system().sleep(PAUSE).await;
    }
    Ok(())
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
