//! The status of a deployment: what it shows, what it hides, what stays, and what is bounded.

use std::sync::LazyLock;

use connect_api::mask::{LEFT_OUT, Masker};
use connect_api::model::Deployment;
use connect_operator::crd::connector_deployment_status::{ConnectorDeploymentStatus, REPORT_ENTRIES};
use connect_operator::crd::shared::RemoteIdentity;
use connect_operator::crd::{DeletionPolicy, DeploymentType};
use connect_operator::names;
use connect_operator::operator::deployment::persisted::{Applied, PersistedState, Phase, Sources};
use connect_operator::operator::deployment::status::{
    Comparison, DeploymentFacts, DesiredIdentity, Newer, Release, Texts, of_redeploy, summarize,
};
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::reporting::conditions::ConditionUpdate;
use connect_operator::operator::reporting::observed_record::ObservedRecord;
use connect_operator::operator::reporting::reason::Reason;
use connect_operator::operator::values::names::{Item, Names};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::record;

const SECRET: &str = "a-token-that-nobody-may-see";

fn wanted(project_key: &str) -> DesiredIdentity {
    DesiredIdentity {
        key: "shop_tax".into(),
        kind: DeploymentType::Sandbox,
        region: "europe-west1.gcp".into(),
        remote: RemoteIdentity { api_url: "https://connect.test".into(), project_key: project_key.into() },
    }
}

/// Returns the facts of a live deployment that this reconcile did not observe.
fn facts(persisted: &PersistedState) -> DeploymentFacts<'_> {
    static TAX: LazyLock<ObjectRef> = LazyLock::new(|| ObjectRef::deployment("shop", "tax"));
    DeploymentFacts {
        object_ref: &TAX,
        generation: 4,
        persisted,
        condition: ConditionUpdate::new(Reason::Deployed, "Deployed"),
        comparison: Comparison::Same,
        retained: None,
        secured: true,
        suspended: false,
        newer: Newer::No,
        wanted: Some(wanted("demo")),
        deletion_policy: DeletionPolicy::Delete,
        record: ObservedRecord::NotRead,
        texts: Texts::Unchanged,
        handled_reconcile: None,
        verified: None,
    }
}

fn after(facts: &DeploymentFacts<'_>) -> ConnectorDeploymentStatus {
    summarize(&ConnectorDeploymentStatus::default(), facts, Timestamp::UNIX_EPOCH)
}

/// Returns the status after an observation of a record, with these texts.
fn shown(record: &Deployment, texts: Texts<'_>) -> ConnectorDeploymentStatus {
    let persisted = PersistedState::default();
    after(&DeploymentFacts { record: ObservedRecord::Present(record), texts, ..facts(&persisted) })
}

fn finding(title: &str, message: &str, at: &str) -> Value {
    json!({"type": "Error", "title": title, "message": message, "application": "service", "createdAt": at})
}

#[test]
fn an_observed_record_is_shown_and_a_missing_one_is_not() {
    let record = record("Deployed", &json!([finding("One", "more", "2026-01-01T00:00:00Z")]));
    let masker = Masker::new([]);
    let status = shown(&record, Texts::Masked(&masker));
    assert_eq!(status.deployment_status.as_deref(), Some("Deployed"));
    assert_eq!(status.version, Some(3));
    let connector = status.connector.clone().unwrap();
    assert_eq!((connector.key.as_deref(), connector.version), (Some("demo-connector"), Some(7)));
    assert_eq!(connector.id.as_deref(), Some("0c5a3d7e-3f43-4a0a-8b39-5d0d3ef2c1aa"));
    assert_eq!(connector.name.as_deref(), Some("Demo connector"));
    assert_eq!(connector.tag.as_deref(), Some("1.0.7"));
    let application = &status.applications[0];
    assert_eq!(application.name, "service");
    assert_eq!(application.application_type.as_deref(), Some("service"));
    assert_eq!(application.url.as_deref(), Some("https://service.test"));
    assert_eq!(status.report.len(), 1);

    let persisted = PersistedState::default();
    let gone = summarize(
        &status,
        &DeploymentFacts { record: ObservedRecord::Absent, ..facts(&persisted) },
        Timestamp::UNIX_EPOCH,
    );
    assert_eq!((gone.deployment_status, gone.version, gone.connector), (None, None, None));
    assert!(gone.applications.is_empty() && gone.report.is_empty());

    let unseen = summarize(&status, &facts(&persisted), Timestamp::UNIX_EPOCH);
    assert_eq!(unseen, status, "without an observation everything stays");
}

