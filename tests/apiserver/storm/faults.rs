//! Faults before and after the effect on a tenth of all calls, whatever they are for.

use crate::prelude::*;
use crate::storm::size::resources;

/// Share of the calls that fail.
const SHARE: f64 = 0.1;

/// The operations that fail in a small storm: recovery from a lost redeploy, or from a create that never arrived, would
/// take minutes.
const OPERATIONS: [&str; 5] =
    ["token", "queryDeployments", "getDeploymentById", "getDeploymentByKey", "deleteDeploymentById"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_faults_on_a_tenth_of_all_calls_everything_arrives_once() {
    let resources = resources(20, 200);
    let options = Options { deploy_duration: Duration::from_millis(1_500), faults: faults(), ..Options::default() };
    let mut env = Environment::open("faults", options).await;
    env.create_taken().await;
    let operator = env.operator().now();
    let names: Vec<_> = (0..resources).map(|number| format!("tax-{number}")).collect();
    stream::iter(&names).for_each_concurrent(16, |name| env.create(name)).await;
    Report::must_settle(&env).await;
    stream::iter(&names).for_each_concurrent(16, |name| env.rotate(name)).await;
    Report::must_settle(&env).await;
    stream::iter(names.iter().step_by(2)).for_each_concurrent(16, |name| env.delete(name)).await;
    Report::at_the_end(&env, vec![operator], &[("wrong answers", wrong_answers(&env))]).await;
}

/// Returns three kinds of failures, each before and after the effect, which together hit [`SHARE`] of the calls.
fn faults() -> Vec<Fault> {
    let answers =
        [FaultAnswer::error(500, "General"), FaultAnswer::text(503, "no healthy upstream"), FaultAnswer::dropped()];
    let mut kinds = Vec::new();
    for answer in answers {
        for effect in [FaultEffect::Before, FaultEffect::After] {
            kinds.push(Fault { effect, answer: answer.clone(), ..Fault::default() });
        }
    }
    // The first match wins, so each takes its share of what the earlier ones leave.
    let each = 1.0 - (1.0 - SHARE).powf(1.0 / 6.0);
    let on = |operation: Option<&str>| {
        let operation = operation.map(str::to_owned);
        kinds
            .iter()
            .map(move |kind| Fault { operation: operation.clone(), share: Some(each), ..kind.clone() })
            .collect::<Vec<_>>()
    };
    pick(OPERATIONS.iter().flat_map(|operation| on(Some(operation))).collect(), on(None))
}

/// Returns the number of answers with a status that the dev server gives only by fault, and of answers that never came.
fn wrong_answers(env: &Environment) -> u64 {
    env.dev.calls().iter().filter(|call| call.status == 0 || call.status >= 500).count() as u64
}
