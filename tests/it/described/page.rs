//! The description itself: complete, consistent with the routes and the operations, and served.

use std::collections::BTreeSet;

use clock::Clock;
use connect_api::action::Preset;
use connect_api::routes::{self, OPERATIONS};
use dev_server::{DESCRIPTION, DESCRIPTION_PATH, Options};
use serde_json::Value;

use super::{DevServer, description};

/// Calls `visit` with each value below this one, and with its name or index.
fn walk(value: &Value, visit: &mut impl FnMut(&str, &Value)) {
    match value {
        Value::Object(members) => members.iter().for_each(|(name, member)| {
            visit(name, member);
            walk(member, visit);
        }),
        Value::Array(items) => items.iter().for_each(|item| {
            visit("", item);
            walk(item, visit);
        }),
        _ => {}
    }
}

#[test]
fn operations_are_those_that_faults_can_name() {
    let described: BTreeSet<_> = description().operations.iter().map(|operation| operation.name.as_str()).collect();
    assert_eq!(described.len(), description().operations.len(), "names are unique");
    assert_eq!(described, OPERATIONS.into_iter().collect());
}

#[test]
fn templates_are_the_paths_of_the_description() {
    for (path, methods) in description().document["paths"].as_object().expect("paths") {
        let names = methods.as_object().expect("operations").values().filter_map(|it| it["operationId"].as_str());
        for name in names {
            assert_eq!(routes::template(name), path, "{name}");
        }
    }
    assert_eq!(routes::template("unknown"), "");
    let actions = [(Preset::SERVICE, "readAction"), (Preset::FRONTASTIC, "readFrontasticAction")];
    for (preset, operation) in actions {
        let path = routes::action(preset.prefix, "N", "A");
        let described = routes::template(operation).replace("{namespace}", "N");
        assert_eq!(described.replace("{action_name}", "A").replace("{action}", "A"), path);
    }
}

#[test]
fn limits_of_pages_are_those_of_the_routes() {
    let parameter = |name: &str| &description().document["components"]["parameters"][name]["schema"];
    assert_eq!(parameter("Limit")["maximum"], routes::LARGEST_PAGE);
    assert_eq!(parameter("Limit")["default"], routes::DEFAULT_PAGE);
    assert_eq!(parameter("Offset")["maximum"], routes::LARGEST_OFFSET);
}

#[test]
fn the_description_is_complete() {
    let document = &description().document;
    assert!(document["openapi"].as_str().is_some_and(|version| version.starts_with("3.1.")));
    let mut used = BTreeSet::new();
    walk(document, &mut |name, value| {
        if name == "$ref" || value.as_str().is_some_and(|text| text.starts_with("#/")) {
            let pointer =
                value.as_str().and_then(|text| text.strip_prefix('#')).expect("references stay within the page");
            assert!(document.pointer(pointer).is_some(), "{pointer} leads nowhere");
            used.insert(pointer.to_owned());
        }
        assert!(!name.starts_with("x-"), "{name}: extensions that other programs do not know are not allowed");
    });
    for kind in ["schemas", "parameters", "responses"] {
        for name in document["components"][kind].as_object().expect(kind).keys() {
            assert!(used.contains(&format!("/components/{kind}/{name}")), "{kind}/{name} is not used");
        }
    }
    for operation in &description().operations {
        let named = operation.path.split('{').skip(1).filter_map(|rest| rest.split_once('}')).map(|(name, _)| name);
        let in_path = operation.parameters.iter().filter(|parameter| parameter["in"] == "path");
        let in_path: Vec<_> = in_path.filter_map(|parameter| parameter["name"].as_str()).collect();
        assert_eq!(named.collect::<BTreeSet<_>>(), in_path.into_iter().collect(), "{}", operation.name);
        for parameter in operation.parameters.iter().filter(|parameter| parameter["in"] == "path") {
            assert_eq!(parameter["required"], true, "{}", operation.name);
        }
    }
}

#[tokio::test]
async fn the_description_is_served_without_a_token() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = DevServer::start(Options::default(), Clock::system()).await.expect("a port is free");
    let http = reqwest::Client::builder().no_proxy().build().expect("the settings are right");
    let url = format!("{}{DESCRIPTION_PATH}", server.url());
    let answer = http.get(&url).send().await.expect("it answers");
    assert_eq!(
        (answer.status().as_u16(), &answer.headers()["content-type"]),
        (200, &"application/yaml".parse().unwrap())
    );
    assert_eq!(answer.text().await.expect("it is whole"), DESCRIPTION);
    assert_eq!(http.post(&url).send().await.expect("it answers").status(), 404);
    assert!(server.calls().iter().all(|call| call.operation == "none"), "reading it is not a call of the API");
}