#[test]
fn a_url_that_is_not_shown_stays_as_this_deployment_showed_it_last() {
    let record = record("Deployed", &json!([]));
    let persisted = PersistedState { id: Some(record.id.clone()), ..PersistedState::default() };
    let look = |before: &ConnectorDeploymentStatus, record: &Deployment| {
        let persisted = PersistedState { id: Some(record.id.clone()), ..persisted.clone() };
        summarize(
            before,
            &DeploymentFacts { record: ObservedRecord::Present(record), ..facts(&persisted) },
            Timestamp::UNIX_EPOCH,
        )
    };
    let before = look(&ConnectorDeploymentStatus::default(), &record);
    let mut hidden = record.clone();
    hidden.applications[0].url = None;
    let url = |status: ConnectorDeploymentStatus| status.applications[0].url.clone();
    assert_eq!(url(look(&before, &hidden)).as_deref(), Some("https://service.test"));
    assert_eq!(url(look(&ConnectorDeploymentStatus::default(), &hidden)), None);
    hidden.id = "another".into();
    assert_eq!(url(look(&before, &hidden)), None, "another deployment has other URLs");
}

#[test]
fn texts_of_the_service_are_masked_or_left_out() {
    let record = record(
        "Failed",
        &json!([finding(&format!("Bad token {SECRET}"), &format!("it was {SECRET}, see log"), "2026-01-01T00:00:00Z")]),
    );
    let (masker, nothing) = (Masker::new([SECRET]), Masker::new([]));
    for (case, texts, title, message) in [
        ("values are known", Texts::Masked(&masker), Some("Bad token ***"), Some("it was ***, see log")),
        ("the Secret has changed since", Texts::LeftOut, Some(LEFT_OUT), None),
        ("nothing was observed", Texts::Unchanged, None, None),
    ] {
        let status = shown(&record, texts);
        let entry = status.report.first();
        assert_eq!(entry.map(|entry| entry.title.as_str()), title, "{case}");
        assert_eq!(entry.and_then(|entry| entry.message.as_deref()), message, "{case}");
        assert!(!serde_json::to_string(&status).unwrap().contains(SECRET), "{case}");
    }
    let bare = shown(&record, Texts::Masked(&nothing));
    assert!(
        bare.report[0].title.contains(SECRET),
        "without the masker the value is visible, so the rows above are meaningful"
    );
}

#[test]
fn a_report_is_shown_newest_first_and_within_bounds() {
    let mut entries: Vec<_> =
        (0..30).map(|day| finding(&format!("day {day}"), "x", &format!("2026-01-{:02}T00:00:00Z", day + 1))).collect();
    entries.push(json!({"type": "Error", "title": "without a time"}));
    entries[29]["message"] = json!("y".repeat(5_000));
    let masker = Masker::new([]);
    let status = shown(&record("Failed", &json!(entries)), Texts::Masked(&masker));
    assert_eq!(status.report.len(), REPORT_ENTRIES);
    assert_eq!(status.report[0].title, "day 29");
    assert_eq!(status.report[REPORT_ENTRIES - 1].title, "day 10");
    assert!(status.report[0].message.as_ref().unwrap().len() <= 1024);
    assert_eq!(status.report[0].created_at.as_ref().unwrap().0.to_string(), "2026-01-30T00:00:00Z");

    let few = shown(&record("Failed", &json!([entries[30], entries[0]])), Texts::Masked(&masker));
    let titles: Vec<_> = few.report.iter().map(|entry| entry.title.as_str()).collect();
    assert_eq!(titles, ["day 0", "without a time"]);
}

