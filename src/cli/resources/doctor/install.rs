//! Whether an operator runs: its Deployment, and the holder of its Lease. Pure.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::ResourceExt as _;

use super::finding::{Finding, Level};
use crate::cli::text::age;
use crate::leader::{LeaseName, Timing, election};
use crate::names;

pub(super) const DEPLOYMENT: &str = "Operator";
pub(super) const LEASE: &str = "Lease";

/// Returns the finding if no Deployment of an operator exists where it was searched.
pub(super) fn none() -> Finding {
    let message = format!("no Deployment has the label {}={}", names::APP_NAME, env!("CARGO_PKG_NAME"));
    let remedy = "Install the chart, unless the operator runs outside of the cluster (`connect-operator run`, `demo`).";
    Finding::new(Level::Warning, DEPLOYMENT, message, remedy)
}

/// Checks the replicas of an operator and its version.
pub(super) fn deployment(object: &Deployment) -> Finding {
    let (namespace, name) = (object.namespace().unwrap_or_default(), object.name_any());
    let wanted = object.spec.as_ref().and_then(|spec| spec.replicas).unwrap_or(1);
    let ready = object.status.as_ref().and_then(|status| status.ready_replicas).unwrap_or_default();
    let version = object.labels().get(names::APP_VERSION);
    let shown = version.map(|version| format!(" (version {version})")).unwrap_or_default();
    let state = format!("{namespace}/{name}{shown}: {ready} of {wanted} replicas are ready");
    let look = format!("kubectl describe deployment {name} --namespace {namespace}");
    match version {
        _ if wanted == 0 => Finding::new(
            Level::Problem,
            DEPLOYMENT,
            state,
            format!("kubectl scale deployment {name} --namespace {namespace} --replicas 1"),
        ),
        _ if ready == 0 => Finding::new(Level::Problem, DEPLOYMENT, state, look),
        _ if ready < wanted => Finding::new(Level::Warning, DEPLOYMENT, state, look),
        Some(version) if version != env!("CARGO_PKG_VERSION") => {
            let message = format!("{state}; this program has version {}", env!("CARGO_PKG_VERSION"));
            let remedy = "Use this program in the version of the operator: others may not know all fields.";
            Finding::new(Level::Warning, DEPLOYMENT, message, remedy)
        }
        _ => Finding::ok(DEPLOYMENT, state),
    }
}

/// Checks that a replica of an install leads.
pub(super) fn lease(name: &LeaseName, found: Option<&Lease>, now: Timestamp) -> Finding {
    let problem = |what: String| {
        let LeaseName { namespace, .. } = name;
        let remedy = format!(
            "No replica leads, so nothing is reconciled. Check the pods of the operator and their log: \
             kubectl get pods --namespace {namespace}"
        );
        Finding::new(Level::Problem, LEASE, format!("{name}: {what}"), remedy)
    };
    let Some(lease) = found else { return problem("it does not exist".to_owned()) };
    let spec = lease.spec.clone().unwrap_or_default();
    let Some(holder) = election::holder(&spec) else { return problem("nobody holds it".to_owned()) };
    let Some(renewed) = spec.renew_time.as_ref().map(|time| time.0) else {
        return problem(format!("{holder} never renewed it"));
    };
    let since = age(renewed, now);
    let promised = election::promised(&spec, Timing::default().lease);
    match renewed.checked_add(promised) {
        Ok(until) if until < now => problem(format!("{holder} renewed it {since} ago, and holds it no longer")),
        _ => Finding::ok(LEASE, format!("{name}: {holder} leads, and renewed it {since} ago")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn an_operator_is_as_well_as_its_replicas() {
        let version = env!("CARGO_PKG_VERSION");
        for (case, wanted, ready, version, level, expected) in [
            ("all replicas", 2, 2, version, Level::Ok, "2 of 2"),
            ("one of two", 2, 1, version, Level::Warning, "1 of 2"),
            ("none", 2, 0, version, Level::Problem, "0 of 2"),
            ("scaled to 0", 0, 0, version, Level::Problem, "0 of 0"),
            ("another version", 1, 1, "0.0.9", Level::Warning, "version 0.0.9"),
        ] {
            let object: Deployment = serde_json::from_value(json!({
                "metadata": {"namespace": "system", "name": "operator", "labels": {names::APP_VERSION: version}},
                "spec": {"replicas": wanted, "selector": {}, "template": {}}, "status": {"readyReplicas": ready},
            }))
            .expect("a Deployment");
            let found = deployment(&object);
            assert_eq!(found.level, level, "{case}: {}", found.message);
            assert!(found.message.contains(expected), "{case}: {}", found.message);
        }
    }

    #[test]
    fn a_lease_needs_a_holder_that_renews_it() {
        let name = LeaseName { namespace: "system".to_owned(), name: "operator".to_owned() };
        let now: Timestamp = "2026-11-23T09:10:00Z".parse().expect("a time");
        let held = |renewed: &str| json!({"holderIdentity": "pod-1", "leaseDurationSeconds": 15, "renewTime": renewed});
        for (case, spec, level, expected) in [
            ("held", held("2026-11-23T09:09:57.000000Z"), Level::Ok, "pod-1 leads, and renewed it 3s ago"),
            (
                "expired",
                held("2026-11-23T09:05:00.000000Z"),
                Level::Problem,
                "renewed it 5m ago, and holds it no longer",
            ),
            ("renewed by a clock that is ahead", held("2026-11-23T09:11:00.000000Z"), Level::Ok, "0s ago"),
            ("released", json!({"holderIdentity": ""}), Level::Problem, "nobody holds it"),
            ("never renewed", json!({"holderIdentity": "pod-1"}), Level::Problem, "never renewed"),
            ("absent", Value::Null, Level::Problem, "it does not exist"),
        ] {
            let object = (!spec.is_null()).then(|| json!({"metadata": {}, "spec": spec}));
            let object = object.map(|object| serde_json::from_value::<Lease>(object).expect("a Lease"));
            let found = lease(&name, object.as_ref(), now);
            assert_eq!(found.level, level, "{case}: {}", found.message);
            assert!(found.message.contains(expected), "{case}: {}", found.message);
        }
    }
}
