//! Resources of the cluster that the manifests do not contain, but whose values, connector or project they change.

use std::collections::BTreeSet;

use k8s_openapi::NamespaceResourceScope;
use kube::{Resource, ResourceExt as _};
use serde::de::DeserializeOwned;

use super::{Planned, PlannedStaged, ProjectedCluster};
use crate::controllers::connector_deployment::value_from;
use crate::controllers::object_ref::ObjectRef;
use crate::controllers::references::Reference;
use crate::crd::{ConnectorDeployment, ConnectorStaged, ProjectKind, ProjectRef};

impl ProjectedCluster {
    /// Adds deployments and staged connectors of the cluster that are not among the manifests, but whose values,
    /// connector or project are.
    pub(super) async fn add_users(&mut self) -> Result<(), kube::Error> {
        for object in self.concerned::<ConnectorDeployment>().await? {
            let namespace = object.namespace().unwrap_or_default();
            let object_ref = ObjectRef::deployment(&namespace, &object.name_any());
            let names = |reference: Reference| self.objects.contains_key(&(namespace.clone(), reference));
            let staged = object.spec.connector.staged_ref.as_ref();
            let concerned = self.changes(&namespace, &object.spec.project_ref)
                || staged.is_some_and(|named| self.staged.contains_key(&ObjectRef::staged(&namespace, &named.name)))
                || value_from::references(&object.spec).into_iter().any(names);
            if concerned && !self.planned.contains_key(&object_ref) {
                let before = Some(object.clone());
                let planned = Planned { before, after: object, written: false, unchecked: None };
                self.planned.insert(object_ref, planned);
            }
        }
        for object in self.concerned::<ConnectorStaged>().await? {
            let namespace = object.namespace().unwrap_or_default();
            let object_ref = ObjectRef::staged(&namespace, &object.name_any());
            if self.changes(&namespace, &object.spec.project_ref) && !self.staged.contains_key(&object_ref) {
                self.staged.insert(object_ref, PlannedStaged { after: object, written: false });
            }
        }
        Ok(())
    }

    /// Returns whether the manifests change the project that a resource names, or who may use it.
    fn changes(&self, namespace: &str, reference: &ProjectRef) -> bool {
        let shared = reference.kind == ProjectKind::ClusterConnectProject;
        self.projects.contains_key(&ObjectRef::of_project(namespace, reference))
            || (shared && self.namespaces.contains_key(namespace))
    }

    /// Returns the objects of a kind in the namespaces of which the manifests change something; in all namespaces if they
    /// change a shared project.
    async fn concerned<K>(&mut self) -> Result<Vec<K>, kube::Error>
    where
        K: Resource<Scope = NamespaceResourceScope, DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned,
    {
        let mut touched: BTreeSet<String> = self.objects.keys().map(|(namespace, _)| namespace.clone()).collect();
        touched.extend(self.projects.keys().map(|project| project.namespace.clone()));
        touched.extend(self.staged.keys().map(|staged| staged.namespace.clone()));
        touched.extend(self.namespaces.keys().cloned());
        if touched.remove("") {
            if let Some(found) = self.list::<K>(None).await? {
                return Ok(found);
            }
            let kind = K::kind(&());
            self.notes.push(format!(
                "you may not list the {kind}s of all namespaces, so those of other namespaces that use the \
                 ClusterConnectProject are not planned"
            ));
            touched.extend(self.planned.keys().map(|planned| planned.namespace.clone()));
        }
        let mut all = Vec::new();
        for namespace in touched {
            match self.list::<K>(Some(&namespace)).await? {
                Some(found) => all.extend(found),
                None => self.notes.push(format!(
                    "you may not list the {}s of {namespace}, so those without a manifest here are not planned",
                    K::kind(&())
                )),
            }
        }
        Ok(all)
    }
}
