//! `version`: shows the versions of this program, of the cluster, of its operators and of its CRDs.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

use crate::cli::cluster::ClusterOptions;
use crate::cli::installs;
use crate::cli::printing::print;
use crate::controllers::clients::served_crds;
use crate::names;

use super::failure::Failed;
use super::output::Data;
use crate::cli::text::{columns, plain};
use crate::error_text::with_causes;

const EXAMPLES: &str = "\
Examples:
  # This program, the cluster, its operators and CRDs
  connect-operator version

  # Only this program
  connect-operator version --client

  # With the right to read one namespace only: the operator in it
  connect-operator version --namespace connect-operator";

/// Show the versions of this program, of the cluster, of its operators and of its CRDs.
///
/// Looks for operators in all namespaces, or in that of --namespace. What the user may not read is reported as such, and
/// is no failure; an unreachable cluster is one.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Version {
    /// Show only the version of this program, without a cluster.
    #[arg(long)]
    client: bool,

    /// Output format. Default: text for people.
    #[arg(long, short, value_enum)]
    output: Option<Data>,

    #[command(flatten)]
    place: ClusterOptions,
}

/// Prints the versions.
///
/// # Errors
/// If the cluster cannot be reached, after the version of this program was printed.
pub(in crate::cli) async fn version(args: Version) -> Result<(), Failed> {
    let mut found = json!({"client": env!("CARGO_PKG_VERSION")});
    let asked = if args.client { Ok(()) } else { cluster(&args, &mut found).await };
    print(&match args.output {
        None => text(&found),
        Some(form) => form.text(&found).map_err(Failed::Argument)?,
    })?;
    asked
}

async fn cluster(args: &Version, found: &mut Value) -> Result<(), Failed> {
    let (client, namespace) = args.place.client().await.map_err(Failed::Cluster)?;
    let version = client.apiserver_version().await.map(|version| json!(version.git_version));
    found["kubernetes"] = known(version).map_err(|error| Failed::Cluster(with_causes(&error)))?;
    found["operators"] = known(operators(&client, args.place.namespace.is_some().then_some(namespace.as_str())).await)?;
    found["crds"] = known(crds(&client).await)?;
    // A missing CRD or field stops the operator, so a few of them say enough.
    let missing = served_crds::missing(&client).await;
    found["missing"] = known(missing.map(|missing| json!(missing.iter().take(10).collect::<Vec<_>>())))?;
    Ok(())
}

/// Returns what was read, or the message of the API server if the user may not read it.
fn known(read: Result<Value, kube::Error>) -> Result<Value, kube::Error> {
    match read {
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(json!(format!("not readable: {}", status.message))),
        read => read,
    }
}

/// Returns the operators.
async fn operators(client: &Client, namespace: Option<&str>) -> Result<Value, kube::Error> {
    Ok(installs::list(client, namespace).await?.iter().map(operator).collect())
}

fn operator(object: &Deployment) -> Value {
    let template = object.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let image = template.and_then(|pod| pod.containers.first()).and_then(|container| container.image.as_deref());
    let status = object.status.as_ref();
    json!({
        "namespace": object.namespace(),
        "name": object.name_any(),
        "version": object.labels().get(names::APP_VERSION),
        "image": image,
        "replicas": object.spec.as_ref().and_then(|spec| spec.replicas),
        "readyReplicas": status.and_then(|status| status.ready_replicas).unwrap_or_default(),
    })
}

async fn crds(client: &Client) -> Result<Value, kube::Error> {
    let listed = Api::<CustomResourceDefinition>::all(client.clone()).list(&ListParams::default()).await?;
    let ours = listed.items.iter().filter(|crd| crd.spec.group == names::GROUP);
    Ok(ours.map(crd).collect())
}

fn crd(object: &CustomResourceDefinition) -> Value {
    let versions = object.spec.versions.iter();
    let served: Vec<&str> = versions.filter(|version| version.served).map(|version| version.name.as_str()).collect();
    let stored = object.status.as_ref().and_then(|status| status.stored_versions.clone()).unwrap_or_default();
    json!({"name": object.name_any(), "served": served, "stored": stored})
}

