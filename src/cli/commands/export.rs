//! `deployments export`: prints existing deployments as manifests. Pure, except for the command itself.
//!
//! Applying the manifests changes nothing at the remote: the resources only observe, and one that is switched to
//! `managementPolicy: Full` waits for its Secret, which is not printed, because the API returns no secured value.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use connect_api::model::{ConfigurationValue, Deployment, DeploymentType, RetryPolicy, SecuredValue};
use connect_api::paging;
use kube::Resource as _;
use serde_json::{Map, Value, json};

use crate::cli::printing::tell;
use crate::crd::{ConnectorDeployment, ProjectRef};
use crate::operator::deployment::observe::of_record;
use crate::operator::values::names::Item;

use super::manifests::{print_manifests, report_skipped, with_keys};
use super::project::{Known, Project};
use super::template::is_of_data;
use super::{Failed, LONGEST_NAME, all, label};

pub(super) const EXAMPLES: &str = "\
Examples:
  # One deployment
  connect-operator deployments export tax --project shop > exported.yaml

  # All of them
  connect-operator deployments export --project shop > exported.yaml";

/// What to export.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Export {
    /// Keys of the records. Default: all.
    #[arg(value_name = "KEY")]
    pub(super) keys: Vec<String>,

    #[command(flatten)]
    pub(super) project: Project,
}

/// Writes the manifests; reports on standard error the deployments that cannot be exported.
pub(super) async fn run(arguments: Export) -> Result<(), Failed> {
    let (client, known) = arguments.project.client_and_manifest().await?;
    let found = all(paging::deployments(&client)).await?;
    let found = with_keys("deployment", found, &arguments.keys, |deployment| deployment.key.as_ref())?;
    let found: Vec<&Deployment> = found.iter().map(Arc::as_ref).collect();
    let (manifests, needed, left_out) = manifests(&known, &found);
    report_skipped("deployment", &left_out);
    for (secret, keys) in needed {
        tell!("Next: create the Secret {secret} with {}", keys.join(", "));
    }
    print_manifests(&manifests)
}

/// The keys that each Secret needs.
type Needed = BTreeMap<String, Vec<String>>;

/// Returns the manifests, what their Secrets need, and the ids of deployments that cannot be exported.
pub(super) fn manifests(project: &Known, deployments: &[&Deployment]) -> (Vec<Value>, Needed, Vec<String>) {
    let mut manifests: Vec<Value> = project.manifest.iter().cloned().collect();
    let (mut taken, mut needed, mut left_out) = (BTreeSet::new(), Needed::new(), Vec::new());
    for deployment in deployments {
        let Some(key) = &deployment.key else {
            left_out.push(deployment.id.clone());
            continue;
        };
        let name = unique(&label(key), &mut taken);
        let spec = spec(&project.reference, &name, key, deployment);
        needed.extend(keys_of_secrets(&spec, deployment));
        manifests.push(json!({
            "apiVersion": ConnectorDeployment::api_version(&()),
            "kind": "ConnectorDeployment",
            "metadata": {"name": name},
            "spec": spec,
        }));
    }
    (manifests, needed, left_out)
}

fn spec(project: &ProjectRef, name: &str, key: &str, deployment: &Deployment) -> Value {
    let connector = &deployment.connector;
    let mut named = connector.key.as_ref().map_or_else(|| json!({"id": connector.id}), |key| json!({"key": key}));
    if *deployment.kind() == DeploymentType::Preview {
        named["staged"] = json!(true);
    }
    let whole = keys_of_whole_secret(deployment);
    let applications: Vec<Value> = deployment
        .applications
        .iter()
        .filter_map(|application| {
            let prefix = format!("{}.", application.application_name);
            let secured = application.secured_configuration.iter().filter(|value| !whole.contains(&value.key));
            let mut values = values(name, &prefix, &application.standard_configuration, secured);
            if let Some(schedule) = &application.schedule {
                values.insert("schedule".into(), json!(schedule));
            }
            if let Some(policy) = application.retry_policy.as_ref().and_then(retry_policy) {
                values.insert("retryPolicy".into(), policy);
            }
            if values.is_empty() {
                return None;
            }
            values.insert("applicationName".into(), json!(application.application_name));
            Some(Value::Object(values))
        })
        .collect();
    let mut spec = json!({
        "projectRef": project,
        "key": key,
        "type": deployment.kind().as_str(),
        "region": deployment.deployed_region,
        "connector": named,
        "managementPolicy": "ObserveOnly",
        "adoptionPolicy": "Adopt",
    });
    if !whole.is_empty() {
        spec["configurationFrom"] = json!([{"secretRef": {"name": name}}]);
    }
    if !applications.is_empty() {
        spec["configurations"] = Value::Array(applications);
    }
    if let Some(global) = &deployment.global_configuration {
        let secured = global.secured_configuration.iter().filter(|value| !whole.contains(&value.key));
        let global = values(name, "globalConfiguration.", &global.standard_configuration, secured);
        if !global.is_empty() {
            spec["globalConfiguration"] = Value::Object(global);
        }
    }
    spec
}

