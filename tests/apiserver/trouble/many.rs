//! Many resources at once: counts of writes, reads and calls, and the size of a status. `examples/scale/` measures the
//! rest.

use connect_operator::operator::reporting::bounds;

use super::pace::until;
use crate::prelude::*;
use crate::requests::{Counts, Requests};
use crate::watching;

const MANY: usize = 50;

/// Number of requests for each resource until all are Ready and annotated. Lower one whenever that becomes possible.
const UNTIL_READY: [(&str, usize); 6] = [
    // The finalizer, and the annotation with the id.
    ("PATCH connectordeployments", 2),
    // The operation, that it was accepted, and the end.
    ("PATCH connectordeployments/status", 3),
    ("POST events", 1),
    // One in each reconcile: for the event, the writes, and the end.
    ("GET connectordeployments", 4),
    ("GET secrets", 1),
    // The number of its users. Changes in quick succession become one write.
    ("PATCH connectprojects/status", 1),
];
/// The same for a redeploy of each.
const REDEPLOYED: [(&str, usize); 4] = [
    // The operation, that it was accepted, and the end; on a slow machine, that it waits.
    ("PATCH connectordeployments/status", 4),
    // The call, and the end.
    ("POST events", 2),
    // One in each reconcile; each write and each poll causes one.
    ("GET connectordeployments", 7),
    ("GET secrets", 1),
];
/// The same for a restart: one when it is listed, one when its project is known, and one when its record is observed.
const RESTARTED: [(&str, usize); 1] = [("GET connectordeployments", 3)];
/// What may come on top of each of these for all resources together: the Events of the project, and states that only some
/// resources are observed in.
const MORE: usize = MANY / 5;
/// Requests of a project in a second that let [`AT_ONCE`] resources in at once.
const RATE: usize = 5;
/// Two for each request in a second.
pub(super) const AT_ONCE: usize = 10;
/// Maximum number of requests of any other kind after a start: lists in pages of 25, watches, the project. The list of Secrets
/// also has those of other tests.
const SHARED: usize = 60;
/// Maximum number of requests in an hour in which nothing changes: each of six watches begins anew four or five times, with a
/// list in pages; the hourly write of the project.
const IN_AN_HOUR: usize = 80;
/// Maximum number of calls for each resource until it is Ready: two lookups of its key, and the create.
const CALLS: [(&str, u64); 2] = [("getDeploymentByKey", 2), ("createDeployment", 1)];
/// Maximum number of calls of any other kind: polls, the token, the registry.
const SHARED_CALLS: u64 = 30;
/// Maximum size of the status of a live deployment with two values, in bytes.
const STATUS: usize = 3_000;

