//! What a staged connector should be, and the changes that turn the existing one into it. Pure.
//!
//! Every field of a connector can be read back, so a comparison is enough: no change is sent that the remote already
//! shows.

use std::collections::BTreeSet;

use connect_api::model::{
    ConnectorStaged as Record, ConnectorStagedDraft, ConnectorUpdateAction, Creator, IntegrationType, Repository,
};
use serde::Serialize;
use sha2::{Digest as _, Sha256};

use crate::controllers::values::digest::hex;
use crate::crd::{ConnectorStagedSpec, Publish};

/// Number of digits of a digest.
const DIGITS: usize = 32;

/// What a user can choose about a connector, in one form for the desired and the observed values. A field is empty
/// where the service does not distinguish an empty value from an absent one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Fields {
    name: String,
    description: String,
    email: String,
    creator_name: String,
    company: String,
    title: String,
    contributors: i64,
    logo_url: String,
    support_url: String,
    url: String,
    tag: String,
    integration_types: BTreeSet<String>,
    supported_regions: BTreeSet<String>,
    private_projects: BTreeSet<String>,
    documentation_url: String,
}

impl From<&ConnectorStagedSpec> for Fields {
    fn from(spec: &ConnectorStagedSpec) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        Self {
            name: spec.name.clone(),
            description: text(&spec.description),
            email: spec.creator.email.clone(),
            creator_name: text(&spec.creator.name),
            company: text(&spec.creator.company),
            title: text(&spec.creator.title),
            contributors: spec.creator.no_of_contributors.unwrap_or_default(),
            logo_url: text(&spec.creator.logo_url),
            support_url: text(&spec.creator.support_url),
            url: spec.repository.url.clone(),
            tag: spec.repository.tag.clone(),
            integration_types: spec.integration_types.iter().cloned().collect(),
            supported_regions: spec.supported_regions.iter().cloned().collect(),
            private_projects: spec.private_projects.iter().cloned().collect(),
            documentation_url: text(&spec.documentation_url),
        }
    }
}

impl From<&Record> for Fields {
    fn from(record: &Record) -> Self {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        let Creator { name, title, email, company, logo_url, no_of_contributors, support_url } = &record.creator;
        Self {
            name: record.name.clone(),
            description: record.description.clone(),
            email: email.clone(),
            creator_name: text(name),
            company: text(company),
            title: text(title),
            contributors: no_of_contributors.unwrap_or_default(),
            logo_url: text(logo_url),
            support_url: text(support_url),
            url: record.repository.url.clone(),
            tag: record.repository.tag.clone(),
            integration_types: record.integration_types.iter().map(ToString::to_string).collect(),
            supported_regions: record.supported_regions.iter().cloned().collect(),
            private_projects: record.private_projects.iter().cloned().collect(),
            documentation_url: text(&record.documentation_url),
        }
    }
}

impl Fields {
    /// Returns a digest of all fields.
    #[must_use]
    pub fn digest(&self) -> String {
        digest(&serde_json::to_string(self).unwrap_or_default())
    }

    /// Returns the Git tag.
    #[must_use]
    pub fn tag(&self) -> &str {
        &self.tag
    }

    /// Returns a digest of repository and tag.
    #[must_use]
    pub fn source(&self) -> String {
        digest(&format!("{} {}", self.url, self.tag))
    }

    /// Whether both come from the same tag of the same repository.
    #[must_use]
    pub fn has_repository_of(&self, other: &Self) -> bool {
        self.url == other.url && self.tag == other.tag
    }
}

fn digest(text: &str) -> String {
    let mut digits = hex(&Sha256::digest(text.as_bytes()));
    digits.truncate(DIGITS);
    digits
}

/// Returns a digest of what should be published, and how; `None`: nothing should be.
#[must_use]
pub fn publication(spec: &ConnectorStagedSpec, fields: &Fields) -> Option<String> {
    match spec.publish {
        Publish::Never => None,
        Publish::Private => Some(format!("private:{}", fields.digest())),
        Publish::Certified => Some(format!("certified:{}", fields.digest())),
    }
}

/// Returns what is sent to create the connector.
#[must_use]
pub fn draft(spec: &ConnectorStagedSpec) -> ConnectorStagedDraft {
    let creator = &spec.creator;
    ConnectorStagedDraft {
        key: Some(spec.key.clone()),
        name: spec.name.clone(),
        description: spec.description.clone(),
        integration_types: integration_types(&spec.integration_types),
        creator: Creator {
            name: creator.name.clone(),
            title: creator.title.clone(),
            email: creator.email.clone(),
            company: creator.company.clone(),
            logo_url: creator.logo_url.clone(),
            no_of_contributors: creator.no_of_contributors,
            support_url: creator.support_url.clone(),
        },
        repository: repository(spec),
        supported_regions: spec.supported_regions.clone(),
        private_projects: spec.private_projects.clone(),
        documentation_url: spec.documentation_url.clone(),
    }
}

