//! Every error code of deployments in contract section 5.3, with its HTTP status and additional members.

use serde_json::{Value, json};

use super::life_tests::{Stage, draft, read_draft};
use super::*;
use crate::logs::{LogSeverity, LogType};
use crate::testing::rows;
use connect_api::model::{ApplicationConfiguration, DeclaredGlobal, GlobalConfiguration, StandardKey};

/// Returns the values of one application from words: its name, `KEY=value`, and `!KEY=value` for secured ones.
fn application(words: &str) -> Value {
    let mut words = words.split_whitespace();
    let mut entry = json!({"applicationName": words.next(), "standardConfiguration": [], "securedConfiguration": []});
    for (key, value) in words.filter_map(|word| word.split_once('=')) {
        let list = if key.starts_with('!') { "securedConfiguration" } else { "standardConfiguration" };
        let value = json!({"key": key.trim_start_matches('!'), "value": value});
        entry[list].as_array_mut().expect("a list").push(value);
    }
    entry
}

/// Returns a draft of this connector, a key or a reference in JSON, with these values and other members in JSON.
fn drafted(connector: &str, words: &str, more: &str) -> DeploymentDraft {
    let connector = serde_json::from_str(connector).unwrap_or_else(|_| json!({"key": connector}));
    let mut draft =
        json!({"connector": connector, "region": "europe-west1.gcp", "configurations": [application(words)]});
    let more: Value = serde_json::from_str(more).expect(more);
    for (name, value) in more.as_object().expect("members to change") {
        draft[name] = value.clone();
    }
    read_draft(draft)
}

/// Returns a draft of a connector whose single application has no variables.
fn plain(connector: &str, more: &str) -> DeploymentDraft {
    drafted(connector, "service", more)
}

/// Returns a draft of the connector with three applications, one of which it names.
fn pipeline(global: &Value) -> DeploymentDraft {
    let mut job = application("nightly-export TARGET=bucket");
    job["schedule"] = json!("0 1 * * *");
    plain("demo-pipeline", &json!({"globalConfiguration": global, "configurations": [job]}).to_string())
}

/// The global values that this connector needs.
fn global() -> Value {
    json!({
        "standardConfiguration": [{"key": "SHOP_NAME", "value": "s"}],
        "securedConfiguration": [{"key": "WEBHOOK_SECRET", "value": "w"}],
    })
}

fn values(applications: Value) -> RedeployAction {
    let values = serde_json::from_value::<Vec<ApplicationConfiguration>>(applications);
    RedeployAction { configuration_values: Some(values.expect("they are values")), ..Default::default() }
}

#[test]
fn an_invalid_draft_is_refused_with_every_code_that_applies() {
    for [case, connector, words, more, codes] in rows(
        r#"
        unknown connector | no-such | service | {} | ConnectorReferenceNotFound
        unknown version | {"key": "demo-connector", "version": 9} | service | {} | ConnectorReferenceNotFound
        key and id of two | {"key": "demo-connector", "id": "other"} | service | {} | ConnectorReferenceNotFound
        a staged one as published | demo-staged | service | {} | ConnectorReferenceNotFound
        not previewable | {"key": "demo-staged-hidden", "staged": true} | service | {} | ConnectorStagedNotPreviewable
        staged as sandbox | {"key": "demo-staged", "staged": true} | service | {"type": "sandbox"} | D…InvalidType
        published as preview | demo-connector | service | {"type": "preview"} | D…InvalidType
        production | demo-connector | service | {"type": "production"} | D…ProductionDeactivated
        unknown region | demo-connector | service | {"region": "us-central1"} | D…UnsupportedRegion
        region of another | demo-us-only | service | {} | D…UnsupportedRegion
        no application | demo-connector | service | {"configurations": []} | D…ApplicationRequired
        unknown application | demo-connector | other | {} | D…UnknownApplicationConfiguration
        unknown keys | demo-connector | service API_TOKEN=a !OTHER=b | {} | K… K…
        the same key twice | demo-connector | service LOG_LEVEL=info LOG_LEVEL=warn | {} | InvalidJsonInput
        many | demo-connector | service A=a | {"type": "preview", "region": "x"} | D…InvalidType R… K…
        "#,
    ) {
        let codes = codes
            .replace("R…", "D…UnsupportedRegion")
            .replace("K…", "D…UnknownApplicationConfigurationKey")
            .replace("D…", "Deployment");
        is_refused(&case, &drafted(&connector, &words, &more), &codes.split(' ').collect::<Vec<_>>());
    }
    let mut scheduled = application("service");
    scheduled["schedule"] = json!("0 5 * * *");
    let scheduled = plain("demo-connector", &json!({"configurations": [scheduled]}).to_string());
    is_refused("schedule of a service", &scheduled, &["InvalidJsonInput"]);
    let unknown = plain("demo-connector", &json!({"globalConfiguration": global()}).to_string());
    is_refused("unknown global keys", &unknown, &["DeploymentUnknownGlobalConfigurationKey"; 2]);
    let missing = "DeploymentMissingGlobalConfigurationKey";
    is_refused("global values missing", &pipeline(&json!({})), &[missing, missing]);
    let empty = json!({"standardConfiguration": [{"key": "SHOP_NAME", "value": ""}]});
    let codes = ["DeploymentEmptyRequiredGlobalConfigurationKey", missing];
    is_refused("one global value empty, one missing", &pipeline(&empty), &codes);
}

