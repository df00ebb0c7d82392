//! The metrics of each resource: the configuration of kube-state-metrics, compared with the CRDs. Next:
//! `tests/apiserver/seen/kube_state_metrics.rs` for the real program.

use std::collections::{BTreeMap, BTreeSet};

use connect_operator::crd;
use connect_operator::names;
use serde::Deserialize;
use serde_json::Value;

use super::chart;

/// Label that kube-state-metrics adds.
pub(super) const KIND: &str = "customresource_kind";

type Path = Vec<String>;

#[derive(Deserialize)]
struct Configuration {
    kind: String,
    spec: Spec,
}

#[derive(Deserialize)]
struct Spec {
    resources: Vec<Resource>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Resource {
    group_version_kind: GroupVersionKind,
    metric_name_prefix: String,
    #[serde(rename = "errorLogV")]
    _error_log_v: u8,
    labels_from_path: BTreeMap<String, Path>,
    metrics: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GroupVersionKind {
    group: String,
    version: String,
    kind: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Entry {
    name: String,
    help: String,
    each: Each,
    #[serde(default)]
    labels_from_path: BTreeMap<String, Path>,
}

#[derive(Deserialize)]
#[serde(tag = "type", rename_all_fields = "camelCase")]
enum Each {
    Gauge { gauge: Gauge },
    Info { info: Info },
    StateSet { state_set: StateSet },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Gauge {
    path: Path,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Info {
    labels_from_path: BTreeMap<String, Path>,
}

#[derive(Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct StateSet {
    label_name: String,
    path: Path,
    list: Vec<String>,
}

/// A metric of one kind.
pub(crate) struct ResourceMetric {
    /// The name in queries.
    pub(crate) name: String,
    /// The kind that has it.
    pub(crate) kind: String,
    /// `gauge`, `info` or `stateset`.
    pub(crate) metric: &'static str,
    /// Its labels, without those that all metrics of kube-state-metrics have.
    pub(crate) labels: BTreeSet<String>,
    /// Help text, without a full stop.
    pub(crate) help: String,
    /// Fields that it is made from.
    paths: Vec<Path>,
    states: Option<StateSet>,
}

fn configuration() -> Configuration {
    let text = std::fs::read_to_string(chart("kube-state-metrics.yaml")).unwrap();
    serde_saphyr::from_str(&text).expect("a configuration of kube-state-metrics")
}

/// Returns the configured metrics.
pub(crate) fn resource_metrics() -> Vec<ResourceMetric> {
    let resources = configuration().spec.resources.into_iter();
    resources
        .flat_map(|resource| resource.metrics.iter().map(|entry| metric(&resource, entry)).collect::<Vec<_>>())
        .collect()
}

fn metric(resource: &Resource, entry: &Entry) -> ResourceMetric {
    let mut labels = resource.labels_from_path.clone();
    labels.extend(entry.labels_from_path.clone());
    let (metric, path, states) = match &entry.each {
        Each::Gauge { gauge } => ("gauge", Some(gauge.path.clone()), None),
        Each::Info { info } => {
            labels.extend(info.labels_from_path.clone());
            ("info", None, None)
        }
        Each::StateSet { state_set } => ("stateset", Some(state_set.path.clone()), Some(state_set.clone())),
    };
    let state = states.iter().map(|states| states.label_name.clone());
    ResourceMetric {
        name: format!("{}_{}", resource.metric_name_prefix, entry.name),
        kind: resource.group_version_kind.kind.clone(),
        metric,
        labels: labels.keys().cloned().chain(state).collect(),
        help: entry.help.clone(),
        paths: labels.into_values().chain(path).collect(),
        states,
    }
}

/// Returns the schema of the field at `path`; a part such as `[type=Ready]` selects an entry of a list.
fn field<'s>(schema: &'s Value, path: &[String]) -> Option<&'s Value> {
    path.iter().try_fold(schema, |schema, part| match part.strip_prefix('[').and_then(|part| part.strip_suffix(']')) {
        Some(selection) => {
            let (key, _) = selection.split_once('=')?;
            schema["items"]["properties"].get(key)?;
            schema.get("items")
        }
        None => schema["properties"].get(part),
    })
}

fn schemas() -> BTreeMap<String, Value> {
    let schema = crd::all().into_iter().map(|crd| {
        let schema = serde_json::to_value(&crd.spec.versions[0].schema).unwrap();
        (crd.spec.names.kind, schema["openAPIV3Schema"].clone())
    });
    schema.collect()
}

#[test]
fn every_kind_is_configured() {
    let configuration = configuration();
    assert_eq!(configuration.kind, "CustomResourceStateMetrics");
    let mut kinds = BTreeSet::new();
    for Resource { group_version_kind, metric_name_prefix, .. } in &configuration.spec.resources {
        let GroupVersionKind { group, version, kind } = group_version_kind;
        assert_eq!((group.as_str(), version.as_str()), (names::GROUP, names::VERSION), "{kind}");
        assert_eq!(*metric_name_prefix, format!("kube_{}", kind.to_lowercase()));
        kinds.insert(kind.clone());
    }
    assert_eq!(kinds, schemas().into_keys().collect());
}

#[test]
fn every_condition_of_the_operator_is_shown_and_no_other() {
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ResourceMetric { kind, paths, .. } in resource_metrics() {
        let selections = paths.iter().flatten().filter_map(|part| part.strip_prefix("[type=")?.strip_suffix(']'));
        shown.entry(kind).or_default().extend(selections.map(str::to_owned));
    }
    let all: BTreeSet<_> = shown.values().flatten().map(String::as_str).collect();
    assert_eq!(all, names::CONDITIONS.iter().copied().collect());
    let schemas = schemas();
    for (kind, conditions) in shown {
        let has_conditions = !schemas[&kind]["properties"]["status"]["properties"]["conditions"].is_null();
        let main = [names::READY, names::RECONCILING, names::STALLED];
        assert_eq!(main.iter().all(|type_| conditions.contains(*type_)), has_conditions, "{kind}: {conditions:?}");
    }
}

/// The values are in the schema, or in the description of a field that the service may extend.
#[test]
fn state_sets_have_every_known_value() {
    let schemas = schemas();
    let mut found = 0;
    for ResourceMetric { name, kind, states, .. } in resource_metrics() {
        let Some(StateSet { path, list, .. }) = states else { continue };
        let field = field(&schemas[&kind], &path).expect("it is in the schema");
        let known: BTreeSet<String> = if let Some(words) = field["enum"].as_array() {
            words.iter().map(|word| word.as_str().expect("a word").to_owned()).collect()
        } else {
            let description = field["description"].as_str().expect("a description");
            let words = description.rsplit_once(": ").expect("a list").1.replace(" or ", ", ");
            words.trim_end_matches('.').split(", ").map(str::to_owned).collect()
        };
        assert_eq!(list.into_iter().collect::<BTreeSet<_>>(), known, "{name}");
        found += 1;
    }
    assert_eq!(found, 3);
}
