//! Failures of the API server: whatever it refuses, loses or forgets, there is one deployment afterwards, one redeploy
//! for each change, and the right status.

use connect_api::model::EntryType;
use dev_server::PlannedEntry;

use crate::prelude::*;
use crate::unreliable::WATCHES;
use Begins::{AtFirst, InRedeploy, OfCreate};

/// A remote whose deployments take a while.
pub(super) fn options() -> Options {
    Options { deploy_duration: Duration::from_secs(5), ..Options::default() }
}

/// A shop on a stepped clock, whose operator has a client that fails on demand; nothing is deployed.
pub(crate) async fn shop() -> (Shop, Unreliable) {
    let mut shop = Shop::with(options(), stepped()).await;
    shop.stop_operator().await;
    let (unreliable, client) = Unreliable::client(&shop.sandbox.client, &shop.clock);
    shop.start_operator_as(client);
    shop.put_token("first-token-of-the-shop").await;
    meanwhile(&shop.clock, FINE, shop.until_available()).await;
    (shop, unreliable)
}

pub(crate) async fn until_live(shop: &Shop) -> ConnectorDeployment {
    let live = |object: &ConnectorDeployment| state(object).operation.is_none() && has(object, names::READY);
    let live = shop.until("live without an operation", live);
    meanwhile(&shop.clock, FINE, live).await
}

/// Asserts that there is one deployment, with this many redeploys.
pub(crate) fn left(shop: &Shop, case: &str, redeploys: i64) {
    let versions: Vec<_> = shop.there().iter().map(|live| live.version).collect();
    assert_eq!(versions, [1 + redeploys], "{case}: {:?}", shop.dev.counts());
    assert_eq!(shop.calls("createDeployment"), 1, "{case}");
}

/// When requests begin to fail.
#[derive(Clone, Copy)]
enum Begins {
    /// Before the resource is applied, so that its operation cannot be stored.
    AtFirst,
    /// Once the create is planned: the operation is stored before its call, so only what became of it cannot be written.
    OfCreate,
    /// Once a redeploy is planned, until long after its call: the machine's clock times the retries of reconciles that
    /// failed, so minutes of the stepped clock pass. The plain value proves the redeploy.
    InRedeploy,
}

/// Longer than a call may take: an operation whose write is confirmed after that time may not be sent any more.
const TOO_LATE: Duration = Duration::from_secs(31);

/// When it begins, how many requests fail, and how.
const ROWS: [(Begins, u64, Wrong); 13] = [
    (AtFirst, 2, Wrong::Refused(409, "Conflict")),
    (AtFirst, 2, Wrong::Refused(403, "Forbidden")),
    (AtFirst, 2, Wrong::Refused(500, "InternalError")),
    (AtFirst, 2, Wrong::Refused(429, "TooManyRequests")),
    (AtFirst, 2, Wrong::Away),
    (AtFirst, 2, Wrong::Lost),
    (AtFirst, 3, Wrong::Stripped),
    (AtFirst, 3, Wrong::Late(TOO_LATE)),
    (OfCreate, 3, Wrong::Refused(500, "InternalError")),
    (OfCreate, 3, Wrong::Away),
    (OfCreate, 2, Wrong::Lost),
    (InRedeploy, 2, Wrong::Refused(500, "InternalError")),
    (InRedeploy, 2, Wrong::Away),
];

#[tokio::test]
async fn an_operation_that_cannot_be_stored_is_not_sent_and_one_whose_outcome_cannot_is_sent_once() {
    let lives = ROWS.map(|(from, times, wrong)| async move {
        let (shop, unreliable) = shop().await;
        let planned = || shop.until("planned", |object| state(object).operation.is_some());
        let mut manifest = shop.deployment();
        match from {
            AtFirst => unreliable.begin(Which::Writes, wrong),
            OfCreate => {}
            InRedeploy => {
                shop.sandbox.apply(&manifest).await.unwrap();
                until_live(&shop).await;
                manifest = shop.with_level("debug");
            }
        }
        shop.sandbox.apply(&manifest).await.unwrap();
        if !matches!(from, AtFirst) {
            meanwhile(&shop.clock, FINE, planned()).await;
            // Counted from here on.
            unreliable.begin(Which::StatusWrites, wrong);
        }
        meanwhile(&shop.clock, FINE, unreliable.until_met(times)).await;
        let created = u64::from(!matches!(from, AtFirst));
        assert_eq!(shop.calls("createDeployment"), created, "{wrong:?}: nothing before its operation is stored");
        unreliable.end();
        until_live(&shop).await;
        left(&shop, &format!("{wrong:?}"), i64::from(matches!(from, InRedeploy)));
    });
    futures::future::join_all(lives).await;
}

