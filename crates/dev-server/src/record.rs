//! One deployment and its lifecycle (contract section 7): pure; the caller passes the time.
//!
//! [`Record::advance`] applies every transition that is due; [`Record::show`] returns what the service shows. Next:
//! `world.rs` for what changes a deployment.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::addresses::AddressParts;
use super::build::{self, PlannedOutcome};
use super::connector::{ConnectorDefinition, Scripts};
use super::ids::Ids;
use super::logs::{LogBook, LogSeverity};
use super::resources::Creation;
use super::values::{ValueSet, Values};
use super::variant::{BuildIds, FirstStatus, LeftOutApplications, NewDetails, Shown, ValuesShow, Variant, Versions};
use clock::later;
use connect_api::model::{
    ApplicationDeployment, Build, DeclaredApplication, Deployment, DeploymentApiClient, DeploymentDetails,
    DeploymentStatus, DeploymentType, EntryType, GlobalConfiguration, Report, ReportEntry,
};

/// Maximum number of revisions of one deployment; a rollback to older ones is not possible.
const REVISIONS: usize = 20;

/// A running operation, and the times of its transitions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) enum Work {
    /// `Queued` until `starts`, if it starts as `Queued`; then `Deploying` until `ends`.
    Deploy { starts: Timestamp, ends: Timestamp, skip_scripts: bool },
    /// `Undeploying` until `ends`.
    Undeploy { ends: Timestamp },
}

/// Status, build and report from before a redeploy, which answers show until `until`.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Before {
    until: Timestamp,
    status: DeploymentStatus,
    build_id: Option<String>,
    report: Option<Vec<ReportEntry>>,
}

/// What lagging reads show until `until`; `shown` is `None` if the deployment did not exist.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Stale {
    pub(super) until: Timestamp,
    pub(super) shown: Option<Box<Deployment>>,
}

/// An earlier live state, to which the deployment can be rolled back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Revision {
    pub(super) connector: ConnectorDefinition,
    pub(super) values: Values,
}

/// A deployment. [`Record::show`] builds what the service shows.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Record {
    /// Number in the order of creation.
    pub(super) sequence: u64,
    pub(super) id: String,
    pub(super) project: String,
    pub(super) key: Option<String>,
    pub(super) version: i64,
    pub(super) kind: DeploymentType,
    pub(super) region: String,
    pub(super) created_at: Timestamp,
    pub(super) changed_at: Timestamp,
    pub(super) connector: ConnectorDefinition,
    pub(super) values: Values,
    /// Previous values, set while the values that were sent cannot be read yet.
    pub(super) values_before: Option<Values>,
    pub(super) application_ids: BTreeMap<String, String>,
    pub(super) api_client_id: Option<String>,
    pub(super) status: DeploymentStatus,
    pub(super) build_id: Option<String>,
    pub(super) report: Option<Vec<ReportEntry>>,
    pub(super) work: Option<Work>,
    pub(super) before: Option<Before>,
    pub(super) stale: Option<Stale>,
    /// Number of builds that went live. The deployment has addresses from the first one on; each one has another topic.
    #[serde(default)]
    pub(super) went_live: u32,
    /// Revisions that went live, the newest last.
    #[serde(default)]
    pub(super) revisions: Vec<Revision>,
    /// Name of the revision that was restored last.
    #[serde(default)]
    pub(super) rollback_revision: Option<String>,
    /// Planned outcome of the next build, if any.
    pub(super) next_outcome: Option<PlannedOutcome>,
    /// Whether the next undeploy fails.
    pub(super) undeploy_fails: bool,
    /// Whether the `postDeploy` scripts of the last build succeeded and their resources are still to be created.
    #[serde(default)]
    pub(super) scripts_ran: bool,
    /// What the scripts do with resources instead of what the catalogue says, if set.
    #[serde(default)]
    pub(super) creation: Option<Creation>,
    pub(super) log: LogBook,
}

/// Result of [`Record::advance`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Advanced {
    /// The record exists, and its status did not change.
    There,
    /// The record exists, with another status since that time.
    Moved(Timestamp),
    /// Undeploying ended at that time: remove the record.
    Gone(Timestamp),
}

