//! The applications of a deployment (contract sections 4.4 and 6.1): those that its create named, and those that a
//! newer connector adds.

use serde_json::{Value, json};

use super::life_tests::{Stage, read_draft};
use super::*;
use connect_api::model::{ApplicationConfiguration, ApplicationType, DeclaredApplication};

fn entries(names: &[&str]) -> Value {
    let entry = |name: &&str| json!({"applicationName": name, "standardConfiguration": [], "securedConfiguration": []});
    Value::Array(names.iter().map(entry).collect())
}

fn naming(names: &[&str]) -> RedeployAction {
    let values = serde_json::from_value::<Vec<ApplicationConfiguration>>(entries(names)).expect("they are values");
    RedeployAction { configuration_values: Some(values), ..Default::default() }
}

/// Creates a stage whose connector has the applications `service` and `enabler`.
fn stage(choices: &[&str]) -> Stage {
    let mut stage = Stage::new(choices);
    let two = |connector: &mut ConnectorDefinition| add(connector, "enabler");
    stage.world.raise_connector("demo-warning", false, two).expect("it exists");
    stage
}

fn add(connector: &mut ConnectorDefinition, name: &str) {
    connector.configurations.push(DeclaredApplication {
        application_name: name.into(),
        application_type: ApplicationType::Service,
        standard_configuration: Vec::new(),
        secured_configuration: Vec::new(),
    });
}

fn live(stage: &mut Stage, names: &[&str]) -> String {
    let id = stage.create(&read_draft(json!({
        "connector": {"key": "demo-warning"}, "region": "europe-west1.gcp", "configurations": entries(names),
    })));
    stage.step(Duration::from_mins(1));
    id.id
}

#[test]
fn an_application_that_the_create_left_out_is_never_deployed() {
    for (choice, listed) in [("left-out-applications=absent", 1), ("left-out-applications=listed", 2)] {
        let mut stage = stage(&[choice]);
        let id = live(&mut stage, &["service"]);
        let record = stage.read(&id).expect(choice);
        assert_eq!(record.status, DeploymentStatus::Deployed, "{choice}: the deployment succeeds");
        let with_url = record.applications.iter().filter(|application| application.url.is_some()).count();
        assert_eq!((record.applications.len(), with_url), (listed, 1), "{choice}");

        let refusal = stage.redeploy(&id, &naming(&["service", "enabler"])).expect_err(choice);
        assert_eq!(refusal.codes(), ["DeploymentApplicationDoNotBelong"], "{choice}");
        let update = RedeployAction { update_connector: true, ..naming(&["enabler"]) };
        let refusal = stage.redeploy(&id, &update).expect_err(choice);
        assert_eq!(refusal.codes(), ["DeploymentApplicationDoNotBelong"], "{choice}: an update cannot add it either");
        stage.redeploy(&id, &naming(&["service"])).expect(choice);
    }
}

#[test]
fn an_application_that_a_newer_connector_adds_is_accepted_or_refused_as_chosen() {
    for (choice, taken) in [("added-applications=accept", true), ("added-applications=refuse", false)] {
        let mut stage = stage(&[choice]);
        let id = live(&mut stage, &["service", "enabler"]);
        stage.world.raise_connector("demo-warning", false, |connector| add(connector, "admin")).expect("it exists");
        let refusal = stage.redeploy(&id, &naming(&["admin"])).expect_err(choice);
        assert_eq!(refusal.codes(), ["DeploymentApplicationDoNotBelong"], "{choice}: not without the update");
        let update = RedeployAction { update_connector: true, ..naming(&["service", "admin"]) };
        assert_eq!(stage.redeploy(&id, &update).is_ok(), taken, "{choice}");
    }
    let mut stage = stage(&[]);
    let id = live(&mut stage, &["service", "enabler"]);
    stage.world.raise_connector("demo-warning", false, |connector| add(connector, "admin")).expect("it exists");
    let record = stage.redeploy(&id, &RedeployAction { update_connector: true, ..naming(&["service"]) });
    assert_eq!(record.expect("it is valid").applications.len(), 2, "an application that was not named is not added");
}
