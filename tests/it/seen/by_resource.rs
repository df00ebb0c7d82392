//! The alerts of resources fire for the states that need somebody, and name the resource.

use connect_operator::operator::reporting::reason::ConditionState;

use super::queries::alerts_of;
use crate::documentation::reasons::{looks, of_kinds};
use crate::prelude::*;

/// Whether a selector of a query, such as `name{label="value"}`, selects a metric.
fn selects(selector: &str, (metric, labels): &Series) -> bool {
    let (name, matchers) = selector.split_once('{').unwrap_or((selector, ""));
    let mut matchers = matchers.trim_end_matches('}').split("\",").filter(|matcher| !matcher.is_empty());
    name == metric
        && matchers.all(|matcher| {
            let (label, value) = matcher.split_once('"').expect("a quoted value");
            let value = value.trim_end_matches('"');
            let found =
                |sign: &str| label.strip_suffix(sign).map(|label| labels.get(label).copied().unwrap_or_default());
            match (found("=~"), found("!=")) {
                (Some(found), _) => value.split('|').any(|value| value == found),
                (_, Some(found)) => found != value,
                (None, None) => found("=").expect("an operator") == value,
            }
        })
}

/// Returns the selectors of an alert, which contain no blanks.
fn selectors(alert: &str) -> Vec<String> {
    let alerts = alerts_of("alerts-by-resource.yaml");
    let found = alerts.iter().find(|it| it["alert"] == alert).unwrap_or_else(|| panic!("there is no {alert}"));
    let words = found["expr"].as_str().expect("an expression").split_whitespace();
    let words = words.map(|word| word.trim_matches(['(', ')']).to_owned());
    words.filter(|word| word.starts_with("connect_operator_") || word.starts_with("kube_")).collect()
}

/// The name and the labels of a metric.
type Series = (String, BTreeMap<&'static str, &'static str>);

/// Returns the metrics of kube-state-metrics for a resource that reports `reason`.
fn shown(kind: &str, reason: Reason) -> Vec<Series> {
    let [_, status, beside, _] = looks(reason.state());
    let labels = |status| BTreeMap::from([("status", status), ("reason", reason.as_str())]);
    let prefix = format!("kube_{}_status", kind.to_lowercase());
    let mut shown = vec![(format!("{prefix}_ready"), labels(status))];
    if !beside.is_empty() {
        shown.push((format!("{prefix}_{}", beside.to_lowercase()), labels("True")));
    }
    shown
}

/// Whether an alert is meant for a resource of this kind that reports this reason.
fn is_meant(alert: &str, kind: &str, reason: Reason) -> bool {
    use ConditionState::{Failing, Stalled, Waiting};
    let (is_project, state) = (kind.ends_with("ConnectProject"), reason.state());
    match alert {
        "ConnectDeploymentStuck" => matches!(reason, Reason::TakesTooLong | Reason::UndeployFailed),
        "ConnectProjectFailing" => {
            is_project && matches!(state, Waiting | Stalled | Failing) && reason != Reason::CredentialsNotKept
        }
        // What only a user can create counts, too.
        _ if is_project => reason == Reason::CredentialsNotKept,
        _ => {
            let missing = [Reason::SecretMissing, Reason::ConfigMapMissing, Reason::ProjectMissing];
            matches!(state, Stalled | Failing) || missing.contains(&reason) || reason == Reason::InternalError
        }
    }
}

#[test]
fn alerts_fire_for_the_states_that_need_somebody() {
    let states: Vec<_> = of_kinds()
        .into_iter()
        .flat_map(|(kind, reasons)| reasons.into_iter().map(move |reason| (kind, reason)))
        .collect();
    for alert in ["ConnectDeploymentStuck", "ConnectResourceStalled", "ConnectProjectFailing"] {
        let mut selectors = selectors(alert);
        // Those without a reason are about the age of an operation.
        selectors.retain(|selector| alert != "ConnectDeploymentStuck" || selector.contains("reason"));
        for (kind, reason) in &states {
            let series = shown(kind, *reason);
            let found = series.iter().any(|series| selectors.iter().any(|selector| selects(selector, series)));
            assert_eq!(found, is_meant(alert, kind, *reason), "{alert}: {kind} {reason} {series:?}");
        }
    }
}

#[test]
fn an_alert_by_resource_names_the_resource_and_the_reason() {
    for alert in alerts_of("alerts-by-resource.yaml") {
        let name = alert["alert"].as_str().expect("a name");
        for annotation in ["summary", "description"] {
            let text = alert["annotations"][annotation].as_str().expect("a text");
            for label in ["namespace", "name", "reason"] {
                let named = text.contains(&format!("{{{{ $labels.{label} }}}}"));
                assert!(named || name == "ConnectResourceMetricsMissing", "{name}, {annotation}: {label}");
            }
        }
    }
}
