//! Inputs of realistic size: a deployment of three applications with 24 plain and 8 secured values, live and unchanged,
//! with its record, its status and its object as the API server returns them.

use std::sync::Arc;

use connect_api::mask::Masker;
use connect_api::model::Deployment;
use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::crd::shared::RemoteIdentity;
use connect_operator::crd::{ConnectorDeployment, DeletionPolicy};
use connect_operator::operator::cluster::references::{Referenced, Source};
use connect_operator::operator::context::content_cache::Content;
use connect_operator::operator::deployment::decide::{DesiredPayload, Input, Intent, TransientState};
use connect_operator::operator::deployment::declared::Declared;
use connect_operator::operator::deployment::desired::{self, Contents, Desired};
use connect_operator::operator::deployment::intent;
use connect_operator::operator::deployment::observe::{self, RecordRead};
use connect_operator::operator::deployment::persisted::{Applied, Observation, PersistedState, Phase};
use connect_operator::operator::deployment::status::{
    self, Comparison, DeploymentFacts, DesiredIdentity, Newer, Texts,
};
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::reporting::conditions::ConditionUpdate;
use connect_operator::operator::reporting::observed_record::ObservedRecord;
use connect_operator::operator::reporting::reason::Reason;
use connect_operator::operator::values::digest::{DigestKey, KEY_LENGTH};
use connect_operator::operator::values::names::Names;
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::{Value, json};

/// The time of every reconcile, long after the last write.
pub(crate) const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);
/// Name, type, and number of plain and secured values of each application.
const APPLICATIONS: [(&str, &str, usize, usize); 3] =
    [("service", "service", 10, 4), ("nightly", "job", 6, 2), ("events", "event", 6, 2)];
/// Number of plain values for all applications.
const GLOBAL: usize = 2;
/// Number of findings in the report of the build.
const FINDINGS: usize = 20;
/// The Secret of all secured values.
const SECRET: &str = "tax";

/// A live deployment, as a reconcile sees it.
pub(crate) struct Inputs {
    pub(crate) object: ConnectorDeployment,
    pub(crate) contents: Contents,
    pub(crate) declared: Option<Declared>,
    pub(crate) desired: Desired,
    pub(crate) digest_key: DigestKey,
    pub(crate) wanted: DesiredPayload,
    pub(crate) intent: Intent,
    pub(crate) observation: Observation,
    pub(crate) persisted: PersistedState,
    pub(crate) transient: TransientState,
    identity: DesiredIdentity,
    record: Arc<Deployment>,
    masker: Masker,
}

impl Inputs {
    /// A deployment whose values were applied.
    pub(crate) fn live() -> Self {
        let object: ConnectorDeployment = serde_json::from_value(manifest()).expect("a manifest");
        let record: Arc<Deployment> = Arc::new(serde_json::from_value(record(0)).expect("a record"));
        let connector = &record.connector;
        let declared = observe::declared(connector.configurations.as_ref(), connector.global_configuration.as_ref());
        let contents = contents("first");
        let desired = desired::from_spec(&object.spec, &contents, declared.as_ref()).expect("all values exist");
        let digest_key = DigestKey::new([7; KEY_LENGTH]);
        let wanted = desired.wanted(&digest_key);
        let remote =
            RemoteIdentity { api_url: "https://connect.example.com".to_owned(), project_key: "shop".to_owned() };
        let identity = intent::identity_in(&object, remote, "europe-west1.gcp");
        let target = intent::target(&object, None).expect("a connector by key");
        let intent = intent::intent(&object, &identity, Some(&target), Some(connector.version));
        let read = RecordRead { at: NOW, record: Some(Arc::clone(&record)), key_held_by: None };
        let observation = observe::observation(&read);
        let persisted = applied(&wanted, &record);
        let masker = Masker::new(desired.values.secured.values().map(ExposeSecret::expose_secret));
        let transient = TransientState::default();
        Self {
            object,
            contents,
            declared,
            desired,
            digest_key,
            wanted,
            intent,
            observation,
            persisted,
            transient,
            identity,
            record,
            masker,
        }
    }

    /// The same after the Secret was changed.
    pub(crate) fn changed() -> Self {
        let mut inputs = Self::live();
        inputs.contents = contents("second");
        let desired = desired::from_spec(&inputs.object.spec, &inputs.contents, inputs.declared.as_ref());
        inputs.desired = desired.expect("all values exist");
        inputs.wanted = inputs.desired.wanted(&inputs.digest_key);
        inputs
    }