/// Nothing that is read shows whether secured values have arrived, so only the response says that, for as long as it takes.
#[tokio::test]
async fn rule_06_a_response_that_cannot_be_stored_for_minutes_is_not_lost() {
    let rows = [("refused", Wrong::Refused(500, "InternalError")), ("no connection", Wrong::Away)];
    let lives = rows.map(|(case, wrong)| async move {
        let (shop, unreliable) = shop().await;
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        until_live(&shop).await;
        let late = FaultAnswer { delay_ms: 10_000, ..FaultAnswer::default() };
        shop.dev.fault(Fault::of("updateDeploymentById", late)).unwrap();
        shop.put_token("second-token-of-the-shop").await;
        until_called(&shop, "updateDeploymentById", 1).await;
        unreliable.begin(Which::StatusWrites, wrong);
        // Slowly, so that the operator reads the record within the quiet period, also on a busy machine.
        meanwhile(&shop.clock, SLOW, unreliable.until_met(3)).await;
        pass(&shop.clock, FINE, Duration::from_mins(4)).await;
        unreliable.end();
        let live = until_live(&shop).await;
        left(&shop, case, 1);
        assert!(!has(&live, names::SECRETS_UNVERIFIED), "{case}: {live:?}");
    });
    futures::future::join_all(lives).await;
}

/// The watches end, and no watch shows the change that follows.
#[tokio::test]
async fn a_change_that_no_watch_shows_is_deployed_once_the_api_server_is_there_again() {
    let rows = [
        ("no connection", Which::All, Wrong::Away, 1, 5),
        ("expired versions, as a status", Which::Watches, Wrong::Refused(410, "Expired"), 3, 0),
        ("expired versions, as an event", Which::Watches, Wrong::Expired, WATCHES, 0),
    ];
    let lives = rows.map(|(case, which, wrong, times, minutes)| async move {
        let (shop, unreliable) = shop().await;
        shop.sandbox.apply(&shop.deployment()).await.unwrap();
        until_live(&shop).await;
        unreliable.begin(which, wrong);
        unreliable.cut_watches();
        unreliable.until_met(times).await;
        shop.put_token("second-token-of-the-shop").await;
        pass(&shop.clock, FINE, Duration::from_mins(minutes)).await;
        if matches!(which, Which::All) {
            assert_eq!(shop.calls("updateDeploymentById"), 0, "{case}: nothing can be stored, so nothing is sent");
        }
        unreliable.end();
        until_called(&shop, "updateDeploymentById", 1).await;
        until_live(&shop).await;
        left(&shop, case, 1);
    });
    futures::future::join_all(lives).await;
}

#[tokio::test]
async fn a_secret_that_was_deleted_while_no_watch_was_open_is_noticed() {
    let (shop, unreliable) = shop().await;
    let mut manifest = shop.deployment();
    manifest["spec"]["configurations"][0]["standardConfiguration"] = json!([]);
    shop.sandbox.apply(&manifest).await.unwrap();
    until_live(&shop).await;

    unreliable.begin(Which::Watches, Wrong::Away);
    unreliable.cut_watches();
    unreliable.until_met(WATCHES).await;
    shop.api::<Secret>().delete(SECRET, &DeleteParams::default()).await.unwrap();
    unreliable.begin(Which::Watches, Wrong::Expired);
    unreliable.until_met(WATCHES).await;
    unreliable.end();
    // What is Ready reports it after 30 s.
    meanwhile(&shop.clock, FINE, shop.until_reason("SecretMissing")).await;
}

