//! A client of the cluster that writes only while a fence permits it, so that a former leader does not send a write
//! that it was about to send when it was suspended. Reads and watches pass.

use http::{Method, Request};
use kube::Client;
use kube::client::Body;
use tower::BoxError;

use connect_api::Fence;

/// Returns the same client behind the fence.
pub fn client(inner: Client, fence: Fence) -> Client {
    let namespace = inner.default_namespace().to_owned();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, fence) = (inner.clone(), fence.clone());
        async move {
            if *request.method() != Method::GET && !fence.holds() {
                return Err(BoxError::from("this process does not lead any more, and writes nothing"));
            }
            inner.send(request).await.map_err(BoxError::from)
        }
    });
    Client::new(service, namespace)
}