/// Returns the keys that each Secret of a spec needs for the values of a deployment. What `configurationFrom` has to give is known
/// only for what an export writes; for other sources, the operator waits.
pub(super) fn keys_of_secrets(spec: &Value, deployment: &Deployment) -> Needed {
    let mut needed = Needed::new();
    let entries = spec["configurations"].as_array().into_iter().flatten().chain([&spec["globalConfiguration"]]);
    let single: Vec<&Value> =
        entries.flat_map(|entry| entry["securedConfiguration"].as_array().into_iter().flatten()).collect();
    for reference in single.iter().map(|value| &value["valueFrom"]["secretKeyRef"]) {
        if let (Some(secret), Some(key)) = (reference["name"].as_str(), reference["key"].as_str()) {
            needed.entry(secret.to_owned()).or_default().push(key.to_owned());
        }
    }
    if let Some([source]) = spec["configurationFrom"].as_array().map(Vec::as_slice)
        && let Some(secret) = source["secretRef"]["name"].as_str()
        && [&source["prefix"], &source["applications"]].iter().all(|it| it.is_null())
        && source["optional"] != true
    {
        let whole = keys_of_whole_secret(deployment).into_iter();
        let whole = whole.filter(|key| !single.iter().any(|value| value["key"] == key.as_str()));
        needed.entry(secret.to_owned()).or_default().extend(whole);
    }
    needed
}

/// Returns the secured keys of the deployment that `configurationFrom` may fill: the connector declares each of them once, and
/// where it is set, so that the value goes nowhere else; and a Secret allows it.
fn keys_of_whole_secret(deployment: &Deployment) -> BTreeSet<String> {
    let seen = of_record(deployment);
    let declared = seen.declared.unwrap_or_default().keys;
    let is_once = |item: &&Item| {
        let mut places = declared.keys().filter(|other| other.key == item.key);
        places.next() == Some(*item) && places.next().is_none() && item.key.chars().all(is_of_data)
    };
    seen.secured.iter().filter(is_once).map(|item| item.key.clone()).collect()
}

/// The retry policy, if a spec allows it; otherwise the connector decides.
fn retry_policy(policy: &RetryPolicy) -> Option<Value> {
    let backoff = policy.min_backoff_seconds.is_some() && policy.max_backoff_seconds.is_some();
    match policy.strategy.as_str() {
        strategy @ "immediate" => Some(json!({"strategy": strategy})),
        "exponential-backoff" if backoff => Some(json!(policy)),
        _ => None,
    }
}

/// Plain values verbatim; secured ones as references, since the API does not return them.
fn values<'a>(
    object: &str,
    prefix: &str,
    standard: &[ConfigurationValue],
    secured: impl Iterator<Item = &'a SecuredValue>,
) -> Map<String, Value> {
    let mut values = Map::new();
    if !standard.is_empty() {
        let plain = standard.iter().map(|value| json!({"key": value.key, "value": value.value}));
        values.insert("standardConfiguration".into(), plain.collect());
    }
    let references: Vec<_> = secured
        .map(|value| {
            let reference = json!({"name": object, "key": key_of_secret(&format!("{prefix}{}", value.key))});
            json!({"key": value.key, "valueFrom": {"secretKeyRef": reference}})
        })
        .collect();
    if !references.is_empty() {
        values.insert("securedConfiguration".into(), Value::Array(references));
    }
    values
}

