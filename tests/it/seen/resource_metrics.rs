//! The metrics of each resource: the configuration of kube-state-metrics, compared with the CRDs. Next:
//! `tests/apiserver/seen/kube_state_metrics.rs` for the real program.

use super::chart;
use crate::prelude::*;

/// Label that kube-state-metrics adds.
pub(super) const KIND: &str = "customresource_kind";

/// A metric of one kind.
pub(crate) struct ResourceMetric {
    /// The name in queries.
    pub(crate) name: String,
    /// The kind that has it.
    pub(crate) kind: String,
    /// `gauge`, `info` or `stateset`.
    pub(crate) metric: String,
    /// Its labels, without those that all metrics of kube-state-metrics have.
    pub(crate) labels: BTreeSet<String>,
    /// Help text, without a full stop.
    pub(crate) help: String,
    /// Fields that it is made from.
    paths: Vec<Value>,
    /// Path and list of a state set.
    states: Option<Value>,
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_else(|| panic!("{value} is no text")).to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

fn configuration() -> Value {
    yaml_of(chart("kube-state-metrics.yaml"))
}

/// Returns the configured metrics.
pub(crate) fn resource_metrics() -> Vec<ResourceMetric> {
    let configuration = configuration();
    let resources = list(&configuration["spec"]["resources"]);
    resources.flat_map(|resource| list(&resource["metrics"]).map(move |entry| metric(resource, entry))).collect()
}

fn metric(resource: &Value, entry: &Value) -> ResourceMetric {
    let each = &entry["each"];
    let states = Some(each["stateSet"].clone()).filter(Value::is_object);
    let maps = [resource, entry, &each["info"]].map(|it| it["labelsFromPath"].as_object());
    let labels: BTreeMap<_, _> = maps.into_iter().flatten().flatten().collect();
    let paths = [&each["gauge"], &each["stateSet"]].into_iter().map(|it| &it["path"]).filter(|path| path.is_array());
    ResourceMetric {
        name: format!("{}_{}", text(&resource["metricNamePrefix"]), text(&entry["name"])),
        kind: text(&resource["groupVersionKind"]["kind"]),
        metric: text(&each["type"]).to_lowercase(),
        labels: labels.keys().map(ToString::to_string).chain(states.iter().map(|it| text(&it["labelName"]))).collect(),
        help: text(&entry["help"]),
        paths: labels.values().copied().chain(paths).cloned().collect(),
        states,
    }
}

/// Returns the schema of the field at `path`; a part such as `[type=Ready]` selects an entry of a list.
fn field<'s>(schema: &'s Value, path: &Value) -> Option<&'s Value> {
    list(path).try_fold(schema, |schema, part| match text(part).strip_prefix('[') {
        Some(selection) => schema["items"]["properties"].get(selection.split('=').next()?).and(schema.get("items")),
        None => schema["properties"].get(text(part)),
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
    assert_eq!(configuration["kind"], "CustomResourceStateMetrics");
    let mut kinds = BTreeSet::new();
    for resource in list(&configuration["spec"]["resources"]) {
        let of = &resource["groupVersionKind"];
        let served = crd::resources().into_iter().find(|it| it.kind == text(&of["kind"])).expect("a kind");
        assert_eq!((text(&of["group"]), text(&of["version"])), (served.group, served.version));
        assert_eq!(resource["metricNamePrefix"], format!("kube_{}", text(&of["kind"]).to_lowercase()));
        kinds.insert(text(&of["kind"]));
    }
    assert_eq!(kinds, schemas().into_keys().collect());
}

#[test]
fn every_condition_of_the_operator_is_shown_and_no_other() {
    let mut shown: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for ResourceMetric { kind, paths, .. } in resource_metrics() {
        let parts = paths.iter().flat_map(list).filter_map(Value::as_str);
        let selections = parts.filter_map(|part| part.strip_prefix("[type=")?.strip_suffix(']'));
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
        let Some(states) = states else { continue };
        let field = field(&schemas[&kind], &states["path"]).expect("it is in the schema");
        let known: BTreeSet<String> = if let Some(words) = field["enum"].as_array() {
            words.iter().map(text).collect()
        } else {
            let description = field["description"].as_str().expect("a description");
            let words = description.rsplit_once(": ").expect("a list").1.replace(" or ", ", ");
            words.trim_end_matches('.').split(", ").map(str::to_owned).collect()
        };
        assert_eq!(list(&states["list"]).map(text).collect::<BTreeSet<_>>(), known, "{name}");
        found += 1;
    }
    assert_eq!(found, 2);
}
