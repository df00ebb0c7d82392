//! A client of the cluster that writes only while a fence holds: what a former leader was about to write when it was
//! suspended stays unwritten. Reads and watches go through.

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

use connect_api::Fence;

/// A write that did not leave.
#[derive(Debug, thiserror::Error)]
#[error("this process does not lead any more, and writes nothing")]
struct NotPermitted;

/// The same client behind the fence.
#[must_use]
pub fn client(inner: Client, fence: Fence) -> Client {
    let namespace = inner.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, fence) = (inner.clone(), fence.clone());
        async move {
            if *request.method() != Method::GET && !fence.holds() {
                return Err(BoxError::from(NotPermitted));
            }
            inner.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}
