//! The service as a pure state machine: the deployments of all projects, and the connector registry.
//!
//! No IO, no clock, no waiting: every method takes the time and first applies what is due by then. Answers contain what
//! the service would show; secured values are not stored at all (`values.rs`). Next: `http.rs` for requests,
//! `world/registry.rs` for connectors, `world/elsewhere.rs` for changes by tests and `/_dev`.

#[cfg(test)]
mod application_tests;
#[cfg(test)]
mod code_tests;
mod elsewhere;
#[cfg(test)]
mod history_tests;
#[cfg(test)]
mod kept_tests;
#[cfg(test)]
mod life_tests;
mod overview;
mod registry;
#[cfg(test)]
mod registry_tests;
mod resources;
mod staged_elsewhere;
mod staged_known;

pub(super) use self::overview::Overview;
pub(super) use self::registry::SearchQuery;

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::catalogue::{Catalogue, Project};
use super::checks;
use super::connector::ConnectorDefinition;
use super::history::{Happened, History};
use super::ids::Ids;
use super::input::Update;
use super::list::{self, ListQuery};
use super::logs::{LogBook, LogPage, LogQuery};
use super::record::{Advanced, Record, Stale};
use super::refusal::Refusal;
use super::resources::Resources;
use super::staged::{Rules, StagedBook};
use super::values::{FingerprintKey, Values};
use super::variant::{DeleteBusy, ValuesShow, Variant};
use clock::later;
use connect_api::model::{Deployment, DeploymentDraft, DeploymentStatus, DeploymentType, Paged, RedeployAction};
use connect_api::scopes::Right;
use connect_api::{ErrorCode, Selector};

/// The state of the service: catalogue, deployments, staged connectors and resources.
#[derive(Debug)]
pub struct World {
    catalogue: Catalogue,
    /// Choices where the contract leaves something open.
    pub variant: Variant,
    /// Time from the acceptance of a deployment to its end; undeploying takes half of it.
    pub deploy_duration: Duration,
    ids: Ids,
    history: History,
    kept: Kept,
}

/// The state that survives a restart.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Kept {
    fingerprints: FingerprintKey,
    sequence: u64,
    records: BTreeMap<String, Record>,
    /// Keys of removed deployments, with the time from which they can be used again.
    held_keys: Vec<HeldKey>,
    /// New versions of catalogue connectors that were added at run time.
    raised: Vec<ConnectorDefinition>,
    /// Staged connectors, and the versions that were published from them.
    #[serde(default)]
    staged: StagedBook,
    /// Resources that scripts created.
    #[serde(default)]
    resources: Resources,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
struct HeldKey {
    project: String,
    key: String,
    until: Timestamp,
}

impl World {
    /// Creates a world without deployments. With a seed, ids are the same in each run.
    pub fn new(catalogue: Catalogue, variant: Variant, deploy_duration: Duration, seed: Option<u64>) -> Self {
        let mut ids = Ids::new(seed);
        let fingerprints = FingerprintKey::new(ids.bytes());
        let mut staged = StagedBook::default();
        staged.seed(&catalogue.connectors);
        let (records, held_keys, raised) = (BTreeMap::new(), Vec::new(), Vec::new());
        let resources = Resources::default();
        let kept = Kept { fingerprints, sequence: 0, records, held_keys, raised, staged, resources };
        Self { catalogue, variant, deploy_duration, ids, history: History::default(), kept }
    }

    /// Restores the state of an earlier run.
    pub(super) fn restore(&mut self, kept: Kept) {
        self.kept = kept;
        self.kept.staged.seed(&self.catalogue.connectors);
        for raised in &self.kept.raised {
            let known = |old: &&ConnectorDefinition| old.key == raised.key && old.staged == raised.staged;
            let newest = self.catalogue.connectors.iter().filter(known).map(|old| old.version).max();
            if newest.is_some_and(|newest| newest < raised.version) {
                self.catalogue.connectors.push(raised.clone());
            }
        }
    }