    /// Input of the operation table.
    pub(crate) fn input(&self, now: Timestamp) -> Input<'_> {
        let Self { intent, wanted, observation, persisted, transient, digest_key, .. } = self;
        Input {
            persisted,
            intent,
            wanted: Some(wanted),
            observation,
            transient,
            digests: digest_key,
            observed_at: now,
            now,
        }
    }

    /// The status after a reconcile that observed the record.
    pub(crate) fn status(
        &self,
        before: &ConnectorDeploymentStatus,
        persisted: &PersistedState,
        reason: Reason,
    ) -> ConnectorDeploymentStatus {
        let object_ref = ObjectRef::deployment("shop", "tax");
        let facts = DeploymentFacts {
            object_ref: &object_ref,
            generation: 1,
            persisted,
            condition: ConditionUpdate::new(reason, "The deployment serves version 7 of connector tax-connector"),
            comparison: Comparison::Same,
            retained: None,
            secured: true,
            suspended: false,
            newer: Newer::No,
            wanted: Some(self.identity.clone()),
            deletion_policy: DeletionPolicy::Delete,
            record: ObservedRecord::Present(&self.record),
            texts: Texts::Masked(&self.masker),
            handled_reconcile: None,
            verified: None,
        };
        status::summarize(before, &facts, NOW)
    }

    /// A line of a watch that shows the object with its status.
    pub(crate) fn watch_event(&self, status: &ConnectorDeploymentStatus) -> Vec<u8> {
        let mut object = self.object.clone();
        object.status = Some(status.clone());
        serde_json::to_vec(&json!({"type": "MODIFIED", "object": object})).expect("JSON")
    }
}

/// What is persisted once the values were applied.
fn applied(wanted: &DesiredPayload, record: &Deployment) -> PersistedState {
    let applied = Applied {
        generation: 1,
        digest: Some(wanted.payload.digest.clone()),
        outcome: Phase::Deployed,
        serves: true,
        from_version: None,
        connector_version: Some(record.connector.version),
        rollback: None,
        names: Some(wanted.payload.names.clone()),
        differs: None,
        uncompared: false,
        accepted: None,
        retained: Names::default(),
        sources: wanted.payload.sources.clone(),
        at: Timestamp::constant(1_799_990_000, 0),
    };
    PersistedState { id: Some(record.id.clone()), applied: Some(applied), ..PersistedState::default() }
}

/// A page with this many records.
pub(crate) fn page(records: usize) -> Vec<u8> {
    let results: Vec<Value> = (0..records).map(record).collect();
    let page = json!({"limit": 100, "offset": 0, "count": records, "total": records, "results": results});
    serde_json::to_vec(&page).expect("JSON")
}

/// The Secret with the secured values.
fn contents(version: &str) -> Contents {
    let source = Source {
        kind: "Secret".to_owned(),
        name: SECRET.to_owned(),
        uid: "0a7c9bb0-8a0e-4a0c-9f3c-6f2b62b1f8f1".to_owned(),
        resource_version: version.to_owned(),
    };
    let keys = APPLICATIONS.iter().flat_map(|(name, _, _, secured)| (0..*secured).map(|number| key(name, number)));
    let data = keys.map(|key| (key.clone(), SecretSlice::from(format!("{version}-secret-of-{key}").into_bytes())));
    [((Referenced::Secret, SECRET.to_owned()), Ok(Content { source, data: data.collect() }))].into()
}

fn key(application: &str, number: usize) -> String {
    format!("{}_SETTING_{number}", application.to_uppercase())
}

fn secret_key(application: &str, number: usize) -> String {
    format!("{}_TOKEN_{number}", application.to_uppercase())
}

/// Plain values as specs and records have them.
fn plain(application: &str, number: usize) -> Value {
    let value = |number| json!({"key": key(application, number), "value": format!("https://{application}-{number}.example.com/v1/path")});
    (0..number).map(value).collect()
}

/// The object as the API server returns it, without a status.
fn manifest() -> Value {
    let configurations: Vec<Value> = APPLICATIONS
        .iter()
        .map(|(name, kind, plain_values, secured)| {
            let secured: Value = (0..*secured)
                .map(|number| {
                    let reference = json!({"secretKeyRef": {"name": SECRET, "key": key(name, number)}});
                    json!({"key": secret_key(name, number), "valueFrom": reference})
                })
                .collect();
            let mut application = json!({
                "applicationName": name,
                "standardConfiguration": plain(name, *plain_values),
                "securedConfiguration": secured,
            });
            if *kind == "job" {
                application["schedule"] = json!("0 5 * * *");
            }
            application
        })
        .collect();
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorDeployment",
        "metadata": {
            "name": "tax", "namespace": "shop", "generation": 1, "resourceVersion": "123456",
            "uid": "5b0e2b39-5a3c-4f9e-8a8e-0d8c1a0f6f0e",
            "creationTimestamp": "2026-01-01T00:00:00Z",
            "finalizers": ["connect-operator.io/finalizer"],
            "annotations": {"connect-operator.io/remote-id": "6f9619ff-8b86-4011-b42d-00c04fc00000"},
            "managedFields": managed_fields(),
        },
        "spec": {
            "projectRef": {"name": "shop"},
            "connector": {"key": "tax-connector"},
            "configurations": configurations,
            "globalConfiguration": {"standardConfiguration": plain("global", GLOBAL)},
        },
    })
}