fn release(version: i64) -> Release {
    Release { version, tag: format!("1.0.{version}") }
}

#[test]
fn rule_19_conditions_beside_the_main_ones_exist_only_while_they_are_true() {
    let (known, unverified) =
        (PersistedState::default(), PersistedState { unverified: true, ..PersistedState::default() });
    let record = record("Deployed", &json!([]));
    let newer = Newer::Yes { running: release(1), latest: release(2) };
    let compared_before = applied();
    let retains = |names: Names| DeploymentFacts { retained: Some(names), ..facts(&compared_before) };
    for (case, facts, expected) in [
        ("nothing", facts(&known), ""),
        (
            "drifted",
            DeploymentFacts {
                comparison: Comparison::Different(Vec::new()),
                record: ObservedRecord::Present(&record),
                texts: Texts::LeftOut,
                ..facts(&known)
            },
            "Drifted ValuesDiffer",
        ),
        ("a newer version", DeploymentFacts { newer, ..facts(&known) }, "UpdateAvailable NewerVersion"),
        ("the registry was not read", DeploymentFacts { newer: Newer::Unknown, ..facts(&known) }, ""),
        ("unverified", facts(&unverified), "SecretsUnverified NotSentFromHere"),
        ("unverified, without secrets", DeploymentFacts { secured: false, ..facts(&unverified) }, ""),
        ("suspended", DeploymentFacts { suspended: true, ..facts(&known) }, "Suspended Suspended"),
        ("nothing is retained", retains(Names::default()), ""),
        ("it was not compared", facts(&compared_before), ""),
        (
            "a value is retained",
            retains(["OLD", ""].map(|key| Item::standard("service", key)).into_iter().collect()),
            "ValuesRetained NotInSpec",
        ),
    ] {
        let beside: Vec<_> = after(&facts).conditions.into_iter().filter(|it| it.type_ != names::READY).collect();
        let shown: Vec<_> = beside.iter().map(|it| format!("{} {}", it.type_, it.reason)).collect();
        assert_eq!(shown.join(", "), expected, "{case}");
        assert!(beside.iter().all(|it| it.status == "True"), "{case}");
        let suggests = beside.iter().any(|condition| condition.message.contains("kubectl annotate"));
        assert_eq!(suggests, case == "unverified", "{case}: {beside:?}");
    }
}

#[test]
fn rule_20_what_was_reported_stays_while_the_remote_is_not_read() {
    let state = applied();
    let record = record("Deployed", &json!([]));
    let newer = Newer::Yes { running: release(1), latest: release(2) };
    let reported = after(&DeploymentFacts {
        comparison: Comparison::Different(Vec::new()),
        newer,
        retained: Some(std::iter::once(Item::standard("service", "OLD")).collect()),
        record: ObservedRecord::Present(&record),
        texts: Texts::LeftOut,
        ..facts(&state)
    });
    assert_eq!(reported.conditions.len(), 4, "{:?}", reported.conditions);
    for record in [ObservedRecord::NotRead, ObservedRecord::Present(&record)] {
        let unread = DeploymentFacts {
            newer: Newer::Unknown,
            comparison: Comparison::None,
            record,
            texts: Texts::LeftOut,
            ..facts(&state)
        };
        assert_eq!(summarize(&reported, &unread, Timestamp::UNIX_EPOCH).conditions, reported.conditions, "{record:?}");
    }
}

