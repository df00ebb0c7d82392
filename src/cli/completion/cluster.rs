//! Completion candidates from the cluster. The user waits for them after a key press, so the timeout is short; without a
//! cluster or the permission to list, there are no candidates and no message.

use std::time::Duration;

use clap_complete::engine::CompletionCandidate;
use clock::Clock;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, ObjectList, PartialObjectMeta};
use kube::config::Kubeconfig;
use kube::{Api, Client, Resource, ResourceExt as _};

use crate::cli::cluster::{ClusterOptions, Connection};
use crate::cli::resources::ResourceType;
use crate::crd::{ConnectorDeployment, ConnectorStaged};

/// Maximum wait after a key press.
const PATIENCE: Duration = Duration::from_secs(2);
/// Maximum number of candidates: nobody reads more.
pub(in crate::cli) const MOST: u32 = 500;
/// The options that select a project at the remote and how it is called, each with its names.
const PROJECT: [&[&str]; 9] = [
    &["--project"],
    &["--operator-namespace"],
    &["--allowed-api-hosts"],
    &["--ca-file"],
    &["-n", "--namespace"],
    &["--context"],
    &["--kubeconfig"],
    &["--as"],
    &["--as-group"],
];

/// Returns the namespaces.
pub(in crate::cli) fn namespaces() -> Vec<CompletionCandidate> {
    asked(async |client, _| Ok(named(Api::<Namespace>::all(client).list_metadata(&most()).await?)))
}

/// Returns the `ConnectProject`s of the selected namespace, and `clusterproject/NAME` for each `ClusterConnectProject`.
pub(in crate::cli) fn projects() -> Vec<CompletionCandidate> {
    let all = resources(&[ResourceType::Project, ResourceType::ClusterProject]);
    let project = format!("{}/", ResourceType::Project.alias());
    all.into_iter().filter(|it| !it.get_value().to_string_lossy().starts_with(&project)).collect()
}

/// Returns the contexts of the kubeconfig.
pub(in crate::cli) fn contexts() -> Vec<CompletionCandidate> {
    let place = place_among(&words());
    let read = place.connection.kubeconfig.map_or_else(Kubeconfig::read, Kubeconfig::read_from);
    let contexts = read.map(|kubeconfig| kubeconfig.contexts).unwrap_or_default();
    contexts.into_iter().map(|context| CompletionCandidate::new(context.name)).collect()
}

/// Returns `TYPE/NAME` for each resource of these types in the selected namespace, and the bare names of the first type.
pub(in crate::cli) fn resources(types: &'static [ResourceType]) -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let mut found = Vec::new();
        for (at, resource_type) in types.iter().enumerate() {
            // The user may not be allowed to list each of them.
            let Ok(listed) = resource_type.api(client.clone(), &namespace).list_metadata(&most()).await else {
                continue;
            };
            let names = named(listed);
            found.extend(names.iter().map(|name| format!("{}/{name}", resource_type.alias())));
            if at == 0 {
                found.extend(names);
            }
        }
        Ok(found)
    })
}

/// Returns the keys of the remote deployments that the `ConnectorDeployment`s of the selected namespace manage.
pub(in crate::cli) fn keys() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let all = Api::<ConnectorDeployment>::namespaced(client, &namespace).list(&most()).await?;
        Ok(all.items.into_iter().filter_map(|object| object.status?.key).collect())
    })
}

/// Returns these keys, and `deployment/NAME` for each `ConnectorDeployment` of the selected namespace.
pub(in crate::cli) fn deployments() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let all = Api::<ConnectorDeployment>::namespaced(client, &namespace).list(&most()).await?;
        Ok(with_names(ResourceType::Deployment, all, |object| object.status?.key))
    })
}

/// Returns the keys of the connectors that the selected namespace names in a deployment, or stages. The user may not be
/// allowed to list each of them.
pub(in crate::cli) fn connector_keys() -> Vec<String> {
    let found = within(async {
        let (client, namespace) = place_among(&words()).client().await.ok()?;
        let deployed = Api::<ConnectorDeployment>::namespaced(client.clone(), &namespace);
        let most = most();
        let (deployed, staged) = futures::join!(deployed.list(&most), all_staged(client, &namespace));
        let deployed = deployed.into_iter().flat_map(|list| list.items).filter_map(|object| object.spec.connector.key);
        let staged = staged.into_iter().flat_map(|list| list.items).map(|object| object.spec.key);
        Some(deployed.chain(staged).collect())
    });
    found.unwrap_or_default()
}

/// Returns the keys of the staged connectors that the `ConnectorStaged`s of the selected namespace manage, and
/// `staged/NAME` for each of these.
pub(in crate::cli) fn staged() -> Vec<CompletionCandidate> {
    asked(async |client, namespace| {
        let all = all_staged(client, &namespace).await?;
        Ok(with_names(ResourceType::Staged, all, |object| Some(object.spec.key)))
    })
}