/// Without it, the project would go while resources use it.
#[tokio::test]
async fn rule_24_a_finalizer_that_was_removed_from_a_project_is_added_again() {
    let (shop, _) = shop().await;
    let held = |project: &ConnectProject| project.finalizers() == [names::PROJECT_FINALIZER];
    meanwhile(&shop.clock, FINE, shop.until_project("the finalizer", held)).await;
    let without: ConnectProject = shop.patch(PROJECT, &json!({"metadata": {"finalizers": null}})).await;
    assert!(without.finalizers().is_empty());
    meanwhile(&shop.clock, FINE, shop.until_project("the finalizer", held)).await;
}

/// `kubectl replace` of the manifest removes the finalizer and the annotation with the id in one write.
#[tokio::test]
async fn a_manifest_that_replaces_the_object_gets_finalizer_and_annotation_again_and_nothing_is_sent() {
    let (shop, _) = shop().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    until_live(&shop).await;
    let complete = |object: &ConnectorDeployment| {
        object.annotations().contains_key(names::REMOTE_ID)
            && object.finalizers().iter().any(|name| name == names::FINALIZER)
    };
    let live = meanwhile(&shop.clock, FINE, shop.until("finalizer and annotation", complete)).await;
    let mut manifest = shop.deployment();
    manifest["metadata"]["resourceVersion"] = json!(live.resource_version());
    let manifest: ConnectorDeployment = serde_json::from_value(manifest).unwrap();
    let replaced = shop.api().replace(NAME, &PostParams::default(), &manifest).await.unwrap();
    assert!(replaced.finalizers().is_empty() && replaced.annotations().is_empty());
    meanwhile(&shop.clock, FINE, shop.until("finalizer and annotation", complete)).await;
    until_live(&shop).await;
    left(&shop, "finalizer and annotation", 0);
}

#[tokio::test]
async fn a_resource_deleted_without_its_finalizer_and_created_again_does_not_own_the_deployment() {
    let (mut shop, _) = shop().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    // While the create runs.
    let running = shop.until("running", |object| object.status.as_ref().is_some_and(|status| status.id.is_some()));
    meanwhile(&shop.clock, FINE, running).await;
    // Otherwise it would add the finalizer again, as it should.
    shop.stop_operator().await;
    shop.delete().await;
    shop.change(&json!({"metadata": {"finalizers": null}})).await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    shop.start_operator();
    meanwhile(&shop.clock, FINE, shop.until_reason("KeyTaken")).await;
    left(&shop, "made again", 0);
    shop.change(&json!({"spec": {"adoptionPolicy": "Adopt"}})).await;
    until_live(&shop).await;
    left(&shop, "taken over", 0);
}

/// Bound of the largest status (20 report entries of 1 KiB and a title, 20 lines of 512 bytes, a message) and the rest
/// of the object; the API server accepts 1.5 MiB.
const LARGEST_OBJECT: usize = 96 << 10;

#[tokio::test]
async fn a_very_large_report_fits_into_a_status() {
    let (shop, _) = shop().await;
    shop.sandbox.apply(&shop.deployment()).await.unwrap();
    let id = until_live(&shop).await.status.and_then(|status| status.id).unwrap();
    let huge = "✓ word ".repeat(2_000);
    let entry = PlannedEntry {
        kind: EntryType::Error,
        title: huge.clone(),
        message: Some(huge.clone()),
        application: Some(huge),
    };
    let outcome = PlannedOutcome { fails: true, entries: vec![entry; 30] };
    shop.dev.world().plan_outcome(&id, outcome, shop.dev.now()).unwrap();
    shop.put_token("second-token-of-the-shop").await;
    let failed = meanwhile(&shop.clock, FINE, shop.until_reason("RedeployFailed")).await;
    let size = serde_json::to_vec(&failed).unwrap().len();
    assert!(size <= LARGEST_OBJECT, "{size} bytes");
    assert!(failed.status.unwrap().report.len() >= 3, "as many as fit");
    left(&shop, "report", 1);
}
