//! Completion candidates from the cluster. The user waits for them after a key press, so the timeout is short; without
//! a cluster or the permission to list, there are no candidates and no message.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use clock::Clock;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, ObjectList, PartialObjectMeta};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};

use crate::crd::{ConnectProject, Connector, ConnectorDeployment, ConnectorStaged};

/// Maximum wait after a key press.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of candidates: nobody reads more.
const MOST: u32 = 500;

/// Returns the namespaces.
pub(in crate::cli) fn namespaces() -> Vec<CompletionCandidate> {
    asked(async |client, _| Ok(named(Api::<Namespace>::all(client).list_metadata(&most()).await?)))
}

/// Returns the `ConnectProject`s of the selected namespace.
pub(in crate::cli) fn projects() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| named_in::<ConnectProject>(client, &namespace).await)
}

/// Returns `deployment/NAME` and `staged/NAME` for each such resource of the selected namespace.
pub(in crate::cli) fn resources() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let (deployments, staged) = futures::join!(
            named_in::<ConnectorDeployment>(client.clone(), &namespace),
            named_in::<ConnectorStaged>(client, &namespace)
        );
        // The user may not be allowed to list each of them.
        let deployments = deployments.into_iter().flatten().map(|name| format!("deployment/{name}"));
        Ok(deployments.chain(staged.into_iter().flatten().map(|name| format!("staged/{name}"))).collect())
    })
}

/// Returns the keys of the remote deployments that the `ConnectorDeployment`s of the selected namespace manage.
pub(in crate::cli) fn keys() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let all = Api::<ConnectorDeployment>::namespaced(client, &namespace).list(&most()).await?;
        Ok(all.items.into_iter().filter_map(|object| object.status?.key).collect())
    })
}

/// Returns the keys of the connectors that the selected namespace mirrors, names in a deployment, or stages.
pub(in crate::cli) fn connectors() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let mirrored = Api::<Connector>::namespaced(client.clone(), &namespace);
        let deployed = Api::<ConnectorDeployment>::namespaced(client.clone(), &namespace);
        let most = most();
        let (mirrored, deployed, staged) =
            futures::join!(mirrored.list(&most), deployed.list(&most), staged_keys(client, &namespace));
        // The user may not be allowed to list each of them.
        let mirrored = mirrored.into_iter().flat_map(|list| list.items).filter_map(|object| object.status?.key);
        let deployed = deployed.into_iter().flat_map(|list| list.items).filter_map(|object| object.spec.connector.key);
        let keys: BTreeSet<String> = mirrored.chain(deployed).chain(staged.into_iter().flatten()).collect();
        Ok(keys.into_iter().collect())
    })
}

/// Returns the keys of the staged connectors that the `ConnectorStaged`s of the selected namespace manage.
pub(in crate::cli) fn staged() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| staged_keys(client, &namespace).await)
}

async fn staged_keys(client: Client, namespace: &str) -> Result<Vec<String>, kube::Error> {
    let all = Api::<ConnectorStaged>::namespaced(client, namespace).list(&most()).await?;
    Ok(all.items.into_iter().map(|object| object.spec.key).collect())
}

fn most() -> ListParams {
    ListParams::default().limit(MOST)
}

async fn named_in<K>(client: Client, namespace: &str) -> Result<Vec<String>, kube::Error>
where
    K: Resource<Scope = NamespaceResourceScope, DynamicType = ()>
        + Clone
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    Ok(named(Api::<K>::namespaced(client, namespace).list_metadata(&most()).await?))
}

fn named<K: Clone>(list: ObjectList<PartialObjectMeta<K>>) -> Vec<String>
where
    PartialObjectMeta<K>: Resource,
{
    list.items.into_iter().map(|object| object.name_any()).collect()
}

/// Returns what the cluster answers within [`PATIENCE`].
fn asked(question: impl AsyncFnOnce(Client, String) -> Result<Vec<String>, kube::Error>) -> Vec<CompletionCandidate> {
    let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return Vec::new() };
    let clock = Clock::system();
    let found = runtime.block_on(async {
        let answer = async {
            let namespace = namespace_among(std::env::args_os().skip(1));
            let (client, namespace) = crate::cli::cluster(namespace.as_deref()).await.ok()?;
            question(client, namespace).await.ok()
        };
        tokio::select! {
            found = answer => found,
            () = clock.sleep(PATIENCE) => None,
        }
    });
    // Otherwise dropping the runtime would wait for a pending DNS lookup.
    runtime.shutdown_background();
    found.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// Returns the namespace that the words on the command line so far select.
fn namespace_among(words: impl Iterator<Item = OsString>) -> Option<String> {
    let words: Vec<String> = words.filter_map(|word| word.into_string().ok()).collect();
    let after = words.windows(2).filter(|pair| pair[0] == "-n" || pair[0] == "--namespace").map(|pair| pair[1].clone());
    let within = words.iter().filter_map(|word| word.strip_prefix("--namespace=").or(word.strip_prefix("-n=")));
    after.chain(within.map(ToOwned::to_owned)).find(|name| !name.is_empty() && !name.starts_with('-'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_is_read_from_the_words() {
        for (case, words, expected) in [
            ("none", "wait deployment/", None),
            ("short", "wait -n shop deployment/", Some("shop")),
            ("long", "wait deployment/ --namespace shop", Some("shop")),
            ("in one word", "wait --namespace=shop", Some("shop")),
            ("flag without a value", "wait --namespace --timeout 5s", None),
        ] {
            let words = words.split(' ').map(OsString::from);
            assert_eq!(namespace_among(words).as_deref(), expected, "{case}");
        }
    }
}
