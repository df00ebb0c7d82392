//! What users and other clients do: edits of objects, and foreign changes at the remote.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use connect_api::model::{
    ApplicationConfiguration, ApplicationType, ConfigurationValue, ConnectorReference, DeclaredApplication,
    DeploymentDraft, DeploymentType, RedeployAction, SecuredValue,
};
use dev_server::{Partial, PlannedOutcome};
use secrecy::SecretString;

use crate::checker::TOKEN;
use crate::cluster::finalizers;
use crate::prelude::*;

/// A resource that a history may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) namespace: &'static str,
    pub(crate) name: &'static str,
    /// `spec.key`; `None`: derived from namespace and name.
    key: Option<&'static str>,
}

impl Resource {
    pub(crate) const fn named(name: &'static str) -> Self {
        Self { namespace: SHOP, name, key: None }
    }

    pub(crate) fn stored(self) -> Key {
        Key::new(Kind::Deployment, self.namespace, self.name)
    }

    /// Returns the key of its deployment.
    fn remote_key(self) -> String {
        self.key.map_or_else(|| format!("{}_{}", self.namespace, self.name), str::to_owned)
    }
}

/// Resources that a history may have at once. The last two claim the key of the first one.
pub(crate) const RESOURCES: [Resource; 4] = [
    Resource::named("one"),
    Resource::named("two"),
    Resource { namespace: SHOP, name: "twin", key: Some("shop_one") },
    Resource { namespace: YARD, name: "one", key: Some("shop_one") },
];

pub(crate) const SHOP: &str = "shop";
pub(crate) const YARD: &str = "yard";
pub(crate) const NAMESPACES: [&str; 2] = [SHOP, YARD];
pub(crate) const PROJECT_NAME: &str = "main";
const CONNECTOR: &str = "demo-connector";
pub(crate) const APPLICATION: &str = "service";
/// Values of `LOG_LEVEL`; the connector's script fails with the last one.
pub(crate) const LEVELS: [&str; 5] = ["info", "debug", "warn", " error ", "loud"];
/// A value that is also set by whole objects.
pub(crate) const FEATURES: &str = "FEATURES";
const EVENTS: &str = "events";
/// A secured value that no Secret ever holds.
const FOREIGN_TOKEN: &str = "token-of-a-stranger";

pub(crate) fn encoded(text: &str) -> Value {
    json!(STANDARD.encode(text))
}

pub(crate) fn spec(resource: Resource, shape: Shape) -> Value {
    let level = json!({"key": "LOG_LEVEL", "value": LEVELS[usize::from(shape.level) % LEVELS.len()]});
    let mut plain = vec![level];
    if shape.config && !shape.whole {
        let from = json!({"configMapKeyRef": {"name": "settings", "key": "features"}});
        plain.push(json!({"key": FEATURES, "valueFrom": from}));
    }
    let mut service = json!({"applicationName": APPLICATION, "standardConfiguration": plain});
    let mut from = json!([]);
    if shape.whole {
        from = json!([{"secretRef": {"name": "tokens"}}, {"configMapRef": {"name": "settings"}}]);
    } else {
        let from = json!({"secretKeyRef": {"name": "tokens", "key": "token"}});
        service["securedConfiguration"] = json!([{"key": TOKEN, "valueFrom": from}]);
    }
    let mut configurations = vec![service];
    if shape.batch > 0 || shape.retry > 0 {
        let batch = (shape.batch > 0).then(|| json!({"key": "BATCH_SIZE", "value": shape.batch.to_string()}));
        let retry = (shape.retry > 0).then(|| {
            let (least, most) = (10 * u32::from(shape.retry), 600);
            json!({"strategy": "exponential-backoff", "minBackoffSeconds": least, "maxBackoffSeconds": most})
        });
        let values: Vec<Value> = batch.into_iter().collect();
        configurations.push(json!({
            "applicationName": EVENTS, "standardConfiguration": values, "retryPolicy": retry,
        }));
    }
    let shop = json!({"standardConfiguration": [{"key": "SHOP_NAME", "value": format!("shop-{}", shape.shop)}]});
    let outputs = json!({"configMap": {"name": format!("{}-outputs", resource.name)}});
    let version = (shape.version > 0 && !shape.latest).then_some(shape.version);
    let policy = shape.latest.then_some("Latest");
    json!({
        "projectRef": {"name": PROJECT_NAME},
        "key": resource.key,
        "connector": {"key": CONNECTOR, "version": version, "updatePolicy": policy},
        "configurationFrom": from,
        "configurations": configurations,
        "globalConfiguration": (shape.shop > 0).then_some(shop),
        "suspend": shape.suspend,
        "adoptionPolicy": if shape.adopt { "Adopt" } else { "Never" },
        "deletionPolicy": if shape.orphan { "Orphan" } else { "Delete" },
        "managementPolicy": if shape.observe { "ObserveOnly" } else { "Full" },
        "driftPolicy": if shape.correct { "Correct" } else { "Detect" },
        "removedValuesPolicy": if shape.recreate { "Recreate" } else { "Retain" },
        "outputs": shape.outputs.then_some(outputs),
    })
}

