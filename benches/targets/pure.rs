//! The pure functions of a reconcile, one after the other, for one live deployment (`inputs.rs`).
//!
//! `just bench` compares two commits. Each benchmark asserts beforehand that it measures what its name says.

mod inputs;

use std::hint::black_box;
use std::time::Duration;

use connect_api::http::answer;
use connect_api::model::Deployment;
use connect_operator::crd::ConnectorDeployment;
use connect_operator::crd::connector_deployment_status::ConnectorDeploymentStatus;
use connect_operator::operator::cluster::objects::guarded::Guarded;
use connect_operator::operator::cluster::objects::patch::merge_patch;
use connect_operator::operator::deployment::decide::{Outcome, Step, decide};
use connect_operator::operator::deployment::desired;
use connect_operator::operator::deployment::persisted::{PersistedState, Phase};
use connect_operator::operator::reporting::reason::Reason;
use criterion::Criterion;
use jiff::SignedDuration;
use kube::core::WatchEvent;
use serde_json::Value;

use self::inputs::{Inputs, NOW, page};

/// Number of records in a page of a list (contract section 4.1).
const RECORDS: usize = 100;

fn main() {
    // Short, because `scripts/bench` repeats the whole several times, alternating between the commits.
    let criterion = Criterion::default()
        .sample_size(30)
        .warm_up_time(Duration::from_millis(300))
        .measurement_time(Duration::from_secs(1));
    let mut criterion = criterion.configure_from_args();
    values(&mut criterion);
    decisions(&mut criterion);
    statuses(&mut criterion);
    decoding(&mut criterion);
    criterion.final_summary();
}

/// The values of a spec, and the digests that stand for them.
fn values(criterion: &mut Criterion) {
    let Inputs { object, contents, declared, desired, digest_key, .. } = Inputs::live();
    assert_eq!(desired.values.secured.len(), 8);
    criterion.bench_function("values/from_spec", |bencher| {
        bencher.iter(|| desired::from_spec(black_box(&object.spec), &contents, declared.as_ref()));
    });
    criterion.bench_function("values/digest", |bencher| bencher.iter(|| digest_key.digest(black_box(&desired.values))));
}

/// Decisions of the operation table.
fn decisions(criterion: &mut Criterion) {
    let live = Inputs::live();
    let settled = decide(&live.input(NOW));
    assert_eq!(settled.outcome, Outcome::Settled { phase: Phase::Deployed, drifted: false });
    criterion.bench_function("decide/settled", |bencher| bencher.iter(|| decide(black_box(&live.input(NOW)))));

    let mut changed = Inputs::changed();
    changed.transient = decide(&changed.input(NOW)).transient;
    let gathered = NOW + SignedDuration::from_secs(5);
    assert!(matches!(decide(&changed.input(gathered)).step, Step::Send(_)), "a redeploy is due");
    criterion.bench_function("decide/redeploy", |bencher| bencher.iter(|| decide(black_box(&changed.input(gathered)))));
}

/// The new status, and the patch that it makes.
fn statuses(criterion: &mut Criterion) {
    let live = Inputs::live();
    let patch = |before: &ConnectorDeploymentStatus, persisted: &PersistedState, reason| {
        let after = live.status(before, persisted, reason);
        merge_patch(&json(before), &json(&after))
    };
    let before = live.status(&ConnectorDeploymentStatus::default(), &live.persisted, Reason::Deployed);
    assert_eq!(patch(&before, &live.persisted, Reason::Deployed), None);
    criterion.bench_function("status/unchanged", |bencher| {
        bencher.iter(|| patch(black_box(&before), &live.persisted, Reason::Deployed));
    });

    let mut changed = Inputs::changed();
    changed.transient = decide(&changed.input(NOW)).transient;
    let planned = decide(&changed.input(NOW + SignedDuration::from_secs(5))).persisted;
    assert!(patch(&before, &planned, Reason::Redeploying).is_some_and(|patch| patch.get("operation").is_some()));
    criterion.bench_function("status/redeploy", |bencher| {
        bencher.iter(|| patch(black_box(&before), &planned, Reason::Redeploying));
    });
}

fn json(status: &ConnectorDeploymentStatus) -> Value {
    serde_json::to_value(status).expect("a status is JSON")
}

/// What arrives from the remote and from the API server.
fn decoding(criterion: &mut Criterion) {
    let page = page(RECORDS);
    assert_eq!(answer::paged::<Deployment>(&page).expect("a page").1, 0, "every record can be decoded");
    criterion.bench_function("decode/page_of_records", |bencher| {
        bencher.iter(|| answer::paged::<Deployment>(black_box(&page)));
    });

    let live = Inputs::live();
    let status = live.status(&ConnectorDeploymentStatus::default(), &live.persisted, Reason::Deployed);
    let event = live.watch_event(&status);
    assert!(matches!(watched(&event), WatchEvent::Modified(Guarded(Ok(_)))));
    criterion.bench_function("decode/watch_event", |bencher| bencher.iter(|| watched(black_box(&event))));
}

/// Decodes as a watch does: an object that cannot be deserialized must not hide the others.
fn watched(line: &[u8]) -> WatchEvent<Guarded<ConnectorDeployment>> {
    serde_json::from_slice(line).expect("an event of a watch")
}