/// The fields of the spec by their owner, which are about as large as the spec.
fn managed_fields() -> Value {
    let mut applications = json!({});
    for (name, _, plain, _) in APPLICATIONS {
        let mut values = json!({});
        for number in 0..plain {
            values[format!("k:{{\"key\":\"{}\"}}", key(name, number))] = json!({".": {}, "f:key": {}, "f:value": {}});
        }
        applications[format!("k:{{\"applicationName\":\"{name}\"}}")] = json!({"f:standardConfiguration": values});
    }
    json!([{
        "manager": "kubectl", "operation": "Apply", "apiVersion": "connect-operator.io/v1alpha1",
        "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
        "fieldsV1": {"f:spec": {"f:projectRef": {"f:name": {}}, "f:configurations": applications}},
    }])
}

/// A record of the Connect API that shows the values of the manifest.
fn record(number: usize) -> Value {
    let applications: Vec<Value> = APPLICATIONS
        .iter()
        .map(|(name, kind, plain_values, secured)| {
            let secured: Value =
                (0..*secured).map(|number| json!({"key": secret_key(name, number), "value": "****"})).collect();
            let mut application = json!({
                "id": format!("id-of-{name}"),
                "applicationName": name,
                "standardConfiguration": plain(name, *plain_values),
                "securedConfiguration": secured,
            });
            match *kind {
                "job" => application["schedule"] = json!("0 5 * * *"),
                "event" => application["topic"] = json!("projects/shop/topics/events"),
                _ => application["url"] = json!("https://service-0123456789.europe-west1.example.com"),
            }
            application
        })
        .collect();
    let findings: Vec<Value> = (0..FINDINGS)
        .map(|number| {
            json!({
                "type": "Information", "title": format!("Step {number} of the build is complete"),
                "message": "The container image was built from the repository and stored", "application": "service",
                "createdAt": "2026-01-01T00:00:00Z",
            })
        })
        .collect();
    json!({
        "id": format!("6f9619ff-8b86-4011-b42d-00c04fc{number:05}"),
        "key": "shop_tax",
        "version": 3,
        "type": "sandbox",
        "status": "Deployed",
        "deployedRegion": "europe-west1.gcp",
        "connector": connector(),
        "globalConfiguration": {"standardConfiguration": plain("global", GLOBAL), "securedConfiguration": []},
        "applications": applications,
        "details": {"build": {"id": "3c1f5a3e-6f0c-4d1e-9d5b-0d7c2b1f3a55", "report": {"entries": findings}}},
    })
}

/// The connector of a record, with the keys that it declares.
fn connector() -> Value {
    let declared = |keys: Vec<String>| -> Value {
        let keys = keys.into_iter();
        keys.map(|key| json!({"key": key, "description": "An address that the application calls", "required": true}))
            .collect()
    };
    let configurations: Vec<Value> = APPLICATIONS
        .iter()
        .map(|(name, kind, plain, secured)| {
            json!({
                "applicationName": name,
                "applicationType": kind,
                "standardConfiguration": declared((0..*plain).map(|number| key(name, number)).collect()),
                "securedConfiguration": declared((0..*secured).map(|number| secret_key(name, number)).collect()),
            })
        })
        .collect();
    let global = declared((0..GLOBAL).map(|number| key("global", number)).collect());
    json!({
        "id": "0c5a3d7e-3f43-4a0a-8b39-5d0d3ef2c1aa",
        "key": "tax-connector",
        "version": 7,
        "name": "Tax connector",
        "description": "Calculates taxes for carts and orders",
        "integrationTypes": ["tax"],
        "creator": {"email": "dev@example.com", "company": "Example"},
        "repository": {"url": "https://github.com/example/tax-connector.git", "tag": "v1.2.3"},
        "configurations": configurations,
        "globalConfiguration": {"standardConfiguration": global, "securedConfiguration": []},
        "certified": true,
        "supportedRegions": ["europe-west1.gcp"],
    })
}