impl Record {
    /// Applies every transition that is due at `now`.
    pub(super) fn advance(&mut self, now: Timestamp, variant: &Variant, ids: &mut Ids) -> Advanced {
        let before = self.status.clone();
        match self.work.clone() {
            Some(Work::Deploy { starts, ends, skip_scripts }) => {
                if self.status == DeploymentStatus::Queued && now >= starts {
                    self.become_status(DeploymentStatus::Deploying, starts, variant);
                }
                if self.status == DeploymentStatus::Deploying && now >= ends {
                    self.end_build(skip_scripts, ends, variant, ids);
                }
            }
            Some(Work::Undeploy { ends }) if now >= ends => {
                self.work = None;
                if !self.undeploy_fails {
                    return Advanced::Gone(ends);
                }
                self.undeploy_fails = false;
                self.become_status(DeploymentStatus::UndeployFailed, ends, variant);
            }
            Some(Work::Undeploy { .. }) | None => {}
        }
        if self.status == before { Advanced::There } else { Advanced::Moved(self.changed_at) }
    }

    /// Starts a build. The caller has already updated version, connector and values.
    pub(super) fn start_build(
        &mut self,
        skip_scripts: bool,
        now: Timestamp,
        lasts: Duration,
        variant: &Variant,
        ids: &mut Ids,
    ) {
        let is_new = self.created_at == now && self.build_id.is_none();
        if !is_new && !variant.redeploy_shows_old.is_zero() {
            self.before = Some(Before {
                until: later(now, variant.redeploy_shows_old),
                status: self.status.clone(),
                build_id: self.build_id.clone(),
                report: self.report.clone(),
            });
        }
        let is_hidden = is_new && variant.new_details == NewDetails::Empty;
        if !is_hidden && (variant.build_ids == BuildIds::Start || (is_new && variant.build_ids == BuildIds::Never)) {
            self.build_id = Some(ids.next());
            self.report = None;
        }
        self.status = match variant.first_status {
            FirstStatus::Deploying => DeploymentStatus::Deploying,
            FirstStatus::Queued => DeploymentStatus::Queued,
        };
        self.changed_at = now;
        // With `first-status=queued`, a fifth of the time is spent in the queue.
        self.work = Some(Work::Deploy { starts: later(now, lasts / 5), ends: later(now, lasts), skip_scripts });
        self.log.note(now, &self.application_names(), &LogSeverity::Info, "Build started");
    }

    /// Starts undeploying; a running build is aborted.
    pub(super) fn start_undeploy(&mut self, now: Timestamp, lasts: Duration) {
        self.status = DeploymentStatus::Undeploying;
        self.changed_at = now;
        self.before = None;
        self.values_before = None;
        self.work = Some(Work::Undeploy { ends: later(now, lasts) });
        self.log.note(now, &self.application_names(), &LogSeverity::Info, "Undeploying");
    }

    /// Moves the end of a running operation to `now`.
    pub(super) fn hasten(&mut self, now: Timestamp) {
        match &mut self.work {
            Some(Work::Deploy { starts, ends, .. }) => {
                *starts = now.min(*starts);
                *ends = now.min(*ends);
            }
            Some(Work::Undeploy { ends }) => *ends = now.min(*ends),
            None => {}
        }
    }

    fn end_build(&mut self, skip_scripts: bool, at: Timestamp, variant: &Variant, ids: &mut Ids) {
        let (status, report) = match self.next_outcome.take() {
            Some(planned) => build::written(&planned, at),
            None => build::outcome(&self.connector, &self.values, skip_scripts, at),
        };
        self.work = None;
        self.values_before = None;
        if variant.build_ids == BuildIds::End || self.build_id.is_none() {
            self.build_id = Some(ids.next());
        }
        let names = self.application_names();
        for entry in report.iter().filter(|entry| entry.kind == EntryType::Error) {
            let of_entry: Vec<_> = entry.application.iter().cloned().collect();
            let text = entry.message.as_deref().unwrap_or(&entry.title);
            self.log.note(at, if of_entry.is_empty() { &names } else { &of_entry }, &LogSeverity::Error, text);
        }
        if status == DeploymentStatus::Deployed {
            self.scripts_ran =
                !skip_scripts && !matches!(self.connector.scripts, Scripts::Warn | Scripts::FailSilently);
            self.went_live(at);
        }
        self.report = Some(report);
        self.become_status(status, at, variant);
    }

    fn went_live(&mut self, at: Timestamp) {
        self.went_live = self.went_live.saturating_add(1);
        let revision = Revision { connector: self.connector.clone(), values: self.values.clone() };
        if self.revisions.last() != Some(&revision) {
            self.revisions.push(revision);
            let surplus = self.revisions.len().saturating_sub(REVISIONS);
            self.revisions.drain(..surplus);
        }
        for declared in &self.connector.configurations {
            self.log.note_live(at, &declared.application_name, &declared.application_type);
        }
    }

