use serde_json::{Value, json};

use super::Outcomes;
use super::testing::{KIT, Stage, failure};
use crate::build::PlannedOutcome;
use crate::testing::rows;

const STATES: [&str; 9] = [
    "draft",
    "preview pending",
    "processing",
    "ready for certification",
    "in certification",
    "published",
    "certified",
    "certified and changed",
    "failed",
];

/// Returns a stage whose connector is in one of the states.
fn when(case: &str) -> Stage {
    let mut stage = Stage::with_mine(&[]);
    match case {
        "draft" => {}
        "preview pending" => {
            stage.act(&json!({"action": "updatePreviewable"}));
        }
        "processing" => stage.publish(true),
        "ready for certification" | "in certification" => {
            stage.publish(true);
            stage.step(if case.starts_with("ready") { 10 } else { 20 });
        }
        "published" => {
            stage.publish(false);
            stage.step(10);
        }
        "certified" | "certified and changed" => {
            stage.publish(true);
            stage.step(30);
            if case.ends_with("changed") {
                stage.act(&json!({"action": "setName", "name": "Changed"}));
            }
        }
        _ => {
            stage.plan(Outcomes { publishing: Some(failure("Broken")), ..Outcomes::default() });
            stage.publish(false);
            stage.step(10);
        }
    }
    stage
}

#[test]
fn each_action_is_allowed_or_refused_in_each_state_as_the_contract_says() {
    // Each character is the expected result in one state: + accepted, B publishing runs, I in certification, A already
    // certified, N not private, P a preview request runs, X not possible now and without a code of its own.
    let rows = [
        (json!({"action": "addCertificationComment", "comment": "c"}), "XXB++XXXX"),
        (json!({"action": "addPrivateProject", "privateProject": "us-central1.gcp:other"}), "++B+++NN+"),
        (json!({"action": "removePrivateProject", "privateProject": "europe-west1.gcp:demo"}), "++B+++NN+"),
        (json!({"action": "publish", "certification": false}), "++B++++++"),
        (json!({"action": "publish", "certification": true}), "++BII+A++"),
        (json!({"action": "setCreatorNoOfContributors", "creatorNoOfContributors": 7}), "++B++++++"),
        (json!({"action": "setIntegrationTypes", "integrationTypes": []}), "++B++++++"),
        (json!({"action": "setCreatorLogo", "logoUrl": "c"}), "++B++++++"),
        (json!({"action": "setRepository", "url": KIT, "tag": "1.1.0"}), "++B++++++"),
        (json!({"action": "setSupportedRegions", "regions": ["us-central1.gcp"]}), "++B++++++"),
        (json!({"action": "unlist"}), "XXBXXX++X"),
        (json!({"action": "updatePreviewable"}), "+PB++++++"),
    ];
    let texts = "creatorCompany creatorEmail creatorName creatorSupportUrl creatorTitle description \
                 documentationUrl name";
    let texts = texts.split(' ').map(|member| {
        let action = format!("set{}{}", member[..1].to_uppercase(), &member[1..]);
        (json!({"action": action, member: "c"}), "++B++++++")
    });
    let rows: Vec<_> = rows.into_iter().chain(texts).collect();
    let names: std::collections::BTreeSet<_> = rows.iter().map(|(action, _)| action["action"].to_string()).collect();
    assert_eq!(names.len(), 19, "every action is in the table");
    for (action, cells) in rows {
        assert_eq!(cells.len(), STATES.len(), "{action}");
        for (state, cell) in STATES.iter().zip(cells.chars()) {
            let mut stage = when(state);
            let before = stage.shown();
            let answered = stage.update(&json!([action]));
            let code = match cell {
                '+' => {
                    let shown = answered.unwrap_or_else(|refusal| panic!("{action} when {state}: {refusal:?}"));
                    assert_eq!(shown.version, before.version + 1, "{action} when {state}");
                    continue;
                }
                'B' | 'I' => "ConnectorStagedInCertification",
                'A' => "ConnectorAlreadyCertified",
                'N' => "ConnectorStagedNotPrivate",
                'P' => "ConnectorStagedPreviewRequestUnderProcess",
                _ => "InvalidJsonInput",
            };
            let refusal = answered.map(|shown| shown.version).expect_err(state);
            assert_eq!((refusal.status, refusal.codes()), (400, vec![code]), "{action} when {state}");
            assert_eq!(stage.shown(), before, "{action} when {state}: a refused action changes nothing");
        }
    }
}

#[test]
fn each_action_changes_its_member_and_nothing_else() {
    for [action, argument, value, pointer, expected] in rows(
        r#"
        addPrivateProject | privateProject | "a.b:c" | /privateProjects | ["europe-west1.gcp:demo", "a.b:c"]
        removePrivateProject | privateProject | "europe-west1.gcp:demo" | /privateProjects | []
        setCreatorCompany | creatorCompany | "c" | /creator/company | "c"
        setCreatorEmail | creatorEmail | "c" | /creator/email | "c"
        setCreatorLogo | logoUrl | "c" | /creator/logoUrl | "c"
        setCreatorName | creatorName | "c" | /creator/name | "c"
        setCreatorNoOfContributors | creatorNoOfContributors | 7 | /creator/noOfContributors | 7
        setCreatorSupportUrl | creatorSupportUrl | "c" | /creator/supportUrl | "c"
        setCreatorTitle | creatorTitle | "c" | /creator/title | "c"
        setDescription | description | "c" | /description | "c"
        setDocumentationUrl | documentationUrl | "c" | /documentationUrl | "c"
        setIntegrationTypes | integrationTypes | ["psp"] | /integrationTypes | ["psp"]
        setName | name | "c" | /name | "c"
        setSupportedRegions | regions | ["us-central1.gcp"] | /supportedRegions | ["us-central1.gcp"]
        updatePreviewable | unused | null | /isPreviewable | "pending"
        publish | certification | true | /status | "Processing"
        "#,
    ) {
        let [value, expected] = [value, expected].map(|text| serde_json::from_str::<Value>(&text).expect(&text));
        let action = json!({"action": action, argument: value});
        let mut stage = Stage::with_mine(&[]);
        let without = |shown: Value| {
            let mut shown = shown;
            if let Some((parent, member)) = pointer.rsplit_once('/') {
                let parent = shown.pointer_mut(parent).and_then(Value::as_object_mut).expect(&pointer);
                parent.remove(member);
            }
            shown["version"] = json!(0);
            shown
        };
        let before = json!(stage.shown());
        let after = json!(stage.act(&action));
        assert_eq!(after.pointer(&pointer), Some(&expected), "{action}");
        assert_eq!(without(after), without(before), "{action}");
    }
}

