//! A namespace is deleted with everything in it, Secrets first, while the operator is killed and restarted. There is no
//! namespace controller here, so the test does its work.

use std::time::Duration;

use connect_operator::crd::{ConnectProject, ConnectorDeployment};
use dev_server::Options;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::{Api, ResourceExt};

use crate::patience::in_time;
use crate::storm::checker::Report;
use crate::storm::environment::{DIGEST_KEY, Environment, PROJECT};
use crate::storm::size::{self, pick};
use crate::watching::awaited;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn deleting_a_namespace_undeploys_its_deployments() {
    let (resources, kills) = pick((8, 3), (50, 20));
    let options = Options { deploy_duration: Duration::from_secs(2), ..Options::default() };
    let mut env = Environment::open("namespace", options).await;
    let operator = env.operator().now();
    for number in 0..resources {
        env.create(&format!("tax-{number}")).await;
    }
    env.create_taken().await;
    Report::must_settle(&env).await;

    let mut chance = size::chance("namespace", "killer");
    let storm = operator.kill_repeatedly(kills, Duration::from_secs(5), &mut chance);
    let (operator, ()) = tokio::join!(storm, end(&env));
    Report::at_the_end(&env, &[], vec![operator], &[("kills", u64::from(kills))]).await;
}

/// Deletes the namespace with everything in it; returns once it does not exist any more, or nothing more happens.
async fn end(env: &Environment) {
    let namespaces = Api::<Namespace>::all(env.client.clone());
    for name in env.requested.wanted() {
        env.requested.note(&name, |asked| asked.wanted = false);
    }
    namespaces.delete(env.part, &DeleteParams::default()).await.unwrap();
    let (how, all) = (DeleteParams::default(), ListParams::default());
    env.api::<Secret>().delete_collection(&how, &all).await.unwrap();
    env.api::<ConnectProject>().delete_collection(&how, &all).await.unwrap();
    env.api::<ConnectorDeployment>().delete_collection(&how, &all).await.unwrap();
    Report::must_settle(env).await;
    let no_project = |project: Option<&ConnectProject>| project.is_none();
    let gone = awaited(env.api::<ConnectProject>(), PROJECT, no_project);
    let gone = in_time(gone).await;
    assert!(gone.is_ok(), "the project is deleted once nothing uses it any more");

    let mut namespace = namespaces.get(env.part).await.unwrap();
    namespace.spec.get_or_insert_default().finalizers = None;
    let _: Namespace =
        namespaces.replace_subresource("finalize", env.part, &PostParams::default(), &namespace).await.unwrap();
    let left = Api::<Secret>::namespaced(env.client.clone(), &env.home()).list(&all).await.unwrap();
    let left: Vec<_> = left.items.iter().map(ResourceExt::name_any).collect();
    assert_eq!(left, [DIGEST_KEY], "no copy of the credentials is left");
}
