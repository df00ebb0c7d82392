//! Reads what a decision is made from: the record at the remote, and the objects that contain the values.
//!
//! Changes nothing. Secrets are read only when needed, only those that the spec names, and never kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use connect_api::api::PageRequest;
use connect_api::model::{
    ConfigurationValue, DeclaredApplication, DeclaredGlobal, Deployment, DeploymentStatus, SecuredKey, StandardKey,
};
use connect_api::{ApiError, ConnectApi, Selector};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Resource;
use kube::api::Api;
use secrecy::SecretSlice;
use sha2::{Digest as _, Sha256};

use super::cache::LocalCache;
use super::declared::{Declared, DeclaredKey};
use super::desired::Contents;
use super::persisted::{Observation, ObservedDeployment, OperationState, OperationType, PersistedState, Phase};
use crate::operator::cluster::objects::secret;
use crate::operator::cluster::references::Source;
use crate::operator::cluster::references::{Reference, Referenced};
use crate::operator::context::Context;
use crate::operator::context::content_cache::Content;
use crate::operator::object_ref::ObjectRef;
use crate::operator::remote::Remote;
use crate::operator::reporting::refusal::{self, Access};
use crate::operator::values::digest::hex;
use crate::operator::values::names::{GLOBAL, Item, Names};
use crate::operator::values::retry_policy;

/// An observation older than this is not used, even if nothing was written since.
const LONGEST_AGE: std::time::Duration = std::time::Duration::from_secs(30);

/// Reads the objects that a spec names for its values, or why one cannot be used; those that do not exist are left out.
///
/// # Errors
/// Those errors of the API server that pass by themselves.
pub async fn contents(
    context: &Context,
    namespace: &str,
    named: &BTreeSet<Reference>,
) -> Result<Contents, kube::Error> {
    let config_maps = Api::<ConfigMap>::namespaced(context.client.clone(), namespace);
    let mut contents = Contents::new();
    for reference in named {
        let (kind, name) = reference;
        let reading = match context.contents.get_or_begin(namespace, *kind, name, &context.clock).await {
            Ok(known) => {
                contents.insert(reference.clone(), Ok(known));
                continue;
            }
            Err(reading) => reading,
        };
        let found = match kind {
            Referenced::Secret => secret::named(&context.client, &context.settings.secrets, namespace, name)
                .await?
                .map(|it| it.map(of_secret)),
            Referenced::ConfigMap => match config_maps.get_opt(name).await {
                Ok(found) => Ok(found.map(of_config_map)),
                Err(error) => Err(refusal::condition(Access::Read, &format!("get ConfigMap {name}"), error)?),
            },
            Referenced::Object(_) => Ok(None),
        };
        if let Some(found) = found.transpose() {
            if let Ok(content) = &found {
                context.contents.keep(reading, content, context.clock.now());
            }
            contents.insert(reference.clone(), found);
        }
    }
    Ok(contents)
}

/// Returns the values in a Secret.
pub fn of_secret(secret: Secret) -> Content {
    let source = source("Secret", &secret);
    let data = secret.data.unwrap_or_default().into_iter();
    Content { source, data: data.map(|(key, value)| (key, SecretSlice::from(value.0))).collect() }
}

/// Returns the values in a ConfigMap.
pub fn of_config_map(config_map: ConfigMap) -> Content {
    let source = source("ConfigMap", &config_map);
    let texts = config_map.data.unwrap_or_default().into_iter().map(|(key, text)| (key, text.into_bytes()));
    let bytes = config_map.binary_data.unwrap_or_default().into_iter().map(|(key, value)| (key, value.0));
    Content { source, data: texts.chain(bytes).map(|(key, value)| (key, SecretSlice::from(value))).collect() }
}

fn source(kind: &str, object: &impl Resource) -> Source {
    let meta = object.meta();
    Source {
        kind: kind.to_owned(),
        name: meta.name.clone().unwrap_or_default(),
        uid: meta.uid.clone().unwrap_or_default(),
        resource_version: meta.resource_version.clone().unwrap_or_default(),
    }
}

