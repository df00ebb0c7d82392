//! The remote: the dev server's state machine behind the operator's own trait, without HTTP.
//!
//! Records every change that an operator requested and what it sent, so that the checker can count.

use connect_api::api::PageRequest;
use connect_api::error::Failure as Failed;
use connect_api::model::{
    ApplicationConfiguration, ConfigurationValue, Connector, ConnectorStaged, ConnectorUpdateAction, DeploymentDraft,
    GlobalConfiguration, Paged, RedeployAction, RetryPolicy,
};
use connect_api::{ApiError, CommerceApi, ConnectApi};
use connect_operator::operator::remote::{ConnectFactory, Connection, Settings};
use dev_server::{ListQuery, Refusal};
use secrecy::ExposeSecret;

use crate::prelude::*;

mod staged;

/// The project that everything here belongs to.
pub(crate) const PROJECT: &str = "demo";

tokio::task_local! {
    /// The reconcile that calls: object and uid.
    pub(crate) static CALLER: (ObjectRef, String);
    /// Whether its operator knew at its beginning that the namespace may not use the project.
    pub(crate) static DENIED: bool;
}

/// The relevant values of a deployment: those of its service by their keys, all others prefixed with the application.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Values {
    pub(crate) plain: BTreeMap<String, String>,
    pub(crate) secured: BTreeMap<String, String>,
}

/// The application whose values have no prefix.
const SERVICE: &str = "service";
/// The prefix of global values.
pub(crate) const GLOBAL: &str = "global";
/// Plain values with a default in the connector: a value that is not set has its default.
const DEFAULTS: [(&str, &str); 2] = [("LOG_LEVEL", "info"), ("events/BATCH_SIZE", "10")];

impl Values {
    /// Returns the name of a value of an application.
    pub(crate) fn key(application: &str, key: &str) -> String {
        if application == SERVICE { key.to_owned() } else { format!("{application}/{key}") }
    }

    /// Adds plain values of an application, and its retry policy.
    pub(crate) fn put(&mut self, application: &str, values: &[ConfigurationValue], policy: Option<&RetryPolicy>) {
        let policy = policy.map(|policy| ("retryPolicy", serde_json::to_string(policy).expect("JSON")));
        let values = values.iter().map(|pair| (pair.key.as_str(), pair.value.clone()));
        self.plain.extend(values.chain(policy).map(|(key, value)| (Self::key(application, key), value)));
    }

    /// Returns the values with defaults for what is not set.
    pub(crate) fn with_defaults(mut self) -> Self {
        for (key, value) in DEFAULTS {
            self.plain.entry(key.to_owned()).or_insert_with(|| value.to_owned());
        }
        self
    }

    /// Whether a plain value is the default that the connector declares.
    pub(crate) fn is_default(key: &str, value: &str) -> bool {
        DEFAULTS.contains(&(key, value))
    }
}

/// What an operator requested for a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Verb {
    Create {
        values: Values,
    },
    /// `moves`: whether to the latest version of the connector.
    Redeploy {
        id: String,
        values: Values,
        moves: bool,
    },
    Undeploy {
        id: String,
    },
}

/// What an operator requested for a staged connector.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StagedVerb {
    Stage,
    Update { id: String, version: i64, actions: Vec<ConnectorUpdateAction> },
    Discard { id: String },
}

/// What an operator requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    Deployment(Verb),
    Staged(StagedVerb),
}

/// A call that may change something, as it arrived.
#[derive(Clone, Debug)]
pub(crate) struct Arrived {
    /// The reconcile that sent it.
    pub(crate) caller: (ObjectRef, String),
    /// Whether its operator knew when it began that the namespace may not use the project.
    pub(crate) denied: bool,
    pub(crate) asked: Asked,
    /// Id of the deployment or staged connector that it changed; `None`: it was refused.
    pub(crate) changed: Option<String>,
}

/// The world, and the calls that arrived there.
pub(crate) struct Remote {
    pub(crate) world: World,
    pub(crate) arrived: Vec<Arrived>,
}

