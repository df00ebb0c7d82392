//! The actual states of the remote, and since when.

use connect_api::model::Deployment;
use dev_server::World;

use crate::prelude::*;
use crate::remote::{GLOBAL, Values};

/// A state of a deployment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) status: String,
    pub(crate) plain: BTreeMap<String, String>,
    pub(crate) secured: Option<String>,
    /// Version of its connector.
    pub(crate) connector: i64,
    /// Another client changed secured values since the operator's last operation, which is not visible.
    pub(crate) foreign_secured: bool,
    /// Another client changed plain values since the operator's last operation.
    pub(crate) foreign_visible: bool,
    /// It lacks an application that its connector declares.
    pub(crate) malformed: bool,
}

impl State {
    /// Whether plain values are as wanted; a server may trim blanks and add its defaults.
    pub(crate) fn plain_is(&self, wanted: &[(&String, &String)]) -> bool {
        wanted.iter().all(|(key, value)| self.plain.get(*key).is_some_and(|there| there.trim() == value.trim()))
    }

    /// Whether sending these values would change nothing. A redeploy merges, so values that are left out stay. A failed
    /// deployment is tried again, and a foreign change of secured values is not visible.
    pub(crate) fn has_already(&self, values: &Values) -> bool {
        let plain = values.plain.iter().all(|(key, value)| self.plain.get(key) == Some(value));
        plain && self.status == "Deployed" && !self.foreign_secured && self.secured_is(&values.secured)
    }

    /// Returns those of its plain values that were sent; the others were left behind, or belong to another client.
    pub(crate) fn of(&self, sent: &BTreeMap<String, String>) -> BTreeMap<String, String> {
        let there = self.plain.iter().filter(|(key, _)| sent.contains_key(*key));
        there.map(|(key, value)| (key.clone(), value.clone())).collect()
    }

    pub(crate) fn secured_is(&self, wanted: &BTreeMap<String, String>) -> bool {
        self.secured.as_ref() == wanted.get(TOKEN)
    }
}

fn is_malformed(deployment: &Deployment) -> bool {
    let declared = deployment.connector.configurations.iter().flatten();
    let has = |name: &str| deployment.applications.iter().any(|it| it.application_name == name);
    declared.into_iter().any(|declared| !has(&declared.application_name))
}

/// The only secured value of the connector.
pub(crate) const TOKEN: &str = "API_TOKEN";
const APPLICATION: &str = "service";

/// Every state so far.
#[derive(Default)]
pub(crate) struct Truth {
    rows: BTreeMap<String, Vec<(Timestamp, State)>>,
    foreign: BTreeMap<String, (bool, bool)>,
    /// Every secured value that any client ever sends.
    pub(crate) tokens: Vec<String>,
    /// How long reads may show an earlier state.
    pub(crate) lag: Duration,
    /// The server trims blanks at both ends of plain values.
    pub(crate) trims: bool,
    seen: Option<Timestamp>,
}

impl Truth {
    /// Records the current state.
    pub(crate) fn see(&mut self, world: &mut World, now: Timestamp, changed: bool) {
        if !changed && self.seen == Some(now) {
            return;
        }
        self.seen = Some(now);
        let all = world.all(now);
        for deployment in &all {
            let mut shown = Values::default();
            for application in &deployment.applications {
                let values = &application.standard_configuration;
                shown.put(&application.application_name, values, application.retry_policy.as_ref());
            }
            let global = deployment.global_configuration.as_ref();
            shown.put(GLOBAL, global.map_or(&[], |global| &global.standard_configuration), None);
            let secured = self
                .tokens
                .iter()
                .find(|token| world.secured_is(&deployment.id, Some(APPLICATION), TOKEN, token) == Some(true));
            let (foreign_visible, foreign_secured) = self.foreign.get(&deployment.id).copied().unwrap_or_default();
            let state = State {
                status: deployment.status.as_str().to_owned(),
                plain: shown.with_defaults().plain,
                secured: secured.cloned(),
                connector: deployment.connector.version,
                foreign_secured,
                foreign_visible,
                malformed: is_malformed(deployment),
            };
            self.note(&deployment.id, now, state);
        }
        let gone: Vec<String> =
            self.rows.keys().filter(|id| !all.iter().any(|deployment| deployment.id == **id)).cloned().collect();
        for id in gone {
            let state = State {
                status: "gone".to_owned(),
                plain: BTreeMap::new(),
                secured: None,
                connector: 0,
                foreign_secured: false,
                foreign_visible: false,
                malformed: false,
            };
            self.note(&id, now, state);
        }
    }

    fn note(&mut self, id: &str, now: Timestamp, state: State) {
        let rows = self.rows.entry(id.to_owned()).or_default();
        if rows.last().is_none_or(|(_, last)| *last != state) {
            rows.push((now, state));
        }
    }

    /// Records that another client changed a deployment.
    pub(crate) fn foreign(&mut self, id: &str, visible: bool, secured: bool) {
        let foreign = self.foreign.entry(id.to_owned()).or_default();
        *foreign = (foreign.0 || visible, foreign.1 || secured);
        self.seen = None;
    }

    /// Records that an operator sent all values.
    pub(crate) fn sent_by_operator(&mut self, id: &str) {
        self.foreign.remove(id);
        self.seen = None;
    }

    /// Returns the previous state of a deployment.
    pub(crate) fn before(&self, id: &str) -> Option<&State> {
        let rows = self.rows.get(id)?;
        rows.len().checked_sub(2).map(|index| &rows[index].1)
    }

    /// Returns all states of a deployment since a time.
    pub(crate) fn since(&self, id: &str, since: Timestamp) -> impl Iterator<Item = &State> {
        let rows = self.rows.get(id).map(Vec::as_slice).unwrap_or_default();
        let first = rows.partition_point(|(at, _)| *at <= since).saturating_sub(1);
        rows[first..].iter().map(|(_, state)| state)
    }

    /// Returns the current state of a deployment.
    pub(crate) fn now(&self, id: &str) -> Option<&State> {
        self.rows.get(id)?.last().map(|(_, state)| state).filter(|state| state.status != "gone")
    }
}
