//! A gateway before the API server that answers by itself, and an API server that forgets: faults at the wire, below the
//! operator's client.

use std::sync::atomic::AtomicUsize;

use connect_operator::operator::cluster::initial_lists::PAGE;

use super::pace::until;
use crate::gateway::{Failure, Gateway, is_watch};
use crate::prelude::*;
use crate::watching;

/// A shop with an operator behind a gateway, and nothing deployed.
async fn behind_a_gateway(clock: Clock) -> (Shop, Gateway) {
    let mut shop = Shop::without_operator(quick(), clock).await;
    let (gateway, client) = Gateway::before(&shop.sandbox.client).await;
    shop.start_operator_as(client);
    shop.put_project_and_secrets().await;
    meanwhile(&shop.clock, FINE, shop.until_available()).await;
    (shop, gateway)
}

/// A deployment whose project does not exist.
fn without_project(shop: &Shop) -> Value {
    with_spec(shop.deployment(), &json!({"projectRef": {"name": "missing"}}))
}

fn is_write_of_a_status(method: &Method, path: &str) -> bool {
    *method == Method::PATCH && path.contains("/connectordeployments/") && path.ends_with("/status")
}

#[tokio::test]
async fn watches_that_are_refused_for_an_hour_begin_again_soon() {
    let (shop, gateway) = behind_a_gateway(fast()).await;
    gateway.fail(|_, uri| is_watch(uri).then_some(Failure::Instead(503, "ServiceUnavailable", 3600)));
    gateway.cut_watches();
    gateway.until_failed(6).await;
    gateway.work();
    shop.deploy().await;
}

/// Whatever was true when a write was decided on may have changed meanwhile, leadership as well.
#[tokio::test]
async fn a_write_that_is_refused_is_not_repeated_before_its_object_is_read_again() {
    let (shop, gateway) = behind_a_gateway(fast()).await;
    let refused = AtomicUsize::default();
    gateway.fail(move |method, uri| {
        let fails = is_write_of_a_status(method, uri.path()) && refused.fetch_add(1, Ordering::SeqCst) < 3;
        fails.then_some(Failure::Instead(429, "TooManyRequests", 1))
    });
    shop.deploy().await;
    assert_eq!(shop.calls("createDeployment"), 1);

    let object = format!("/connectordeployments/{NAME}");
    let requests = gateway.requests();
    let of_object = requests.iter().filter(|request| request.contains(&object));
    let order: Vec<&str> = of_object
        .map(|request| match request.split_once(' ') {
            Some(("PATCH", path)) if path.contains("/status") => "write",
            Some(("GET", _)) => "read",
            _ => "other",
        })
        .collect();
    let refused: Vec<usize> = (0..order.len()).filter(|at| order[*at] == "write").take(3).collect();
    for at in refused {
        let next = order[at + 1..].iter().find(|it| **it != "other");
        assert_eq!(next, Some(&"read"), "after request {at} of {requests:#?}");
    }
}

/// The API server keeps the place in a list for some minutes. Where reading takes longer, each attempt would begin from the first page.
#[tokio::test]
async fn a_list_whose_place_was_forgotten_arrives_whole() {
    let mut shop = Shop::without_operator(quick(), fast()).await;
    shop.put_project_and_secrets().await;
    let many = PAGE as usize + 5;
    for number in 0..many {
        shop.sandbox.apply(&named(without_project(&shop), &format!("other-{number:02}"))).await.unwrap();
    }
    let (gateway, client) = Gateway::before(&shop.sandbox.client).await;
    gateway.fail(|_, uri| {
        uri.query().is_some_and(|query| query.contains("continue=")).then_some(Failure::Instead(410, "Expired", 0))
    });
    shop.start_operator_as(client);
    shop.deploy().await;
    let all = shop.api::<ConnectorDeployment>();
    watching::until("each of them reports the missing project", async || {
        all.list(&ListParams::default()).await.unwrap().items.iter().all(|it| it.status.is_some())
    })
    .await;
    assert_eq!(shop.lists.as_ref().unwrap().are_complete(), Ok(()));
}

/// After etcd was restored to an earlier revision, a watch waits for one that is far away.
#[tokio::test]
async fn rule_9_what_no_event_shows_is_found_within_a_quarter_of_an_hour_and_nothing_else_is_read_or_called() {
    let (shop, gateway) = behind_a_gateway(stepped()).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    gateway.fail(|_, uri| is_watch(uri).then_some(Failure::Mute));
    gateway.cut_watches();
    // Of deployments, staged connectors, projects, checks, Secrets and ConfigMaps.
    gateway.until_failed(6).await;

    let (since, before) = (shop.clock.now(), gateway.requests().len());
    shop.put_token("second-token-of-the-shop").await;
    shop.sandbox.apply(&named(shop.deployment(), "other")).await.unwrap();
    pass(&shop.clock, COARSE, Duration::from_mins(12)).await;
    assert_eq!(shop.sent(), [1, 0, 0]);
    until_listed(&shop, &gateway, before, &["secrets", "connectordeployments"]).await;
    // What follows takes seconds, of a clock that leaves a busy machine the time for them.
    until(&shop, SLOW, "both are noticed", async || shop.sent() == [2, 1, 0]).await;
    assert!(between(since, shop.clock.now()) <= Duration::from_mins(15), "{}", shop.clock.now());

    meanwhile(&shop.clock, FINE, shop.until_reason("Deployed")).await;
    meanwhile(&shop.clock, FINE, shop.sandbox.until_reason("other", "Deployed")).await;
    // The last writes.
    for name in [NAME, "other"] {
        let is = |object: &ConnectorDeployment| object.annotations().contains_key(names::REMOTE_ID);
        meanwhile(&shop.clock, FINE, shop.until_object(name, "annotated", is)).await;
    }
    let (before, begun) = (gateway.requests().len(), shop.clock.now());
    pass(&shop.clock, COARSE, Duration::from_mins(12)).await;
    until_listed(&shop, &gateway, before, &["connectordeployments"]).await;
    assert!(between(begun, shop.clock.now()) <= Duration::from_mins(15), "{}", shop.clock.now());
    let requests = gateway.requests();
    let needless: Vec<_> = requests[before..]
        .iter()
        .filter(|it| it.contains("/connectordeployments/") || it.contains("/secrets/"))
        .collect();
    assert_eq!(needless, [""; 0]);
    assert_eq!(shop.sent(), [2, 1, 0]);
}

