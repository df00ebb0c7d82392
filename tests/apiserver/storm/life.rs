//! What users do with one resource during the storm: create it, change it now and then, delete it, create it again.

use crate::prelude::*;

/// Drives that many resources until `storm` is over; then deletes every second one of them.
pub(crate) async fn lives<T>(env: &Environment, number: usize, pause: Duration, storm: impl Future<Output = T>) -> T {
    let (stop, stopped) = watch::channel(false);
    let storm = async {
        let output = storm.await;
        stop.send_replace(true);
        output
    };
    let lives = (0..number).map(|number| life(env, number, pause, stopped.clone()));
    let (output, _) = tokio::join!(storm, join_all(lives));
    output
}

async fn life(env: &Environment, number: usize, pause: Duration, mut stopped: watch::Receiver<bool>) {
    let name = format!("tax-{number}");
    let mut chance = size::chance(env.part, &name);
    let mut is_there = false;
    while !wait(pause, &mut chance, &mut stopped).await {
        match chance.random_range(0..10) {
            _ if !is_there => {
                env.create(&name).await;
                is_there = true;
            }
            0..5 => env.rotate(&name).await,
            5..8 => env.edit(&name).await,
            8 => {
                env.edit(&name).await;
                env.rotate(&name).await;
            }
            _ => {
                env.delete(&name).await;
                // The name can be used again; if it is never free, the checker reports that.
                is_there = !env.watched.until_gone(&name).await;
                if is_there {
                    return;
                }
            }
        }
    }
    if !is_there {
        env.create(&name).await;
    }
    if number.is_multiple_of(2) {
        env.delete(&name).await;
    }
}

/// Waits for a random time around `pause`; returns whether the storm is over.
async fn wait(pause: Duration, chance: &mut StdRng, stopped: &mut watch::Receiver<bool>) -> bool {
    tokio::select! {
        () = tokio::time::sleep(pause.mul_f64(chance.random_range(0.0..2.0))) => false,
        _ = stopped.wait_for(|stopped| *stopped) => true,
    }
}
