use std::sync::Mutex;

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::json;

use super::*;
use crate::crd::ConnectorDeployment;

/// What becomes of a write.
#[derive(Clone, Copy)]
enum Write {
    /// It is stored.
    Stored,
    /// It is stored, but no response comes.
    Unanswered,
    /// It is not stored, and no response comes.
    Lost,
    /// It is not stored, because the storage did not answer the API server in time.
    TimedOut,
    /// The object was changed meanwhile.
    Conflict,
}

/// An API server with one object; `None`: it was deleted.
struct ApiServer {
    stored: Option<ConnectorDeployment>,
    write: Write,
    reads: usize,
}

fn object(version: &str, uid: &str) -> ConnectorDeployment {
    serde_json::from_value(json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": "ConnectorDeployment",
        "metadata": {"name": "tax", "namespace": "shop", "uid": uid, "resourceVersion": version},
        "spec": {"projectRef": {"name": "shop"}, "connector": {"key": "demo"}},
    }))
    .expect("an object")
}

fn client(server: &Arc<Mutex<ApiServer>>) -> Client {
    let server = Arc::clone(server);
    let service = tower::service_fn(move |request: Request<Body>| {
        let managed = format!("fieldManager={}", crate::names::FIELD_MANAGER);
        assert!(request.method() == Method::GET || request.uri().query().is_some_and(|query| query.contains(&managed)));
        let answer = server.lock().expect("a lock").answer(request.method());
        async move {
            let (code, body) = answer.ok_or("connection reset")?;
            Ok::<_, tower::BoxError>(Response::builder().status(code).body(Body::from(serde_json::to_vec(&body)?))?)
        }
    });
    Client::new(service, "shop")
}

impl ApiServer {
    fn answer(&mut self, method: &Method) -> Option<(u16, Value)> {
        let refused = |code, reason| {
            (code, json!({"kind": "Status", "status": "Failure", "message": "", "reason": reason, "code": code}))
        };
        let object = |stored: &_| (200, serde_json::to_value(stored).expect("JSON"));
        if method == Method::GET {
            self.reads += 1;
            return Some(self.stored.as_ref().map_or_else(|| refused(404, "NotFound"), object));
        }
        if let (Write::Stored | Write::Unanswered, Some(stored)) = (self.write, &mut self.stored) {
            stored.metadata.resource_version = Some("2".into());
        }
        match self.write {
            Write::Stored => self.stored.as_ref().map(object),
            Write::Unanswered | Write::Lost => None,
            Write::TimedOut => Some(refused(504, "Timeout")),
            Write::Conflict => Some(refused(409, "Conflict")),
        }
    }
}

/// An API server that stores this object and handles writes in this way, its API, and nothing written yet.
fn beginning(
    stored: ConnectorDeployment,
    write: Write,
) -> (Arc<Mutex<ApiServer>>, Api<ConnectorDeployment>, OwnWrites) {
    let server = Arc::new(Mutex::new(ApiServer { stored: Some(stored), write, reads: 0 }));
    let api = Api::namespaced(client(&server), "shop");
    (server, api, OwnWrites::default())
}

#[tokio::test]
async fn a_copy_that_may_be_older_than_the_last_write_is_read_again() {
    for (case, write, cached, reads, version) in [
        ("the cache is behind", Write::Stored, "1", [1, 2], "2"),
        ("the cache shows the write", Write::Stored, "2", [0, 0], "2"),
        ("the cache is behind an unanswered write", Write::Unanswered, "1", [1, 2], "2"),
        ("the cache shows an unanswered write", Write::Unanswered, "2", [1, 1], "2"),
        ("nothing was stored", Write::Lost, "1", [1, 1], "1"),
        ("nothing was stored in time", Write::TimedOut, "1", [1, 1], "1"),
        ("refused", Write::Conflict, "1", [0, 0], "1"),
    ] {
        let (server, api, writes) = beginning(object("1", "a"), write);
        let _ = writes.write_status(&api, &object("1", "a"), &json!({}), &json!({"id": "1"})).await;
        for reads in reads {
            let current = writes.current(&api, Arc::new(object(cached, "a"))).await.expect("an answer");
            assert_eq!(current.and_then(|object| object.resource_version()).as_deref(), Some(version), "{case}");
            assert_eq!(server.lock().expect("a lock").reads, reads, "{case}");
        }
    }
}

