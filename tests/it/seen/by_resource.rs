//! The alerts of resources fire for the states that need somebody, and name the resource.

use std::collections::BTreeMap;

use connect_operator::operator::reporting::reason::{ConditionState, Reason};

use super::queries::alerts_of;
use crate::documentation::reasons::{looks, of_kinds};

/// A metric in a query, with the labels that it must have.
struct Selector {
    name: String,
    matchers: Vec<(String, Operator, String)>,
}

enum Operator {
    Is,
    IsNot,
    IsOneOf,
}

impl Selector {
    /// Returns the selectors in an expression whose selectors contain no blanks.
    fn of(expression: &str) -> Vec<Self> {
        let words = expression.split_whitespace().map(|word| word.trim_matches(['(', ')']));
        words
            .filter(|word| word.starts_with("connect_operator_") || word.starts_with("kube_"))
            .map(Self::parse)
            .collect()
    }

    fn parse(word: &str) -> Self {
        let (name, matchers) = word.split_once('{').unwrap_or((word, ""));
        let matchers = matchers.trim_end_matches('}').split("\",").filter(|matcher| !matcher.is_empty());
        let matchers = matchers.map(|matcher| {
            let (label, value) = matcher.split_once('"').expect("a quoted value");
            let (label, operator) = [("=~", Operator::IsOneOf), ("!=", Operator::IsNot), ("=", Operator::Is)]
                .into_iter()
                .find_map(|(sign, operator)| Some((label.strip_suffix(sign)?, operator)))
                .expect("an operator");
            (label.to_owned(), operator, value.trim_end_matches('"').to_owned())
        });
        Self { name: name.to_owned(), matchers: matchers.collect() }
    }

    fn selects(&self, name: &str, labels: &BTreeMap<&str, &str>) -> bool {
        let holds = |(label, operator, value): &(String, Operator, String)| {
            let found = labels.get(label.as_str()).copied().unwrap_or_default();
            match operator {
                Operator::Is => found == value,
                Operator::IsNot => found != value,
                Operator::IsOneOf => value.split('|').any(|value| value == found),
            }
        };
        self.name == name && self.matchers.iter().all(holds)
    }
}

/// Returns the selectors of an alert.
fn selectors(alert: &str) -> Vec<Selector> {
    let alerts = alerts_of("alerts-by-resource.yaml");
    let found = alerts.iter().find(|it| it["alert"] == alert).unwrap_or_else(|| panic!("there is no {alert}"));
    Selector::of(found["expr"].as_str().expect("an expression"))
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
        let by_reason = |it: &Selector| it.matchers.iter().any(|(label, ..)| label == "reason");
        selectors.retain(|selector| alert != "ConnectDeploymentStuck" || by_reason(selector));
        for (kind, reason) in &states {
            let series = shown(kind, *reason);
            let found = series.iter().any(|(name, labels)| selectors.iter().any(|it| it.selects(name, labels)));
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
