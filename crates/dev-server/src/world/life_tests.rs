//! Every transition of contract section 7, and every choice where it leaves something open.

use serde_json::json;

use super::*;
use DeploymentStatus::{Deployed, Deploying, Draft, Failed, Queued, UndeployFailed, Undeploying};
use connect_api::model::ReportEntry;

/// Duration of a deployment.
const LASTS: Duration = Duration::from_secs(10);

/// A world, and a time that the test advances.
pub(super) struct Stage {
    pub(super) world: World,
    pub(super) now: Timestamp,
}

impl Stage {
    pub(super) fn new(choices: &[&str]) -> Self {
        let mut variant = Variant::default();
        for choice in choices {
            variant.set(choice).expect(choice);
        }
        Self { world: World::new(Catalogue::built_in(), variant, LASTS, Some(7)), now: Timestamp::UNIX_EPOCH }
    }

    /// Returns one with a live deployment, and the id of that.
    pub(super) fn with_live() -> (Self, String) {
        let mut stage = Self::new(&[]);
        let id = stage.live("tax");
        (stage, id)
    }

    pub(super) fn create(&mut self, draft: &DeploymentDraft) -> Deployment {
        self.world.create("demo", draft, true, self.now).expect("the draft is valid")
    }

    pub(super) fn read(&mut self, id: &str) -> Option<Deployment> {
        self.world.read("demo", &Selector::Id(id.into()), self.now).ok()
    }

    fn status(&mut self, id: &str) -> Option<DeploymentStatus> {
        self.read(id).map(|deployment| deployment.status)
    }

    pub(super) fn redeploy(&mut self, id: &str, action: &RedeployAction) -> Result<Deployment, Refusal> {
        let version = self.world.kept.records[id].version;
        self.world.redeploy("demo", &Selector::Id(id.into()), version, action, self.now)
    }

    pub(super) fn undeploy(&mut self, id: &str) -> Result<Deployment, Refusal> {
        self.world.undeploy("demo", &Selector::Id(id.into()), self.now)
    }

    pub(super) fn step(&mut self, by: Duration) {
        self.now = later(self.now, by);
    }

    /// Creates a deployment and waits until it is live.
    pub(super) fn live(&mut self, key: &str) -> String {
        let created = self.create(&draft(key, &[("LOG_LEVEL", "info")], "token"));
        self.step(LASTS);
        assert_eq!(self.status(&created.id), Some(Deployed));
        created.id
    }
}

pub(super) fn read_draft(draft: serde_json::Value) -> DeploymentDraft {
    serde_json::from_value(draft).expect("it is a draft")
}

/// Returns a draft of the demo connector.
pub(super) fn draft(key: &str, standard: &[(&str, &str)], token: &str) -> DeploymentDraft {
    let standard: Vec<_> = standard.iter().map(|(key, value)| json!({"key": key, "value": value})).collect();
    read_draft(json!({
        "key": key, "connector": {"key": "demo-connector"}, "region": "europe-west1.gcp",
        "configurations": [{"applicationName": "service", "standardConfiguration": standard,
            "securedConfiguration": [{"key": "API_TOKEN", "value": token}]}],
    }))
}

fn values(standard: &[(&str, &str)], token: &str) -> RedeployAction {
    RedeployAction { configuration_values: Some(draft("any", standard, token).configurations), ..Default::default() }
}

fn plain(deployment: &Deployment) -> Vec<(&str, &str)> {
    let values = &deployment.applications[0].standard_configuration;
    values.iter().map(|value| (value.key.as_str(), value.value.as_str())).collect()
}

fn kinds(report: &[ReportEntry]) -> Vec<&str> {
    report.iter().map(|entry| entry.kind.as_str()).collect()
}

