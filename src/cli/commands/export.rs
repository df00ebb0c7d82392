//! `deployments export`: prints existing deployments as manifests. Pure, except for the command itself.
//!
//! Applying the manifests changes nothing at the remote: the resources only observe, their Secrets have no keys, and a
//! resource that is switched to `managementPolicy: Full` waits for its values.

use std::collections::BTreeSet;
use std::sync::Arc;

use connect_api::model::{ConfigurationValue, Deployment, DeploymentType, RetryPolicy, SecuredValue};
use connect_api::paging;
use kube::Resource as _;
use serde_json::{Map, Value, json};

use crate::crd::{ConnectorDeployment, ProjectRef};

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
    let (manifests, left_out) = manifests(&known, &found);
    report_skipped("deployment", &left_out);
    print_manifests(&manifests)
}

/// Returns the manifests, and the ids of deployments that cannot be exported.
pub(super) fn manifests(project: &Known, deployments: &[&Deployment]) -> (Vec<Value>, Vec<String>) {
    let mut manifests: Vec<Value> = project.manifest.iter().cloned().collect();
    let (mut taken, mut left_out) = (BTreeSet::new(), Vec::new());
    for deployment in deployments {
        let Some(key) = &deployment.key else {
            left_out.push(deployment.id.clone());
            continue;
        };
        let name = unique(&label(key), &mut taken);
        let spec = spec(&project.reference, &name, key, deployment);
        if spec.to_string().contains("secretKeyRef") {
            manifests.push(json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}}));
        }
        manifests.push(json!({
            "apiVersion": ConnectorDeployment::api_version(&()),
            "kind": "ConnectorDeployment",
            "metadata": {"name": name},
            "spec": spec,
        }));
    }
    (manifests, left_out)
}

fn spec(project: &ProjectRef, name: &str, key: &str, deployment: &Deployment) -> Value {
    let connector = &deployment.connector;
    let mut named = connector.key.as_ref().map_or_else(|| json!({"id": connector.id}), |key| json!({"key": key}));
    if *deployment.kind() == DeploymentType::Preview {
        named["staged"] = json!(true);
    }
    let applications: Vec<Value> = deployment
        .applications
        .iter()
        .map(|application| {
            let prefix = format!("{}.", application.application_name);
            let mut values =
                values(name, &prefix, &application.standard_configuration, &application.secured_configuration);
            values.insert("applicationName".into(), json!(application.application_name));
            if let Some(schedule) = &application.schedule {
                values.insert("schedule".into(), json!(schedule));
            }
            if let Some(policy) = application.retry_policy.as_ref().and_then(retry_policy) {
                values.insert("retryPolicy".into(), policy);
            }
            Value::Object(values)
        })
        .collect();
    let mut spec = json!({
        "projectRef": project,
        "key": key,
        "type": deployment.kind().as_str(),
        "region": deployment.deployed_region,
        "connector": named,
        "configurations": applications,
        "managementPolicy": "ObserveOnly",
        "adoptionPolicy": "Adopt",
    });
    if let Some(global) = &deployment.global_configuration {
        let global = values(name, "", &global.standard_configuration, &global.secured_configuration);
        if !global.is_empty() {
            spec["globalConfiguration"] = Value::Object(global);
        }
    }
    spec
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
fn values(object: &str, prefix: &str, standard: &[ConfigurationValue], secured: &[SecuredValue]) -> Map<String, Value> {
    let mut values = Map::new();
    if !standard.is_empty() {
        let plain = standard.iter().map(|value| json!({"key": value.key, "value": value.value}));
        values.insert("standardConfiguration".into(), plain.collect());
    }
    if !secured.is_empty() {
        let references = secured.iter().map(|value| {
            let reference = json!({"name": object, "key": key_of_secret(&format!("{prefix}{}", value.key))});
            json!({"key": value.key, "valueFrom": {"secretKeyRef": reference}})
        });
        values.insert("securedConfiguration".into(), references.collect());
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
        let (manifests, _) = manifests(&Known { reference, manifest: None }, &[&deployment(&json!({}))]);
        assert_eq!(manifests[1]["spec"]["projectRef"], json!({"kind": "ClusterConnectProject", "name": "shop"}));
    }

    #[test]
    fn a_deployment_becomes_a_manifest_that_only_observes_and_a_secret_without_keys() {
        let (manifests, left_out) = manifests(&known(), &[&deployment(&json!({}))]);
        assert!(left_out.is_empty());
        assert_eq!(manifests[0], json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "shop-tax"}}));
        assert_eq!(
            manifests[1]["spec"],
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
        serde_json::from_value::<ConnectorDeployment>(manifests[1].clone()).expect("it is valid");
    }

    #[test]
    fn previews_jobs_and_global_values_are_exported() {
        let record = deployment(&json!({
            "type": "preview", "connector": {"id": "9", "version": 1},
            "applications": [{"id": "2", "applicationName": "job", "schedule": "0 5 * * *"}],
            "globalConfiguration": {"securedConfiguration": [{"key": "SIGN", "value": "x"}]},
        }));
        let (manifests, _) = manifests(&known(), &[&record]);
        let spec = &manifests[1]["spec"];
        assert_eq!(spec["connector"], json!({"id": "9", "staged": true}));
        assert_eq!(spec["configurations"], json!([{"applicationName": "job", "schedule": "0 5 * * *"}]));
        let reference = &spec["globalConfiguration"]["securedConfiguration"][0]["valueFrom"]["secretKeyRef"];
        assert_eq!(*reference, json!({"name": "shop-tax", "key": "SIGN"}));
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
            let (manifests, _) = manifests(&known(), &[&record]);
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
        let (manifests, left_out) = manifests(&known(), &all);
        assert_eq!(left_out, ["77"]);
        let names: Vec<_> =
            manifests.iter().map(|manifest| manifest["metadata"]["name"].as_str().expect("a name")).collect();
        let x = "x".repeat(63);
        assert_eq!(names, ["shop-tax", "shop-tax-2", "deployment", &x, &format!("{}-2", &x[..61])]);
    }
}