/// Converts to a key that a Secret allows: letters, digits, `-`, `_` and `.`.
fn key_of_secret(key: &str) -> String {
    key.chars().map(|letter| if is_of_data(letter) { letter } else { '_' }).collect()
}

/// Returns the name, with a number appended if it is taken.
pub(super) fn unique(name: &str, taken: &mut BTreeSet<String>) -> String {
    let numbered = (2..).map(|number| {
        let end = format!("-{number}");
        let start = name.len().min(LONGEST_NAME - end.len());
        format!("{}{end}", name[..start].trim_end_matches('-'))
    });
    let free = std::iter::once(name.to_owned()).chain(numbered).find(|name| !taken.contains(name));
    let free = free.unwrap_or_else(|| name.to_owned());
    taken.insert(free.clone());
    free
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::ConnectorDeployment;

    fn deployment(change: &Value) -> Deployment {
        let mut record = json!({
            "id": "1", "key": "Shop_Tax", "version": 3, "status": "Deployed", "type": "sandbox",
            "deployedRegion": "us-east-2.aws",
            "connector": {"id": "9", "key": "tax", "version": 7},
            "applications": [{
                "id": "2", "applicationName": "service",
                "standardConfiguration": [{"key": "LEVEL", "value": "info"}],
                "securedConfiguration": [{"key": "A TOKEN", "value": "canary"}],
            }],
        });
        for (name, value) in change.as_object().expect("members") {
            record[name] = value.clone();
        }
        serde_json::from_value(record).expect("a record")
    }

    fn known() -> Known {
        Known { reference: crate::cli::resources::project_argument("shop").expect("a name"), manifest: None }
    }

    #[test]
    fn a_shared_project_is_named_with_its_kind() {
        let reference = crate::cli::resources::project_argument("clusterproject/shop").expect("a project");
        let (manifests, ..) = manifests(&Known { reference, manifest: None }, &[&deployment(&json!({}))]);
        assert_eq!(manifests[0]["spec"]["projectRef"], json!({"kind": "ClusterConnectProject", "name": "shop"}));
    }

    #[test]
    fn a_deployment_becomes_a_manifest_that_only_observes() {
        let (manifests, _, left_out) = manifests(&known(), &[&deployment(&json!({}))]);
        assert!(left_out.is_empty());
        assert_eq!(
            manifests[0]["spec"],
            json!({
                "projectRef": {"name": "shop"}, "key": "Shop_Tax", "type": "sandbox", "region": "us-east-2.aws",
                "connector": {"key": "tax"}, "managementPolicy": "ObserveOnly", "adoptionPolicy": "Adopt",
                "configurations": [{
                    "applicationName": "service",
                    "standardConfiguration": [{"key": "LEVEL", "value": "info"}],
                    "securedConfiguration": [
                        {"key": "A TOKEN", "valueFrom": {"secretKeyRef": {"name": "shop-tax", "key": "service.A_TOKEN"}}},
                    ],
                }],
            })
        );
        assert!(!json!(manifests).to_string().contains("canary"));
        serde_json::from_value::<ConnectorDeployment>(manifests[0].clone()).expect("it is valid");
    }

    #[test]
    fn a_key_that_is_declared_once_is_read_from_the_whole_secret() {
        let secured =
            |keys: &[&str]| -> Vec<Value> { keys.iter().map(|key| json!({"key": key, "value": "x"})).collect() };
        let application =
            |name: &str, keys: &[&str]| json!({"applicationName": name, "securedConfiguration": secured(keys)});
        let applications = json!([application("service", &["TOKEN", "BOTH", "A B"]), application("event", &["BOTH"])]);
        let record = |declared: &Value| {
            let connector = json!({"id": "9", "version": 7, "configurations": declared});
            deployment(&json!({"connector": connector, "applications": applications}))
        };
        let elsewhere = json!([application("event", &["TOKEN"])]);
        for (case, declared, whole, single) in [
            ("declared", applications.clone(), vec!["TOKEN"], vec!["service.BOTH", "service.A_B", "event.BOTH"]),
            ("unknown", Value::Null, vec![], vec!["service.TOKEN", "service.BOTH", "service.A_B", "event.BOTH"]),
            ("elsewhere", elsewhere, vec![], vec!["service.TOKEN", "service.BOTH", "service.A_B", "event.BOTH"]),
        ] {
            let record = record(&declared);
            assert_eq!(keys_of_whole_secret(&record).into_iter().collect::<Vec<_>>(), whole, "{case}");
            let (manifests, ..) = manifests(&known(), &[&record]);
            let spec = &manifests[0]["spec"];
            let sources = if whole.is_empty() { Value::Null } else { json!([{"secretRef": {"name": "shop-tax"}}]) };
            assert_eq!(spec["configurationFrom"], sources, "{case}");
            let entries = spec["configurations"].as_array().into_iter().flatten();
            let entries = entries.flat_map(|it| it["securedConfiguration"].as_array().into_iter().flatten());
            let keys: Vec<_> = entries.filter_map(|it| it["valueFrom"]["secretKeyRef"]["key"].as_str()).collect();
            assert_eq!(keys, single, "{case}");
        }
    }

    #[test]
    fn previews_jobs_and_global_values_are_exported() {
        let record = deployment(&json!({
            "type": "preview", "connector": {"id": "9", "version": 1},
            "applications": [{"id": "2", "applicationName": "job", "schedule": "0 5 * * *"}],
            "globalConfiguration": {"securedConfiguration": [{"key": "SIGN", "value": "x"}]},
        }));
        let (manifests, ..) = manifests(&known(), &[&record]);
        let spec = &manifests[0]["spec"];
        assert_eq!(spec["connector"], json!({"id": "9", "staged": true}));
        assert_eq!(spec["configurations"], json!([{"applicationName": "job", "schedule": "0 5 * * *"}]));
        let reference = &spec["globalConfiguration"]["securedConfiguration"][0]["valueFrom"]["secretKeyRef"];
        assert_eq!(*reference, json!({"name": "shop-tax", "key": "globalConfiguration.SIGN"}));
    }

    #[test]
    fn a_retry_policy_is_exported_if_it_can_be_applied() {
        let backoff = json!({"strategy": "exponential-backoff", "minBackoffSeconds": 10, "maxBackoffSeconds": 60});
        for (case, shown, expected) in [
            ("backoff", backoff.clone(), Some(backoff.clone())),
            (
                "immediate, with pauses that the service returns anyway",
                json!({"strategy": "immediate", "minBackoffSeconds": 10}),
                Some(json!({"strategy": "immediate"})),
            ),
            ("backoff without pauses", json!({"strategy": "exponential-backoff"}), None),
            ("an unknown strategy", json!({"strategy": "lunar"}), None),
            ("none", Value::Null, None),
        ] {
            let record = deployment(&json!({"applications": [{"applicationName": "events", "retryPolicy": shown}]}));
            let (manifests, ..) = manifests(&known(), &[&record]);
            let found = manifests[0]["spec"]["configurations"][0].get("retryPolicy").cloned();
            assert_eq!(found, expected, "{case}");
        }
    }

    #[test]
    fn names_are_unique_labels_and_deployments_without_a_key_are_skipped() {
        let keys = ["Shop_Tax", "shop-tax", "__", &"x".repeat(256), &format!("{}y", "x".repeat(255))];
        let records: Vec<_> = keys.iter().map(|key| deployment(&json!({"key": key, "applications": []}))).collect();
        let without = deployment(&json!({"id": "77", "key": null}));
        let all: Vec<_> = records.iter().chain([&without]).collect();
        let (manifests, _, left_out) = manifests(&known(), &all);
        assert_eq!(left_out, ["77"]);
        let names: Vec<_> =
            manifests.iter().map(|manifest| manifest["metadata"]["name"].as_str().expect("a name")).collect();
        let x = "x".repeat(63);
        assert_eq!(names, ["shop-tax", "shop-tax-2", "deployment", &x, &format!("{}-2", &x[..61])]);
    }
}