    fn become_status(&mut self, status: DeploymentStatus, at: Timestamp, variant: &Variant) {
        self.status = status;
        self.changed_at = at;
        if variant.versions == Versions::Status {
            self.version += 1;
        }
    }

    fn application_names(&self) -> Vec<String> {
        self.values.applications.iter().map(|application| application.name.clone()).collect()
    }

    /// Whether a read at `now` finds the deployment.
    pub(super) fn is_visible(&self, now: Timestamp) -> bool {
        self.stale.as_ref().is_none_or(|stale| now >= stale.until || stale.shown.is_some())
    }

    /// Returns what a read at `now` shows; `None` while a lagging read does not find the deployment yet.
    pub(super) fn read(&self, now: Timestamp, variant: &Variant) -> Option<Deployment> {
        match &self.stale {
            Some(stale) if now < stale.until => stale.shown.as_deref().cloned(),
            _ => Some(self.show(now, variant)),
        }
    }

    /// Returns what the answer to a change at `now` shows.
    pub(super) fn show(&self, now: Timestamp, variant: &Variant) -> Deployment {
        self.shown(self.before.as_ref().filter(|before| now < before.until), variant)
    }

    /// Returns the current state, ignoring lag and `redeploy-shows-old`.
    pub(super) fn show_truly(&self, variant: &Variant) -> Deployment {
        self.shown(None, variant)
    }

    fn shown(&self, before: Option<&Before>, variant: &Variant) -> Deployment {
        let values = match &self.values_before {
            Some(before) if variant.values_show == ValuesShow::End => before,
            _ => &self.values,
        };
        let (status, build_id, report) = before.map_or((&self.status, &self.build_id, &self.report), |before| {
            (&before.status, &before.build_id, &before.report)
        });
        let report = report.clone().map(|entries| Report { entries });
        Deployment {
            id: self.id.clone(),
            key: self.key.clone(),
            version: self.version,
            kind: Some(self.kind.clone()),
            connector: self.connector.deployed(),
            global_configuration: values.global.as_ref().map(|global| GlobalConfiguration {
                standard_configuration: global.standard.clone(),
                secured_configuration: global.masked(),
            }),
            api_client: self.connector.api_client.as_ref().map(|client| DeploymentApiClient {
                name: self.api_client_id.clone().unwrap_or_default(),
                scopes: client.scopes.clone(),
            }),
            details: DeploymentDetails { build: build_id.clone().map(|id| Build { id, report }) },
            deployed_region: self.region.clone(),
            applications: self.applications(values, status, variant),
            preview: self.kind == DeploymentType::Preview,
            status: status.clone(),
            rollback_revision: self.rollback_revision.clone(),
        }
    }

    /// Returns the applications that the create named. The variant chooses whether others are listed too, which the
    /// contract leaves open (section 4.4).
    fn applications(
        &self,
        values: &Values,
        status: &DeploymentStatus,
        variant: &Variant,
    ) -> Vec<ApplicationDeployment> {
        let none = ValueSet::default();
        let declared = self.connector.configurations.iter();
        let deployed = |declared: &&DeclaredApplication| self.values.application(&declared.application_name).is_some();
        let hides_urls = status.is_busy() && variant.urls_while_busy == Shown::Hidden;
        let all = variant.left_out_applications == LeftOutApplications::Listed;
        let shown = declared.filter(|declared| all || deployed(declared)).map(|declared| {
            let name = &declared.application_name;
            let id = self.application_ids.get(name).cloned().unwrap_or_default();
            let given = values.application(name);
            let set = given.map_or(&none, |given| &given.values);
            let place = AddressParts { id: &id, region: &self.region, kind: &self.kind };
            let is_live = self.went_live > 0 && deployed(&declared);
            let schedule = given.map(|given| given.schedule.clone());
            let retry_policy = given.map(|given| given.retry_policy.clone());
            ApplicationDeployment {
                application_name: name.clone(),
                standard_configuration: set.standard.clone(),
                secured_configuration: set.masked(),
                url: place.url(&self.connector, declared).filter(|_| is_live && !hides_urls),
                topic: place.topic(declared, self.went_live).filter(|_| is_live),
                schedule: schedule
                    .and_then(|given| given.or_else(|| self.connector.schedules.get(name).cloned()))
                    .filter(|_| is_live),
                retry_policy: retry_policy
                    .and_then(|given| given.or_else(|| self.connector.retry_policies.get(name).cloned()))
                    .filter(|_| variant.retry_policies == Shown::Shown),
                id,
            }
        });
        shown.collect()
    }
}
