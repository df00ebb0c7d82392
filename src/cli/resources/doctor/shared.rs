//! Projects that namespaces share: which namespaces may use each, and whether an operator works with them. Pure.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Namespace;
use kube::ResourceExt as _;
use kube::api::PartialObjectMeta;

use super::finding::{Finding, Level};
use crate::cli::installs::{CLUSTER_PROJECTS, Install};
use crate::cli::resources::facts::requirements;
use crate::cli::resources::kind::{Resource, ResourceType};
use crate::crd::{AllowedNamespaces, ClusterConnectProject};

pub(super) const ALLOWED: &str = "Allowed namespaces";
/// Where the chart turns shared projects on.
const ENABLE: &str = "Set clusterProjects.enabled: true in the values of the chart (run --cluster-projects).";

/// The labels of the namespaces that exist.
pub(super) type Labels = BTreeMap<String, BTreeMap<String, String>>;

/// Returns the labels of these namespaces.
pub(super) fn labels(namespaces: &[PartialObjectMeta<Namespace>]) -> Labels {
    namespaces.iter().map(|namespace| (namespace.name_any(), namespace.labels().clone())).collect()
}

/// Checks that each shared project allows namespaces that exist.
pub(super) fn allowed(resources: &[Resource], namespaces: &Labels) -> Vec<Finding> {
    let shared = resources.iter().filter_map(|resource| match resource {
        Resource::ClusterProject(object) => Some(object),
        _ => None,
    });
    shared.flat_map(|object| of_project(object, namespaces)).collect()
}

fn of_project(object: &ClusterConnectProject, namespaces: &Labels) -> Vec<Finding> {
    let name = object.name_any();
    let warning =
        |message: String, remedy: &str| Finding::new(Level::Warning, ALLOWED, format!("{name}: {message}"), remedy);
    let allowed = object.spec.allowed_namespaces.clone().unwrap_or_default();
    let AllowedNamespaces { names, selector } = &allowed;
    if names.is_empty() && selector.is_none() {
        return vec![warning("no namespace may use it".to_owned(), "Name namespaces in spec.allowedNamespaces.")];
    }
    let mut findings = Vec::new();
    let absent: Vec<&str> = names.iter().map(String::as_str).filter(|name| !namespaces.contains_key(*name)).collect();
    if !absent.is_empty() {
        let message = format!("it allows namespaces that do not exist: {}", absent.join(", "));
        findings.push(warning(
            message,
            "Remove them from spec.allowedNamespaces.names: whoever creates them may use the project.",
        ));
    }
    if let Some(selector) = selector
        && !namespaces.values().any(|labels| selector.matches(labels))
    {
        let message = format!("no namespace has the labels {}", requirements(selector));
        findings
            .push(warning(message, "Correct spec.allowedNamespaces.selector, or set the labels of the namespaces."));
    }
    if findings.is_empty() {
        let count = namespaces.iter().filter(|(name, labels)| allowed.allow(name, Some(labels))).count();
        let may =
            if count == 1 { "1 namespace may use it".to_owned() } else { format!("{count} namespaces may use it") };
        findings.push(Finding::ok(ALLOWED, format!("{name}: {may}")));
    }
    findings
}

/// Checks that an operator works with the shared projects, if the operators are known.
pub(super) fn operator(resources: &[Resource], installs: &[Install<'_>]) -> Option<Finding> {
    let shared = resources.iter().find(|it| it.resource_type() == ResourceType::ClusterProject)?;
    let works = installs.is_empty() || installs.iter().any(|install| install.has(CLUSTER_PROJECTS));
    (!works).then(|| {
        let message = format!("no operator works with ClusterConnectProjects, such as {}", shared.name());
        Finding::new(Level::Problem, super::install::DEPLOYMENT, message, ENABLE)
    })
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::apps::v1::Deployment;
    use serde_json::{Value, json};

    use super::*;
    use crate::cli::resources::samples::{cluster_project, project};

    #[test]
    fn a_shared_project_allows_namespaces_that_exist() {
        let exist: Labels = [("shop", &[("team", "tax")][..]), ("yard", &[])]
            .map(|(name, labels)| {
                (name.to_owned(), labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect())
            })
            .into();
        let by_label = |team: &str| json!({"selector": {"matchLabels": {"team": team}}});
        let (warning, ok) = (Level::Warning, Level::Ok);
        for (case, allowed, expected) in [
            ("nothing", Value::Null, vec![(warning, "shop: no namespace may use it")]),
            ("an empty list", json!({"names": []}), vec![(warning, "shop: no namespace may use it")]),
            ("names", json!({"names": ["shop", "yard"]}), vec![(ok, "shop: 2 namespaces may use it")]),
            ("labels", by_label("tax"), vec![(ok, "shop: 1 namespace may use it")]),
            (
                "a typing error",
                json!({"names": ["shop", "yrad", "x"]}),
                vec![(warning, "shop: it allows namespaces that do not exist: yrad, x")],
            ),
            ("labels that none has", by_label("oms"), vec![(warning, "shop: no namespace has the labels team=oms")]),
            (
                "both",
                json!({"names": ["x"], "selector": by_label("oms")["selector"]}),
                vec![
                    (warning, "shop: it allows namespaces that do not exist: x"),
                    (warning, "shop: no namespace has the labels team=oms"),
                ],
            ),
        ] {
            let all = [project(&json!({})), cluster_project(&json!({"spec": {"allowedNamespaces": allowed}}))];
            let found = allowed_findings(&all, &exist);
            assert_eq!(
                found,
                expected.iter().map(|(level, text)| (*level, (*text).to_owned())).collect::<Vec<_>>(),
                "{case}"
            );
        }
    }

    fn allowed_findings(all: &[Resource], exist: &Labels) -> Vec<(Level, String)> {
        allowed(all, exist).into_iter().map(|it| (it.level, it.message)).collect()
    }

    #[test]
    fn shared_projects_need_an_operator_that_works_with_them() {
        let deployment = |arguments: Value| -> Deployment {
            let containers = json!([{"name": "operator", "args": arguments}]);
            serde_json::from_value(json!({"metadata": {"name": "operator"},
                "spec": {"selector": {}, "template": {"spec": {"containers": containers}}}}))
            .expect("a Deployment")
        };
        let (with, without) = (deployment(json!(["run", "--cluster-projects"])), deployment(json!(["run"])));
        let all = [cluster_project(&json!({}))];
        for (case, resources, operators, expected) in [
            ("one with them", &all[..], vec![&without, &with], false),
            ("none with them", &all, vec![&without], true),
            ("no operator was found, which another finding tells", &all, vec![], false),
            ("no shared project", &[], vec![&without], false),
        ] {
            let installs: Vec<Install<'_>> = operators.into_iter().filter_map(Install::of).collect();
            assert_eq!(operator(resources, &installs).is_some(), expected, "{case}");
        }
    }
}