impl Simulation {
    /// Creates what exists before a history begins.
    pub(crate) fn furnish(&mut self) {
        self.open(SHOP);
        self.checker.truth.tokens = (1..10).map(|number| format!("token-{number}")).collect();
        self.checker.truth.tokens.push(FOREIGN_TOKEN.to_owned());
    }

    /// Creates a namespace with everything that a resource in it references, as far as it does not exist.
    fn open(&mut self, namespace: &str) {
        let now = self.now();
        let mut project = sharing::project("credentials");
        project["spec"]["frontend"] = json!({"url": "https://shop-example.frontastic.live"});
        let mut cluster = lock(&self.reach.cluster);
        let within = |kind, name: &str| Key::new(kind, namespace, name);
        for (key, object) in [
            (Key::new(Kind::Namespace, "", namespace), sharing::namespace()),
            (within(Kind::Secret, "credentials"), sharing::credentials()),
            (within(Kind::Secret, "tokens"), json!({"data": {"token": encoded("token-1"), TOKEN: encoded("token-1")}})),
            (within(Kind::ConfigMap, "settings"), json!({"data": {"features": "features-1", FEATURES: "features-1"}})),
            (within(Kind::Project, PROJECT_NAME), project),
        ] {
            // An existing object stays as it is; in a namespace that is being deleted nothing is created.
            let _ = cluster.create(&key, object, now);
        }
    }

    /// Creates again whatever a history removed that resources need to settle.
    pub(crate) fn reopen(&mut self) {
        for namespace in NAMESPACES {
            let exists = lock(&self.reach.cluster).get(&Key::new(Kind::Namespace, "", namespace)).is_some();
            if exists {
                self.open(namespace);
            }
        }
        self.check();
    }

    pub(crate) fn write(&mut self, resource: Resource, shape: Shape) {
        self.write_object(&resource.stored(), &self.with_project(spec(resource, shape)));
    }

    /// Creates an object, or replaces its spec; one that is being deleted stays. `wanted`: the spec, with a null for each field that it does not have.
    pub(crate) fn write_object(&mut self, key: &Key, wanted: &Value) {
        let now = self.now();
        if lock(&self.reach.cluster).get(&Key::new(Kind::Namespace, "", &key.namespace)).is_none() {
            self.open(&key.namespace);
        }
        let mut cluster = lock(&self.reach.cluster);
        let _ = match cluster.get(key) {
            None => {
                let mut spec = Value::Null;
                merge(&mut spec, wanted);
                cluster.create(key, json!({"metadata": {}, "spec": spec}), now)
            }
            Some(_) => cluster.patch(key, &json!({"spec": wanted}), false),
        };
        drop(cluster);
        self.check();
    }

    /// Deletes a project, or creates it again once it does not exist any more.
    pub(crate) fn project(&mut self, namespace: &str) {
        let key = Key::new(Kind::Project, namespace, PROJECT_NAME);
        let now = self.now();
        let there = lock(&self.reach.cluster).delete(&key, now).is_ok();
        if !there {
            self.reopen();
        }
        self.check();
    }

