//! Values that are the URL of an application of the same deployment (contract sections 15.3 and 15.8). Pure.
//!
//! Such a URL exists only after the first deployment. So a create sends a placeholder. Once the record of the
//! deployment shows the URL, the value is built from it, which is one change like any other and costs one redeploy. The
//! URL belongs to the deployment and survives redeploys, so the same value is desired from then on, also by another
//! process. A deployment that was created again has other URLs, which is one more change.

use std::collections::BTreeMap;

use connect_api::model::Deployment;

use super::desired::{Desired, UrlValue};
use super::persisted::PersistedState;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::values::names::{Item, listed};

/// URLs by application name.
pub type Urls = BTreeMap<String, String>;

/// Returns the URLs of a deployment: those in its record, and those that it showed before, because a record need not show them
/// during a redeploy. Without a deployment there are none.
pub fn urls(record: Option<&Deployment>, persisted: &PersistedState) -> Urls {
    let Some(record) = record else { return Urls::new() };
    let mut urls = if persisted.id.as_ref() == Some(&record.id) { persisted.urls.clone() } else { Urls::new() };
    let shown = record.applications.iter();
    urls.extend(shown.filter_map(|it| Some((it.application_name.clone(), it.url.clone()?))));
    urls
}

impl Desired {
    /// Replaces placeholders by URLs, as far as these are known. Values that are not sent (rule 8) are left out.
    pub fn resolve(&mut self, urls: &Urls) {
        let values = &mut self.values;
        self.url_values.retain_mut(|value| {
            let Some(text) = values.visible.get_mut(&value.item) else { return false };
            if let Some(url) = urls.get(&value.application) {
                *text = joined(url, &value.path);
                value.is_awaited = false;
            }
            true
        });
    }

    /// Returns those of `urls` that values are made of.
    pub fn used(&self, mut urls: Urls) -> Urls {
        urls.retain(|name, _| self.url_values.iter().any(|value| value.application == *name));
        urls
    }

    /// Returns the values whose URL is not known yet.
    pub fn awaited(&self) -> impl Iterator<Item = &UrlValue> {
        self.url_values.iter().filter(|value| value.is_awaited)
    }
}

/// Appends a path to a URL. A URL without a scheme gets `https`, which all URLs seen so far have (contract section
/// 4.4).
fn joined(url: &str, path: &str) -> String {
    let scheme = if url.contains("://") { "" } else { "https://" };
    let url = if path.starts_with('/') { url.trim_end_matches('/') } else { url };
    format!("{scheme}{url}{path}")
}

/// Returns the condition of a deployment that runs with placeholders; `None`: it has none.
pub fn waiting(desired: &Desired, record: &Deployment) -> Option<ConditionUpdate> {
    let mut by_application: BTreeMap<&str, Vec<&Item>> = BTreeMap::new();
    for value in desired.awaited() {
        by_application.entry(&value.application).or_default().push(&value.item);
    }
    let why = |application: &str| {
        let is_part = record.applications.iter().any(|it| it.application_name == application);
        if is_part { "shows none yet" } else { "is not part of the deployment" }
    };
    let each: Vec<String> = by_application
        .into_iter()
        .map(|(application, items)| {
            format!("{} (the URL of application {application}, which {})", listed(items.into_iter()), why(application))
        })
        .collect();
    (!each.is_empty()).then(|| {
        let message = format!("Deployed with placeholders for URLs that are not known: {}", each.join("; "));
        ConditionUpdate::new(Reason::WaitingForApplicationUrl, message)
    })
}
