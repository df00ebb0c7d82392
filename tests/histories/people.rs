//! What people and strangers do: edits of objects, and changes at the remote that are not the operator's.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use connect_operator::connect::model::{
    ApplicationConfiguration, ConfigurationValue, ConnectorReference, DeploymentDraft, DeploymentType, RedeployAction,
    SecuredValue,
};
use connect_operator::dev_server::{Partial, PlannedOutcome};
use connect_operator::names;
use secrecy::SecretString;
use serde_json::{Value, json};

use crate::cluster::{Key, Kind, finalizers};
use crate::gate::lock;
use crate::history::{Foreign, Shape};
use crate::remote::PROJECT;
use crate::simulation::Simulation;

pub(crate) const NAMESPACE: &str = "shop";
const APPLICATION: &str = "service";
/// Values of `LOG_LEVEL`; the connector's script fails with the last one.
pub(crate) const LEVELS: [&str; 5] = ["info", "debug", "warn", " error ", "loud"];
/// A secured value that no Secret ever holds.
const FOREIGN_TOKEN: &str = "token-of-a-stranger";

fn key(kind: Kind, name: &str) -> Key {
    Key::new(kind, NAMESPACE, name)
}

fn encoded(text: &str) -> Value {
    json!(STANDARD.encode(text))
}

/// Key of the remote deployment of a resource.
fn remote_key(name: &str) -> String {
    format!("{NAMESPACE}_{name}")
}

fn spec(shape: Shape) -> Value {
    let mut plain = vec![json!({"key": "LOG_LEVEL", "value": LEVELS[usize::from(shape.level) % LEVELS.len()]})];
    if shape.config {
        let from = json!({"configMapKeyRef": {"name": "settings", "key": "features"}});
        plain.push(json!({"key": "FEATURES", "valueFrom": from}));
    }
    let from = json!({"secretKeyRef": {"name": "tokens", "key": "token"}});
    json!({
        "projectRef": {"name": "main"},
        "connector": {"key": "demo-connector"},
        "configurations": [{
            "applicationName": APPLICATION,
            "standardConfiguration": plain,
            "securedConfiguration": [{"key": "API_TOKEN", "valueFrom": from}],
        }],
        "suspend": shape.suspend,
        "adoptionPolicy": if shape.adopt { "Adopt" } else { "Never" },
        "deletionPolicy": if shape.orphan { "Orphan" } else { "Delete" },
        "managementPolicy": if shape.observe { "ObserveOnly" } else { "Full" },
        "drift": {"policy": if shape.correct { "Correct" } else { "Detect" }},
    })
}

impl Simulation {
    /// What is there before a history begins.
    pub(crate) fn furnish(&mut self) {
        let now = self.now();
        {
            let mut cluster = lock(&self.reach.cluster);
            let credentials =
                json!({"data": {"clientId": encoded("dev-client"), "clientSecret": encoded("dev-secret")}});
            let project = json!({"spec": {
                "projectKey": PROJECT,
                "region": "europe-west1.gcp",
                "credentialsSecretRef": {"name": "credentials"},
            }});
            for (key, object) in [
                (Key::new(Kind::Namespace, "", NAMESPACE), json!({})),
                (key(Kind::Secret, "credentials"), credentials),
                (key(Kind::Secret, "tokens"), json!({"data": {"token": encoded("token-1")}})),
                (key(Kind::ConfigMap, "settings"), json!({"data": {"features": "features-1"}})),
                (key(Kind::Project, "main"), project),
            ] {
                cluster.create(&key, object, now).expect("the cluster is empty");
            }
        }
        self.judge.truth.tokens = (1..10).map(|number| format!("token-{number}")).collect();
        self.judge.truth.tokens.push(FOREIGN_TOKEN.to_owned());
    }

    pub(crate) fn write(&mut self, name: &str, shape: Shape) {
        let key = key(Kind::Deployment, name);
        let now = self.now();
        let mut cluster = lock(&self.reach.cluster);
        let _ = match cluster.get(&key) {
            None => cluster.create(&key, json!({"metadata": {}, "spec": spec(shape)}), now),
            Some(_) => cluster.patch(&key, &json!({"spec": spec(shape)}), false),
        };
        drop(cluster);
        self.judge();
    }

    fn edit(&mut self, kind: Kind, name: &str, patch: &Value) {
        // What is not there cannot be edited.
        let _ = lock(&self.reach.cluster).patch(&key(kind, name), patch, false);
        self.judge();
    }

    pub(crate) fn secret(&mut self, value: u8) {
        let token = if value == 0 { Value::Null } else { encoded(&format!("token-{value}")) };
        self.edit(Kind::Secret, "tokens", &json!({"data": {"token": token}}));
    }