    pub(super) fn kept(&self) -> &Kept {
        &self.kept
    }

    /// Returns the catalogue, including versions that were added at run time.
    pub fn catalogue(&self) -> &Catalogue {
        &self.catalogue
    }

    fn advance(&mut self, now: Timestamp) {
        let Self { kept, variant, ids, history, .. } = self;
        kept.staged.advance(now, Rules { variant, lasts: self.deploy_duration });
        kept.held_keys.retain(|held| now < held.until);
        let (held, resources) = (&mut kept.held_keys, &mut kept.resources);
        kept.records.retain(|_, record| match record.advance(now, variant, ids) {
            Advanced::There => true,
            Advanced::Moved(at) => {
                history.note(at, record, Happened::Became(record.status.clone()));
                if std::mem::take(&mut record.scripts_ran) {
                    let (scripted, applications) = (&record.connector.creates, record.show_truly(variant).applications);
                    resources.create(&record.project, &record.id, scripted, &applications, record.creation, ids);
                }
                true
            }
            Advanced::Gone(at) => {
                history.note(at, record, Happened::Gone);
                resources.undeployed(&record.id);
                let until = later(at, variant.key_held);
                if let Some(key) = record.key.take().filter(|_| now < until) {
                    held.push(HeldKey { project: record.project.clone(), key, until });
                }
                false
            }
        });
    }

    fn find(&mut self, project: &str, selector: &Selector, now: Timestamp) -> Result<&mut Record, Refusal> {
        self.advance(now);
        let mut records = self.kept.records.values_mut().filter(|record| record.project == project);
        let found = records.find(|record| match selector {
            Selector::Id(id) => record.id == *id,
            Selector::Key(key) => record.key.as_ref() == Some(key),
        });
        found.ok_or_else(|| Refusal::not_found(selector))
    }

    /// Returns a project of the catalogue, or a default one: rights are already checked, so a project that only scopes
    /// name exists too.
    fn project(&self, key: &str) -> Project {
        let found = self.catalogue.projects.iter().find(|project| project.key == key).cloned();
        found.unwrap_or_else(|| Project::new(key))
    }

    /// Checks whether the Connect API answers for a project.
    ///
    /// # Errors
    /// The refusal that `unknown-project` of the variant chooses, if the catalogue does not list the project.
    pub fn is_served(&self, project: &str) -> Result<(), Refusal> {
        if self.catalogue.projects.iter().any(|known| known.key == project) {
            return Ok(());
        }
        checks::unknown_project_is_served(self.variant.unknown_project, project)
    }

    /// Performs `createDeployment`. `may_generate`: the caller may create API clients (contract section 2).
    ///
    /// # Errors
    /// The codes of contract section 5.3, one error for each mistake; 403 if the connector needs an API client that the
    /// caller may not generate.
    pub fn create(
        &mut self,
        project: &str,
        draft: &DeploymentDraft,
        may_generate: bool,
        now: Timestamp,
    ) -> Result<Deployment, Refusal> {
        self.advance(now);
        let project = self.project(project);
        let connector = self.connector(&draft.connector, &project.key)?;
        if connector.api_client.is_some() && !may_generate {
            let text = format!(
                "The connector has a generated API client: this needs {}.",
                Right::GenerateApiClients.needed(&project.key)
            );
            return Err(Refusal::new(ErrorCode::AuthorizationError, text));
        }
        let global = draft.global_configuration.as_ref();
        let values = Values::default().after(
            Some(&draft.configurations),
            global,
            &connector,
            &self.variant,
            &self.kept.fingerprints,
        );
        let (kind, mut errors) = match checks::deployment_type(draft.kind.as_ref(), &connector, &project) {
            Ok(kind) => (Some(kind), Vec::new()),
            Err(error) => (None, vec![error]),
        };
        errors.extend(checks::region(&draft.region, &connector));
        errors.extend(checks::names(&draft.configurations, &connector, None));
        errors.extend(checks::global_names(global, connector.global_configuration.as_ref()));
        errors.extend(checks::global_values(&values, connector.global_configuration.as_ref()));
        let Some(kind) = kind.filter(|_| errors.is_empty()) else {
            return Err(Refusal { status: 400, errors });
        };
        if let Some(key) = &draft.key {
            self.check_free(&project.key, key)?;
        }
        Ok(self.add(project.key, draft, kind, connector, values, now))
    }