/// The remote as one operator reaches it.
#[derive(Clone)]
pub(crate) struct Line {
    pub(crate) operator: usize,
    pub(crate) interceptor: Interceptor,
    pub(crate) remote: Arc<Mutex<Remote>>,
    pub(crate) clock: Clock,
}

impl ConnectFactory for Line {
    fn connect(&self, _: &Settings) -> Result<Arc<dyn Connection>, String> {
        Ok(Arc::new(self.clone()))
    }

    fn commerce(&self, _: &Settings, _: &str) -> Result<Arc<dyn CommerceApi>, String> {
        Err("no history verifies resources".into())
    }
}

impl Connection for Line {
    fn scopes(&self) -> Option<Vec<String>> {
        None
    }
}

impl Line {
    fn ask<T: Send + 'static>(
        &self,
        operation: &'static str,
        name: String,
        send_before: Option<Timestamp>,
        effect: impl FnOnce(&mut Remote, Timestamp) -> Result<T, Refusal> + Send + 'static,
    ) -> Answer<'_, T> {
        let what = What { place: Callee::Remote, name, changes: send_before.is_some(), send_before };
        let (remote, clock) = (Arc::clone(&self.remote), self.clock.clone());
        let effect = move || {
            let mut remote = lock(&remote);
            let now = clock.now();
            effect(&mut remote, now).map_err(|refusal| refused(operation, &refusal))
        };
        let fail = move |failure| {
            let failure = match failure {
                Failure::Lost => Failed::NoAnswer,
                Failure::NotSent => Failed::NotSent,
                Failure::Refused(status, code) => Failed::Answered { status, codes: code.into_iter().collect() },
            };
            Err(error(operation, failure))
        };
        Box::pin(self.interceptor.call(self.operator, what, self.clock.now(), effect, fail))
    }

    fn change<T: Send + 'static>(
        &self,
        operation: &'static str,
        name: String,
        send_before: Timestamp,
        asked: Asked,
        effect: impl FnOnce(&mut World, Timestamp) -> Result<T, Refusal> + Send + 'static,
        id: impl FnOnce(&T) -> String + Send + 'static,
    ) -> Answer<'_, T> {
        let caller = CALLER.with(Clone::clone);
        let denied = DENIED.try_with(|denied| *denied).unwrap_or_default();
        self.ask(operation, name, Some(send_before), move |remote, at| {
            let result = effect(&mut remote.world, at);
            let changed = result.as_ref().ok().map(id);
            remote.arrived.push(Arrived { caller, denied, asked, changed });
            result
        })
    }
}

