//! Names of the cluster that may follow. Whoever presses a key waits for them, so the time is short, and where there is no
//! cluster, or no right to look, there is nothing to choose from and nothing said.

use std::ffi::OsString;
use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use clock::Clock;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, ObjectList, PartialObjectMeta};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Resource, ResourceExt as _};

use crate::crd::{ConnectProject, ConnectorDeployment};

/// Longest time that a key press waits.
const PATIENCE: Duration = Duration::from_secs(2);
/// Most names that are offered: nobody reads more.
const MOST: u32 = 500;

/// Namespaces.
pub(in crate::cli) fn namespaces() -> Vec<CompletionCandidate> {
    asked(async |client, _| Ok(named(Api::<Namespace>::all(client).list_metadata(&most()).await?)))
}

/// `ConnectProject`s of the namespace that is meant.
pub(in crate::cli) fn projects() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| named_in::<ConnectProject>(client, &namespace).await)
}

/// `deployment/NAME` for each `ConnectorDeployment` of the namespace that is meant.
pub(in crate::cli) fn deployments() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let names = named_in::<ConnectorDeployment>(client, &namespace).await?;
        Ok(names.into_iter().map(|name| format!("deployment/{name}")).collect())
    })
}

/// Keys of the remote deployments that the `ConnectorDeployment`s of the namespace stand for.
pub(in crate::cli) fn keys() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let all = Api::<ConnectorDeployment>::namespaced(client, &namespace).list(&most()).await?;
        Ok(all.items.into_iter().filter_map(|object| object.status?.key).collect())
    })
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

/// What the cluster answers in time.
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
    // A name that is being resolved is waited for otherwise.
    runtime.shutdown_background();
    found.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// The namespace that stands among the words so far.
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
    fn the_namespace_that_is_meant_stands_among_the_words() {
        for (case, words, expected) in [
            ("none", "wait deployment/", None),
            ("short", "wait -n shop deployment/", Some("shop")),
            ("long", "wait deployment/ --namespace shop", Some("shop")),
            ("in one word", "wait --namespace=shop", Some("shop")),
            ("not yet", "wait --namespace --timeout 5s", None),
        ] {
            let words = words.split(' ').map(OsString::from);
            assert_eq!(namespace_among(words).as_deref(), expected, "{case}");
        }
    }
}