    pub(crate) fn config(&mut self, value: u8) {
        let features = if value == 0 { Value::Null } else { json!(format!("features-{value}")) };
        self.edit(Kind::ConfigMap, "settings", &json!({"data": {"features": features}}));
    }

    pub(crate) fn unrelated(&mut self, number: usize) {
        let text = format!("other-{number}");
        self.edit(Kind::Secret, "tokens", &json!({"data": {"other": encoded(&text)}}));
        self.edit(Kind::ConfigMap, "settings", &json!({"data": {"other": text}}));
    }

    pub(crate) fn annotate(&mut self, name: &str, annotation: &str, number: usize) {
        let patch = json!({"metadata": {"annotations": {annotation: format!("request-{number}")}}});
        self.edit(Kind::Deployment, name, &patch);
    }

    pub(crate) fn delete(&mut self, name: &str) {
        let now = self.now();
        let _ = lock(&self.reach.cluster).delete(&key(Kind::Deployment, name), now);
        self.judge();
    }

    /// Removes the operator's finalizer, as people do who are in a hurry.
    pub(crate) fn unfinalize(&mut self, name: &str) {
        let key = key(Kind::Deployment, name);
        let kept = {
            let cluster = lock(&self.reach.cluster);
            let Some(object) = cluster.get(&key) else { return };
            if let Some(life) = object["metadata"]["uid"].as_str().and_then(|uid| self.judge.lives.get_mut(uid)) {
                life.may_leave = true;
            }
            let kept = finalizers(object).into_iter().filter(|name| *name != names::FINALIZER);
            kept.map(str::to_owned).collect::<Vec<_>>()
        };
        self.edit(Kind::Deployment, name, &json!({"metadata": {"finalizers": kept}}));
    }

    /// A backup is restored: the same spec and annotations in a new object, without a status.
    pub(crate) fn restore(&mut self, name: &str) {
        let key = key(Kind::Deployment, name);
        let now = self.now();
        {
            let mut cluster = lock(&self.reach.cluster);
            let Some(before) = cluster.get(&key).cloned() else { return };
            if let Some(life) = before["metadata"]["uid"].as_str().and_then(|uid| self.judge.lives.get_mut(uid)) {
                life.may_leave = true;
            }
            let _ = cluster.patch(&key, &json!({"metadata": {"finalizers": null}}), false);
            let _ = cluster.delete(&key, now);
            let metadata = json!({"annotations": before["metadata"]["annotations"]});
            let _ = cluster.create(&key, json!({"metadata": metadata, "spec": before["spec"]}), now);
        }
        self.judge();
    }

    /// How many deployments there are.
    pub(crate) fn deployments(&self) -> usize {
        let now = self.now();
        lock(&self.reach.remote).world.all(now).len()
    }

    fn id_of(&self, name: &str) -> Option<String> {
        let now = self.now();
        let all = lock(&self.reach.remote).world.all(now);
        let key = remote_key(name);
        all.into_iter().find(|deployment| deployment.key.as_ref() == Some(&key)).map(|deployment| deployment.id)
    }

    pub(crate) fn fails(&mut self, name: &str) {
        let Some(id) = self.id_of(name) else { return };
        let outcome = PlannedOutcome::failure(APPLICATION, "It failed", "As the history wants it");
        let now = self.now();
        let _ = lock(&self.reach.remote).world.plan_outcome(&id, outcome, now);
    }

    pub(crate) fn undeploy_fails(&mut self, name: &str) {
        let Some(id) = self.id_of(name) else { return };
        let now = self.now();
        let _ = lock(&self.reach.remote).world.fail_undeploy(&id, now);
    }

    /// Strangers act; `number` makes what they write different each time.
    pub(crate) fn stranger(&mut self, name: &str, act: Foreign, number: usize) {
        let now = self.now();
        let id = self.id_of(name);
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
                    key: Some(remote_key(name)),
                    kind: Some(DeploymentType::Sandbox),
                    connector: ConnectorReference {
                        key: Some("demo-connector".into()),
                        ..ConnectorReference::default()
                    },
                    configurations: vec![configuration(strange, token)],
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
                let by_id = connect_operator::connect::Selector::Id(id.clone());
                world.undeploy(PROJECT, &by_id, now).map(|_| ())
            }
            (Foreign::Bump, Some(id)) => world.bump_version(id, now),
        };
        drop(remote);
        if done.is_ok()
            && let Some(id) = id
        {
            self.judge.foreign(&id, visible, secured);
        }
        self.judge();
    }
}
