//! `kill -9` of the operator at random moments, while resources are created, changed and deleted.

use crate::prelude::*;
use crate::storm::size::resources;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn killed_at_random_moments_it_neither_repeats_nor_forgets() {
    let kills = pick(10, 200);
    // As many changes in a second, however many resources there are.
    let (usual, resources) = (pick(10, 40), resources(10, 40));
    let pause =
        pick(Duration::from_secs(3), Duration::from_secs(8)) * u32::try_from(resources.div_ceil(usual)).unwrap();
    // Slow calls, so that it is often killed in the middle of one. Not in a small storm: recovery from each takes
    // minutes.
    let slow = |operation| {
        let answer = FaultAnswer { delay_ms: 300, ..FaultAnswer::default() };
        let before = Fault { share: Some(0.25), ..Fault::of(operation, answer) };
        [before.clone(), before.after_the_effect()]
    };
    let operations = ["createDeployment", "updateDeploymentById", "deleteDeploymentById"];
    let faults = pick(Vec::new(), operations.into_iter().flat_map(slow).collect());
    let options = Options { deploy_duration: Duration::from_millis(1_500), faults, ..Options::default() };
    let mut env = Environment::open("killed", options).await;
    env.create_taken().await;

    let mut chance = size::chance("killed", "killer");
    let storm = env.operator().now().kill_repeatedly(kills, Duration::from_secs(12), &mut chance);
    let operator = life::lives(&env, resources, pause, storm).await;
    // Answers to changes that were in progress when the operator was killed.
    let unheard = env.dev.calls().iter().filter(|call| call.method != "GET" && call.status == 0).count() as u64;
    let done = [("kills", u64::from(kills)), ("answers that nothing received", unheard)];
    Report::at_the_end(&env, vec![operator], &done).await;
}