#[tokio::test]
async fn fifty_deployments_cost_the_minimum_and_nothing_while_nothing_changes() {
    let options = Options { deploy_duration: Duration::from_secs(5), ..Options::default() };
    let mut shop = Shop::without_operator(options, stepped()).await;
    let (requests, client) = Requests::client(&shop.sandbox.client);
    shop.start_operator_as(client.clone());
    shop.put_credentials("dev-client").await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    // Resources that are applied earlier read it again and again until then.
    meanwhile(&shop.clock, FINE, shop.until_available()).await;
    shop.put_token("first-token-of-the-shop").await;
    let live = until_all_are_ready(&shop, MANY).await;
    assert_eq!(shop.calls("updateDeploymentById"), 0);
    assert_eq!(shop.calls("token"), 1);
    check_calls(&shop.dev.counts());
    let status = live.values().map(|object| bounds::size(&object.status)).max();
    assert!(status <= Some(STATUS), "the largest status has {status:?} bytes");

    let annotated = async {
        for name in live.keys() {
            let is = |object: &ConnectorDeployment| object.annotations().contains_key(names::REMOTE_ID);
            shop.until_object(name, "annotated", is).await;
        }
    };
    meanwhile(&shop.clock, COARSE, annotated).await;
    pass(&shop.clock, COARSE, Duration::from_mins(10)).await;
    check_requests("until Ready", &requests.take(), &UNTIL_READY, SHARED);
    let annotated = shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap();
    let live: BTreeMap<_, _> = annotated.into_iter().map(|object| (object.name_any(), object)).collect();

    let before = shop.dev.counts();
    pass(&shop.clock, COARSE, Duration::from_hours(1)).await;
    let after = shop.dev.counts();
    let calls: u64 = after.values().sum::<u64>() - before.values().sum::<u64>();
    assert!(calls <= 30, "{calls} calls in an hour: {before:?}, then {after:?}");
    let untouched = shop.api::<ConnectorDeployment>().list(&ListParams::default()).await.unwrap();
    for object in untouched {
        let last = live[&object.name_any()].resource_version();
        assert_eq!(object.resource_version(), last, "{} was written while nothing changed", object.name_any());
    }
    check_requests("in an hour", &requests.take(), &[], IN_AN_HOUR);

    shop.put_token("second-token-of-the-shop").await;
    until_all_are_redeployed(&shop, MANY).await;
    let told = async {
        shop.until_events("Redeploying", MANY).await;
        shop.until_events("Deployed", 2 * MANY).await;
    };
    meanwhile(&shop.clock, FINE, told).await;
    assert_eq!(shop.calls("updateDeploymentById"), MANY as u64);
    check_requests("of the redeploys", &requests.take(), &REDEPLOYED, SHARED);

    // A restarted operator writes nothing.
    shop.stop_operator().await;
    let before = shop.dev.counts();
    shop.start_operator_as(client);
    // Slowly at first: what it reads until the API server has answered is read by id.
    pass(&shop.clock, SLOW, Duration::from_secs(10)).await;
    pass(&shop.clock, FINE, Duration::from_mins(1)).await;
    let after = shop.dev.counts();
    let calls: u64 = after.values().sum::<u64>() - before.values().sum::<u64>();
    // Until the number of deployments is known, the first reads are by id.
    assert!(calls <= 12, "{calls} calls after a restart: {before:?}, then {after:?}");
    for operation in ["createDeployment", "updateDeploymentById"] {
        assert_eq!(before.get(operation), after.get(operation), "{operation} after a restart");
    }
    check_requests("after a restart", &requests.take(), &RESTARTED, SHARED);
}

/// A user that comes or goes enqueues the project at most once in 2 s, except the first and the last one.
#[tokio::test]
async fn resources_that_come_and_go_together_are_counted_together() {
    let mut shop = Shop::without_operator(Options::default(), Clock::system()).await;
    let (requests, client) = Requests::client(&shop.sandbox.client);
    shop.put_credentials("dev-client").await;
    shop.sandbox.apply(&shop.project()).await.unwrap();
    // Without its Secret: created and deleted within a few requests.
    apply_all(&shop, MANY).await;
    let began = Instant::now();
    shop.start_operator_as(client);
    for count in [MANY, 0] {
        let counted = |project: &ConnectProject| {
            project.status.as_ref().and_then(|status| status.deployments) == u32::try_from(count).ok()
        };
        shop.until_project("its resources are counted", counted).await;
        let all = shop.api::<ConnectorDeployment>();
        all.delete_collection(&DeleteParams::default(), &ListParams::default()).await.unwrap();
    }
    // At the start and at the end, for the credentials and for the list of the remote.
    let once = 8;
    let most = once + usize::try_from(began.elapsed().as_secs()).unwrap() / 2;
    let counts = requests.take();
    let writes = counts.get("PATCH connectprojects/status").copied().unwrap_or_default();
    assert!(writes <= most, "at most {most}, of {counts:?}");
}

/// Applies this many resources, and once they are Ready, their project has [`RATE`].
pub(super) async fn until_all_are_ready_and_the_remote_is_slow(shop: &Shop, many: usize) {
    shop.put_project_and_secrets().await;
    until_all_are_ready(shop, many).await;
    shop.sandbox.apply(&with_spec(shop.project(), &json!({"requestsPerSecond": RATE}))).await.unwrap();
    let reconciled = |project: &ConnectProject| {
        project.status.as_ref().is_some_and(|status| Some(status.observed_generation) == project.metadata.generation)
    };
    shop.until_project("has its rate", reconciled).await;
}

