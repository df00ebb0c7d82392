//! The two sides of the contract against each other: the client drives the dev server over HTTP. Shared types would
//! hide shared mistakes, so the tests also decode payloads written from the contract, with all that it leaves open.

mod registry;

use connect_api::ErrorCode;
use connect_api::model::DeploymentType;
use dev_server::MASK;
use secrecy::ExposeSecret;

use crate::client::remote::no_hurry;
use crate::prelude::*;

/// Duration of a deployment.
const DEPLOYING: Duration = Duration::from_secs(5);

struct Pair {
    dev: DevServer,
    clock: Clock,
    client: HttpConnect,
}

impl Pair {
    async fn start() -> Self {
        let clock = Clock::stepped("2026-01-01T00:00:00Z".parse().expect("a time"));
        let options = Options { deploy_duration: DEPLOYING, ..Options::default() };
        let dev = DevServer::start(options, clock.clone()).await.expect("a dev server");
        let settings = settings(&dev.url(), &dev.url());
        // The client uses the machine's clock: its rate limiter must not wait for a step.
        let client = HttpConnect::new(settings, ClientContext::plain(Clock::system())).expect("a client");
        Self { dev, clock, client }
    }

    async fn create(&self, key: &str) -> Deployment {
        self.client.create(&draft(key), no_hurry()).await.expect("the create is accepted")
    }
}

fn draft(key: &str) -> DeploymentDraft {
    serde_json::from_value(json!({
        "key": key,
        "connector": {"key": "demo-connector"},
        "configurations": [{
            "applicationName": "service",
            "standardConfiguration": [{"key": "LOG_LEVEL", "value": "info"}],
            "securedConfiguration": [{"key": "API_TOKEN", "value": "a-token-to-keep"}],
        }],
        "region": "europe-west1.gcp",
    }))
    .expect("a draft")
}

fn values(level: &str) -> RedeployAction {
    RedeployAction {
        configuration_values: Some(
            serde_json::from_value(json!([{
                "applicationName": "service",
                "standardConfiguration": [{"key": "LOG_LEVEL", "value": level}],
                "securedConfiguration": [{"key": "API_TOKEN", "value": "another-token-to-keep"}],
            }]))
            .expect("values"),
        ),
        ..RedeployAction::default()
    }
}

#[tokio::test]
async fn a_deployment_passes_its_lifecycle_between_client_and_dev_server() {
    let pair = Pair::start().await;
    let (client, clock) = (&pair.client, &pair.clock);
    let key = Selector::Key("tax".into());
    assert!(client.deployment(&key).await.expect("an answer").is_none(), "it does not exist yet");
    let created = pair.create("tax").await;
    assert_eq!((created.key.as_deref(), created.kind()), (Some("tax"), &DeploymentType::Sandbox));
    assert!(created.status.is_busy());
    assert_eq!(created.applications[0].secured_configuration[0].value.expose_secret(), MASK, "secrets never come back");

    clock.step(DEPLOYING);
    let id = Selector::Id(created.id.clone());
    let live = client.deployment(&id).await.expect("an answer").expect("it is there");
    assert_eq!(live.status, DeploymentStatus::Deployed);
    assert!(live.applications[0].url.is_some());
    let page = client.deployments(PageRequest { limit: 100, offset: 0 }).await.expect("a page");
    assert_eq!((page.total, page.results[0].id.as_str()), (1, created.id.as_str()));

    let again =
        client.redeploy(&id, live.version, &values("debug"), no_hurry()).await.expect("accepted").expect("there");
    assert!(again.version > live.version && again.status.is_busy());
    clock.step(DEPLOYING);
    let redeployed = client.deployment(&key).await.expect("an answer").expect("it is there");
    assert_eq!(redeployed.applications[0].standard_configuration[0].value, "debug");

    let leaving = client.undeploy(&id, no_hurry()).await.expect("accepted").expect("it is there");
    assert_eq!(leaving.status, DeploymentStatus::Undeploying);
    clock.step(DEPLOYING);
    assert!(client.deployment(&id).await.expect("an answer").is_none());
    assert!(
        client.undeploy(&id, no_hurry()).await.expect("an answer").is_none(),
        "a missing deployment is not an error"
    );
}

#[tokio::test]
async fn refusals_arrive_with_their_codes() {
    let pair = Pair::start().await;
    let first = pair.create("tax").await;
    let id = Selector::Id(first.id.clone());
    let mut unknown = draft("other");
    unknown.configurations[0].standard_configuration[0].key = "LOG_LEVLE".into();
    let mut missing = draft("other");
    missing.connector.key = Some("no-such".into());
    let create = async |draft: &DeploymentDraft| pair.client.create(draft, no_hurry()).await.expect_err("refused");
    let redeploy =
        async |version| pair.client.redeploy(&id, version, &values("info"), no_hurry()).await.expect_err("refused");
    let rows = [
        ("key taken", create(&draft("tax")).await, ErrorCode::DuplicateField),
        ("unknown key", create(&unknown).await, ErrorCode::DeploymentUnknownApplicationConfigurationKey),
        ("unknown connector", create(&missing).await, ErrorCode::ConnectorReferenceNotFound),
        ("busy", redeploy(first.version).await, ErrorCode::DeploymentInvalidStatusTransition),
        ("another version", redeploy(first.version + 7).await, ErrorCode::ConcurrentModification),
    ];
    for (case, error, code) in rows {
        assert_eq!(error.code(), Some(&code), "{case}: {error}");
        assert_eq!(error.effect(), Effect::None, "{case}");
        assert!(error.correlation_id.is_some(), "{case}");
        assert!(!format!("{error} {error:?}").contains("token-to-keep"), "{case}");
    }
    let late = pair.client.create(&draft("late"), Timestamp::now()).await.expect_err("its time is over");
    assert_eq!(late.failure, Failure::NotSent);
    assert!(pair.client.deployment(&Selector::Key("late".into())).await.expect("an answer").is_none());
}

/// Returns a record in the shape of contract section 4.4, with everything that sections 4.1 and 13 leave open.
fn record(change: impl FnOnce(&mut Value)) -> Value {
    let mut record = serde_json::from_str(include_str!("../fixtures/contract/deployment.json")).expect("JSON");
    change(&mut record);
    record
}

#[test]
fn records_written_from_the_contract_are_read_whatever_they_leave_open() {
    let read = |value: Value| serde_json::from_value::<Deployment>(value).expect("a deployment");
    let whole = read(record(|_| {}));
    assert_eq!(whole.report()[0].message, None);
    assert_eq!(whole.version, 7);
    assert_eq!(whole.kind, Some(DeploymentType::Production));
    assert_eq!(whole.status, DeploymentStatus::Deployed);

    for (case, value) in [
        ("no build yet", record(|record| record["details"] = json!({}))),
        ("details null", record(|record| record["details"] = Value::Null)),
        ("no key", record(|record| drop(record.as_object_mut().expect("an object").remove("key")))),
        ("applications null", record(|record| record["applications"] = Value::Null)),
        ("no report", record(|record| record["details"]["build"]["report"] = Value::Null)),
        ("declarations missing", record(|record| record["connector"]["configurations"] = Value::Null)),
    ] {
        assert_eq!(read(value).version, 7, "{case}");
    }
    let resting = read(record(|record| record["status"] = json!("Resting")));
    assert_eq!(resting.status, DeploymentStatus::Other("Resting".into()));
    assert!(resting.status.is_busy(), "an unknown status counts as busy");
}
