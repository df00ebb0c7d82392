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
