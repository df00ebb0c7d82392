//! The simulated API server as the operator's own client sees it: requests in, answers out, without a socket.
//!
//! It supports the paths and verbs that the operator uses; anything else fails the test. Events are discarded.

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;

use crate::cluster::Refusal;
use crate::frontend::CHECKING;
use crate::prelude::*;

/// The cluster as one operator reaches it.
#[derive(Clone)]
pub(crate) struct Service {
    pub(crate) operator: usize,
    pub(crate) interceptor: Interceptor,
    pub(crate) cluster: Arc<Mutex<Cluster>>,
    pub(crate) clock: Clock,
}

type Answered = Result<Response<Body>, String>;

impl Service {
    /// Returns a client of it.
    pub(crate) fn client(self) -> Client {
        let service = tower::service_fn(move |request: Request<Body>| self.clone().answer(request));
        Client::new(service, "default")
    }

    async fn answer(self, request: Request<Body>) -> Result<Response<Body>, String> {
        let (head, body) = request.into_parts();
        let body = body.collect_bytes().await.map_err(|error| error.to_string())?;
        let body: Value = if body.is_empty() { Value::Null } else { serde_json::from_slice(&body).expect("JSON") };
        let asked = Asked::read(&head.method, head.uri.path(), body);
        let Self { operator, interceptor, cluster, clock } = self;
        if asked.kind.is_none() {
            // An Event: it is only for users, and nothing reads it here.
            return Ok(answered(201, &asked.body));
        }
        let what = What {
            place: Callee::Cluster,
            name: asked.name(&head.method),
            changes: head.method != Method::GET,
            send_before: None,
        };
        let since = clock.now();
        let is_check = asked.kind == Some(Kind::Check) && asked.name.is_some();
        let reads_check = head.method == Method::GET && is_check;
        if is_check && !reads_check {
            let _ = CHECKING.try_with(|checking| checking.borrow_mut().wrote = true);
        }
        let effect = move || -> Answered {
            let carry_out = |cluster: &mut Cluster| asked.carry_out(&head.method, cluster, &clock);
            Ok(lock(&cluster).requested_by(operator, carry_out))
        };
        let answered = interceptor.call(operator, what, since, effect, |failure| match failure {
            Failure::Lost | Failure::NotSent => Err("the connection was lost".to_owned()),
            Failure::Refused(status, _) => Ok(refused(&Refusal(status, "Refused"))),
        });
        let answered = answered.await?;
        if reads_check { now_checking(answered).await } else { Ok(answered) }
    }
}

/// Notes from which version of its check a reconcile works, and returns the answer. What it reads after a write only tells
/// whether the write arrived.
async fn now_checking(answered: Response<Body>) -> Answered {
    let (head, body) = answered.into_parts();
    let body = body.collect_bytes().await.map_err(|error| error.to_string())?;
    let object: Value = serde_json::from_slice(&body).expect("JSON");
    let version = object["metadata"]["resourceVersion"].as_str().and_then(|version| version.parse().ok());
    if let Some(version) = version {
        // Not set for the operator's other reads.
        let _ = CHECKING.try_with(|checking| {
            let mut checking = checking.borrow_mut();
            if !checking.wrote {
                checking.version = version;
            }
        });
    }
    Ok(Response::from_parts(head, Body::from(body.to_vec())))
}

/// A parsed request.
struct Asked {
    kind: Option<Kind>,
    namespace: String,
    name: Option<String>,
    status: bool,
    body: Value,
}

impl Asked {
    fn read(method: &Method, path: &str, body: Value) -> Self {
        // Below `api/v1` or `apis/GROUP/VERSION`, without a namespace if the kind or the list is of the whole cluster.
        let mut parts =
            path.trim_start_matches('/').split('/').skip(if path.starts_with("/apis/") { 3 } else { 2 }).peekable();
        let first = parts.next();
        let in_namespace = first == Some("namespaces");
        let namespace = parts.next_if(|_| in_namespace).unwrap_or_default().to_owned();
        let plural = if in_namespace { parts.next() } else { first };
        let name = parts.next().map(str::to_owned);
        let status = parts.next() == Some("status");
        let (kind, name) = match plural {
            None => (Some(Kind::Namespace), Some(namespace.clone())),
            Some("events") => (None, name),
            Some(plural) => {
                let kind = Kind::ALL.into_iter().find(|kind| kind.plural() == plural);
                assert!(kind.is_some(), "the simulated API server does not support {method} {path}");
                (kind, name)
            }
        };
        Self { kind, namespace, name, status, body }
    }

    fn name(&self, method: &Method) -> String {
        let plural = self.kind.map(Kind::plural).unwrap_or_default();
        let name = self.name.as_deref().unwrap_or_default();
        let status = if self.status { " status" } else { "" };
        format!("{method} {plural}/{name}{status}")
    }

    fn carry_out(self, method: &Method, cluster: &mut Cluster, clock: &Clock) -> Response<Body> {
        let Self { kind, namespace, name, status, body } = self;
        let kind = kind.expect("Events are answered earlier");
        let now = clock.now();
        if *method == Method::GET && name.is_none() {
            let items: Vec<&Value> = cluster
                .of_kind(kind)
                .filter(|(key, _)| namespace.is_empty() || key.namespace == namespace)
                .map(|(_, object)| &**object)
                .collect();
            let version = cluster.version().to_string();
            return answered(200, &json!({"metadata": {"resourceVersion": version}, "items": items}));
        }
        let name = name.or_else(|| body.pointer("/metadata/name")?.as_str().map(str::to_owned)).unwrap_or_default();
        let key = Key::new(kind, if kind == Kind::Namespace { "" } else { &namespace }, &name);
        let result = match method.as_str() {
            "GET" => cluster.get(&key).cloned().ok_or(Refusal(404, "NotFound")),
            "POST" => cluster.create(&key, body, now),
            "PATCH" => cluster.patch(&key, &body, status),
            "DELETE" => cluster.delete(&key, now),
            other => panic!("the simulated API server does not support {other}"),
        };
        match result {
            Ok(object) => answered(if *method == Method::POST { 201 } else { 200 }, &object),
            Err(refusal) => refused(&refusal),
        }
    }
}

fn answered(status: u16, body: &Value) -> Response<Body> {
    let body = serde_json::to_vec(body).expect("JSON");
    Response::builder().status(status).body(Body::from(body)).expect("an answer")
}

fn refused(Refusal(status, reason): &Refusal) -> Response<Body> {
    let body = json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
        "message": reason, "reason": reason, "code": status,
    });
    answered(*status, &body)
}
