//! A client of the cluster after applying: reads show the objects of the manifests in place of those of the cluster.

use std::collections::BTreeMap;
use std::sync::Arc;

use http::{Request, Response, StatusCode};
use kube::api::{ApiResource, DynamicObject};
use kube::client::Body;
use kube::{Client, Resource as _};
use serde_json::{Value, json};

use crate::mutex::Mutex;

/// The objects of the manifests, over a cluster. Not `Debug`: they may be Secrets.
pub(super) struct Overlay {
    /// The cluster; `None`: one in which nothing exists.
    cluster: Option<Client>,
    /// By their paths.
    objects: Mutex<BTreeMap<String, Value>>,
}

impl Overlay {
    pub(super) fn new(cluster: Option<Client>) -> Arc<Self> {
        Arc::new(Self { cluster, objects: Mutex::default() })
    }

    /// Adds an object. `namespace`: empty for a cluster-scoped kind.
    pub(super) fn put(&self, kind: &ApiResource, namespace: &str, object: Value) {
        let collection = DynamicObject::url_path(kind, Some(namespace).filter(|it| !it.is_empty()));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        self.objects.lock().insert(format!("{collection}/{name}"), object);
    }

    /// Returns the client.
    pub(super) fn client(self: &Arc<Self>) -> Client {
        let overlay = self.clone();
        let service = tower::service_fn(move |request| overlay.clone().answer(request));
        Client::new(service, "default")
    }

    /// Returns the objects of a list: those of one namespace, or of all.
    fn of_list(&self, path: &str) -> Vec<Value> {
        let is_of = |(place, object): &(&String, &Value)| {
            let collection = place.rsplit_once('/').map_or("", |(collection, _)| collection);
            let namespace = object["metadata"]["namespace"].as_str().unwrap_or_default();
            collection == path || collection.replacen(&format!("/namespaces/{namespace}/"), "/", 1) == path
        };
        self.objects.lock().iter().filter(is_of).map(|(_, object)| object.clone()).collect()
    }

    async fn answer(self: Arc<Self>, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let path = request.uri().path().to_owned();
        let found = self.objects.lock().get(&path).map(|object| response(StatusCode::OK, object));
        if let Some(found) = found {
            return Ok(found);
        }
        let answer = match &self.cluster {
            Some(cluster) => cluster.send(request).await?,
            None => response(StatusCode::NOT_FOUND, &missing()),
        };
        let applied = self.of_list(&path);
        // Without the CRD there is no list yet.
        let has_list = answer.status().is_success();
        if applied.is_empty() || !(has_list || answer.status() == StatusCode::NOT_FOUND) {
            return Ok(answer);
        }
        let body = answer.into_body().collect_bytes().await?;
        let mut list = if has_list {
            serde_json::from_slice(&body).map_err(kube::Error::SerdeError)?
        } else {
            json!({"apiVersion": "v1", "kind": "List", "metadata": {}, "items": []})
        };
        if let Some(items) = list["items"].as_array_mut() {
            let place = |object: &Value| ["namespace", "name"].map(|part| object["metadata"][part].clone());
            items.retain(|item| !applied.iter().any(|it| place(it) == place(item)));
            items.extend(applied);
        }
        Ok(response(StatusCode::OK, &list))
    }
}

fn response(status: StatusCode, body: &Value) -> Response<Body> {
    let mut response = Response::new(Body::from(body.to_string().into_bytes()));
    *response.status_mut() = status;
    response
}

/// Returns the answer of a cluster in which nothing exists.
fn missing() -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "reason": "NotFound",
        "message": "a local plan reads no cluster", "code": 404})
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::ConfigMap;
    use kube::ResourceExt as _;
    use kube::api::{Api, ListParams};

    use super::*;

    #[tokio::test]
    async fn reads_show_what_is_applied_in_place_of_what_is_there() {
        let object = |namespace: &str, name: &str, value: &str| {
            let metadata = json!({"namespace": namespace, "name": name});
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"a": value}})
        };
        let kind = ApiResource::erase::<ConfigMap>(&());
        let with = |objects: &[(&str, &str, &str)], below: Option<Client>| {
            let overlay = Overlay::new(below);
            for (namespace, name, value) in objects {
                overlay.put(&kind, namespace, object(namespace, name, value));
            }
            overlay.client()
        };
        let cluster = with(&[("shop", "one", "old"), ("shop", "two", "old")], None);
        let after = with(&[("shop", "one", "new"), ("yard", "three", "new")], Some(cluster.clone()));
        for (case, client, all, shop) in [
            ("nothing", with(&[], None), vec![], vec![]),
            ("the cluster", cluster, vec!["one old", "two old"], vec!["one old", "two old"]),
            ("after applying", after, vec!["two old", "one new", "three new"], vec!["two old", "one new"]),
        ] {
            let shown = |it: &ConfigMap| format!("{} {}", it.name_any(), it.data.clone().unwrap_or_default()["a"]);
            let here = Api::<ConfigMap>::namespaced(client.clone(), "shop");
            let listed = here.list(&ListParams::default()).await;
            let found: Vec<_> = listed.map(|list| list.iter().map(shown).collect()).unwrap_or_default();
            assert_eq!(found, shop, "{case}");
            let listed = Api::<ConfigMap>::all(client.clone()).list(&ListParams::default()).await;
            let found: Vec<_> = listed.map(|list| list.iter().map(shown).collect()).unwrap_or_default();
            assert_eq!(found, all, "{case}");
            let one = here.get_opt("one").await.expect("an answer").as_ref().map(shown);
            assert_eq!(one.as_deref(), shop.iter().copied().find(|it| it.starts_with("one")), "{case}");
            assert!(here.get_opt("three").await.expect("an answer").is_none(), "{case}: of another namespace");
        }
    }
}