/// The event of a write comes after its response, or before it; then a user changes the object, perhaps also before it.
#[tokio::test]
async fn a_write_that_the_cache_has_shown_causes_no_read() {
    for (case, before, after) in [
        ("after the response", &[][..], Some("2")),
        ("before the response", &["2"], None),
        ("before the response, and the change too", &["2", "3"], None),
        ("never", &[], None),
    ] {
        let (server, api, writes) = beginning(object("1", "a"), Write::Stored);
        writes.begin(&object("1", "a"));
        for version in before {
            let _ = writes.shown(&object(version, "a"));
        }
        writes.end(&object("1", "a"), Ok(Some("2".to_owned())));
        let _ = after.is_some_and(|version| writes.shown(&object(version, "a")));
        let is_known = !before.is_empty() || after.is_some();
        assert_eq!(writes.object_refs().is_empty(), is_known, "{case}");
        server.lock().expect("a lock").stored = Some(object("3", "a"));
        let current = writes.current(&api, Arc::new(object("3", "a"))).await.expect("an answer");
        assert_eq!(current.and_then(|object| object.resource_version()).as_deref(), Some("3"), "{case}");
        assert_eq!(server.lock().expect("a lock").reads, usize::from(!is_known), "{case}");
    }
}

/// A reconcile is given a copy; the watch shows our write before the reconcile checks that copy.
#[tokio::test]
async fn an_old_copy_is_not_believed_because_the_watch_has_shown_the_write_since() {
    for (case, given, reads) in [("old", "1", 1), ("of the write", "2", 0)] {
        let (server, api, writes) = beginning(object("1", "a"), Write::Stored);
        writes.write_status(&api, &object("1", "a"), &json!({}), &json!({"id": "1"})).await.expect("an answer");
        let copy = object(given, "a");
        writes.given(&object_ref(&copy), &copy);
        let _ = writes.shown(&object("2", "a"));
        assert!(!writes.awaits(&copy, true), "{case}: nothing would wake the reconcile up");
        let current = writes.current(&api, Arc::new(copy)).await.expect("an answer");
        assert_eq!(current.and_then(|object| object.resource_version()).as_deref(), Some("2"), "{case}");
        assert_eq!(server.lock().expect("a lock").reads, reads, "{case}");
    }
}

#[test]
fn a_reconcile_that_waits_for_the_watch_is_told_once() {
    let writes = OwnWrites::default();
    assert!(!writes.awaits(&object("1", "a"), true), "nothing was written");
    writes.begin(&object("1", "a"));
    writes.end(&object("1", "a"), Ok(Some("2".to_owned())));
    assert!(!writes.shown(&object("1", "a")), "no reconcile waits");
    assert!(writes.awaits(&object("1", "a"), false));
    assert!(!writes.awaits(&object("1", "a"), false), "it has waited once");
    assert!(writes.awaits(&object("1", "a"), true));
    assert!(!writes.shown(&object("1", "a")), "an event from before the write");
    assert!(writes.shown(&object("2", "a")));
    assert!(!writes.shown(&object("2", "a")) && !writes.awaits(&object("2", "a"), true), "it is there");
    writes.unknown(&ObjectRef::deployment("shop", "tax"));
    assert!(!writes.awaits(&object("2", "a"), true), "the version of that write is not known");
}

#[tokio::test]
async fn an_object_that_is_gone_or_has_a_successor_is_not_there() {
    for (case, stored, is_there) in [
        ("gone", None, false),
        ("a successor that the cache does not show", Some(object("3", "b")), false),
        ("the same", Some(object("3", "a")), true),
    ] {
        let (server, api, writes) = beginning(object("1", "a"), Write::Stored);
        writes.patch_metadata(&api, &object("1", "a"), json!({})).await.expect("an answer");
        server.lock().expect("a lock").stored = stored;
        let current = writes.current(&api, Arc::new(object("1", "a"))).await.expect("an answer");
        assert_eq!(current.is_some(), is_there, "{case}");
    }
}

#[tokio::test]
async fn a_status_that_is_stored_already_is_neither_written_nor_kept() {
    let (_, api, writes) = beginning(object("1", "a"), Write::Stored);
    let same = json!({"id": "1"});
    let written = writes.write_status(&api, &object("1", "a"), &same, &same).await.expect("an answer");
    assert!(written.is_none());
    assert!(writes.object_refs().is_empty());
}

#[tokio::test]
async fn an_object_that_was_written_in_another_way_is_read_again() {
    let (_, api, writes) = beginning(object("2", "a"), Write::Stored);
    writes.unknown(&object_ref(&object("1", "a")));
    let current = writes.current(&api, Arc::new(object("1", "a"))).await.expect("an answer");
    assert_eq!(current.and_then(|object| object.resource_version()).as_deref(), Some("2"));
}