async fn apply_all(shop: &Shop, many: usize) {
    for number in 0..many {
        shop.sandbox.apply(&named(shop.deployment(), &format!("tax-{number:02}"))).await.unwrap();
    }
}

/// Applies this many resources, and returns them once each is Ready and its Events are written.
async fn until_all_are_ready(shop: &Shop, many: usize) -> BTreeMap<String, ConnectorDeployment> {
    let watched = watcher(shop.api::<ConnectorDeployment>(), watcher::Config::default());
    let mut seen = std::pin::pin!(watched.default_backoff().applied_objects());
    apply_all(shop, many).await;
    let mut objects = BTreeMap::new();
    let all_ready = async {
        while let Some(object) = seen.next().await {
            // The watch retries after an error.
            let Ok(object) = object else { continue };
            objects.insert(object.name_any(), object);
            if objects.values().filter(|object| is_ready(object)).count() == many {
                break;
            }
        }
    };
    // Slowly: of a create that does not leave in time, the key is looked up again.
    let all_ready = meanwhile(&shop.clock, SLOW, all_ready);
    in_time(all_ready).await.expect("all become Ready");
    // An Event follows the status that it reports.
    shop.until_events("Deployed", many).await;
    objects
}

/// Number of redeploys that the remote received, whatever it answered; without those that broke off with their process.
pub(super) fn redeploys(shop: &Shop) -> usize {
    let broke_off = |call: &Call| [0, 413].contains(&call.status);
    let calls = shop.dev.calls();
    calls.iter().filter(|call| call.operation == "updateDeploymentById" && !broke_off(call)).count()
}

/// Lets time pass until each deployment has been redeployed and its status reports that.
pub(super) async fn until_all_are_redeployed(shop: &Shop, many: usize) {
    until(shop, FINE, &format!("{many} redeploys are sent"), async || redeploys(shop) >= many).await;
    let ended =
        |object: &ConnectorDeployment| is_ready(object) && object.status.is_some() && state(object).operation.is_none();
    let api = shop.api::<ConnectorDeployment>();
    let all_ended = watching::until("each operation ends", async || {
        api.list(&ListParams::default()).await.unwrap().items.iter().all(ended)
    });
    meanwhile(&shop.clock, FINE, all_ended).await;
}

/// Checks the requests of a phase: at most so many for each resource, and few others.
fn check_requests(phase: &str, counts: &Counts, for_each: &[(&str, usize)], shared: usize) {
    eprintln!("requests {phase}: {counts:?}");
    for (what, most) in for_each {
        let count = counts.get(*what).copied().unwrap_or_default();
        assert!(count <= most * MANY + MORE, "{phase}: {count} times {what} for {MANY} resources, of {counts:?}");
    }
    let others = counts.iter().filter(|(what, _)| !for_each.iter().any(|(each, _)| each == what));
    let others: usize = others.map(|(_, count)| count).sum();
    assert!(others <= shared, "{phase}: {others} other requests, of {counts:?}");
}

/// Checks the calls until all resources are Ready.
fn check_calls(counts: &BTreeMap<&'static str, u64>) {
    eprintln!("calls until Ready: {counts:?}");
    for (operation, most) in CALLS {
        let count = counts.get(operation).copied().unwrap_or_default();
        assert!(count <= most * MANY as u64, "{count} times {operation} for {MANY} resources, of {counts:?}");
    }
    assert_eq!(counts.get("createDeployment"), Some(&(MANY as u64)));
    let others = counts.iter().filter(|(operation, _)| !CALLS.iter().any(|(each, _)| each == *operation));
    let others: u64 = others.map(|(_, count)| count).sum();
    assert!(others <= SHARED_CALLS, "{others} other calls, of {counts:?}");
}

fn is_ready(object: &ConnectorDeployment) -> bool {
    is(object, names::READY)
}