fn is_refused(case: &str, draft: &DeploymentDraft, codes: &[&str]) {
    let mut stage = Stage::new(&[]);
    let refusal = stage.world.create("demo", draft, true, stage.now).expect_err(case);
    assert_eq!((refusal.status, refusal.codes().as_slice()), (400, codes), "{case}");
    assert!(stage.world.all(stage.now).is_empty(), "{case}");
}

#[test]
fn unusual_drafts_that_the_contract_allows_are_accepted() {
    let empty = r#"{"globalConfiguration": {"standardConfiguration": [], "securedConfiguration": []}}"#;
    for (case, project, draft, kind) in [
        ("empty global lists", "demo", plain("demo-connector", empty), "sandbox"),
        ("staged without a type", "demo", plain(r#"{"key": "demo-staged", "staged": true}"#, "{}"), "preview"),
        ("only one of three applications", "demo", pipeline(&global()), "sandbox"),
        ("region of its own", "demo", plain("demo-us-only", r#"{"region": "us-central1.gcp"}"#), "sandbox"),
        ("production", "demo-production", plain("demo-connector", r#"{"type": "production"}"#), "production"),
    ] {
        let mut stage = Stage::new(&[]);
        let created = stage.world.create(project, &draft, true, stage.now).expect(case);
        assert_eq!((created.kind().as_str(), created.preview), (kind, kind == "preview"), "{case}");
    }
}

#[test]
fn topics_schedules_and_api_clients_are_those_of_the_connector() {
    let mut stage = Stage::new(&[]);
    let mut draft = pipeline(&global());
    for name in ["intake", "order-events"] {
        draft.configurations.push(serde_json::from_value(application(name)).expect("it is an entry"));
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

    let draft = plain("demo-api-client", "{}");
    let refusal = stage.world.create("demo", &draft, false, stage.now).expect_err("the right is missing");
    assert_eq!((refusal.status, refusal.codes()), (403, vec!["AuthorizationError"]));
    let client = stage.create(&draft).api_client.expect("it was generated");
    assert_eq!(client.scopes, ["view_products", "manage_orders"]);
}

#[test]
fn duplicates_and_conflicts_name_the_value_in_conflict() {
    let (mut stage, id) = Stage::with_live();
    let draft = draft("tax", &[], "token");
    let refusal = stage.world.create("demo", &draft, true, stage.now).expect_err("the key is taken");
    assert_eq!(refusal.codes(), ["DuplicateField"]);
    assert_eq!(refusal.errors[0].more["field"], json!("key"));
    assert_eq!(refusal.errors[0].more["duplicateValue"], json!("tax"));
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
    let of = |words: &str| values(json!([application(words)]));
    let global: GlobalConfiguration =
        serde_json::from_value(json!({"standardConfiguration": [{"key": "A", "value": "a"}]})).expect("values");
    let global = RedeployAction { global_configuration: Some(global), ..Default::default() };
    for (case, action, code) in [
        ("no application", values(json!([])), "DeploymentApplicationRequired"),
        ("not of the deployment", of("other"), "DeploymentApplicationDoNotBelong"),
        ("unknown key", of("service A=a"), "DeploymentUnknownApplicationConfigurationKey"),
        ("unknown global key", global, "DeploymentUnknownGlobalConfigurationKey"),
    ] {
        let (mut stage, id) = Stage::with_live();
        let refusal = stage.redeploy(&id, &action).expect_err(case);
        assert_eq!(refusal.codes(), [code], "{case}");
        let read = stage.read(&id).expect(case);
        assert_eq!((read.status, read.version), (DeploymentStatus::Deployed, 1), "{case}");
    }
}

/// Tests each rule of contract section 4.4; a valid policy is kept across redeploys and shown.
#[test]
fn retry_policies_are_checked_kept_and_shown() {
    let backoff = |min: i64, max: i64, attempts: Value| {
        let mut policy = json!({"strategy": "exponential-backoff", "minBackoffSeconds": min, "maxBackoffSeconds": max});
        if !attempts.is_null() {
            policy["maxAttempts"] = attempts;
        }
        policy
    };
    let invalid = Some("DeploymentInvalidRetryPolicy");
    for (case, name, policy, code) in [
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
        let mut draft = pipeline(&global());
        draft.configurations.retain(|other| other.application_name != name);
        let mut entry = application(name);
        entry["retryPolicy"] = policy.clone();
        draft.configurations.push(serde_json::from_value(entry).expect(case));
        let created = stage.world.create("demo", &draft, true, stage.now);
        let Some(code) = code else {
            let id = created.expect(case).id;
            stage.step(Duration::from_secs(10));
            stage.redeploy(&id, &RedeployAction::default()).expect(case);
            let read = stage.read(&id).expect(case);
            let shown = read.applications.iter().find(|it| it.application_name == name).expect(case);
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
    let (mut stage, id) = Stage::with_live();
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
    let old = json!([application("service")]);
    let refusal = stage.redeploy(&id, &RedeployAction { update_connector: true, ..values(old) });
    let codes = ["DeploymentUnknownApplicationConfiguration", "DeploymentMissingGlobalConfigurationKey"];
    assert_eq!(refusal.expect_err("the application is gone").codes(), codes);
}

#[test]
fn logs_are_paged_and_invalid_queries_have_codes() {
    let (mut stage, id) = Stage::with_live();
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
    let text = |text: &str| Some(text.to_owned()).filter(|text| !text.is_empty());
    for [case, token, start, end, application, code] in rows(
        "
        token | x | | | | DeploymentLogInvalidPageToken
        token too far | pffffffff | | | | DeploymentLogInvalidPageToken
        no date | | yesterday | | | DeploymentLogInvalidDate
        31 days ago | | 2026-01-29T00:00:00Z | | | DeploymentLogInvalidDate
        end before start | | 2026-02-20T00:00:00Z | 2026-02-19T00:00:00Z | | DeploymentLogInvalidDate
        application | | | | other | DeploymentApplicationDoesNotExist
        ",
    ) {
        let (page_token, start_date, end_date) = (text(&token), text(&start), text(&end));
        let query = LogQuery { page_token, start_date, end_date, application_name: text(&application) };
        let refusal = stage.world.logs("demo", &by_id, &query, stage.now).expect_err(&case);
        assert_eq!(refusal.codes(), [code.as_str()], "{case}");
    }
    let draft = plain("demo-warning", r#"{"region": "us-east-2.aws"}"#);
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
    stage.create(&plain(r#"{"key": "demo-staged", "staged": true}"#, r#"{"key": "dd"}"#));
    let newest = vec![("createdAt".into(), true)];
    for (case, query, total, keys) in [
        ("all, oldest first", ListQuery::default(), 4, &["bb", "aa", "cc", "dd"][..]),
        ("second page", ListQuery { limit: 2, offset: 2, ..Default::default() }, 4, &["cc", "dd"]),
        ("none", ListQuery { limit: 0, ..Default::default() }, 4, &[]),
        ("by key", ListQuery { sort: vec![("key".into(), true)], ..Default::default() }, 4, &["dd", "cc", "bb", "aa"]),
        ("newest first", ListQuery { sort: newest, ..Default::default() }, 4, &["dd", "cc", "aa", "bb"]),
        ("previews", ListQuery { types: vec!["preview".into()], ..Default::default() }, 1, &["dd"]),
        ("taxes", ListQuery { integration_types: vec!["tax".into()], ..Default::default() }, 0, &[]),
    ] {
        let page = stage.world.list("demo", &query, stage.now);
        let found: Vec<_> = page.results.iter().filter_map(|found| found.key.as_deref()).collect();
        assert_eq!((page.total, found.as_slice()), (total, keys), "{case}");
        assert_eq!(page.count, i64::try_from(keys.len()).expect("it is small"), "{case}");
    }
}
