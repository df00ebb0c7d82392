//! Real clusters: a shared one, with own namespaces for each part, and fresh ones.

use std::sync::Arc;

use connect_operator::crd;
use connect_operator::names;
use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::{conditions, wait};
use kube::{Api, Client, ResourceExt};
use local_control_plane::{Assets, LocalCluster, Options};
use tokio::sync::OnceCell;

/// Returns the cluster of all parts that need none of their own; it ends with this process.
pub(crate) async fn shared() -> Arc<LocalCluster> {
    static SHARED: OnceCell<Arc<LocalCluster>> = OnceCell::const_new();
    SHARED.get_or_init(fresh).await.clone()
}

/// Starts a cluster with nothing in it but the CRDs.
pub(crate) async fn fresh() -> Arc<LocalCluster> {
    let assets = Assets::find_or_build(|step| eprintln!("{step}")).await.expect("etcd and kube-apiserver");
    let options = Options::new(assets, env!("CARGO_BIN_EXE_connect-operator").into());
    let cluster = LocalCluster::start(options).await.expect("a local cluster");
    let definitions: Api<CustomResourceDefinition> = Api::all(cluster.client().unwrap());
    for crd in crd::all() {
        let name = crd.name_any();
        definitions.patch(&name, &PatchParams::apply(names::FIELD_MANAGER), &Patch::Apply(&crd)).await.unwrap();
        wait::await_condition(definitions.clone(), &name, conditions::is_crd_established()).await.unwrap();
    }
    Arc::new(cluster)
}

pub(crate) async fn make_namespace(client: &Client, name: &str) {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    let namespace = Namespace { metadata, ..Namespace::default() };
    Api::all(client.clone()).create(&PostParams::default(), &namespace).await.unwrap();
}
