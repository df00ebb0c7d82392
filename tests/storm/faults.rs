//! Faults before and after the effect on a tenth of all calls, whatever they are for.

use std::time::Duration;

use dev_server::{Fault, FaultAnswer, FaultEffect, Options};
use futures::{StreamExt, stream};

use crate::judge::Verdict;
use crate::place::Place;
use crate::size::pick;

/// Share of the calls that go wrong.
const SHARE: f64 = 0.1;

/// What goes wrong in a small storm: a lost redeploy, and a create that never arrived, would take minutes to repair.
const LOOKS: [&str; 5] =
    ["token", "queryDeployments", "getDeploymentById", "getDeploymentByKey", "deleteDeploymentById"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_faults_on_a_tenth_of_all_calls_everything_arrives_once() {
    let resources = pick(20, 200);
    let options = Options { deploy_duration: Duration::from_millis(1_500), faults: faults(), ..Options::default() };
    let mut place = Place::open("faults", options).await;
    place.create_taken().await;
    let operator = place.operator().now();
    let names: Vec<_> = (0..resources).map(|number| format!("tax-{number}")).collect();
    stream::iter(&names).for_each_concurrent(16, |name| place.create(name)).await;
    Verdict::must_settle(&place).await;
    stream::iter(&names).for_each_concurrent(16, |name| place.rotate(name)).await;
    Verdict::must_settle(&place).await;
    stream::iter(names.iter().step_by(2)).for_each_concurrent(16, |name| place.delete(name)).await;
    Verdict::at_the_end(&place, &[], vec![operator], &[("wrong answers", wrong_answers(&place))]).await;
}

/// Three kinds of wrong answers, each before and after the effect, which together hit so many calls.
fn faults() -> Vec<Fault> {
    let answers =
        [FaultAnswer::error(500, "General"), FaultAnswer::text(503, "no healthy upstream"), FaultAnswer::dropped()];
    let mut kinds = Vec::new();
    for answer in answers {
        for effect in [FaultEffect::Before, FaultEffect::After] {
            kinds.push(Fault { effect, answer: answer.clone(), ..Fault::default() });
        }
    }
    // The first that fits wins, so each takes its part of what the ones before it left.
    let each = 1.0 - (1.0 - SHARE).powf(1.0 / 6.0);
    let on = |operation: Option<&str>| {
        let operation = operation.map(str::to_owned);
        kinds
            .iter()
            .map(move |kind| Fault { operation: operation.clone(), share: Some(each), ..kind.clone() })
            .collect::<Vec<_>>()
    };
    pick(LOOKS.iter().flat_map(|operation| on(Some(operation))).collect(), on(None))
}

/// Answers with a status that the dev server gives by fault only, and those that never came.
fn wrong_answers(place: &Place) -> u64 {
    place.dev.calls().iter().filter(|call| call.status == 0 || call.status >= 500).count() as u64
}