/// Writes one entry of a section of the page.
type Line<'a> = &'a dyn Fn(&Value) -> String;

/// Returns the versions as a page.
fn text(found: &Value) -> String {
    let word = |value: &Value| value.as_str().map_or("-".to_owned(), plain);
    let words = |value: &Value| value.as_array().into_iter().flatten().map(word).collect::<Vec<_>>().join(", ");
    let mut lines = vec![vec!["Client:".to_owned(), word(&found["client"])]];
    if found["kubernetes"].is_string() {
        lines.push(vec!["Kubernetes:".to_owned(), word(&found["kubernetes"])]);
    }
    let operator = |it: &Value| {
        let number = |value: &Value| value.as_i64().unwrap_or(1);
        let ready = format!("{} of {} ready", number(&it["readyReplicas"]), number(&it["replicas"]));
        format!(
            "{} in {}/{}, {}, {ready}",
            word(&it["version"]),
            word(&it["namespace"]),
            word(&it["name"]),
            word(&it["image"])
        )
    };
    let crd =
        |it: &Value| format!("{}, served {}, stored {}", word(&it["name"]), words(&it["served"]), words(&it["stored"]));
    let sections: [(&str, &Value, Line<'_>); 3] = [
        ("Operator", &found["operators"], &operator),
        ("CRD", &found["crds"], &crd),
        ("Missing", &found["missing"], &word),
    ];
    for (label, value, line) in sections {
        let texts = match value {
            Value::Array(items) if items.is_empty() && label == "Missing" => Vec::new(),
            Value::Array(items) if items.is_empty() => vec!["none found".to_owned()],
            Value::Array(items) => items.iter().map(line).collect(),
            Value::String(text) => vec![plain(text)],
            _ => Vec::new(),
        };
        for (at, text) in texts.into_iter().enumerate() {
            lines.push(vec![if at == 0 { format!("{label}:") } else { String::new() }, text]);
        }
    }
    columns(&lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_side_has_its_lines() {
        let operator = json!({
            "metadata": {"namespace": "system", "name": "connect-operator",
                "labels": {"app.kubernetes.io/version": "0.1.0"}},
            "spec": {"replicas": 2, "selector": {}, "template": {"spec": {"containers": [{"name": "operator", "image": "registry/connect-operator:0.1.0"}]}}},
            "status": {"readyReplicas": 1},
        });
        let definition = json!({
            "metadata": {"name": "actionchecks.connect-operator.io"},
            "spec": {"group": "connect-operator.io", "names": {"kind": "ActionCheck", "plural": "actionchecks"}, "scope": "Namespaced",
                "versions": [{"name": "v1alpha1", "served": true, "storage": true}, {"name": "v0", "served": false, "storage": false}]},
            "status": {"storedVersions": ["v1alpha1"]},
        });
        let operators = [super::operator(&serde_json::from_value(operator).expect("a Deployment"))];
        let definitions = [super::crd(&serde_json::from_value(definition).expect("a CRD"))];
        for (case, found, expected) in [
            ("only this program", json!({"client": "0.1.0"}), "Client:   0.1.0\n"),
            (
                "everything",
                json!({"client": "0.1.0", "kubernetes": "v1.33.1", "operators": operators, "crds": definitions, "missing": []}),
                "Client:       0.1.0\n\
                 Kubernetes:   v1.33.1\n\
                 Operator:     0.1.0 in system/connect-operator, registry/connect-operator:0.1.0, 1 of 2 ready\n\
                 CRD:          actionchecks.connect-operator.io, served v1alpha1, stored v1alpha1\n",
            ),
            (
                "nothing is installed or readable",
                json!({"client": "0.1.0", "kubernetes": "v1.33.1", "operators": [], "crds": "not readable: no\u{1b}t you", "missing": ["one", "two"]}),
                "Client:       0.1.0\n\
                 Kubernetes:   v1.33.1\n\
                 Operator:     none found\n\
                 CRD:          not readable: no\u{fffd}t you\n\
                 Missing:      one\n\
                 \x20             two\n",
            ),
        ] {
            assert_eq!(text(&found), expected, "{case}");
        }
    }
}
