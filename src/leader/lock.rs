//! The Lease as an object of the cluster: reads it, and writes it with the version that was read. Decides nothing.

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use kube::api::{Api, ObjectMeta, PostParams};
use kube::{Client, Error};

use super::LeaseName;
use super::scope::Labels;
use crate::names;

/// The Lease of an install.
#[derive(Clone)]
pub(super) struct Lock {
    api: Api<Lease>,
    name: String,
    labels: Labels,
}

impl Lock {
    pub(super) fn new(client: Client, name: &LeaseName, labels: Labels) -> Self {
        let api = Api::namespaced(client, &name.namespace);
        Self { api, name: name.name.clone(), labels }
    }

    /// Reads the Lease; `None` if it does not exist.
    ///
    /// # Errors
    /// Errors of the API server.
    pub(super) async fn read(&self) -> Result<Option<Lease>, Error> {
        self.api.get_opt(&self.name).await
    }

    /// Creates the Lease.
    ///
    /// # Errors
    /// Errors of the API server; 409 if another process created it first.
    pub(super) async fn create(&self, spec: LeaseSpec) -> Result<Lease, Error> {
        let metadata =
            ObjectMeta { name: Some(self.name.clone()), labels: Some(self.labels.clone()), ..ObjectMeta::default() };
        self.api.create(&parameters(), &Lease { metadata, spec: Some(spec) }).await
    }

    /// Writes the record if the Lease is unchanged since it was read. Keeps other fields, labels and annotations.
    ///
    /// # Errors
    /// Errors of the API server; 409 if the Lease changed since it was read.
    pub(super) async fn replace(&self, read: &Lease, spec: LeaseSpec) -> Result<Lease, Error> {
        let mut lease = Lease { spec: Some(spec), ..read.clone() };
        lease.metadata.labels.get_or_insert_default().extend(self.labels.clone());
        self.api.replace(&self.name, &parameters(), &lease).await
    }
}

fn parameters() -> PostParams {
    PostParams { field_manager: Some(names::FIELD_MANAGER.to_owned()), ..PostParams::default() }
}
