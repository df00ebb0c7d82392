//! Deletes a namespace with everything in it, as kube-controller-manager does, which a local cluster does not have:
//! kind after kind, in any order, and the namespace itself once it is empty.

use crate::prelude::*;

/// A kind of object that a shop has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Secrets,
    ConfigMaps,
    Projects,
    Deployments,
    Events,
}

/// The hardest order for the operator: credentials and values are deleted first.
pub(crate) const SECRETS_FIRST: [Content; 5] =
    [Content::Secrets, Content::ConfigMaps, Content::Projects, Content::Deployments, Content::Events];

impl Shop {
    /// `kubectl delete namespace`: from here on the API server accepts no new object in it.
    pub(crate) async fn begin_to_end(&self) {
        let namespaces = Api::<Namespace>::all(self.sandbox.client.clone());
        namespaces.delete(&self.sandbox.namespace, &DeleteParams::default()).await.unwrap();
        let namespace = namespaces.get(&self.sandbox.namespace).await.unwrap();
        assert_eq!(namespace.status.and_then(|status| status.phase).as_deref(), Some("Terminating"));
    }

    /// Deletes all objects of these kinds, one kind after the other.
    pub(crate) async fn delete_all(&self, kinds: &[Content]) {
        let (delete, all) = (DeleteParams::default(), ListParams::default());
        for kind in kinds {
            match kind {
                Content::Secrets => {
                    self.api::<Secret>().delete_collection(&delete, &all).await.unwrap();
                }
                Content::ConfigMaps => {
                    self.api::<ConfigMap>().delete_collection(&delete, &all).await.unwrap();
                }
                Content::Projects => {
                    self.api::<ConnectProject>().delete_collection(&delete, &all).await.unwrap();
                }
                Content::Deployments => {
                    self.api::<ConnectorDeployment>().delete_collection(&delete, &all).await.unwrap();
                }
                Content::Events => {
                    self.api::<Event>().delete_collection(&delete, &all).await.unwrap();
                }
            }
        }
    }

    /// Names of the operator's objects that remain in the namespace.
    pub(crate) async fn left(&self) -> Vec<String> {
        let projects = self.api::<ConnectProject>().list_metadata(&ListParams::default()).await.unwrap();
        let deployments = self.api::<ConnectorDeployment>().list_metadata(&ListParams::default()).await.unwrap();
        let names = projects.items.into_iter().map(|object| object.metadata);
        let names = names.chain(deployments.items.into_iter().map(|object| object.metadata));
        names.filter_map(|metadata| metadata.name).collect()
    }

    /// Returns once the operator has removed all its finalizers and the namespace is deleted.
    pub(crate) async fn until_ended(&self) {
        until("no object of the operator is left", async || self.left().await.is_empty()).await;
        // Objects that were created between the kinds are deleted in a second round, as the real controller does it.
        self.delete_all(&SECRETS_FIRST).await;
        let namespaces = Api::<Namespace>::all(self.sandbox.client.clone());
        let mut namespace = namespaces.get(&self.sandbox.namespace).await.unwrap();
        namespace.spec.get_or_insert_default().finalizers = None;
        let name = &self.sandbox.namespace;
        let _: Namespace =
            namespaces.replace_subresource("finalize", name, &PostParams::default(), &namespace).await.unwrap();
        assert!(namespaces.get_opt(name).await.unwrap().is_none(), "the namespace is gone");
    }

    /// All copies of credentials of projects in this namespace, wherever they are stored.
    pub(crate) async fn copies(&self) -> Vec<Secret> {
        let of_this = format!("connect-operator.io/project-namespace={}", self.sandbox.namespace);
        let operators = Api::<Secret>::namespaced(self.sandbox.client.clone(), &self.operator_namespace);
        operators.list(&ListParams::default().labels(&of_this)).await.unwrap().items
    }
}