/// A read of the remote.
pub struct RecordRead {
    /// When its request was sent.
    pub at: Timestamp,
    /// The record, if there is one.
    pub record: Option<Arc<Deployment>>,
    /// Another deployment that has the key, if the key was looked up.
    pub key_held_by: Option<String>,
}

/// Reads the remote: by key as long as no id is known, otherwise from the shared poller. `None`: the poller has no
/// record that is new enough, and enqueues the resource once it has.
///
/// # Errors
/// Those of the Connect API.
pub async fn read_remote(
    context: &Context,
    remote: &Remote,
    api: &dyn ConnectApi,
    object_ref: &ObjectRef,
    key: &str,
    persisted: &PersistedState,
    cache: &LocalCache,
) -> Result<Option<RecordRead>, ApiError> {
    let create = persisted
        .operation
        .as_ref()
        .is_some_and(|operation| operation.kind == OperationType::Create && operation.state == OperationState::Planned);
    let selector = Selector::Key(key.to_owned());
    let Some(id) = persisted.id.as_ref().filter(|_| !create) else {
        let at = context.clock.now();
        let record = api.deployment(&selector).await?.map(Arc::new);
        if record.is_none() && create {
            prove_project(api).await?;
        }
        return Ok(Some(RecordRead { at, record, key_held_by: None }));
    };
    let Some(polled_record) = remote.polled_record(object_ref, id, newer_than(context.clock.now(), persisted, cache))
    else {
        return Ok(None);
    };
    let mut read = RecordRead { at: polled_record.at, record: polled_record.found, key_held_by: None };
    let undeploying = persisted.operation.as_ref().is_some_and(|operation| operation.kind == OperationType::Undeploy);
    if read.record.is_none() && !undeploying {
        // Rule 3: whoever has the key now explains why the id is gone. After an undeploy by this resource nothing needs
        // explaining.
        read.key_held_by = api.deployment(&selector).await?.map(|other| other.id).filter(|other| other != id);
        if read.key_held_by.is_none() {
            prove_project(api).await?;
        }
    }
    Ok(Some(read))
}

/// Rule 5: a 404 counts only while the project answers something that shows that it is there. A project that was removed, and
/// a gateway on its way that has lost it, answer 404 to everything.
async fn prove_project(api: &dyn ConnectApi) -> Result<(), ApiError> {
    api.deployments(PageRequest { limit: 1, offset: 0 }).await.map(|_| ())
}

/// Returns how new a polled record has to be: one from before the last write (rule 5) is not used.
fn newer_than(now: Timestamp, persisted: &PersistedState, cache: &LocalCache) -> Timestamp {
    // A clock that was ahead may have left a time in the future, which no observation is newer than: the decision corrects it.
    let started = persisted.operation.as_ref().map(|operation| operation.started_at).filter(|at| *at <= now);
    let asked = cache.reconcile_request.as_ref().map(|(_, at)| *at);
    let recent = now.saturating_sub(LONGEST_AGE).unwrap_or(Timestamp::MIN);
    [started, asked, cache.last_call].into_iter().flatten().fold(recent, Timestamp::max)
}

/// Converts a read to what `decide` takes.
pub fn observation(read: &RecordRead) -> Observation {
    match &read.record {
        Some(record) => Observation::Present(of_record(record)),
        None => Observation::Absent { key_held_by: read.key_held_by.clone() },
    }
}

