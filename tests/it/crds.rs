//! The schemas as they are installed: the committed copies, and what must hold for every field.

mod bounds;
mod kustomize;

use connect_operator::crd::{ActionCheck, ClusterConnectProject, ConnectProject, ConnectorStaged};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::prelude::*;

/// One schema within a CRD, with its path.
struct Field {
    path: String,
    schema: Value,
}

/// Returns every schema of every kind, including items of lists.
fn every_field() -> Vec<Field> {
    let mut fields = Vec::new();
    for crd in crd::all() {
        let root = serde_json::to_value(&crd.spec.versions[0].schema.as_ref().unwrap().open_api_v3_schema).unwrap();
        collect(&crd.spec.names.kind, root, &mut fields);
    }
    fields
}

fn collect(path: &str, schema: Value, fields: &mut Vec<Field>) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        collect(&format!("{path}.{name}"), member.clone(), fields);
    }
    if schema["items"].is_object() {
        collect(&format!("{path}[]"), schema["items"].clone(), fields);
    }
    fields.push(Field { path: path.to_owned(), schema });
}

/// Returns the paths of the fields for which `wrong` is true.
fn paths_where(wrong: impl Fn(&Field) -> bool) -> Vec<String> {
    every_field().into_iter().filter(wrong).map(|field| field.path).collect()
}

const NOWHERE: Vec<String> = Vec::new();

#[test]
fn the_committed_crds_are_those_that_the_code_generates_and_no_others() {
    let mut names = BTreeSet::new();
    for crd in crd::all() {
        let name = format!("{}.yaml", crd.metadata.name.clone().unwrap());
        assert_golden(&format!("crds/{name}"), &crd::generate::to_yaml(&crd));
        names.insert(name);
    }
    assert_eq!(names_in("crds"), names);
}

#[test]
fn every_field_has_a_description_that_is_a_sentence() {
    // The list describes its items if they are plain words.
    let undescribed = paths_where(|field| {
        let plain_item = field.path.ends_with("[]") && field.schema["type"] == "string";
        !plain_item && !field.schema["description"].as_str().is_some_and(|text| text.ends_with('.') && text.len() > 10)
    });
    assert_eq!(undescribed, NOWHERE);
}

#[test]
fn a_shared_project_has_every_field_of_a_project_and_who_may_use_it() {
    let of = |kind: &str| -> BTreeSet<String> {
        let paths = every_field().into_iter().map(|field| field.path);
        paths.filter_map(|path| path.strip_prefix(kind)?.strip_prefix('.').map(str::to_owned)).collect()
    };
    let (project, shared) = (of("ConnectProject"), of("ClusterConnectProject"));
    assert!(project.contains("spec.frontend.url") && project.is_subset(&shared));
    assert!(shared.difference(&project).all(|path| path.starts_with("spec.allowedNamespaces")));
}

#[test]
fn every_list_says_how_it_is_merged() {
    let unsaid =
        paths_where(|field| field.schema["type"] == "array" && field.schema["x-kubernetes-list-type"].is_null());
    assert_eq!(unsaid, NOWHERE);
    let ordered = paths_where(|field| field.schema["x-kubernetes-list-type"] == "atomic");
    assert!(ordered.contains(&"ConnectorDeployment.spec.configurationFrom".to_owned()), "it has an order");
}

#[test]
fn only_the_status_has_a_default() {
    let defaults = paths_where(|field| !field.schema["default"].is_null());
    let kinds = ["ConnectProject", "ConnectorDeployment", "ConnectorStaged", "ActionCheck", "ClusterConnectProject"];
    assert_eq!(defaults, kinds.map(|kind| format!("{kind}.status")));
    assert_eq!(paths_where(|field| field.schema["default"] == json!({"observedGeneration": -1})), defaults);
}

#[test]
fn a_status_is_small_enough_to_be_read() {
    for (kind, most) in [("ConnectorDeployment", 45), ("ConnectorStaged", 40), ("ActionCheck", 10)] {
        let status = format!("{kind}.status.");
        let properties = paths_where(|field| field.path.starts_with(&status) && !field.path.ends_with("[]"));
        assert!((8..=most).contains(&properties.len()), "{properties:#?}");
    }
}