fn repository(spec: &ConnectorStagedSpec) -> Repository {
    Repository { url: spec.repository.url.clone(), tag: spec.repository.tag.clone() }
}

fn integration_types(words: &[String]) -> Vec<IntegrationType> {
    words.iter().map(|word| IntegrationType::from(word.as_str())).collect()
}

/// The changes that turn the existing connector into the desired one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The actions, the repository last: whatever refuses it, everything before it belongs to the same version.
    pub actions: Vec<ConnectorUpdateAction>,
    /// What no action can change, each in a sentence.
    pub impossible: Vec<String>,
}

/// Returns the necessary changes. What the spec leaves out is not changed, since no action removes a text.
#[must_use]
pub fn changes(spec: &ConnectorStagedSpec, record: &Record) -> Changes {
    use ConnectorUpdateAction as Act;
    let (wanted, seen) = (Fields::from(spec), Fields::from(record));
    let mut changes = Changes::default();
    let mut text = |written: bool, wanted: &String, seen: &String, act: fn(String) -> Act| {
        if written && wanted != seen {
            changes.actions.push(act(wanted.clone()));
        }
    };
    let creator = &spec.creator;
    text(true, &wanted.name, &seen.name, |name| Act::SetName { name });
    text(spec.description.is_some(), &wanted.description, &seen.description, |description| Act::SetDescription {
        description,
    });
    text(true, &wanted.email, &seen.email, |creator_email| Act::SetCreatorEmail { creator_email });
    text(creator.name.is_some(), &wanted.creator_name, &seen.creator_name, |creator_name| Act::SetCreatorName {
        creator_name,
    });
    text(creator.company.is_some(), &wanted.company, &seen.company, |creator_company| Act::SetCreatorCompany {
        creator_company,
    });
    text(creator.title.is_some(), &wanted.title, &seen.title, |creator_title| Act::SetCreatorTitle { creator_title });
    text(creator.logo_url.is_some(), &wanted.logo_url, &seen.logo_url, |logo_url| Act::SetCreatorLogo { logo_url });
    text(creator.support_url.is_some(), &wanted.support_url, &seen.support_url, |creator_support_url| {
        Act::SetCreatorSupportUrl { creator_support_url }
    });
    text(spec.documentation_url.is_some(), &wanted.documentation_url, &seen.documentation_url, |documentation_url| {
        Act::SetDocumentationUrl { documentation_url }
    });
    if let Some(contributors) = creator.no_of_contributors.filter(|_| wanted.contributors != seen.contributors) {
        changes.actions.push(Act::SetCreatorNoOfContributors { creator_no_of_contributors: contributors });
    }
    if wanted.integration_types != seen.integration_types {
        changes
            .actions
            .push(Act::SetIntegrationTypes { integration_types: integration_types(&spec.integration_types) });
    }
    regions(&mut changes, spec, &wanted, &seen);
    projects(&mut changes, record.private, &wanted, &seen);
    if !wanted.has_repository_of(&seen) {
        changes.actions.push(Act::SetRepository(repository(spec).into()));
    }
    changes
}

/// Compares the regions. No action empties them (contract section 6.2).
fn regions(changes: &mut Changes, spec: &ConnectorStagedSpec, wanted: &Fields, seen: &Fields) {
    if wanted.supported_regions == seen.supported_regions {
        return;
    }
    if wanted.supported_regions.is_empty() {
        let there = joined(&seen.supported_regions);
        changes.impossible.push(format!(
            "supportedRegions cannot be emptied once it is set: name at least one (the remote has {there})"
        ));
    } else {
        let regions = spec.supported_regions.clone();
        changes.actions.push(ConnectorUpdateAction::SetSupportedRegions { regions });
    }
}

/// Compares the projects. Only private connectors have them (contract section 6.2).
fn projects(changes: &mut Changes, private: bool, wanted: &Fields, seen: &Fields) {
    if wanted.private_projects == seen.private_projects {
        return;
    }
    if !private {
        changes.impossible.push(
            "privateProjects cannot be changed while the connector is public: set the list back to that of the remote ("
                .to_owned()
                + &joined(&seen.private_projects) + ")",
        );
        return;
    }
    let added = wanted.private_projects.difference(&seen.private_projects).cloned();
    let removed = seen.private_projects.difference(&wanted.private_projects).cloned();
    changes.actions.extend(added.map(|private_project| ConnectorUpdateAction::AddPrivateProject { private_project }));
    changes
        .actions
        .extend(removed.map(|private_project| ConnectorUpdateAction::RemovePrivateProject { private_project }));
}

fn joined(words: &BTreeSet<String>) -> String {
    if words.is_empty() { "none".to_owned() } else { words.iter().cloned().collect::<Vec<_>>().join(", ") }
}

#[cfg(test)]
#[path = "desired_tests.rs"]
mod tests;
