//! A client of the cluster after applying: reads show the objects of the manifests in place of those of the cluster.

use std::sync::Arc;

use http::{Request, Response, StatusCode};
use kube::api::{ApiResource, DynamicObject};
use kube::client::Body;
use kube::{Client, Resource as _};
use serde_json::{Value, json};

/// The objects of the manifests, over a cluster. Not `Debug`: they may be Secrets.
pub(super) struct Overlay {
    /// The cluster; `None`: one in which nothing exists.
    cluster: Option<Client>,
    objects: Vec<Applied>,
}

struct Applied {
    /// Path of all objects of its kind.
    everywhere: String,
    /// Path of those of its namespace.
    here: String,
    object: Value,
}

impl Applied {
    fn is_same(&self, other: &Value) -> bool {
        let [own, other] = [&self.object, other].map(|it| &it["metadata"]);
        own["name"] == other["name"] && own["namespace"] == other["namespace"]
    }
}

impl Overlay {
    pub(super) fn new(cluster: Option<Client>) -> Self {
        Self { cluster, objects: Vec::new() }
    }

    /// Adds an object. `namespace`: empty for a cluster-scoped kind.
    pub(super) fn put(&mut self, kind: &ApiResource, namespace: &str, object: Value) {
        let everywhere = DynamicObject::url_path(kind, None);
        let here = DynamicObject::url_path(kind, Some(namespace).filter(|it| !it.is_empty()));
        self.objects.retain(|other| other.here != here || !other.is_same(&object));
        self.objects.push(Applied { everywhere, here, object });
    }

    /// Returns whether the manifests have an object.
    pub(super) fn has(&self, kind: &ApiResource, namespace: &str, name: &str) -> bool {
        let here = DynamicObject::url_path(kind, Some(namespace).filter(|it| !it.is_empty()));
        self.objects.iter().any(|it| it.here == here && it.object["metadata"]["name"] == name)
    }

    /// Returns the client.
    pub(super) fn client(self: &Arc<Self>) -> Client {
        let overlay = self.clone();
        let service = tower::service_fn(move |request| overlay.clone().answer(request));
        Client::new(service, "default")
    }

    async fn answer(self: Arc<Self>, request: Request<Body>) -> Result<Response<Body>, kube::Error> {
        let path = request.uri().path().to_owned();
        if let Some((collection, name)) = path.rsplit_once('/') {
            let is_it = |it: &&Applied| it.here == collection && it.object["metadata"]["name"] == name;
            if let Some(found) = self.objects.iter().find(is_it) {
                return Ok(response(StatusCode::OK, &found.object));
            }
        }
        let answer = match &self.cluster {
            Some(cluster) => cluster.send(request).await?,
            None => response(StatusCode::NOT_FOUND, &missing()),
        };
        let applied: Vec<&Applied> =
            self.objects.iter().filter(|it| it.everywhere == path || it.here == path).collect();
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
            items.retain(|item| !applied.iter().any(|it| it.is_same(item)));
            items.extend(applied.iter().map(|it| it.object.clone()));
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
            let mut overlay = Overlay::new(below);
            for (namespace, name, value) in objects {
                overlay.put(&kind, namespace, object(namespace, name, value));
            }
            Arc::new(overlay).client()
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
