//! The recorded history of a deployment.

use super::life_tests::{Stage, draft};
use super::*;
use crate::history::Moment;

#[test]
fn each_moment_records_the_change_the_time_and_the_values() {
    let mut stage = Stage::new(&["values-show=end", "first-status=queued"]);
    let id = stage.live("tax");
    let values = draft("tax", &[("FEATURES", "b")], "second-token").configurations;
    let action = RedeployAction { configuration_values: Some(values), ..RedeployAction::default() };
    stage.redeploy(&id, &action).expect("it is idle");
    stage.step(Duration::from_secs(3));
    stage.undeploy(&id).expect("it exists");
    stage.step(Duration::from_mins(1));
    let other = stage.live("other");
    stage.world.remove(&other, stage.now).expect("it exists");

    let history = stage.world.history(stage.now);
    let of_tax = |moment: &&Moment| moment.key.as_deref() == Some("tax");
    let seen: Vec<_> = history
        .iter()
        .filter(of_tax)
        .map(|moment| {
            let second = stage.world.secured_was(moment, "service", "API_TOKEN", "second-token");
            (moment.at.as_second(), moment.version, moment.what.clone(), moment.plain("service", "FEATURES"), second)
        })
        .collect();
    let (b, yes, no) = (Some("b"), Some(true), Some(false));
    let expected = [
        (0, 1, Happened::Created, None, no),
        (10, 1, Happened::Became(DeploymentStatus::Deployed), None, no),
        (10, 2, Happened::Redeployed, b, yes),
        (12, 2, Happened::Became(DeploymentStatus::Deploying), b, yes),
        (13, 3, Happened::Undeployed, b, yes),
        (18, 3, Happened::Gone, b, yes),
    ];
    assert_eq!(seen, expected);
    assert_eq!(stage.world.secured_was(&history[0], "service", "OTHER", "second-token"), None);
    assert_eq!(history.last().map(|moment| (moment.id.clone(), moment.what.clone())), Some((other, Happened::Gone)));
}