#[test]
fn a_deployment_is_deploying_then_deployed_or_queued_before() {
    for (choices, first) in [(&[][..], Deploying), (&["first-status=queued"], Queued)] {
        let mut stage = Stage::new(choices);
        let created = stage.create(&draft("tax", &[], "token"));
        assert_eq!((&created.status, created.version), (&first, 1));
        assert!(created.applications[0].url.is_none() && created.build_id().is_some());
        for (seconds, expected) in [(0, &first), (1, &first), (1, &Deploying), (7, &Deploying), (1, &Deployed)] {
            stage.step(Duration::from_secs(seconds));
            assert_eq!(stage.status(&created.id).as_ref(), Some(expected));
        }
        let read = stage.read(&created.id).expect("it exists");
        assert_eq!(kinds(read.report()), ["Information"]);
        assert_eq!(read.report()[0].title, "Script for \"postDeploy\" not defined");
        assert_eq!(read.report()[0].created_at, "1970-01-01T00:00:10.000Z");
        let url = read.applications[0].url.clone().expect("it is live");
        assert!(url.starts_with("https://service-") && url.ends_with(".europe-west1.gcp.2.sandbox.connect.example"));
        let again = stage.redeploy(&created.id, &RedeployAction::default()).expect("it is idle");
        assert_eq!((again.status, again.applications[0].url.as_ref()), (first, Some(&url)));
    }
}

#[test]
fn details_of_a_new_deployment_may_be_empty_until_its_build_ends() {
    let mut stage = Stage::new(&["new-details=empty"]);
    let created = stage.create(&draft("tax", &[], "token"));
    assert_eq!(serde_json::to_value(&created.details).expect("it is JSON"), json!({}));
    stage.step(LASTS);
    let build = stage.read(&created.id).expect("it exists").build_id().expect("it ended").to_owned();
    let again = stage.redeploy(&created.id, &RedeployAction::default()).expect("it is idle");
    assert!(again.build_id().is_some_and(|id| id != build), "only the first build is hidden");
}

#[test]
fn a_failed_redeploy_keeps_the_address_and_a_new_deployment_gets_another() {
    let (mut stage, id) = Stage::with_live();
    let url = stage.read(&id).expect("it exists").applications[0].url.clone();
    assert!(url.is_some());
    stage.redeploy(&id, &values(&[("LOG_LEVEL", "loud")], "token")).expect("it is idle");
    stage.step(LASTS);
    let failed = stage.read(&id).expect("it exists");
    assert_eq!((&failed.status, &failed.applications[0].url), (&Failed, &url), "the earlier build keeps serving");
    stage.undeploy(&id).expect("it is idle");
    stage.step(LASTS);
    let other = stage.live("tax");
    assert_ne!(stage.read(&other).expect("it exists").applications[0].url, url);
}

#[test]
fn a_rollback_by_others_restores_the_values_and_connector_of_the_earlier_revision() {
    let (mut stage, id) = Stage::with_live();
    let refused = stage.world.rollback_elsewhere(&id, stage.now).expect_err("nothing was live before");
    assert_eq!(refused.codes(), ["DeploymentRollbackNotAllowed"]);
    stage.world.raise_connector("demo-connector", false, |_| {}).expect("it is known");
    let newer = RedeployAction { update_connector: true, ..values(&[("LOG_LEVEL", "debug")], "new") };
    stage.redeploy(&id, &newer).expect("it is idle");
    assert_eq!(
        stage.world.rollback_elsewhere(&id, stage.now).expect_err("it is busy").codes(),
        ["DeploymentRollbackNotAllowed"]
    );
    stage.step(LASTS);
    let before = stage.read(&id).expect("it exists");
    assert_eq!((before.connector.version, plain(&before)), (2, vec![("LOG_LEVEL", "debug")]));
    stage.world.rollback_elsewhere(&id, stage.now).expect("there is an earlier one");
    stage.step(LASTS);
    let after = stage.read(&id).expect("it exists");
    assert_eq!((after.connector.version, plain(&after), &after.status), (1, vec![("LOG_LEVEL", "info")], &Deployed));
    assert!(after.version > before.version);
    assert_eq!(stage.world.secured_is(&id, Some("service"), "API_TOKEN", "token"), Some(true));
}

