use std::collections::BTreeSet;
use std::sync::{Arc, Mutex as Lock};

use http::{Request, Response};
use jiff::SignedDuration;
use kube::client::Body;
use serde_json::Value;

use super::*;

const START: Timestamp = Timestamp::UNIX_EPOCH;

fn after(minutes: i64) -> Timestamp {
    START + SignedDuration::from_mins(minutes)
}

fn event(uid: &str, reason: &'static str, note: &str) -> NewEvent {
    let regarding = ObjectReference {
        name: Some("tax".into()),
        namespace: Some("shop".into()),
        uid: Some(uid.into()),
        ..ObjectReference::default()
    };
    NewEvent { regarding, type_: EventType::Normal, reason, action: "Reconcile", note: note.into() }
}

#[test]
fn an_event_continues_a_series_only_if_it_repeats_the_last_one() {
    let mut series = Series::default();
    for (case, uid, reason, note, minute, continues) in [
        ("the first", "a", "Failed", "loud", 0, false),
        ("repeated", "a", "Failed", "loud", 1, true),
        ("another note", "a", "Failed", "empty", 2, false),
        ("the earlier note again", "a", "Failed", "loud", 3, false),
        ("another object", "b", "Failed", "loud", 4, false),
        ("another reason", "a", "Deployed", "loud", 5, false),
        ("repeated once more", "a", "Failed", "loud", 6, true),
        ("long after", "a", "Failed", "loud", 13, false),
    ] {
        let (event, at) = (event(uid, reason, note), after(minute));
        let found = series.continued(&event, at).map(|last| last.at = at).is_some();
        assert_eq!(found, continues, "{case}");
        if !found {
            series.begin(&event, "tax.1".into(), at);
        }
    }
    for number in 0..2 * WAITING {
        series.begin(&event(&number.to_string(), "Failed", "loud"), "tax.1".into(), after(60));
    }
    assert!(!series.last.contains_key(&("a".to_owned(), "Failed")), "what has ended makes room");
}

#[test]
fn the_name_of_an_event_has_at_most_253_bytes() {
    assert_eq!(name("tax", after(1).as_nanosecond()), "tax.df8475800");
    let long = format!("{}.{}", "a".repeat(238), "b".repeat(14));
    for cut in [long.as_str(), &"c".repeat(253)] {
        let name = name(cut, 1_767_225_600_000_000_000);
        assert!(name.len() <= LONGEST_NAME && name.contains("c.") | name.contains("a."), "{name}");
    }
}

fn labels() -> Labels {
    BTreeMap::from([("team".to_owned(), "tax".to_owned())])
}

/// A client that records requests. The API server has one object, with the uid `there`. It has lost each Event that happened
/// three times, and refuses a second one of the same name.
fn client(requests: &Arc<Lock<Vec<String>>>) -> Client {
    let (requests, names) = (Arc::clone(requests), Arc::<Lock<BTreeSet<String>>>::default());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (requests, names) = (Arc::clone(&requests), Arc::clone(&names));
        async move {
            let (parts, body) = request.into_parts();
            if parts.method == http::Method::GET {
                let there = serde_json::to_vec(&json!({"metadata": {"name": "tax", "uid": "there"}}))?;
                return Ok(Response::new(Body::from(there)));
            }
            let body: Value = serde_json::from_slice(&body.collect_bytes().await?)?;
            let is_new = parts.method == http::Method::POST;
            assert!(!is_new || body["metadata"]["labels"] == json!(labels()), "{body}");
            let is_series = body["series"]["count"].as_i64();
            let text = is_series.map_or_else(|| format!("{}", body["note"]), |count| format!("×{count}"));
            requests.lock().expect("a lock").push(format!("{} {text}", parts.method));
            let name = body["metadata"]["name"].as_str().map(str::to_owned);
            let refused = match name {
                _ if is_series == Some(3) => Some((404, "NotFound")),
                Some(name) if names.lock().expect("a lock").replace(name.clone()).is_some() => {
                    Some((409, "AlreadyExists"))
                }
                _ => None,
            };
            let answer = match refused {
                Some((code, reason)) => {
                    json!({"kind": "Status", "status": "Failure", "reason": reason, "message": "", "code": code})
                }
                None => json!({"metadata": {}}),
            };
            let answer = serde_json::to_vec(&answer)?;
            let status = refused.map_or(200, |(code, _)| code);
            Ok::<_, tower::BoxError>(Response::builder().status(status).body(Body::from(answer))?)
        }
    });
    Client::new(service, "shop")
}

#[tokio::test]
async fn what_was_taken_is_published_in_order_also_after_the_end() {
    let (recorder, requests) = (EventRecorder::default(), Arc::default());
    for note in ["one", "one", "two", "two", "two", "two"] {
        recorder.record(event("a", "Failed", note), START);
    }
    recorder.publish(client(&requests), labels(), std::future::ready(())).await;
    let expected = ["POST \"one\"", "PATCH ×2", "POST \"two\"", "PATCH ×2", "PATCH ×3", "POST \"two\"", "PATCH ×2"];
    assert_eq!(*requests.lock().expect("a lock"), expected, "one that is missing is created again");
}

#[tokio::test]
async fn a_long_note_is_cut_before_it_waits() {
    let (recorder, requests) = (EventRecorder::default(), Arc::default());
    recorder.record(event("a", "Failed", &"x".repeat(5_000)), START);
    recorder.publish(client(&requests), labels(), std::future::ready(())).await;
    let sent = requests.lock().expect("a lock")[0].clone();
    assert!(sent.len() <= "POST \"\"".len() + LONGEST_NOTE && sent.ends_with("…\""), "{sent}");
}

#[tokio::test]
async fn events_without_room_are_dropped() {
    let (recorder, requests) = (EventRecorder::default(), Arc::default());
    for number in 0..WAITING + 5 {
        recorder.record(event(&number.to_string(), "Failed", "loud"), START);
    }
    recorder.publish(client(&requests), labels(), std::future::ready(())).await;
    assert_eq!(requests.lock().expect("a lock").len(), WAITING);
}
