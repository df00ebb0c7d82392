//! Every error code of deployments in contract section 5.3, with its HTTP status and additional members.

use serde_json::{Value, json};

use super::life_tests::{Stage, draft, read_draft};
use super::*;
use crate::logs::{LogSeverity, LogType};
use connect_api::model::{ApplicationConfiguration, DeclaredGlobal, GlobalConfiguration, StandardKey};

/// Returns a draft of a connector whose single application has no variables.
fn plain(connector: Value, more: Value) -> DeploymentDraft {
    let Value::Object(more) = more else { panic!("members to change") };
    let mut draft = json!({
        "region": "europe-west1.gcp",
        "configurations": [{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": []}],
    });
    draft["connector"] = connector;
    for (name, value) in more {
        draft[name] = value;
    }
    read_draft(draft)
}

fn pipeline(global: &Value) -> DeploymentDraft {
    read_draft(json!({
        "connector": {"key": "demo-pipeline"}, "region": "europe-west1.gcp", "globalConfiguration": global,
        "configurations": [{"applicationName": "nightly-export", "securedConfiguration": [], "schedule": "0 1 * * *",
            "standardConfiguration": [{"key": "TARGET", "value": "bucket"}]}],
    }))
}

fn values(applications: Value) -> RedeployAction {
    let values = serde_json::from_value::<Vec<ApplicationConfiguration>>(applications);
    RedeployAction { configuration_values: Some(values.expect("they are values")), ..Default::default() }
}

#[test]
fn an_invalid_draft_is_refused_with_every_code_that_applies() {
    let demo = || json!({"key": "demo-connector"});
    let service = |standard: Value, secured: Value| json!([{"applicationName": "service", "standardConfiguration": standard, "securedConfiguration": secured}]);
    let value = |key: &str, value: &str| json!({"key": key, "value": value});
    for (case, draft, codes) in [
        ("unknown connector", plain(json!({"key": "no-such"}), json!({})), &["ConnectorReferenceNotFound"][..]),
        (
            "unknown version",
            plain(json!({"key": "demo-connector", "version": 9}), json!({})),
            &["ConnectorReferenceNotFound"],
        ),
        (
            "key and id of two",
            plain(json!({"key": "demo-connector", "id": "other"}), json!({})),
            &["ConnectorReferenceNotFound"],
        ),
        ("a staged one as published", plain(json!({"key": "demo-staged"}), json!({})), &["ConnectorReferenceNotFound"]),
        (
            "not previewable",
            plain(json!({"key": "demo-staged-hidden", "staged": true}), json!({})),
            &["ConnectorStagedNotPreviewable"],
        ),
        (
            "staged as sandbox",
            plain(json!({"key": "demo-staged", "staged": true}), json!({"type": "sandbox"})),
            &["DeploymentInvalidType"],
        ),
        ("published as preview", plain(demo(), json!({"type": "preview"})), &["DeploymentInvalidType"]),
        ("production", plain(demo(), json!({"type": "production"})), &["DeploymentProductionDeactivated"]),
        ("unknown region", plain(demo(), json!({"region": "us-central1"})), &["DeploymentUnsupportedRegion"]),
        ("region of another", plain(json!({"key": "demo-us-only"}), json!({})), &["DeploymentUnsupportedRegion"]),
        ("no application", plain(demo(), json!({"configurations": []})), &["DeploymentApplicationRequired"]),
        (
            "unknown application",
            plain(
                demo(),
                json!({"configurations": [{"applicationName": "other", "standardConfiguration": [], "securedConfiguration": []}]}),
            ),
            &["DeploymentUnknownApplicationConfiguration"],
        ),
        (
            "unknown keys, and a secured one as plain",
            plain(
                demo(),
                json!({"configurations": service(json!([value("API_TOKEN", "a")]), json!([value("OTHER", "b")]))}),
            ),
            &["DeploymentUnknownApplicationConfigurationKey", "DeploymentUnknownApplicationConfigurationKey"],
        ),
        (
            "the same key twice",
            plain(
                demo(),
                json!({"configurations": service(json!([value("LOG_LEVEL", "info"), value("LOG_LEVEL", "warn")]), json!([]))}),
            ),
            &["InvalidJsonInput"],
        ),
        (
            "schedule of a service",
            plain(
                demo(),
                json!({"configurations": [{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": [], "schedule": "0 5 * * *"}]}),
            ),
            &["InvalidJsonInput"],
        ),
        (
            "unknown global key",
            plain(demo(), json!({"globalConfiguration": {"standardConfiguration": [value("A", "a")]}})),
            &["DeploymentUnknownGlobalConfigurationKey"],
        ),
        (
            "global values missing",
            pipeline(&json!({"standardConfiguration": [], "securedConfiguration": []})),
            &["DeploymentMissingGlobalConfigurationKey", "DeploymentMissingGlobalConfigurationKey"],
        ),
        (
            "one global value empty, one missing",
            pipeline(&json!({"standardConfiguration": [value("SHOP_NAME", "")]})),
            &["DeploymentEmptyRequiredGlobalConfigurationKey", "DeploymentMissingGlobalConfigurationKey"],
        ),
        (
            "type, region and key at once",
            plain(
                demo(),
                json!({"type": "preview", "region": "moon", "configurations": service(json!([value("A", "a")]), json!([]))}),
            ),
            &["DeploymentInvalidType", "DeploymentUnsupportedRegion", "DeploymentUnknownApplicationConfigurationKey"],
        ),
    ] {
        let mut stage = Stage::new(&[]);
        let refusal = stage.world.create("demo", &draft, true, stage.now).expect_err(case);
        assert_eq!((refusal.status, refusal.codes().as_slice()), (400, codes), "{case}");
        assert!(stage.world.all(stage.now).is_empty(), "{case}");
    }
}

#[test]
fn unusual_drafts_that_the_contract_allows_are_accepted() {
    let empty = json!({"standardConfiguration": [], "securedConfiguration": []});
    let global = json!({"standardConfiguration": [{"key": "SHOP_NAME", "value": "s"}], "securedConfiguration": [{"key": "WEBHOOK_SECRET", "value": "w"}]});
    for (case, draft, kind) in [
        (
            "empty global lists",
            plain(json!({"key": "demo-connector"}), json!({"globalConfiguration": empty})),
            "sandbox",
        ),
        ("staged without a type", plain(json!({"key": "demo-staged", "staged": true}), json!({})), "preview"),
        ("only one of three applications", pipeline(&global), "sandbox"),
        ("region of its own", plain(json!({"key": "demo-us-only"}), json!({"region": "us-central1.gcp"})), "sandbox"),
    ] {
        let mut stage = Stage::new(&[]);
        let created = stage.create(&draft);
        assert_eq!(created.kind().as_str(), kind, "{case}");
        assert_eq!(created.preview, kind == "preview", "{case}");
    }
    let mut stage = Stage::new(&[]);
    let production = plain(json!({"key": "demo-connector"}), json!({"type": "production"}));
    let created = stage.world.create("demo-production", &production, true, stage.now).expect("production is allowed");
    assert_eq!(created.kind().as_str(), "production");
}

#[test]
fn topics_schedules_and_api_clients_are_those_of_the_connector() {
    let mut stage = Stage::new(&[]);
    let global = json!({"standardConfiguration": [{"key": "SHOP_NAME", "value": "s"}], "securedConfiguration": [{"key": "WEBHOOK_SECRET", "value": "w"}]});
    let mut draft = pipeline(&global);
    for name in ["intake", "order-events"] {
        let entry = json!({"applicationName": name, "standardConfiguration": [], "securedConfiguration": []});
        draft.configurations.push(serde_json::from_value(entry).expect("it is an entry"));
    }
    let created = stage.create(&draft);
    for application in &created.applications {
        assert!(application.url.is_none() && application.topic.is_none() && application.schedule.is_none());
    }
    let id = created.id;
    stage.step(Duration::from_secs(10));
    let read = stage.read(&id).expect("it exists");
    let [intake, events, export] = read.applications.as_slice() else { panic!("three applications") };
    assert!(intake.url.as_ref().is_some_and(|url| url.ends_with("/intake")) && intake.topic.is_none());
    assert!(events.topic.is_some() && events.url.is_none());
    assert!(export.url.is_none() && export.topic.is_none());
    assert_eq!(export.schedule.as_deref(), Some("0 1 * * *"));
    let policy = events.retry_policy.as_ref().expect("the connector has one");
    assert_eq!((policy.strategy.as_str(), policy.max_backoff_seconds), ("exponential-backoff", Some(600)));
    stage.redeploy(&id, &RedeployAction::default()).expect("it is idle");
    stage.step(Duration::from_secs(10));
    let again = stage.read(&id).expect("it exists");
    assert_eq!(again.applications[0].url, intake.url);
    assert_ne!(again.applications[1].topic, events.topic, "each redeploy makes another topic");

    let draft = plain(json!({"key": "demo-api-client"}), json!({}));
    let refusal = stage.world.create("demo", &draft, false, stage.now).expect_err("the right is missing");
    assert_eq!((refusal.status, refusal.codes()), (403, vec!["AuthorizationError"]));
    let client = stage.create(&draft).api_client.expect("it was generated");
    assert_eq!(client.scopes, ["view_products", "manage_orders"]);
}

#[test]
fn duplicates_and_conflicts_name_the_value_in_conflict() {
    let mut stage = Stage::new(&[]);
    let id = stage.live("tax");
    let draft = draft("tax", &[], "token");
    let refusal = stage.world.create("demo", &draft, true, stage.now).expect_err("the key is taken");
    assert_eq!(refusal.codes(), ["DuplicateField"]);
    assert_eq!(
        (&refusal.errors[0].more["field"], &refusal.errors[0].more["duplicateValue"]),
        (&json!("key"), &json!("tax"))
    );
    stage.world.create("demo-production", &draft, true, stage.now).expect("keys are unique in a project");

    let by_id = Selector::Id(id);
    let refusal = stage.world.redeploy("demo", &by_id, 7, &RedeployAction::default(), stage.now).expect_err("not 7");
    assert_eq!((refusal.status, refusal.codes()), (409, vec!["ConcurrentModification"]));
    let more = &refusal.errors[0].more;
    assert_eq!((&more["expectedVersion"], &more["currentVersion"]), (&json!(7), &json!(1)));
    let other = stage.world.read("demo-production", &by_id, stage.now).expect_err("it is of another project");
    assert_eq!((other.status, other.codes()), (404, vec!["ResourceNotFound"]));
}

#[test]
fn an_invalid_redeploy_is_refused_and_changes_nothing() {
    let list = |name: &str| json!([{"applicationName": name, "standardConfiguration": [], "securedConfiguration": []}]);
    let global = GlobalConfiguration {
        standard_configuration: vec![connect_api::model::ConfigurationValue { key: "A".into(), value: "a".into() }],
        ..Default::default()
    };
    for (case, action, codes) in [
        ("no application", values(json!([])), &["DeploymentApplicationRequired"][..]),
        ("not of the deployment", values(list("other")), &["DeploymentApplicationDoNotBelong"]),
        (
            "unknown key",
            values(
                json!([{"applicationName": "service", "securedConfiguration": [], "standardConfiguration": [{"key": "A", "value": "a"}]}]),
            ),
            &["DeploymentUnknownApplicationConfigurationKey"],
        ),
        (
            "unknown global key",
            RedeployAction { global_configuration: Some(global), ..Default::default() },
            &["DeploymentUnknownGlobalConfigurationKey"],
        ),
    ] {
        let mut stage = Stage::new(&[]);
        let id = stage.live("tax");
        let refusal = stage.redeploy(&id, &action).expect_err(case);
        assert_eq!(refusal.codes(), codes, "{case}");
        let read = stage.read(&id).expect(case);
        assert_eq!((read.status, read.version), (DeploymentStatus::Deployed, 1), "{case}");
    }
}

/// Tests each rule of contract section 4.4; a valid policy is kept across redeploys and shown.
#[test]
fn retry_policies_are_checked_kept_and_shown() {
    let global = json!({"standardConfiguration": [{"key": "SHOP_NAME", "value": "s"}], "securedConfiguration": [{"key": "WEBHOOK_SECRET", "value": "w"}]});
    let with = |name: &str, policy: &Value| json!([{"applicationName": name, "standardConfiguration": [], "securedConfiguration": [], "retryPolicy": policy}]);
    let backoff = |min: i64, max: i64, attempts: Value| {
        let mut policy = json!({"strategy": "exponential-backoff", "minBackoffSeconds": min, "maxBackoffSeconds": max});
        if !attempts.is_null() {
            policy["maxAttempts"] = attempts;
        }
        policy
    };
    let invalid = Some("DeploymentInvalidRetryPolicy");
    for (case, application, policy, code) in [
        ("immediate", "order-events", json!({"strategy": "immediate"}), None),
        ("smallest", "order-events", backoff(1, 1, json!(5)), None),
        ("largest", "order-events", backoff(600, 600, json!(100)), None),
        ("no attempts", "order-events", backoff(10, 600, Value::Null), None),
        ("unknown strategy", "order-events", json!({"strategy": "never"}), invalid),
        ("too short", "order-events", backoff(0, 10, Value::Null), invalid),
        ("too long", "order-events", backoff(10, 601, Value::Null), invalid),
        ("min above max", "order-events", backoff(11, 10, Value::Null), invalid),
        ("too few attempts", "order-events", backoff(1, 10, json!(4)), invalid),
        ("too many attempts", "order-events", backoff(1, 10, json!(101)), invalid),
        ("no pauses", "order-events", json!({"strategy": "exponential-backoff"}), invalid),
        ("immediate with attempts", "order-events", json!({"strategy": "immediate", "maxAttempts": 5}), invalid),
        ("a service", "intake", json!({"strategy": "immediate"}), Some("DeploymentRetryPolicyOverrideNotAllowed")),
        ("a job", "nightly-export", backoff(0, 0, json!(1)), Some("DeploymentRetryPolicyOverrideNotAllowed")),
    ] {
        let mut stage = Stage::new(&[]);
        let mut draft = pipeline(&global);
        let RedeployAction { configuration_values: Some(sent), .. } = values(with(application, &policy)) else {
            panic!("values were sent")
        };
        draft.configurations.retain(|other| other.application_name != application);
        draft.configurations.extend(sent);
        let created = stage.world.create("demo", &draft, true, stage.now);
        let Some(code) = code else {
            let id = created.expect(case).id;
            stage.step(Duration::from_secs(10));
            stage.redeploy(&id, &RedeployAction::default()).expect(case);
            let read = stage.read(&id).expect(case);
            let shown = read.applications.iter().find(|it| it.application_name == application).expect(case);
            assert_eq!(serde_json::to_value(&shown.retry_policy).expect(case), policy, "{case}");
            continue;
        };
        let refusal = created.expect_err(case);
        assert_eq!((refusal.status, refusal.codes()), (400, vec![code]), "{case}");
    }
}

#[test]
fn moving_to_a_newer_connector_can_fail() {
    let update = || RedeployAction { update_connector: true, ..Default::default() };
    let mut stage = Stage::new(&[]);
    let id = stage.live("tax");
    let narrow = |connector: &mut ConnectorDefinition| connector.supported_regions = vec!["us-central1.gcp".into()];
    stage.world.raise_connector("demo-connector", false, narrow).expect("it exists");
    let refusal = stage.redeploy(&id, &update()).expect_err("not in this region");
    assert_eq!(refusal.codes(), ["DeploymentConnectorUpdateFailure"]);

    let grow = |connector: &mut ConnectorDefinition| {
        connector.supported_regions.clear();
        connector.configurations[0].application_name = "renamed".into();
        connector.allowed_values.clear();
        let shop = StandardKey { key: "SHOP".into(), required: true, ..Default::default() };
        connector.global_configuration =
            Some(DeclaredGlobal { standard_configuration: vec![shop], ..Default::default() });
    };
    stage.world.raise_connector("demo-connector", false, grow).expect("it exists");
    let refusal = stage.redeploy(&id, &update()).expect_err("a global value is needed now");
    assert_eq!(refusal.codes(), ["DeploymentMissingGlobalConfigurationKey"]);
    let old = json!([{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": []}]);
    let refusal = stage.redeploy(&id, &RedeployAction { update_connector: true, ..values(old) });
    let codes = ["DeploymentUnknownApplicationConfiguration", "DeploymentMissingGlobalConfigurationKey"];
    assert_eq!(refusal.expect_err("the application is gone").codes(), codes);
}

#[test]
fn logs_are_paged_and_invalid_queries_have_codes() {
    let mut stage = Stage::new(&[]);
    let id = stage.live("tax");
    for number in 0..30 {
        let text = format!("line {number}");
        stage
            .world
            .write_log(&id, "service", LogType::ApplicationText, &LogSeverity::Info, &text, stage.now)
            .expect("it exists");
    }
    let by_id = Selector::Id(id);
    let mut query = LogQuery::default();
    let first = stage.world.logs("demo", &by_id, &query, stage.now).expect("the query is valid");
    query.page_token = Some(first.next);
    let second = stage.world.logs("demo", &by_id, &query, stage.now).expect("the token is valid");
    assert_eq!((first.data.len(), second.data.len(), second.next.as_str()), (20, 14, ""));
    assert_eq!(second.data[13].details["message"], "line 29");
    let kinds: Vec<_> = first.data.iter().take(4).map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["APPLICATION_TEXT", "APPLICATION_TEXT", "APPLICATION_JSON", "HTTP_REQUEST"]);
    for (choice, status) in [("400", 400), ("404", 404), ("410", 410), ("500", 500)] {
        stage.world.variant.set(&format!("logs={choice}")).expect(choice);
        let refusal = stage.world.logs("demo", &by_id, &LogQuery::default(), stage.now).expect_err(choice);
        assert_eq!(refusal.status, status);
    }
    stage.world.variant.set("logs=served").expect("it is a choice");
    stage.now = "2026-03-01T00:00:00Z".parse().expect("it is a date");
    let text = |text: &str| Some(text.to_owned());
    for (case, query, code) in [
        ("token", LogQuery { page_token: text("x"), ..Default::default() }, "DeploymentLogInvalidPageToken"),
        (
            "token too far",
            LogQuery { page_token: text("pffffffff"), ..Default::default() },
            "DeploymentLogInvalidPageToken",
        ),
        ("no date", LogQuery { start_date: text("yesterday"), ..Default::default() }, "DeploymentLogInvalidDate"),
        (
            "31 days ago",
            LogQuery { start_date: text("2026-01-29T00:00:00Z"), ..Default::default() },
            "DeploymentLogInvalidDate",
        ),
        (
            "end before start",
            LogQuery {
                start_date: text("2026-02-20T00:00:00Z"),
                end_date: text("2026-02-19T00:00:00Z"),
                ..Default::default()
            },
            "DeploymentLogInvalidDate",
        ),
        (
            "application",
            LogQuery { application_name: text("other"), ..Default::default() },
            "DeploymentApplicationDoesNotExist",
        ),
    ] {
        let refusal = stage.world.logs("demo", &by_id, &query, stage.now).expect_err(case);
        assert_eq!(refusal.codes(), [code], "{case}");
    }
    let draft = plain(json!({"key": "demo-warning"}), json!({"region": "us-east-2.aws"}));
    let on_aws = Selector::Id(stage.create(&draft).id);
    let refusal = stage.world.logs("demo", &on_aws, &LogQuery::default(), stage.now).expect_err("no application");
    assert_eq!(refusal.codes(), ["DeploymentLogMissingApplicationName"]);
    let named = LogQuery { application_name: text("service"), ..Default::default() };
    assert!(stage.world.logs("demo", &on_aws, &named, stage.now).is_ok());
}

#[test]
fn lists_are_paged_filtered_and_sorted() {
    let mut stage = Stage::new(&[]);
    for key in ["bb", "aa", "cc"] {
        stage.create(&draft(key, &[], "token"));
        stage.step(Duration::from_secs(1));
    }
    stage.create(&plain(json!({"key": "demo-staged", "staged": true}), json!({"key": "dd"})));
    for (case, query, total, keys) in [
        ("all, oldest first", ListQuery::default(), 4, &["bb", "aa", "cc", "dd"][..]),
        ("second page", ListQuery { limit: 2, offset: 2, ..Default::default() }, 4, &["cc", "dd"]),
        ("none", ListQuery { limit: 0, ..Default::default() }, 4, &[]),
        ("by key", ListQuery { sort: vec![("key".into(), true)], ..Default::default() }, 4, &["dd", "cc", "bb", "aa"]),
        (
            "newest first",
            ListQuery { sort: vec![("createdAt".into(), true)], ..Default::default() },
            4,
            &["dd", "cc", "aa", "bb"],
        ),
        ("previews", ListQuery { types: vec!["preview".into()], ..Default::default() }, 1, &["dd"]),
        ("taxes", ListQuery { integration_types: vec!["tax".into()], ..Default::default() }, 0, &[]),
    ] {
        let page = stage.world.list("demo", &query, stage.now);
        let found: Vec<_> = page.results.iter().filter_map(|found| found.key.as_deref()).collect();
        assert_eq!((page.total, found.as_slice()), (total, keys), "{case}");
        assert_eq!(page.count, i64::try_from(keys.len()).expect("it is small"), "{case}");
    }
}