/// Lets time pass until the operator has listed each of these kinds in the namespace of the shop, in a request after the first
/// `before`.
async fn until_listed(shop: &Shop, gateway: &Gateway, before: usize, kinds: &[&str]) {
    let begins = |kind: &&str| {
        let place = format!("/namespaces/{}/{kind}?", shop.sandbox.namespace);
        let lists = |request: &String| request.contains(&place) && !request.contains("watch=true");
        gateway.requests()[before..].iter().any(lists)
    };
    until(shop, FINE, "the kinds are listed again", async || kinds.iter().all(begins)).await;
}

/// As before a webhook of one tenant that does not answer. The namespace holds all slots that one namespace may hold.
#[tokio::test]
async fn rule_27_status_writes_that_hang_in_one_namespace_delay_no_status_and_no_event_of_another() {
    const SLOTS_OF_ONE: usize = 96;
    let mut shop = Shop::without_operator(quick(), fast()).await;
    let yard = shop.sandbox.another().await;
    shop.also_watched = vec![yard.namespace.clone()];
    let (gateway, client) = Gateway::before(&shop.sandbox.client).await;
    let theirs = format!("/namespaces/{}/connectordeployments/", yard.namespace);
    gateway.fail(move |method, uri| {
        (is_write_of_a_status(method, uri.path()) && uri.path().contains(&theirs)).then_some(Failure::Mute)
    });
    shop.start_operator_as(client);
    shop.put_project_and_secrets().await;
    for number in 0..SLOTS_OF_ONE + 10 {
        yard.apply(&named(without_project(&shop), &format!("other-{number}"))).await.unwrap();
    }
    gateway.until_failed(SLOTS_OF_ONE).await;

    shop.deploy().await;
    shop.until_event("Deployed").await;
    let waiting = gateway.requests().into_iter().filter(|it| it.starts_with("PATCH") && it.contains(&yard.namespace));
    assert_eq!(waiting.count(), SLOTS_OF_ONE, "they still hang, and no other of them has begun");
}

/// Returns the `KubernetesError` Events: their object, note, type and count.
async fn refusals(shop: &Shop) -> Vec<(String, String, String, i32)> {
    let events = shop.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let refusal = |event: Event| {
        let regarding = event.regarding.unwrap_or_default();
        let object = format!("{} {}", regarding.kind.unwrap_or_default(), regarding.name.unwrap_or_default());
        let count = event.series.map_or(1, |series| series.count);
        (object, event.note.unwrap_or_default(), event.type_.unwrap_or_default(), count)
    };
    let all = events.into_iter().filter(|event| event.reason.as_deref() == Some("KubernetesError"));
    all.map(refusal).collect()
}

#[tokio::test]
async fn a_status_that_is_refused_is_reported_by_one_event() {
    let (shop, gateway) = behind_a_gateway(stepped()).await;
    gateway.fail(|method, uri| {
        let fails = method == Method::PATCH && uri.path().ends_with("/status");
        fails.then_some(Failure::Instead(403, "Forbidden", 0))
    });
    let project = with_spec(shop.project(), &json!({"credentialsSecretRef": {"name": "none"}}));
    let check = with_spec(check(&shop), &json!({"deploymentRef": {"name": NAME}}));
    for manifest in [named(project, "other"), without_project(&shop), check] {
        shop.sandbox.apply(&manifest).await.unwrap();
    }
    let lacking = ["ConnectProject other", "ConnectorDeployment tax", "ActionCheck add-to-cart"];
    let repeated = async {
        let is_reported = |events: &[(String, String, String, i32)], object: &&str| {
            events.iter().any(|(regarding, .., count)| regarding == *object && *count > 2)
        };
        loop {
            let events = refusals(&shop).await;
            if lacking.iter().all(|object| is_reported(&events, object)) {
                break events;
            }
            shop.clock.sleep(FINE).await;
        }
    };
    let Ok(events) = in_time(meanwhile(&shop.clock, FINE, repeated)).await else {
        panic!("Events about each object, of several reconciles: {:?}", refusals(&shop).await)
    };
    for object in lacking {
        let notes: Vec<_> = events.iter().filter(|(regarding, ..)| regarding == object).collect();
        let [(_, note, type_, _)] = notes[..] else { panic!("one Event about {object}: {notes:?}") };
        assert_eq!(type_, "Warning", "{object}");
        assert!(
            note.ends_with("refused to patch this resource or its status: refused, as the test wants it"),
            "{note}"
        );
    }
    gateway.work();
    until_reported_with::<ConnectProject>(&shop, "other", "SecretMissing", &[]).await;
    until_reported_with::<ConnectorDeployment>(&shop, NAME, "ProjectMissing", &[]).await;
    until_reported_with::<ActionCheck>(&shop, CHECK, "DeploymentNotReady", &[]).await;
}
