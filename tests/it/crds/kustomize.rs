//! The component in `deploy/kustomize/`, as far as it follows from the schemas. `tests/apiserver/gitops/kustomize.rs` compares
//! the rest with Kubernetes, and proves what it does.

use test_support::merge_keys::{FILE, OWN, file_with, pruned};

use super::every_field;
use crate::prelude::*;

/// Returns the kinds whose objects a field names.
fn named_by(reference: &str) -> &'static [&'static str] {
    match reference {
        it if it.to_lowercase().contains("secret") => &["Secret"],
        it if it.to_lowercase().contains("configmap") => &["ConfigMap"],
        "projectRef" => &["ConnectProject", "ClusterConnectProject"],
        "stagedRef" => &["ConnectorStaged"],
        "deploymentRef" => &["ConnectorDeployment"],
        "checkRefs" => &["ActionCheck"],
        other => panic!("objects of which kind does {other} name?"),
    }
}

#[test]
fn kustomize_follows_the_names_in_every_reference() {
    let mut fields = BTreeMap::<_, Vec<_>>::new();
    for field in every_field() {
        let path = field.path.replace("[]", "").replace('.', "/");
        let Some((kind, path)) = path.split_once('/') else { continue };
        let Some(reference) = path.strip_suffix("/name").and_then(|above| above.rsplit('/').next()) else { continue };
        if path.starts_with("spec/") && (reference.ends_with("Ref") || reference.ends_with("Refs")) {
            for named in named_by(reference) {
                fields.entry(*named).or_default().push(format!("{{kind: {kind}, path: {path}}}"));
            }
        }
    }
    let mut text = "# Made from the CRDs: `just golden`.\nnameReference:\n".to_owned();
    for (named, paths) in fields {
        writeln!(text, "- kind: {named}\n  fieldSpecs:").unwrap();
        for path in paths {
            writeln!(text, "  - {path}").unwrap();
        }
    }
    assert_golden("deploy/kustomize/name-references.yaml", &text);
}

#[test]
fn kustomize_knows_the_key_of_every_list_and_which_kind_has_no_namespace() {
    let (mut definitions, mut paths) = (Map::new(), Map::new());
    for crd in crd::all() {
        let (spec, version) = (&crd.spec, &crd.spec.versions[0]);
        let kind = json!({"group": spec.group, "version": version.name, "kind": spec.names.kind});
        let schema = json!(version.schema.as_ref().unwrap().open_api_v3_schema);
        let mut definition = pruned(&schema, &Value::Null).unwrap_or_else(|| json!({"type": "object"}));
        definition["x-kubernetes-group-version-kind"] = json!([kind]);
        definitions.insert(format!("{OWN}{}.{}", version.name, spec.names.kind), definition);
        let namespace = if spec.scope == "Namespaced" { "namespaces/{namespace}/" } else { "" };
        let path = format!("/apis/{}/{}/{namespace}{}", spec.group, version.name, spec.names.plural);
        paths.insert(path, json!({"get": {"x-kubernetes-group-version-kind": kind}}));
    }
    assert_golden(FILE, &file_with(definitions, true, Some(Value::Object(paths))));
}
