//! Secrets and ConfigMaps before and after applying.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::Api;
use serde_json::Value;

use super::ProjectedCluster;
use crate::controllers::connector_deployment::desired::Contents;
use crate::controllers::connector_deployment::observe::{of_config_map, of_secret};
use crate::controllers::context::content_cache::Content;
use crate::controllers::objects::secret;
use crate::controllers::references::{Named, Reference};
use crate::controllers::reporting::conditions::ConditionUpdate;

impl ProjectedCluster {
    /// Returns whether a Secret is among the manifests.
    pub(super) fn contains_secret(&self, namespace: &str, name: &str) -> bool {
        self.objects.contains_key(&(namespace.to_owned(), (Named::Secret, name.to_owned())))
    }

    /// Returns a Secret after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(in crate::cli::plan) async fn secret(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Result<Option<Secret>, ConditionUpdate>, kube::Error> {
        match self.objects.get(&(namespace.to_owned(), (Named::Secret, name.to_owned()))) {
            Some(value) => {
                let written: Option<Secret> = serde_json::from_value(value.clone()).ok();
                Ok(written.map(|secret| self.secrets.check(&secret).map(|()| secret)).transpose())
            }
            None => secret::named(&self.client, &self.secrets, namespace, name).await,
        }
    }

    /// Returns the objects from which a spec takes values, before applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(in crate::cli::plan) async fn contents_before(
        &self,
        namespace: &str,
        named: &BTreeSet<Reference>,
    ) -> Result<Contents, kube::Error> {
        let config_maps = Api::<ConfigMap>::namespaced(self.client.clone(), namespace);
        let mut contents = Contents::new();
        for reference in named {
            let found = match reference.0 {
                Named::Secret => {
                    let found = secret::named(&self.client, &self.secrets, namespace, &reference.1).await?;
                    found.map(|found| found.map(of_secret))
                }
                Named::ConfigMap => Ok(config_maps.get_opt(&reference.1).await?.map(of_config_map)),
                Named::Project | Named::ClusterProject | Named::Deployment | Named::Staged | Named::Check => Ok(None),
            };
            contents.extend(found.transpose().map(|found| (reference.clone(), found)));
        }
        Ok(contents)
    }

    /// Returns the same objects after applying.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(in crate::cli::plan) async fn contents_after(
        &self,
        namespace: &str,
        named: &BTreeSet<Reference>,
    ) -> Result<Contents, kube::Error> {
        let written = |reference: &Reference| {
            let value = self.objects.get(&(namespace.to_owned(), reference.clone()))?;
            self.content(reference.0, value.clone())
        };
        let (here, there): (BTreeSet<Reference>, BTreeSet<Reference>) =
            named.iter().cloned().partition(|reference| written(reference).is_some());
        let mut contents = self.contents_before(namespace, &there).await?;
        contents.extend(here.into_iter().filter_map(|reference| Some((reference.clone(), written(&reference)?))));
        Ok(contents)
    }

    /// Returns the content of an applied object, if it may be used.
    fn content(&self, kind: Named, value: Value) -> Option<Result<Content, ConditionUpdate>> {
        if kind == Named::Secret {
            let secret: Secret = serde_json::from_value(value).ok()?;
            return Some(self.secrets.check(&secret).map(|()| of_secret(secret)));
        }
        content(kind, value).ok().map(Ok)
    }
}

/// Reads the content of a Secret or ConfigMap; the error does not quote it.
pub(super) fn content(kind: Named, value: Value) -> Result<Content, String> {
    let read = match kind {
        Named::Secret => serde_json::from_value(value).map(of_secret),
        _ => serde_json::from_value(value).map(of_config_map),
    };
    read.map_err(|_| "its data are invalid".to_owned())
}
