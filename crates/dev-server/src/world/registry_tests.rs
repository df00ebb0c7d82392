//! Which version a redeploy moves to, and which projects are served.

use connect_api::model::IsPreviewable;
use serde_json::json;

use super::life_tests::{Stage, read_draft};
use super::*;

/// Longer than a deployment takes.
const LASTS: Duration = Duration::from_secs(10);

fn update() -> RedeployAction {
    RedeployAction { update_connector: true, ..Default::default() }
}

#[test]
fn a_redeploy_moves_to_the_newest_version_of_its_own_connector_that_the_project_may_use() {
    let (mut stage, id) = Stage::with_live();
    for (case, key, private, expected) in [
        ("a newer version", "demo-connector", false, 2),
        ("one of another connector", "demo-pipeline", false, 2),
        ("a third one of another connector", "demo-pipeline", false, 2),
        ("one for other projects only", "demo-connector", true, 2),
        ("one for all again", "demo-connector", false, 4),
    ] {
        let change = |connector: &mut ConnectorDefinition| connector.private = private;
        stage.world.raise_connector(key, false, change).expect(case);
        let moved = stage.redeploy(&id, &update()).expect(case).connector;
        assert_eq!((moved.key.as_deref(), moved.version), (Some("demo-connector"), expected), "{case}");
        stage.step(LASTS);
    }
}

#[test]
fn a_preview_moves_only_while_its_staged_connector_is_previewable() {
    for (previewable, codes) in [
        (IsPreviewable::Yes, &[][..]),
        (IsPreviewable::No, &["DeploymentConnectorUpdateFailure"]),
        (IsPreviewable::Pending, &["DeploymentConnectorUpdateFailure"]),
        (IsPreviewable::NeverAsked, &["DeploymentConnectorUpdateFailure"]),
    ] {
        let mut stage = Stage::new(&[]);
        let created = stage.create(&read_draft(json!({
            "connector": {"key": "demo-staged", "staged": true}, "region": "europe-west1.gcp",
            "configurations": [{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": []}],
        })));
        stage.step(LASTS);
        let change = |connector: &mut ConnectorDefinition| connector.is_previewable = previewable.clone();
        stage.world.raise_connector("demo-staged", true, change).expect("it exists");
        let refused = stage.redeploy(&created.id, &update()).err();
        assert_eq!(refused.as_ref().map(Refusal::codes).unwrap_or_default(), codes, "{previewable}");
    }
}

#[test]
fn projects_of_the_catalogue_are_served_and_others_as_chosen() {
    for (choice, codes) in [
        ("served", &[][..]),
        ("400", &["InvalidPathParam"]),
        ("403", &["AuthorizationError"]),
        ("404", &["ResourceNotFound"]),
    ] {
        let world = Stage::new(&[&format!("unknown-project={choice}")]).world;
        let refused = |project: &str| {
            world
                .is_served(project)
                .err()
                .map(|refusal| refusal.codes().into_iter().map(str::to_owned).collect::<Vec<_>>())
        };
        assert_eq!(refused("demo"), None, "{choice}");
        assert_eq!(refused("nowhere").unwrap_or_default(), codes, "{choice}");
    }
}