#[test]
fn a_report_names_what_failed_and_has_no_secret() {
    let of = |connector: &str| {
        read_draft(json!({"connector": {"key": connector}, "region": "europe-west1.gcp", "configurations":
            [{"applicationName": "service", "standardConfiguration": [], "securedConfiguration": []}]}))
    };
    for (case, draft, status, entries, text) in [
        ("refused value", draft("tax", &[("LOG_LEVEL", "loud")], "canary-41"), Failed, ["Error"], "debug, info, warn"),
        ("empty secret", draft("tax", &[], ""), Failed, ["Error"], "API_TOKEN of application service is required, but"),
        ("missing secret", of("demo-connector"), Failed, ["Error"], "is required, but its value was not given"),
        ("build that fails", of("demo-failing"), Failed, ["Error"], "exit code 1"),
        ("script that fails", of("demo-warning"), Deployed, ["Warning"], "exit code 1"),
    ] {
        let mut stage = Stage::new(&[]);
        let id = stage.create(&draft).id;
        stage.step(LASTS);
        let read = stage.read(&id).expect(case);
        assert_eq!(read.status, status, "{case}");
        assert_eq!(kinds(read.report()), entries, "{case}");
        assert_eq!(read.report()[0].application.as_deref(), Some("service"), "{case}");
        assert!(read.report()[0].message.as_ref().is_some_and(|message| message.contains(text)), "{case}");
        assert!(!serde_json::to_string(&read).expect(case).contains("canary-41"), "{case}");
    }
}

#[test]
fn redeploy_is_refused_while_busy_and_allowed_otherwise() {
    for (status, text) in [
        (Draft, None),
        (Deployed, None),
        (Failed, None),
        (UndeployFailed, None),
        (Queued, Some("Already queued.")),
        (Deploying, Some("Already deploying.")),
        (Undeploying, Some("Already undeploying.")),
    ] {
        let (mut stage, id) = Stage::with_live();
        stage.world.set_status(&id, status.clone(), stage.now).expect("it exists");
        let answer = stage.redeploy(&id, &RedeployAction::default());
        match text {
            None => {
                let redeployed = answer.expect("it is idle");
                assert_eq!((redeployed.status, redeployed.version), (Deploying, 2), "{status}");
                stage.step(LASTS);
                assert_eq!(stage.status(&id), Some(Deployed), "{status}");
            }
            Some(text) => {
                let refusal = answer.expect_err("it is busy");
                assert_eq!(refusal.codes(), ["DeploymentInvalidStatusTransition"]);
                assert_eq!(refusal.errors[0].message, text);
            }
        }
    }
}

#[test]
fn delete_undeploys_from_every_status_unless_busy_ones_are_refused() {
    for status in [Draft, Queued, Deploying, Deployed, Failed, Undeploying, UndeployFailed] {
        for refuse in [false, true] {
            let mut stage = Stage::new(if refuse { &["delete-busy=refuse"] } else { &[] });
            let id = stage.live("tax");
            stage.world.set_status(&id, status.clone(), stage.now).expect("it exists");
            let answer = stage.undeploy(&id);
            if refuse && status.is_busy() {
                assert_eq!(answer.expect_err("busy").codes(), ["DeploymentInvalidStatusTransition"], "{status}");
            } else {
                assert_eq!(answer.expect("accepted").status, Undeploying, "{status}");
            }
        }
    }
}

#[test]
fn undeploying_removes_the_deployment_or_ends_as_undeploy_failed() {
    let (mut stage, id) = Stage::with_live();
    stage.world.fail_undeploy(&id, stage.now).expect("it exists");
    assert_eq!(stage.undeploy(&id).expect("accepted").version, 2);
    stage.step(LASTS / 4);
    let again = stage.undeploy(&id).expect("a second one changes nothing");
    assert_eq!((again.status, again.version), (Undeploying, 2));
    stage.step(LASTS / 4);
    assert_eq!(stage.status(&id), Some(UndeployFailed));
    stage.undeploy(&id).expect("accepted");
    stage.step(LASTS / 2);
    assert_eq!(stage.status(&id), None);
    stage.create(&draft("tax", &[], "token"));
}

#[test]
fn values_stay_where_none_are_sent_and_scripts_are_skipped_where_asked() {
    let (mut stage, id) = Stage::with_live();
    stage.redeploy(&id, &RedeployAction::default()).expect("it is idle");
    assert_eq!(stage.world.secured_is(&id, Some("service"), "API_TOKEN", "token"), Some(true));
    stage.step(LASTS);
    let skip = RedeployAction { skip_scripts: true, ..values(&[("LOG_LEVEL", "warn")], "new") };
    stage.redeploy(&id, &skip).expect("it is idle");
    stage.step(LASTS);
    let read = stage.read(&id).expect("it exists");
    assert_eq!((&read.status, read.report().len()), (&Deployed, 0), "no script ran, so the report has no entry");
    assert_eq!(stage.world.secured_is(&id, Some("service"), "API_TOKEN", "token"), Some(false));
    assert_eq!(stage.world.secured_is(&id, Some("service"), "API_TOKEN", "new"), Some(true));
}