#[test]
fn names_are_in_camel_case_and_descriptions_name_no_flag_and_no_value_of_the_chart() {
    assert_eq!(paths_where(|field| field.path.contains(['_', '-'])), NOWHERE);
    let foreign = |text: &str| ["--", "values.yaml", "chart", "flag"].iter().any(|word| text.contains(word));
    assert_eq!(paths_where(|field| field.schema["description"].as_str().is_some_and(foreign)), NOWHERE);
}

#[test]
fn every_rule_has_a_message_that_explains_more_than_the_rule() {
    let rules: Vec<_> = every_field()
        .into_iter()
        .flat_map(|field| field.schema["x-kubernetes-validations"].as_array().cloned().unwrap_or_default())
        .collect();
    assert!(rules.len() > 20, "{} rules were found", rules.len());
    for rule in rules {
        let message = rule["message"].as_str().unwrap_or_default();
        assert!(message.len() > 20 && !message.contains('\n'), "{rule}");
    }
}

#[test]
fn a_secured_value_has_no_field_for_clear_text() {
    let mut seen = 0;
    for field in every_field() {
        let members: Vec<_> =
            field.schema["properties"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
        let (allowed, applies) = match field.path.rsplit_once(".securedConfiguration") {
            Some((_, "[]")) => (vec!["key", "valueFrom"], true),
            Some((_, "[].valueFrom")) => (vec!["secretKeyRef"], true),
            Some((_, "[].valueFrom.secretKeyRef")) => (vec!["key", "name", "optional"], true),
            _ if field.path.ends_with(".configurationFrom[]") => {
                (vec!["applications", "configMapRef", "optional", "plainKeys", "prefix", "secretRef"], true)
            }
            _ => (vec![], false),
        };
        // In a staged connector these are declarations too.
        if applies && !field.path.starts_with("ConnectorStaged.status.") {
            assert_eq!(members, allowed, "{}", field.path);
            seen += 1;
        }
    }
    assert_eq!(seen, 2 * 3 + 1, "applications and globalConfiguration have such values");
}

fn written_back<K: DeserializeOwned + Serialize>(manifest: &Value) -> Value {
    serde_json::to_value(serde_json::from_value::<K>(manifest.clone()).unwrap()).unwrap()
}

#[test]
fn a_spec_is_written_back_as_users_wrote_it() {
    for (file, text) in [
        ("minimal", include_str!("../fixtures/manifests/minimal.yaml")),
        ("full", include_str!("../fixtures/manifests/full.yaml")),
    ] {
        for manifest in serde_saphyr::from_multiple::<Value>(text).unwrap() {
            let written_back = match manifest["kind"].as_str().unwrap() {
                "ConnectProject" => written_back::<ConnectProject>(&manifest),
                "ClusterConnectProject" => written_back::<ClusterConnectProject>(&manifest),
                "ConnectorStaged" => written_back::<ConnectorStaged>(&manifest),
                "ActionCheck" => written_back::<ActionCheck>(&manifest),
                _ => written_back::<ConnectorDeployment>(&manifest),
            };
            assert_eq!(written_back, manifest, "{file}: {}", manifest["metadata"]["name"]);
        }
    }
}

#[test]
fn the_full_manifests_have_every_field_of_the_specs() {
    let manifests: Vec<Value> = serde_saphyr::from_multiple(include_str!("../fixtures/manifests/full.yaml")).unwrap();
    let mut written = BTreeSet::new();
    for manifest in &manifests {
        note_members(&format!("{}.spec", manifest["kind"].as_str().unwrap()), &manifest["spec"], &mut written);
    }
    let unwritten = paths_where(|field| {
        // No user writes a Connector.
        let of_people = field.path.contains(".spec.") && !field.path.starts_with("Connector.");
        of_people && !written.contains(&field.path) && !field.path.ends_with(".projectRef.kind")
    });
    assert_eq!(unwritten, NOWHERE);
}

fn note_members(path: &str, value: &Value, written: &mut BTreeSet<String>) {
    written.insert(path.to_owned());
    for (name, member) in value.as_object().into_iter().flatten() {
        note_members(&format!("{path}.{name}"), member, written);
    }
    for item in value.as_array().into_iter().flatten() {
        note_members(&format!("{path}[]"), item, written);
    }
}
