//! The operators that run in the cluster: their Deployments, found by the label of the chart, and the options of their
//! command lines.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use crate::leader::LeaseName;
use crate::names;

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

    /// Returns the values of an option that takes a list; empty if it is absent.
    pub(super) fn values(&self, option: &str) -> Vec<&'a str> {
        self.value(option).into_iter().flat_map(|list| list.split(',')).filter(|word| !word.is_empty()).collect()
    }

    /// Returns whether the operator watches a namespace; `None`: all namespaces.
    pub(super) fn watches(&self, namespace: Option<&str>) -> bool {
        let watched = self.values("--watch-namespaces");
        !self.watches_some() || namespace.is_some_and(|namespace| watched.contains(&namespace))
    }

    /// Returns whether the operator watches single namespaces only.
    pub(super) fn watches_some(&self) -> bool {
        !self.values("--watch-namespaces").is_empty()
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

    /// Returns the name of its service account.
    pub(super) fn service_account(&self) -> String {
        let pod = self.deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
        pod.and_then(|pod| pod.service_account_name.clone()).unwrap_or_else(|| "default".to_owned())
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
    fn options_are_read_in_both_spellings() {
        let operator = deployment(&["run", "--leader-elect", "--lease-name=one", "--watch-namespaces", "shop,tax"]);
        let install = Install::of(&operator).expect("an operator");
        assert_eq!((install.value("--lease-name"), install.value("--lease")), (Some("one"), None));
        assert!(install.has("--leader-elect") && !install.has("--require-secret-label"));
        assert_eq!(install.values("--watch-namespaces"), ["shop", "tax"]);
        assert_eq!(install.lease().map(|lease| lease.to_string()).as_deref(), Some("system/one"));
        assert_eq!((install.namespace().as_str(), install.service_account().as_str()), ("system", "default"));
        for (namespace, watched) in [(Some("tax"), true), (Some("oms"), false), (None, false)] {
            assert_eq!(install.watches(namespace), watched, "{namespace:?}");
        }
        let everywhere = deployment(&["run"]);
        assert_eq!(Install::of(&everywhere).and_then(|install| install.lease()), None);
        assert!(Install::of(&everywhere).is_some_and(|install| install.watches(None) && install.watches(Some("oms"))));
        assert!(Install::of(&deployment(&["dev-server"])).is_none(), "a dev server of the same image");
    }
}