    /// Deletes a namespace with everything in it, in one of several orders.
    pub(crate) fn delete_namespace(&mut self, namespace: &str, order: usize) {
        let now = self.now();
        {
            let mut cluster = lock(&self.reach.cluster);
            let _ = cluster.delete(&Key::new(Kind::Namespace, "", namespace), now);
            let mut keys = cluster.within(namespace);
            let first = order % keys.len().max(1);
            keys.rotate_left(first);
            for key in keys {
                let _ = cluster.delete(&key, now);
            }
        }
        self.check();
    }

    pub(crate) fn edit(&mut self, key: &Key, patch: &Value) {
        // A missing object cannot be edited.
        let _ = lock(&self.reach.cluster).patch(key, patch, false);
        self.check();
    }

    fn edit_everywhere(&mut self, kind: Kind, name: &str, patch: &Value) {
        for namespace in NAMESPACES {
            self.edit(&Key::new(kind, namespace, name), patch);
        }
    }

    pub(crate) fn secret(&mut self, value: u8) {
        let token = if value == 0 { Value::Null } else { encoded(&format!("token-{value}")) };
        self.edit_everywhere(Kind::Secret, "tokens", &json!({"data": {"token": token, TOKEN: token}}));
    }

    pub(crate) fn config(&mut self, value: u8) {
        let features = if value == 0 { Value::Null } else { json!(format!("features-{value}")) };
        self.edit_everywhere(Kind::ConfigMap, "settings", &json!({"data": {"features": features, FEATURES: features}}));
    }

    pub(crate) fn publish(&mut self) {
        let raised = lock(&self.reach.remote).world.raise_connector(CONNECTOR, false, |connector| {
            connector.configurations.push(DeclaredApplication {
                application_name: format!("assets-{}", connector.configurations.len()),
                application_type: ApplicationType::Assets,
                standard_configuration: Vec::new(),
                secured_configuration: Vec::new(),
            });
        });
        raised.expect("the registry has the connector");
    }

    /// Returns the registry's latest version of the connector; each version has one application more than the previous
    /// one.
    pub(crate) fn latest_connector(&self) -> i64 {
        let remote = lock(&self.reach.remote);
        let all = remote.world.catalogue().connectors.iter().filter(|connector| connector.key == CONNECTOR);
        all.map(|connector| connector.version).max().unwrap_or_default()
    }

    pub(crate) fn unrelated(&mut self, number: usize) {
        let text = format!("other-{number}");
        self.edit_everywhere(Kind::Secret, "tokens", &json!({"data": {"other": encoded(&text)}}));
        self.edit_everywhere(Kind::ConfigMap, "settings", &json!({"data": {"other": text}}));
    }

    pub(crate) fn annotate(&mut self, resource: Resource, annotation: &str, number: usize) {
        let patch = json!({"metadata": {"annotations": {annotation: format!("request-{number}")}}});
        self.edit(&resource.stored(), &patch);
    }

    pub(crate) fn delete(&mut self, resource: Resource) {
        let now = self.now();
        let _ = lock(&self.reach.cluster).delete(&resource.stored(), now);
        self.check();
    }

    /// Removes the operator's finalizer, as a user might do to force a deletion.
    pub(crate) fn unfinalize(&mut self, resource: Resource) {
        let key = resource.stored();
        let kept = {
            let cluster = lock(&self.reach.cluster);
            let Some(object) = cluster.get(&key) else { return };
            if let Some(life) = object["metadata"]["uid"].as_str().and_then(|uid| self.checker.lives.get_mut(uid)) {
                life.may_leave = true;
            }
            let kept = finalizers(object).into_iter().filter(|name| *name != names::FINALIZER);
            kept.map(str::to_owned).collect::<Vec<_>>()
        };
        self.edit(&key, &json!({"metadata": {"finalizers": kept}}));
    }

    /// Restores a backup: the same spec and annotations in a new object, without a status.
    pub(crate) fn restore(&mut self, resource: Resource) {
        let key = resource.stored();
        let now = self.now();
        {
            let mut cluster = lock(&self.reach.cluster);
            let Some(before) = cluster.get(&key).cloned() else { return };
            if let Some(life) = before["metadata"]["uid"].as_str().and_then(|uid| self.checker.lives.get_mut(uid)) {
                life.may_leave = true;
            }
            let _ = cluster.patch(&key, &json!({"metadata": {"finalizers": null}}), false);
            let _ = cluster.delete(&key, now);
            let metadata = json!({"annotations": before["metadata"]["annotations"]});
            let _ = cluster.create(&key, json!({"metadata": metadata, "spec": before["spec"]}), now);
        }
        self.check();
    }