#[test]
fn reads_may_lag_behind_each_write() {
    let mut stage = Stage::new(&["read-lag=3s"]);
    let lag = Duration::from_secs(3);
    let id = stage.create(&draft("tax", &[], "token")).id;
    assert_eq!(stage.status(&id), None);
    assert_eq!(stage.world.list("demo", &ListQuery::default(), stage.now).total, 0);
    stage.step(lag);
    assert_eq!(stage.status(&id), Some(Deploying));
    stage.step(LASTS);
    stage.redeploy(&id, &RedeployAction::default()).expect("it is idle");
    let read = stage.read(&id).expect("it exists");
    assert_eq!((read.status, read.version), (Deployed, 1));
    stage.step(lag);
    assert_eq!(stage.read(&id).map(|read| (read.status, read.version)), Some((Deploying, 2)));
    stage.undeploy(&id).expect("accepted");
    assert_eq!(stage.status(&id), Some(Deploying));
    stage.step(lag);
    assert_eq!(stage.status(&id), Some(Undeploying));
}

#[test]
fn a_redeploy_may_show_the_old_outcome_for_a_while() {
    let mut stage = Stage::new(&["redeploy-shows-old=3s"]);
    let id = stage.live("tax");
    let before = stage.read(&id).expect("it exists");
    let answer = stage.redeploy(&id, &RedeployAction::default()).expect("it is idle");
    assert_eq!((&answer.status, answer.build_id()), (&Deployed, before.build_id()));
    assert_eq!(answer.version, 2);
    let busy = stage.redeploy(&id, &RedeployAction::default()).expect_err("it is busy nevertheless");
    assert_eq!(busy.codes(), ["DeploymentInvalidStatusTransition"]);
    stage.step(Duration::from_secs(3));
    let read = stage.read(&id).expect("it exists");
    assert_eq!(read.status, Deploying);
    assert_ne!(read.build_id(), before.build_id());
}

#[test]
fn versions_and_build_ids_change_as_chosen() {
    for (choices, versions, builds) in [
        (&[][..], [1, 2, 2], [true, true]),
        (&["versions=status"], [2, 3, 4], [true, true]),
        (&["build-ids=end"], [1, 2, 2], [false, true]),
        (&["build-ids=never"], [1, 2, 2], [false, false]),
    ] {
        let mut stage = Stage::new(choices);
        let created = stage.create(&draft("tax", &[], "token"));
        assert_eq!(created.build_id().is_none(), choices == ["build-ids=end"]);
        stage.step(LASTS);
        let before = stage.read(&created.id).expect("it exists");
        let answer = stage.redeploy(&created.id, &RedeployAction::default()).expect("it is idle");
        stage.step(LASTS);
        let after = stage.read(&created.id).expect("it exists");
        assert_eq!([before.version, answer.version, after.version], versions, "{choices:?}");
        let changed = |shown: &Deployment| shown.build_id() != before.build_id();
        assert_eq!([changed(&answer), changed(&after)], builds, "{choices:?}");
    }
}

#[test]
fn values_show_as_chosen() {
    let new = [("LOG_LEVEL", " debug ")];
    for (choices, at_once, at_the_end) in [
        (&[][..], &[("LOG_LEVEL", " debug ")][..], &[("LOG_LEVEL", " debug ")][..]),
        (&["values-show=end"], &[("LOG_LEVEL", "info")], &[("LOG_LEVEL", " debug ")]),
    ] {
        let mut stage = Stage::new(choices);
        let id = stage.live("tax");
        let answer = stage.redeploy(&id, &values(&new, "token")).expect("it is idle");
        assert_eq!(plain(&answer), at_once, "{choices:?}");
        stage.step(LASTS);
        assert_eq!(plain(&stage.read(&id).expect("it exists")), at_the_end, "{choices:?}");
    }
}
