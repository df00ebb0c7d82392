//! The description itself: consistent with the routes and the operations, and served.

use connect_api::routes;
use dev_server::{DESCRIPTION, DESCRIPTION_PATH};

use super::{DevServer, description};
use crate::prelude::*;

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

#[tokio::test]
async fn the_description_is_served_without_a_token() {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let server = DevServer::usual().await;
    let http = reqwest::Client::builder().no_proxy().build().expect("the settings are right");
    let url = format!("{}{DESCRIPTION_PATH}", server.url());
    let answer = http.get(&url).send().await.expect("it answers");
    assert_eq!(answer.status().as_u16(), 200);
    assert_eq!(answer.headers()["content-type"], "application/yaml");
    assert_eq!(answer.text().await.expect("it is whole"), DESCRIPTION);
    assert_eq!(http.post(&url).send().await.expect("it answers").status(), 404);
    assert!(server.calls().iter().all(|call| call.operation == "none"), "reading it is not a call of the API");
}
