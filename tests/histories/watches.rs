//! The watches of one operator.

use connect_operator::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorStaged};
use connect_operator::operator::object_ref::Kind as ObjectKind;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Secret};
use kube::core::PartialObjectMeta;

use crate::informer::{Informer, Names};
use crate::prelude::*;

/// A watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Watch {
    Of(Kind),
}

/// All of them.
pub(crate) struct Watches {
    pub(crate) deployments: Informer<ConnectorDeployment>,
    pub(crate) staged: Informer<ConnectorStaged>,
    pub(crate) checks: Informer<ActionCheck>,
    pub(crate) projects: Informer<ConnectProject>,
    pub(crate) shared: Informer<ClusterConnectProject>,
    namespaces: Names<PartialObjectMeta<Namespace>>,
    secrets: Names<Secret>,
    config_maps: Names<ConfigMap>,
    /// Whether shared projects and the labels of namespaces are watched.
    has_shared: bool,
}

impl Watches {
    pub(crate) fn new(has_shared: bool) -> Self {
        Self {
            deployments: Informer::new(Kind::Deployment),
            staged: Informer::new(Kind::Staged),
            checks: Informer::new(Kind::Check),
            projects: Informer::new(Kind::Project),
            shared: Informer::new(Kind::ClusterProject),
            namespaces: Names::new(Kind::Namespace),
            secrets: Names::new(Kind::Secret),
            config_maps: Names::new(Kind::ConfigMap),
            has_shared,
        }
    }

    /// Begins a new list on every watch, as of a version.
    pub(crate) fn list(&mut self, context: &Context, cluster: &Cluster, version: u64) {
        self.projects.list(context, cluster, version);
        self.deployments.list(context, cluster, version);
        self.staged.list(context, cluster, version);
        self.checks.list(context, cluster, version);
        self.secrets.list(context, cluster, version);
        self.config_maps.list(context, cluster, version);
        if self.has_shared {
            self.shared.list(context, cluster, version);
            self.namespaces.list(context, cluster, version);
        }
    }

    /// Disconnects all of them: no event arrives until the next list.
    pub(crate) fn cut(&mut self) {
        self.deployments.cut();
        self.staged.cut();
        self.checks.cut();
        self.projects.cut();
        self.shared.cut();
        self.namespaces.cut();
        self.secrets.cut();
        self.config_maps.cut();
    }

    /// Returns the uid and the version of an object, as the watches have shown it.
    pub(crate) fn get(&self, object_ref: &ObjectRef) -> Option<(String, String)> {
        match object_ref.kind {
            ObjectKind::Deployment => self.deployments.get(object_ref),
            ObjectKind::Staged => self.staged.get(object_ref),
            ObjectKind::Project => self.projects.get(object_ref),
            ObjectKind::Check => self.checks.get(object_ref),
            ObjectKind::ClusterProject => self.shared.get(object_ref),
        }
    }

    /// Whether reconciles of a kind may start.
    pub(crate) fn is_ready(&self, kind: ObjectKind) -> bool {
        match kind {
            ObjectKind::Deployment => self.deployments.is_ready(),
            ObjectKind::Staged => self.staged.is_ready(),
            ObjectKind::Project => self.projects.is_ready(),
            ObjectKind::Check => self.checks.is_ready(),
            ObjectKind::ClusterProject => self.shared.is_ready(),
        }
    }

    /// Returns the watches that have something to deliver.
    pub(crate) fn waiting(&self, cluster: &Cluster) -> impl Iterator<Item = Watch> {
        let waits = [
            (Watch::Of(Kind::Project), self.projects.waits(cluster)),
            (Watch::Of(Kind::Deployment), self.deployments.waits(cluster)),
            (Watch::Of(Kind::Staged), self.staged.waits(cluster)),
            (Watch::Of(Kind::Secret), self.secrets.waits(cluster)),
            (Watch::Of(Kind::ConfigMap), self.config_maps.waits(cluster)),
            (Watch::Of(Kind::Check), self.checks.waits(cluster)),
            (Watch::Of(Kind::ClusterProject), self.shared.waits(cluster)),
            (Watch::Of(Kind::Namespace), self.namespaces.waits(cluster)),
        ];
        waits.into_iter().filter(|(_, waits)| *waits).map(|(watch, _)| watch)
    }

    /// Delivers the next event of a watch.
    pub(crate) fn deliver(&mut self, watch: Watch, context: &Context, cluster: &Cluster) {
        match watch {
            Watch::Of(Kind::Project) => self.projects.deliver(context, cluster),
            Watch::Of(Kind::Deployment) => self.deployments.deliver(context, cluster),
            Watch::Of(Kind::Staged) => self.staged.deliver(context, cluster),
            Watch::Of(Kind::Check) => self.checks.deliver(context, cluster),
            Watch::Of(Kind::Secret) => self.secrets.deliver(context, cluster),
            Watch::Of(Kind::ConfigMap) => self.config_maps.deliver(context, cluster),
            Watch::Of(Kind::ClusterProject) => self.shared.deliver(context, cluster),
            Watch::Of(Kind::Namespace) => self.namespaces.deliver(context, cluster),
        }
    }

    /// Whether what was delivered shows that a namespace may not use the shared project. False while a list is delivered.
    pub(crate) fn denies(&self, cluster: &Cluster, namespace: &str) -> bool {
        let versions = self.shared.delivered().zip(self.namespaces.delivered());
        versions.is_some_and(|versions| sharing::denies(cluster, versions, namespace))
    }

    /// Returns what the stores have of all objects: a hash of what users can change of each.
    pub(crate) fn state(&self) -> impl Iterator<Item = (ObjectRef, u64)> {
        let all = self.deployments.state().chain(self.staged.state()).chain(self.projects.state());
        all.chain(self.checks.state()).chain(self.shared.state())
    }
}