    /// Returns the number of deployments.
    pub(crate) fn deployments(&self) -> usize {
        let now = self.now();
        lock(&self.reach.remote).world.all(now).len()
    }

    fn id_of(&self, resource: Resource) -> Option<String> {
        let now = self.now();
        let all = lock(&self.reach.remote).world.all(now);
        let key = resource.remote_key();
        all.into_iter().find(|deployment| deployment.key.as_ref() == Some(&key)).map(|deployment| deployment.id)
    }

    pub(crate) fn fails(&mut self, resource: Resource) {
        let Some(id) = self.id_of(resource) else { return };
        let outcome = PlannedOutcome::failure(APPLICATION, "It failed", "As the history demands");
        let now = self.now();
        let _ = lock(&self.reach.remote).world.plan_outcome(&id, outcome, now);
    }

    pub(crate) fn undeploy_fails(&mut self, resource: Resource) {
        let Some(id) = self.id_of(resource) else { return };
        let now = self.now();
        let _ = lock(&self.reach.remote).world.fail_undeploy(&id, now);
    }

    /// Lets another client act; `number` makes what it writes different each time.
    pub(crate) fn stranger(&mut self, resource: Resource, act: Foreign, number: usize) {
        let now = self.now();
        let id = self.id_of(resource);
        let replaces = lock(&self.reach.remote).world.variant.partial == Partial::Replace;
        let strange = vec![
            ConfigurationValue { key: "LOG_LEVEL".to_owned(), value: "warn".to_owned() },
            ConfigurationValue { key: "FEATURES".to_owned(), value: format!("stranger-{number}") },
        ];
        let token = vec![SecuredValue { key: "API_TOKEN".to_owned(), value: SecretString::from(FOREIGN_TOKEN) }];
        let configuration = |plain, secured| ApplicationConfiguration {
            application_name: APPLICATION.to_owned(),
            standard_configuration: plain,
            secured_configuration: secured,
            schedule: None,
            retry_policy: None,
        };
        let (values, visible, secured) = match act {
            Foreign::Visible => (Some(configuration(strange.clone(), Vec::new())), true, replaces),
            Foreign::Secured => (Some(configuration(Vec::new(), token.clone())), replaces, true),
            _ => (None, false, false),
        };
        let mut remote = lock(&self.reach.remote);
        let world = &mut remote.world;
        let done = match (act, &id) {
            (Foreign::Create, _) => {
                let draft = DeploymentDraft {
                    key: Some(resource.remote_key()),
                    kind: Some(DeploymentType::Sandbox),
                    connector: ConnectorReference { key: Some(CONNECTOR.to_owned()), ..ConnectorReference::default() },
                    configurations: vec![
                        configuration(strange, token),
                        ApplicationConfiguration {
                            application_name: EVENTS.to_owned(),
                            ..configuration(Vec::new(), Vec::new())
                        },
                    ],
                    global_configuration: None,
                    region: "europe-west1.gcp".to_owned(),
                };
                world.create(PROJECT, &draft, true, now).map(|_| ())
            }
            (_, None) => return,
            (Foreign::Redeploy | Foreign::Visible | Foreign::Secured, Some(id)) => {
                let action = RedeployAction {
                    configuration_values: values.map(|values| vec![values]),
                    ..RedeployAction::default()
                };
                world.redeploy_elsewhere(id, &action, now).map(|_| ())
            }
            (Foreign::Remove, Some(id)) => world.remove(id, now),
            (Foreign::Undeploy, Some(id)) => {
                let by_id = connect_api::Selector::Id(id.clone());
                world.undeploy(PROJECT, &by_id, now).map(|_| ())
            }
            (Foreign::Bump, Some(id)) => world.bump_version(id, now),
        };
        drop(remote);
        if done.is_ok()
            && let Some(id) = id
        {
            self.checker.foreign(&id, visible, secured);
        }
        self.check();
    }
}