#[test]
fn rule_16_the_message_about_drift_names_what_differs() {
    let (same, newer) = (applied(), applied_version(8));
    let settings = [Item::standard("service", "LOG_LEVEL"), Item::standard("", "REGION")];
    let others = [Item::schedule("sync"), Item::retry_policy("listener", "maxAttempts")];
    let many: Vec<_> = (0..100).map(|number| Item::standard("service", &format!("KEY_{number:02}"))).collect();
    for (case, persisted, revision, values, expected) in [
        (
            "plain values",
            &same,
            None,
            &settings[..],
            "ValuesDiffer: applied: service/LOG_LEVEL, globalConfiguration/REGION; see",
        ),
        (
            "schedule and policy",
            &same,
            None,
            &others,
            "ValuesDiffer: applied: sync (schedule), listener (retryPolicy.maxAttempts); see",
        ),
        ("an older version", &newer, None, &[], "ValuesDiffer: applied: the connector version; see"),
        ("both", &newer, None, &settings[..1], "ValuesDiffer: applied: the connector version, service/LOG_LEVEL; see"),
        ("many", &same, None, &many, " and 63 more; see"),
        (
            "rolled back",
            &same,
            Some("r-1"),
            &settings[..1],
            "RolledBack: revision r-1, which differs from what was applied: service/LOG_LEVEL; see",
        ),
        (
            "rolled back, and nothing visible differs",
            &same,
            Some("r-1"),
            &[],
            "RolledBack: revision r-1, which differs from what was applied; see",
        ),
    ] {
        let mut record = record("Deployed", &json!([]));
        record.rollback_revision = revision.map(str::to_owned);
        let comparison = Comparison::Different(values.to_vec());
        let record = ObservedRecord::Present(&record);
        let status = after(&DeploymentFacts { comparison, record, ..facts(persisted) });
        let drifted = status.conditions.iter().find(|condition| condition.type_ == names::DRIFTED).expect("it exists");
        let (reason, end) = expected.split_once(": ").unwrap_or(("ValuesDiffer", expected));
        assert_eq!((drifted.status.as_str(), drifted.reason.as_str()), ("True", reason), "{case}");
        assert!(drifted.message.ends_with(&format!("{end} drift.policy")), "{case}: {}", drifted.message);
        assert!(drifted.message.len() < 1024, "{case}: {}", drifted.message.len());
    }
}

/// Returns a state in which this version of the connector was applied.
fn applied_version(version: i64) -> PersistedState {
    let mut state = applied();
    let applied = state.applied.as_mut().expect("something was applied");
    applied.connector_version = Some(version);
    state
}

/// Returns a state in which something was applied.
fn applied() -> PersistedState {
    let applied = Applied {
        generation: 1,
        digest: None,
        outcome: Phase::Deployed,
        serves: true,
        from_version: None,
        connector_version: None,
        rollback: None,
        names: Some(Names::default()),
        differs: None,
        uncompared: false,
        accepted: None,
        retained: Names::default(),
        sources: Sources::default(),
        at: Timestamp::UNIX_EPOCH,
    };
    PersistedState { applied: Some(applied), ..PersistedState::default() }
}

#[test]
fn a_failed_redeploy_is_no_outage_while_earlier_code_serves() {
    let (serves, mut down) = (applied(), applied());
    down.applied.as_mut().expect("something was applied").serves = false;
    for (case, persisted, reason, expected) in [
        ("earlier code serves", &serves, Reason::DeploymentFailed, Reason::RedeployFailed),
        ("nothing serves", &down, Reason::DeploymentFailed, Reason::DeploymentFailed),
        ("nothing was applied yet", &PersistedState::default(), Reason::DeploymentFailed, Reason::DeploymentFailed),
        ("it did not fail", &serves, Reason::Deployed, Reason::Deployed),
        ("it did not fail, and nothing served before", &down, Reason::Deployed, Reason::Deployed),
    ] {
        let condition = of_redeploy(ConditionUpdate::new(reason, "no answer"), persisted);
        assert_eq!(condition.reason, expected, "{case}");
        assert!(condition.message.ends_with("no answer"), "{case}: {}", condition.message);
    }
}

/// A condition that is missing in the list would count as foreign, and appear twice.
#[test]
fn every_condition_type_with_a_constant_is_in_the_list_of_own_types() {
    let lines: Vec<_> = include_str!("../../../src/names.rs").lines().collect();
    let mut found = 0;
    for (at, _) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("/// Condition")) {
        let constant = lines[at..].iter().find(|line| line.starts_with("pub const")).expect("a constant follows");
        let word = constant.split('"').nth(1).expect(constant);
        assert!(names::CONDITIONS.contains(&word), "names::CONDITIONS lacks {word}");
        found += 1;
    }
    assert_eq!(found, names::CONDITIONS.len());
}