/// Converts a record to what `decide` takes.
pub fn of_record(record: &Deployment) -> ObservedDeployment {
    ObservedDeployment {
        id: record.id.clone(),
        version: record.version,
        phase: phase(&record.status),
        build: record.build_id().map(comparable),
        connector_id: record.connector.id.clone(),
        connector_key: record.connector.key.clone(),
        connector_version: record.connector.version,
        rollback: record.rollback_revision.as_deref().map(comparable),
        region: record.deployed_region.clone(),
        kind: record.kind().as_str().to_owned(),
        applications: record.applications.iter().map(|application| application.application_name.clone()).collect(),
        values: visible(record).collect(),
        secured: secured(record),
        declared: declared(record.connector.configurations.as_ref(), record.connector.global_configuration.as_ref()),
    }
}

/// Longest text of the service that is kept as it is.
const LONGEST_TEXT: usize = 256;

/// Returns a text of the service as it is compared: as it is, or the digest of a long one, so that nothing is cut and
/// the state of a resource stays small.
fn comparable(text: &str) -> String {
    if text.len() <= LONGEST_TEXT { text.to_owned() } else { format!("sha256:{}", hex(&Sha256::digest(text))) }
}

/// Converts the status of a deployment.
pub fn phase(status: &DeploymentStatus) -> Phase {
    match status {
        DeploymentStatus::Draft => Phase::Draft,
        DeploymentStatus::Queued => Phase::Queued,
        DeploymentStatus::Deploying => Phase::Deploying,
        DeploymentStatus::Deployed => Phase::Deployed,
        DeploymentStatus::Failed => Phase::Failed,
        DeploymentStatus::Undeploying => Phase::Undeploying,
        DeploymentStatus::UndeployFailed => Phase::UndeployFailed,
        DeploymentStatus::Other(_) => Phase::Other,
    }
}

fn visible(record: &Deployment) -> impl Iterator<Item = (Item, String)> {
    let plain = |place, value: &ConfigurationValue| (Item::standard(place, &value.key), value.value.clone());
    let applications = record.applications.iter().flat_map(move |it| {
        let name = &it.application_name;
        let standard = it.standard_configuration.iter().map(move |value| plain(name, value));
        let schedule = it.schedule.iter().map(|schedule| (Item::schedule(name), schedule.clone()));
        standard.chain(schedule).chain(it.retry_policy.iter().flat_map(|policy| retry_policy(name, policy)))
    });
    let global = record.global_configuration.iter().flat_map(|global| &global.standard_configuration);
    applications.chain(global.map(move |value| plain(GLOBAL, value)))
}

/// Returns the secured values that a record lists: only their names, because what is shown in place of a value proves
/// nothing (contract section 4.4).
fn secured(record: &Deployment) -> Names {
    let of_applications = record
        .applications
        .iter()
        .flat_map(|it| it.secured_configuration.iter().map(|value| Item::secured(&it.application_name, &value.key)));
    let global = record.global_configuration.iter().flat_map(|global| &global.secured_configuration);
    of_applications.chain(global.map(|value| Item::secured(GLOBAL, &value.key))).collect()
}

/// Returns what a connector declares; `None`: it is not known.
pub fn declared(applications: Option<&Vec<DeclaredApplication>>, global: Option<&DeclaredGlobal>) -> Option<Declared> {
    let mut declared = Declared::default();
    for it in applications? {
        declared.applications.insert(it.application_name.clone(), it.application_type.clone());
        declared.keys.extend(keys(&it.application_name, &it.standard_configuration, &it.secured_configuration));
    }
    declared
        .keys
        .extend(global.iter().flat_map(|it| keys(GLOBAL, &it.standard_configuration, &it.secured_configuration)));
    Some(declared)
}

fn keys(place: &str, standard: &[StandardKey], secured: &[SecuredKey]) -> impl Iterator<Item = (Item, DeclaredKey)> {
    let standard = standard.iter().map(move |it| {
        let required = it.required && it.default.is_none();
        (Item::standard(place, &it.key), DeclaredKey { default: it.default.clone(), required })
    });
    let secured = secured
        .iter()
        .map(move |it| (Item::secured(place, &it.key), DeclaredKey { default: None, required: it.required }));
    standard.chain(secured)
}