    fn check_free(&self, project: &str, key: &str) -> Result<(), Refusal> {
        let held = self.kept.held_keys.iter().any(|held| held.project == project && held.key == key);
        let mut records = self.kept.records.values();
        let used = records.any(|record| record.project == project && record.key.as_deref() == Some(key));
        if held || used { Err(Refusal::duplicate_key("deployment", key)) } else { Ok(()) }
    }

    fn add(
        &mut self,
        project: String,
        draft: &DeploymentDraft,
        kind: DeploymentType,
        connector: ConnectorDefinition,
        values: Values,
        now: Timestamp,
    ) -> Deployment {
        self.kept.sequence += 1;
        let application_ids =
            connector.configurations.iter().map(|declared| (declared.application_name.clone(), self.ids.next()));
        let application_ids = application_ids.collect();
        let api_client_id = connector.api_client.as_ref().map(|_| self.ids.next());
        let mut record = Record {
            sequence: self.kept.sequence,
            id: self.ids.next(),
            project,
            key: draft.key.clone(),
            version: 1,
            kind,
            region: draft.region.clone(),
            created_at: now,
            changed_at: now,
            values,
            values_before: (self.variant.values_show == ValuesShow::End).then(Values::default),
            connector,
            application_ids,
            api_client_id,
            status: DeploymentStatus::Queued,
            build_id: None,
            report: None,
            work: None,
            before: None,
            stale: self.stale(None, now),
            went_live: 0,
            revisions: Vec::new(),
            rollback_revision: None,
            next_outcome: None,
            undeploy_fails: false,
            scripts_ran: false,
            creation: None,
            log: LogBook::default(),
        };
        record.start_build(false, now, self.deploy_duration, &self.variant, &mut self.ids);
        self.history.note(now, &record, Happened::Created);
        let shown = record.show(now, &self.variant);
        self.kept.records.insert(record.id.clone(), record);
        shown
    }

    fn stale(&self, shown: Option<Deployment>, now: Timestamp) -> Option<Stale> {
        let lag = self.variant.read_lag;
        (!lag.is_zero()).then(|| Stale { until: later(now, lag), shown: shown.map(Box::new) })
    }

    /// Performs `getDeploymentById` and `getDeploymentByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`.
    pub fn read(&mut self, project: &str, selector: &Selector, now: Timestamp) -> Result<Deployment, Refusal> {
        let variant = self.variant.clone();
        self.find(project, selector, now)?.read(now, &variant).ok_or_else(|| Refusal::not_found(selector))
    }

    /// Performs `queryDeployments`.
    pub fn list(&mut self, project: &str, query: &ListQuery, now: Timestamp) -> Paged<Deployment> {
        self.advance(now);
        let of_project = self.kept.records.values().filter(|record| record.project == project);
        let visible = of_project.filter(|record| record.is_visible(now));
        list::page(visible, query, |record| record.read(now, &self.variant))
    }

    /// Performs `updateDeploymentById` and `updateDeploymentByKey` with a single `redeploy` action.
    ///
    /// # Errors
    /// The codes of contract section 5.3. The version is checked first, then the status, then all values.
    pub fn redeploy(
        &mut self,
        project: &str,
        selector: &Selector,
        version: i64,
        action: &RedeployAction,
        now: Timestamp,
    ) -> Result<Deployment, Refusal> {
        let old = self.find(project, selector, now)?.clone();
        if old.version != version {
            return Err(Refusal::conflict(version, old.version));
        }
        if old.status.is_busy() {
            return Err(checks::busy(&old.status));
        }
        let connector = if action.update_connector { self.newest(&old)? } else { old.connector.clone() };
        let (sent, global) = (action.configuration_values.as_deref(), action.global_configuration.as_ref());
        let values = old.values.after(sent, global, &connector, &self.variant, &self.kept.fingerprints);
        let deployed = checks::Deployed { old: &old, added: self.variant.added_applications };
        let mut errors = sent.map_or_else(Vec::new, |sent| checks::names(sent, &connector, Some(deployed)));
        errors.extend(checks::global_names(global, connector.global_configuration.as_ref()));
        errors.extend(checks::global_values(&values, connector.global_configuration.as_ref()));
        Refusal::unless_empty(errors)?;
        Ok(self.replace(old, connector, values, action.skip_scripts, now))
    }

