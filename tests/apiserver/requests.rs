//! Counts the requests of an operator to the API server.

use kube::client::Body;

use crate::prelude::*;

/// Number of requests by verb and resource, such as `PATCH connectordeployments/status`, `LIST secrets` or `WATCH secrets`.
pub(crate) type Counts = BTreeMap<String, usize>;

/// The requests of one client.
#[derive(Clone, Default)]
pub(crate) struct Requests(Arc<Mutex<Counts>>);

impl Requests {
    /// Returns the requests, none so far, of a client, and the client.
    pub(crate) fn client(client: &Client) -> (Self, Client) {
        let requests = Self::default();
        let (inner, counted) = (client.clone(), requests.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            counted.count(request.method(), request.uri());
            let inner = inner.clone();
            async move { Ok::<_, BoxError>(inner.send(request).await?) }
        });
        (requests, Client::new(service, client.default_namespace()))
    }

    /// Those that were sent since the last call of this function.
    pub(crate) fn take(&self) -> Counts {
        std::mem::take(&mut self.0.lock().unwrap())
    }

    fn count(&self, method: &Method, uri: &Uri) {
        *self.0.lock().unwrap().entry(name(method, uri)).or_default() += 1;
    }
}

/// Returns what a request is counted under.
fn name(method: &Method, uri: &Uri) -> String {
    let mut parts: Vec<_> = uri.path().split('/').filter(|part| !part.is_empty()).collect();
    // `api/v1` or `apis/GROUP/VERSION`.
    parts.drain(..if parts.first() == Some(&"api") { 2 } else { 3 }.min(parts.len()));
    if parts.first() == Some(&"namespaces") && parts.len() > 2 {
        parts.drain(..2);
    }
    let verb = match parts.get(1) {
        _ if uri.query().is_some_and(|query| query.contains("watch=true")) => "WATCH",
        None if method == Method::GET => "LIST",
        _ => method.as_str(),
    };
    let resource = parts.first().copied().unwrap_or_default();
    parts.get(2).map_or_else(|| format!("{verb} {resource}"), |subresource| format!("{verb} {resource}/{subresource}"))
}