#[test]
fn adding_a_listed_project_and_removing_an_unlisted_one_keep_the_list() {
    let mut stage = Stage::with_mine(&[]);
    stage.act(&json!({"action": "addPrivateProject", "privateProject": "europe-west1.gcp:demo"}));
    let shown = stage.act(&json!({"action": "removePrivateProject", "privateProject": "a:unknown"}));
    assert_eq!(shown.private_projects, ["europe-west1.gcp:demo"]);
}

#[test]
fn a_repository_sets_the_declarations_and_a_tag_alone_keeps_the_url() {
    let mut stage = Stage::with_mine(&[]);
    let names = |shown: &connect_api::model::ConnectorStaged| {
        let declared = shown.configurations.iter().flatten();
        declared.map(|application| application.application_name.clone()).collect::<Vec<_>>()
    };
    assert_eq!(names(&stage.shown()), ["service"]);
    let shown = stage.act(&json!({"action": "setRepository", "tag": "1.1.0"}));
    assert_eq!((shown.repository.url.as_str(), shown.repository.tag.as_str()), (KIT, "1.1.0"));
    assert_eq!(names(&shown), ["service", "nightly-export"]);
    assert!(shown.global_configuration.is_some());
    for tag in ["9.9.9", "0.1.0-empty", "0.2.0-broken"] {
        stage.update(&json!([{"action": "setRepository", "url": KIT, "tag": tag}])).expect_err(tag);
        assert_eq!(stage.shown(), shown, "{tag}");
    }
}

#[test]
fn several_actions_are_one_version_and_apply_all_or_nothing_or_one_by_one() {
    let rename = json!({"action": "setName", "name": "New"});
    let wrong = json!({"action": "unlist"});
    let publish = json!({"action": "publish", "certification": false});
    let busy = "ConnectorStagedInCertification";
    for (case, choice, actions, code, (version, name)) in [
        ("all are right", "all-or-nothing", json!([rename, publish]), None, (2, "New")),
        ("second is wrong", "all-or-nothing", json!([rename, wrong]), Some("InvalidJsonInput"), (1, "Mine")),
        ("second is wrong", "one-by-one", json!([rename, wrong]), Some("InvalidJsonInput"), (2, "New")),
        ("first is wrong", "one-by-one", json!([wrong, rename]), Some("InvalidJsonInput"), (1, "Mine")),
        ("after a publish", "all-or-nothing", json!([publish, rename]), Some(busy), (1, "Mine")),
    ] {
        let mut stage = Stage::with_mine(&[&format!("staged-updates={choice}")]);
        let answered = stage.update(&actions);
        assert_eq!(answered.err().map(|refusal| refusal.codes()[0].to_owned()).as_deref(), code, "{case} {choice}");
        let shown = stage.shown();
        assert_eq!((shown.version, shown.name.as_str()), (version, name), "{case} {choice}");
    }
}

#[test]
fn an_old_version_is_a_conflict_before_any_other_error() {
    let mut stage = when("processing");
    let refusal = stage.update_at(1, &json!([{"action": "unlist"}])).expect_err("version 2 is current");
    assert_eq!((refusal.status, refusal.codes()), (409, vec!["ConcurrentModification"]));
    let error = &refusal.errors[0];
    assert_eq!((&error.more["expectedVersion"], &error.more["currentVersion"]), (&json!(1), &json!(2)));
    for (choice, code) in [
        ("preview-request", "ConnectorStagedPreviewRequestUnderProcess"),
        ("invalid", "InvalidJsonInput"),
        ("in-certification", "ConnectorStagedInCertification"),
    ] {
        stage.variant.set(&format!("publishing-code={choice}")).expect(choice);
        let refusal = stage.update(&json!([{"action": "setName", "name": "New"}])).expect_err("publishing runs");
        assert_eq!(refusal.codes(), [code]);
    }
}

#[test]
fn comments_are_kept_with_project_and_time() {
    let mut stage = when("in certification");
    let shown = stage.act(&json!({"action": "addCertificationComment", "comment": "Please hurry"}));
    let comments = json!(shown.certification_info.expect("there is a comment"));
    let expected = json!({"comments": [
        {"userId": "demo", "datetime": "2026-03-01T12:00:20.000Z", "comment": "Please hurry"}]});
    assert_eq!(comments, expected);
    stage.plan(Outcomes { certification: Some(PlannedOutcome::default()), ..Outcomes::default() });
    assert!(stage.step(10).certification_info.is_some(), "they stay");
}