/// Returns the keys of these resources, and `TYPE/NAME` for each, unless a project is given, which such a resource names
/// itself.
fn with_names<K: Clone + Resource>(
    resource_type: ResourceType,
    all: ObjectList<K>,
    key: impl Fn(K) -> Option<String>,
) -> Vec<String> {
    let names: Vec<String> = if value(&words(), PROJECT[0]).is_some() {
        Vec::new()
    } else {
        all.items.iter().map(|object| format!("{}/{}", resource_type.alias(), object.name_any())).collect()
    };
    all.items.into_iter().filter_map(key).chain(names).collect()
}

async fn all_staged(client: Client, namespace: &str) -> Result<ObjectList<ConnectorStaged>, kube::Error> {
    Api::namespaced(client, namespace).list(&most()).await
}

fn most() -> ListParams {
    ListParams::default().limit(MOST)
}

fn named<K: Clone>(list: ObjectList<PartialObjectMeta<K>>) -> Vec<String>
where
    PartialObjectMeta<K>: Resource,
{
    list.items.into_iter().map(|object| object.name_any()).collect()
}

/// Returns what the cluster answers within [`PATIENCE`].
fn asked(question: impl AsyncFnOnce(Client, String) -> Result<Vec<String>, kube::Error>) -> Vec<CompletionCandidate> {
    let found = within(async {
        let (client, namespace) = place_among(&words()).client().await.ok()?;
        question(client, namespace).await.ok()
    });
    found.unwrap_or_default().into_iter().map(CompletionCandidate::new).collect()
}

/// Returns what a lookup finds within [`PATIENCE`].
pub(in crate::cli) fn within<T>(lookup: impl Future<Output = Option<T>>) -> Option<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().ok()?;
    let clock = Clock::system();
    let found = runtime.block_on(async {
        tokio::select! {
            found = lookup => found,
            () = clock.sleep(PATIENCE) => None,
        }
    });
    // Otherwise dropping the runtime would wait for a pending DNS lookup.
    runtime.shutdown_background();
    found
}

/// Returns the words on the command line so far.
pub(in crate::cli) fn words() -> Vec<String> {
    std::env::args_os().skip(1).filter_map(|word| word.into_string().ok()).collect()
}

/// Returns the options among the words that select a project, each as `--NAME=VALUE`.
pub(in crate::cli) fn project_among(words: &[String]) -> Vec<String> {
    let options = PROJECT.iter().filter_map(|names| Some(format!("{}={}", names.last()?, value(words, names)?)));
    options.collect()
}

/// Returns the value of the option with these names.
fn value(words: &[String], names: &[&str]) -> Option<String> {
    let after = words.windows(2).filter(|pair| names.contains(&pair[0].as_str())).map(|pair| pair[1].clone());
    let within = words.iter().filter_map(|word| {
        let (name, value) = word.split_once('=')?;
        names.contains(&name).then(|| value.to_owned())
    });
    let joined = words.iter().filter_map(|word| names.iter().find_map(|name| joined(word, name)));
    after.chain(within).chain(joined).find(|value| !value.is_empty() && !value.starts_with('-'))
}

/// Returns the cluster and namespace that the words select.
fn place_among(words: &[String]) -> ClusterOptions {
    let value = |names: &[&str]| value(words, names);
    let connection = Connection {
        context: value(&["--context"]),
        kubeconfig: value(&["--kubeconfig"]).map(Into::into),
        user: value(&["--as"]),
        groups: value(&["--as-group"]).into_iter().collect(),
    };
    ClusterOptions { namespace: value(&["-n", "--namespace"]), connection }
}

/// Returns the value that is joined to a short option, as in `-nshop`.
fn joined(word: &str, name: &str) -> Option<String> {
    let short = name.len() == 2 && !word.contains('=');
    word.strip_prefix(name).filter(|_| short).map(ToOwned::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cluster_and_namespace_are_read_from_the_words() {
        for (case, words, namespace, context) in [
            ("none", "wait deployment/", None, None),
            ("short", "wait -n shop deployment/", Some("shop"), None),
            ("long", "wait deployment/ --namespace shop --context test", Some("shop"), Some("test")),
            ("before the command", "--context test -n shop wait", Some("shop"), Some("test")),
            ("joined", "wait -nshop deployment/", Some("shop"), None),
            ("in one word", "wait --namespace=shop --context=test", Some("shop"), Some("test")),
            ("flag without a value", "wait --namespace --timeout 5s", None, None),
        ] {
            let place = place_among(&words.split(' ').map(ToOwned::to_owned).collect::<Vec<_>>());
            let found = (place.namespace.as_deref(), place.connection.context.as_deref());
            assert_eq!(found, (namespace, context), "{case}");
        }
    }

    #[test]
    fn the_options_of_a_project_are_read_from_the_words() {
        for (case, words, expected) in [
            ("none", "scaffold dem", &[][..]),
            ("a project", "scaffold dem --project shop -n team", &["--project=shop", "--namespace=team"]),
            (
                "hosts",
                "scaffold --allowed-api-hosts=a,b --ca-file ca.pem",
                &["--allowed-api-hosts=a,b", "--ca-file=ca.pem"],
            ),
            ("another option", "connectors get --output json dem", &[]),
        ] {
            let words: Vec<String> = words.split(' ').map(ToOwned::to_owned).collect();
            assert_eq!(project_among(&words), expected, "{case}");
        }
    }
}
