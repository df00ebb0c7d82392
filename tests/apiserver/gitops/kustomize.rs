//! The component in `deploy/kustomize/`: what kubectl builds with it.

use serde_json::Map;
use test_support::merge_keys::{FILE, file_with, pruned};

use crate::prelude::*;

/// Fields of that name that name no object of the same kustomization.
const NO_REFERENCES: [&str; 6] = [
    "/spec/name",
    "/spec/creator/name",
    "/spec/action/name",
    "/spec/headers/0/name",
    "/spec/query/0/name",
    "/spec/outputs/configMap/name",
];

/// Returns a value with every list and every field `name`, and in lists with a key one item for each of `keys`.
fn sample(schema: &Value, keys: &[&str]) -> Option<Value> {
    let of_items = &schema["items"];
    if of_items.is_object() {
        let item = sample(of_items, keys)?;
        let Some(of_list) = schema["x-kubernetes-list-map-keys"].as_array() else { return Some(json!([item])) };
        let with_keys = |it: &&str| {
            let mut item = item.clone();
            for key in of_list {
                item[key.as_str().unwrap()] = json!(it);
            }
            item
        };
        return Some(keys.iter().map(with_keys).collect());
    }
    let named = |(name, schema): (&String, &Value)| {
        let value = if name == "name" { Some(json!("tax")) } else { sample(schema, keys) };
        Some((name.clone(), value?))
    };
    let members: Map<_, _> = schema["properties"].as_object()?.iter().filter_map(named).collect();
    Some(Value::Object(members))
}

/// An object of each kind of the operator.
fn samples(keys: &[&str]) -> Vec<Value> {
    let of = |crd: k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition| {
        let version = &crd.spec.versions[0];
        let schema = json!(version.schema.as_ref().unwrap().open_api_v3_schema);
        json!({
            "apiVersion": format!("{}/{}", crd.spec.group, version.name), "kind": crd.spec.names.kind,
            "metadata": {"name": "tax"}, "spec": sample(&schema["properties"]["spec"], keys).unwrap(),
        })
    };
    crd::all().into_iter().map(of).collect()
}

/// Builds objects with the component and more fields of a kustomization.
async fn built(objects: &[Value], mut kustomization: Value) -> Vec<Value> {
    let folder = tempfile::tempdir().unwrap();
    let copy = std::process::Command::new("cp")
        .arg("-r")
        .arg(in_checkout("deploy/kustomize"))
        .arg(folder.path())
        .status()
        .unwrap();
    assert!(copy.success());
    let text = objects.iter().fold(String::new(), |all, it| format!("{all}---\n{it}\n"));
    std::fs::write(folder.path().join("objects.yaml"), text).unwrap();
    kustomization["components"] = json!(["kustomize"]);
    kustomization["resources"] = json!(["objects.yaml"]);
    std::fs::write(folder.path().join("kustomization.yaml"), kustomization.to_string()).unwrap();
    let text = Sandbox::new().await.succeed(&["kustomize", folder.path().to_str().unwrap()], "").await;
    documents(&text)
}

/// Adds the paths and values of all fields `name`.
fn names(value: &Value, path: &str, found: &mut Vec<(String, String)>) {
    let members = value.as_object().into_iter().flatten().map(|(name, member)| (name.clone(), member));
    let items = value.as_array().into_iter().flatten().enumerate().map(|(index, item)| (index.to_string(), item));
    for (name, member) in members.chain(items) {
        let path = format!("{path}/{name}");
        match member.as_str() {
            Some(text) if name == "name" => found.push((path, text.to_owned())),
            _ => names(member, &path, found),
        }
    }
}

