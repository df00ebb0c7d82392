//! The operators that run in the cluster: their Deployments, found by the label of the chart, and the options of their
//! command lines.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use super::reach::PROJECT_OPTIONS;
use crate::leader::LeaseName;
use crate::names;

/// Option of `run` with which an operator works with `ClusterConnectProject`s.
pub(super) const CLUSTER_PROJECTS: &str = "--cluster-projects";

/// Where the credentials of shared projects are.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct OperatorNamespace {
    /// Namespace of the operator, which has the credentials of a ClusterConnectProject. Default: that of the only operator
    /// with --cluster-projects.
    #[arg(long, value_name = "NAMESPACE", env = "OPERATOR_NAMESPACE", help_heading = PROJECT_OPTIONS)]
    operator_namespace: Option<String>,
}

impl OperatorNamespace {
    /// Returns the given namespace.
    pub(super) fn given(&self) -> Option<&str> {
        self.operator_namespace.as_deref()
    }
}

/// Returns the namespace of the operator that has the credentials of a `ClusterConnectProject`: the given one, or that of
/// the only operator with shared projects.
///
/// # Errors
/// If it is not known, with what the user can do.
pub(super) async fn namespace_of_shared(client: &Client, given: Option<&str>) -> Result<String, String> {
    if let Some(namespace) = given {
        return Ok(namespace.to_owned());
    }
    // A user who may not list them can name the namespace.
    let operators = list(client, None).await.unwrap_or_default();
    only_namespace(operators.iter().filter_map(Install::of).filter(|install| install.has(CLUSTER_PROJECTS)))
}

fn only_namespace<'a>(installs: impl Iterator<Item = Install<'a>>) -> Result<String, String> {
    let namespaces: BTreeSet<String> = installs.map(|install| install.namespace()).collect();
    let mut all = namespaces.iter();
    match (all.next(), all.next()) {
        (Some(only), None) => Ok(only.clone()),
        (found, _) => {
            let what = if found.is_some() {
                "operators with shared projects run in several namespaces"
            } else {
                "no operator with shared projects was found"
            };
            let list = if found.is_some() {
                format!(" ({})", namespaces.iter().map(String::as_str).collect::<Vec<_>>().join(", "))
            } else {
                String::new()
            };
            Err(format!(
                "{what}{list}, and the credentials of a ClusterConnectProject are a Secret in the namespace of its operator: \
                 name it with --operator-namespace"
            ))
        }
    }
}

/// Returns the operators' Deployments. `namespace`: where; `None`: in all namespaces.
///
/// # Errors
/// Those of the API server.
pub(super) async fn list(client: &Client, namespace: Option<&str>) -> Result<Vec<Deployment>, kube::Error> {
    let api: Api<Deployment> = match namespace {
        Some(namespace) => Api::namespaced(client.clone(), namespace),
        None => Api::all(client.clone()),
    };
    let chart = format!("{}={}", names::APP_NAME, env!("CARGO_PKG_NAME"));
    Ok(api.list(&ListParams::default().labels(&chart)).await?.items)
}

/// An operator, as its command line describes it. Values of the environment of its pod are not read.
pub(super) struct Install<'a> {
    deployment: &'a Deployment,
    arguments: &'a [String],
}

impl<'a> Install<'a> {
    /// Returns the operator of a Deployment; `None`: no container of it has the argument `run`.
    pub(super) fn of(deployment: &'a Deployment) -> Option<Self> {
        let pod = deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref())?;
        let arguments = pod.containers.iter().filter_map(|container| container.args.as_deref());
        let arguments = arguments.into_iter().find(|arguments| arguments.first().is_some_and(|it| it == "run"))?;
        Some(Self { deployment, arguments })
    }

    /// Returns whether an option without a value is given.
    pub(super) fn has(&self, option: &str) -> bool {
        self.arguments.iter().any(|argument| argument == option)
    }

    /// Returns the value of an option, written as `--option=value` or as two arguments.
    pub(super) fn value(&self, option: &str) -> Option<&'a str> {
        let joined = self.arguments.iter().filter_map(|argument| argument.strip_prefix(option)?.strip_prefix('='));
        let apart = self.arguments.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1].as_str());
        joined.chain(apart).last()
    }

    /// Returns its Lease; `None`: it runs without leader election.
    pub(super) fn lease(&self) -> Option<LeaseName> {
        let name = self.value("--lease-name").unwrap_or(names::LEASE).to_owned();
        self.has("--leader-elect").then(|| LeaseName { namespace: self.namespace(), name })
    }

    /// Returns the namespace of the operator's own objects.
    pub(super) fn namespace(&self) -> String {
        self.value("--operator-namespace").map_or_else(|| self.deployment.namespace().unwrap_or_default(), Into::into)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(arguments: &[&str]) -> Deployment {
        let containers = json!([{"name": "proxy", "args": ["serve"]}, {"name": "operator", "args": arguments}]);
        serde_json::from_value(json!({
            "metadata": {"namespace": "system", "name": "operator"},
            "spec": {"selector": {}, "template": {"spec": {"containers": containers}}},
        }))
        .expect("a Deployment")
    }

    #[test]
    fn credentials_of_shared_projects_are_in_the_namespace_of_the_only_operator_with_them() {
        let shared = deployment(&["run", CLUSTER_PROJECTS]);
        let other_namespace = deployment(&["run", CLUSTER_PROJECTS, "--operator-namespace=other"]);
        for (case, operators, expected) in [
            ("one", vec![&shared], Ok("system")),
            ("two installs in one namespace", vec![&shared, &shared], Ok("system")),
            ("none", vec![], Err("no operator with shared projects was found")),
            ("two namespaces", vec![&shared, &other_namespace], Err("several namespaces (other, system)")),
        ] {
            let found = only_namespace(operators.into_iter().filter_map(Install::of));
            match (found, expected) {
                (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{case}"),
                (Err(why), Err(expected)) => {
                    assert!(why.contains(expected) && why.ends_with("--operator-namespace"), "{case}: {why}");
                }
                (found, expected) => panic!("{case}: {found:?} instead of {expected:?}"),
            }
        }
    }

    #[test]
    fn options_are_read_in_both_spellings() {
        let operator = deployment(&["run", "--leader-elect", "--lease-name=one", "--watch-namespaces", "shop,tax"]);
        let install = Install::of(&operator).expect("an operator");
        assert_eq!((install.value("--lease-name"), install.value("--lease")), (Some("one"), None));
        assert!(install.has("--leader-elect") && !install.has("--require-secret-label"));
        assert_eq!(install.lease().map(|lease| lease.to_string()).as_deref(), Some("system/one"));
        assert_eq!(install.namespace(), "system");
        let everywhere = deployment(&["run"]);
        assert_eq!(Install::of(&everywhere).and_then(|install| install.lease()), None);
        assert!(Install::of(&deployment(&["dev-server"])).is_none(), "a dev server of the same image");
    }
}