    fn replace(
        &mut self,
        mut record: Record,
        connector: ConnectorDefinition,
        values: Values,
        skip_scripts: bool,
        now: Timestamp,
    ) -> Deployment {
        record.stale = self.stale(Some(record.show(now, &self.variant)), now);
        record.version += 1;
        if self.variant.values_show == ValuesShow::End {
            record.values_before = Some(std::mem::take(&mut record.values));
        }
        record.values = values;
        record.connector = connector;
        for declared in &record.connector.configurations {
            let ids = &mut self.ids;
            record.application_ids.entry(declared.application_name.clone()).or_insert_with(|| ids.next());
        }
        record.start_build(skip_scripts, now, self.deploy_duration, &self.variant, &mut self.ids);
        self.history.note(now, &record, Happened::Redeployed);
        let shown = record.show(now, &self.variant);
        self.kept.records.insert(record.id.clone(), record);
        shown
    }

    /// Performs an update with a list of actions. Only one redeploy is possible: a second one would find the deployment
    /// busy, and an update is all or nothing.
    pub(super) fn update(
        &mut self,
        project: &str,
        selector: &Selector,
        update: &Update,
        now: Timestamp,
    ) -> Result<Deployment, Refusal> {
        if let [action] = update.redeploys.as_slice() {
            return self.redeploy(project, selector, update.version, action, now);
        }
        self.find(project, selector, now)?;
        Err(checks::busy(&DeploymentStatus::Deploying))
    }

    /// Performs `deleteDeploymentById` and `deleteDeploymentByKey`: starts undeploying. A deployment that is already
    /// undeploying does not change.
    ///
    /// # Errors
    /// `ResourceNotFound`; with `delete-busy=refuse` also `DeploymentInvalidStatusTransition`.
    pub fn undeploy(&mut self, project: &str, selector: &Selector, now: Timestamp) -> Result<Deployment, Refusal> {
        let mut record = self.find(project, selector, now)?.clone();
        if record.status.is_busy() && self.variant.delete_busy == DeleteBusy::Refuse {
            return Err(checks::busy(&record.status));
        }
        if record.status != DeploymentStatus::Undeploying {
            record.stale = self.stale(Some(record.show(now, &self.variant)), now);
            record.version += 1;
            record.start_undeploy(now, self.deploy_duration / 2);
            self.history.note(now, &record, Happened::Undeployed);
        }
        let shown = record.show(now, &self.variant);
        self.kept.records.insert(record.id.clone(), record);
        Ok(shown)
    }

    /// Performs `getDeploymentLogsById` and `getDeploymentLogsByKey`.
    ///
    /// # Errors
    /// `ResourceNotFound`, `DeploymentApplicationDoesNotExist`, `DeploymentLogInvalidDate`,
    /// `DeploymentLogInvalidPageToken`, `DeploymentLogMissingApplicationName`; the refusal that `logs` of the variant
    /// chooses.
    pub(crate) fn logs(
        &mut self,
        project: &str,
        selector: &Selector,
        query: &LogQuery,
        now: Timestamp,
    ) -> Result<LogPage, Refusal> {
        checks::logs_are_served(self.variant.logs)?;
        let record = self.find(project, selector, now)?;
        checks::log_question(query, &record.connector, &record.region)?;
        record.log.page(&record.id, query, now)
    }
}