#[tokio::test]
async fn every_reference_follows_a_generated_suffix_and_a_prefix() {
    let generated = json!([{"name": "tax", "literals": ["a=b"]}]);
    let settings = json!({"namePrefix": "eu-", "namespace": "shop", "secretGenerator": generated, "configMapGenerator": generated});
    let built = built(&samples(&["tax"]), settings).await;
    let name = |kind: &str| {
        let object = built.iter().find(|it| it["kind"] == kind).expect(kind);
        object["metadata"]["name"].as_str().unwrap().to_owned()
    };
    let (secret, config_map) = (name("Secret"), name("ConfigMap"));
    assert!(secret.starts_with("eu-tax-") && config_map.starts_with("eu-tax-") && secret != config_map);
    let mut followed = 0;
    for object in built.iter().filter(|it| !it["spec"].is_null()) {
        let has_namespace = object["kind"] != "ClusterConnectProject";
        assert_eq!(object["metadata"]["namespace"].is_string(), has_namespace, "{}", object["kind"]);
        let mut found = Vec::new();
        names(&object["spec"], "/spec", &mut found);
        for (path, name) in found.into_iter().filter(|(path, _)| !NO_REFERENCES.contains(&path.as_str())) {
            let lower = path.to_lowercase();
            let expected = match () {
                () if lower.contains("secretref") || lower.contains("secretkeyref") => &secret,
                () if lower.contains("configmap") => &config_map,
                () if lower.contains("credentialsref") => &secret,
                () => "eu-tax",
            };
            assert_eq!(name, expected, "{} {path}", object["kind"]);
            followed += 1;
        }
    }
    assert!(followed > 12, "{followed}");
}

#[tokio::test]
async fn a_patch_of_one_item_keeps_the_others_of_every_list_with_a_key() {
    let of_kubernetes = |ports: Value, named: Value| {
        let container = json!({"name": "a", "env": named, "ports": ports});
        let others = named.as_array().unwrap().iter().skip(1);
        let containers: Vec<_> = std::iter::once(&container).chain(others).collect();
        let pod = json!({"containers": containers, "volumes": named});
        let metadata = json!({"name": "tax"});
        [
            json!({"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": ports}}),
            json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": {"template": {"spec": pod}}}),
        ]
    };
    let ports = ["TCP", "UDP"].map(|protocol| json!({"port": 53, "containerPort": 53, "protocol": protocol}));
    let named = json!([{"name": "a"}, {"name": "b"}]);
    let mut objects = samples(&["a", "b"]);
    objects.extend(of_kubernetes(json!(ports), named.clone()));
    let mut patches = samples(&["a"]);
    patches.extend(of_kubernetes(json!([ports[0]]), json!([named[0]])));
    for patch in &mut patches {
        patch["metadata"]["annotations"] = json!({"patched": "yes"});
    }
    let patches: Vec<_> = patches.iter().map(|it| json!({"patch": it.to_string()})).collect();
    for object in built(&objects, json!({"patches": patches})).await {
        assert_eq!(object["metadata"]["annotations"]["patched"], "yes");
        let before = objects.iter().find(|it| it["kind"] == object["kind"]).unwrap();
        assert_eq!(object["spec"], before["spec"], "{}", object["kind"]);
    }
}

#[tokio::test]
async fn the_component_knows_the_keys_of_the_lists_of_kubernetes() {
    let request = http::Request::get("/openapi/v2").body(Vec::new()).unwrap();
    let document: Value = Sandbox::new().await.client.request(request).await.unwrap();
    let all = &document["definitions"];
    let is_stable = |name: &str| {
        let version = name.strip_prefix("io.k8s.api.").and_then(|it| it.split('.').nth(1));
        version.is_some_and(|it| it == "v1" || it == "v2") && !name.ends_with("List") && !name.ends_with("Status")
    };
    let definitions = all.as_object().unwrap().iter().filter(|(name, _)| is_stable(name));
    let definitions = definitions.filter_map(|(name, schema)| {
        let mut kept = pruned(schema, all)?;
        if let Some(kinds) = schema.get("x-kubernetes-group-version-kind") {
            kept["x-kubernetes-group-version-kind"] = kinds.clone();
        }
        Some((name.clone(), kept))
    });
    let expected = file_with(definitions.collect(), false, None);
    if std::env::var_os("UPDATE_GOLDEN").is_some() {
        std::fs::write(in_checkout(FILE), &expected).unwrap();
    }
    let outdated = "run `UPDATE_GOLDEN=1 cargo test --test apiserver -- kustomize`, then review";
    assert!(text_of(FILE) == expected, "{FILE} is outdated: {outdated}");
}