impl ConnectApi for Line {
    fn deployments(&self, page: PageRequest) -> Answer<'_, Paged<Arc<Deployment>>> {
        let query = ListQuery { limit: page.limit, offset: page.offset, ..ListQuery::default() };
        self.ask("queryDeployments", format!("list {}", page.limit), None, move |remote, now| {
            let Paged { limit, offset, count, total, results } = remote.world.list(PROJECT, &query, now);
            Ok(Paged { limit, offset, count, total, results: results.into_iter().map(Arc::new).collect() })
        })
    }

    fn deployment<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Deployment>> {
        let selector = selector.clone();
        self.ask("getDeploymentById", format!("get {}", selector.segment()), None, move |remote, now| {
            present(remote.world.read(PROJECT, &selector, now))
        })
    }

    fn create<'a>(&'a self, draft: &'a DeploymentDraft, send_before: Timestamp) -> Answer<'a, Deployment> {
        let draft = draft.clone();
        let asked = Asked::Deployment(Verb::Create {
            values: values(&draft.configurations, draft.global_configuration.as_ref()),
        });
        let name = format!("create {}", draft.key.as_deref().unwrap_or_default());
        let effect = move |world: &mut World, now| world.create(PROJECT, &draft, true, now);
        self.change("createDeployment", name, send_before, asked, effect, |made| made.id.clone())
    }

    fn redeploy<'a>(
        &'a self,
        selector: &'a Selector,
        version: i64,
        action: &'a RedeployAction,
        send_before: Timestamp,
    ) -> Answer<'a, Option<Deployment>> {
        let (selector, action) = (selector.clone(), action.clone());
        let name = format!("redeploy {} from {version}", selector.segment());
        let sent = action.configuration_values.as_deref().unwrap_or_default();
        let values = values(sent, action.global_configuration.as_ref());
        let asked =
            Asked::Deployment(Verb::Redeploy { id: selector.segment(), values, moves: action.update_connector });
        let effect = move |world: &mut World, now| world.redeploy(PROJECT, &selector, version, &action, now);
        let done = self.change("updateDeploymentById", name, send_before, asked, effect, |made| made.id.clone());
        Box::pin(async move { found(done.await) })
    }

    fn undeploy<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<Deployment>> {
        let selector = selector.clone();
        let name = format!("undeploy {}", selector.segment());
        let asked = Asked::Deployment(Verb::Undeploy { id: selector.segment() });
        let effect = move |world: &mut World, now| world.undeploy(PROJECT, &selector, now);
        let done = self.change("deleteDeploymentById", name, send_before, asked, effect, |made| made.id.clone());
        Box::pin(async move { found(done.await) })
    }

    fn connector<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<Connector>> {
        let selector = selector.clone();
        self.ask("getConnectorByKey", format!("connector {}", selector.segment()), None, move |remote, now| {
            present(remote.world.read_connector(&[PROJECT.to_owned()], &selector, now))
        })
    }

    fn staged<'a>(&'a self, selector: &'a Selector) -> Answer<'a, Option<ConnectorStaged>> {
        let selector = selector.clone();
        self.ask("getConnectorStagedByKey", format!("staged {}", selector.segment()), None, move |remote, now| {
            present(remote.world.read_staged(&[PROJECT.to_owned()], &selector, now))
        })
    }
}

/// Maps the service's own 404 to `None`.
fn present<T>(result: Result<T, Refusal>) -> Result<Option<T>, Refusal> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(refusal) if refusal.status == 404 => Ok(None),
        Err(refusal) => Err(refusal),
    }
}

fn found<T>(result: Result<T, ApiError>) -> Result<Option<T>, ApiError> {
    match result {
        Ok(found) => Ok(Some(found)),
        Err(ApiError { failure: Failed::Answered { status: 404, .. }, .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

fn refused(operation: &'static str, refusal: &Refusal) -> ApiError {
    let codes = refusal.errors.iter().map(|error| error.code.clone()).collect();
    let message = refusal.errors.iter().map(|error| error.message.clone()).collect::<Vec<_>>().join("; ");
    ApiError { message, ..error(operation, Failed::Answered { status: refusal.status, codes }) }
}

pub(crate) fn error(operation: &'static str, failure: Failed) -> ApiError {
    ApiError {
        operation,
        failure,
        message: "as the history demands".to_owned(),
        correlation_id: None,
        retry_after: None,
    }
}

/// Returns what was sent, in clear text: nothing here is secret.
fn values(configurations: &[ApplicationConfiguration], global: Option<&GlobalConfiguration>) -> Values {
    let mut values = Values::default();
    for configuration in configurations {
        let application = &configuration.application_name;
        values.put(application, &configuration.standard_configuration, configuration.retry_policy.as_ref());
        for pair in &configuration.secured_configuration {
            let key = Values::key(application, &pair.key);
            values.secured.insert(key, pair.value.expose_secret().to_owned());
        }
    }
    values.put(GLOBAL, global.map_or(&[], |global| &global.standard_configuration), None);
    values.with_defaults()
}

/// How the simulated remote knows a record: by its id, or by `key=` and its key.
trait Segment {
    fn segment(&self) -> String;
}

impl Segment for Selector {
    fn segment(&self) -> String {
        self.operation("", "key=").to_owned() + self.name()
    }
}
