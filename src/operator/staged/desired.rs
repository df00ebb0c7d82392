//! What a staged connector should be, and the changes that turn the existing one into it. Pure.
//!
//! Every field of a connector can be read back, so a comparison is enough: no change is sent that the remote already
//! shows.

use std::collections::BTreeSet;

use connect_api::model::{
    ConnectorStaged as Record, ConnectorStagedDraft, ConnectorUpdateAction, Creator, IntegrationType, Repository,
};
use sha2::{Digest as _, Sha256};

use crate::crd::{ConnectorStagedSpec, PrivateProject, PublishPolicy};
use crate::operator::values::digest::hex;

/// Number of digits of a digest.
const DIGITS: usize = 32;

/// Returns what is sent to create the connector.
pub fn draft(spec: &ConnectorStagedSpec) -> ConnectorStagedDraft {
    let creator = &spec.creator;
    ConnectorStagedDraft {
        key: Some(spec.key.clone()),
        name: spec.name.clone(),
        description: spec.description.clone(),
        integration_types: spec.integration_types.iter().map(|word| IntegrationType::from(word.as_str())).collect(),
        creator: Creator {
            name: creator.name.clone(),
            title: creator.title.clone(),
            email: creator.email.clone(),
            company: creator.company.clone(),
            logo_url: creator.logo_url.clone(),
            no_of_contributors: creator.no_of_contributors,
            support_url: creator.support_url.clone(),
        },
        repository: Repository { url: spec.repository.url.clone(), tag: spec.repository.tag.clone() },
        supported_regions: spec.supported_regions.clone(),
        private_projects: spec.private_projects.iter().map(PrivateProject::word).collect(),
        documentation_url: spec.documentation_url.clone(),
    }
}

/// Returns the draft that would create the existing connector.
pub fn shown(record: &Record) -> ConnectorStagedDraft {
    ConnectorStagedDraft {
        key: record.key.clone(),
        name: record.name.clone(),
        description: Some(record.description.clone()),
        integration_types: record.integration_types.clone(),
        creator: record.creator.clone(),
        repository: record.repository.clone(),
        supported_regions: record.supported_regions.clone(),
        private_projects: record.private_projects.clone(),
        documentation_url: record.documentation_url.clone(),
    }
}

/// Returns the one form of all drafts of the same content: the service does not distinguish an empty value from an absent
/// one, its lists are sets, and the key is not content.
pub fn normalized(mut draft: ConnectorStagedDraft) -> ConnectorStagedDraft {
    draft.key = None;
    let creator = &mut draft.creator;
    for text in [
        &mut draft.description,
        &mut draft.documentation_url,
        &mut creator.name,
        &mut creator.title,
        &mut creator.company,
        &mut creator.logo_url,
        &mut creator.support_url,
    ] {
        text.take_if(|text| text.is_empty());
    }
    creator.no_of_contributors.take_if(|contributors| *contributors == 0);
    draft.integration_types.sort_by(|one, other| one.as_str().cmp(other.as_str()));
    draft.integration_types.dedup();
    for words in [&mut draft.supported_regions, &mut draft.private_projects] {
        words.sort();
        words.dedup();
    }
    draft
}

/// Returns a digest of everything that a user can choose.
pub fn digest(draft: ConnectorStagedDraft) -> String {
    let text = serde_json::to_string(&normalized(draft)).unwrap_or_default();
    let mut digits = hex(&Sha256::digest(text.as_bytes()));
    digits.truncate(DIGITS);
    digits
}

/// Returns a digest of what should be published, and how; `None`: nothing should be. `digest`: that of the connector.
pub fn publication(spec: &ConnectorStagedSpec, digest: &str) -> Option<String> {
    match spec.publish_policy {
        PublishPolicy::Never => None,
        PublishPolicy::Private => Some(format!("private:{digest}")),
        PublishPolicy::Certified => Some(format!("certified:{digest}")),
    }
}

/// The changes that turn the existing connector into the desired one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The actions, the repository last: whatever refuses it, everything before it belongs to the same version.
    pub actions: Vec<ConnectorUpdateAction>,
    /// What no action can change, each in a sentence.
    pub impossible: Vec<String>,
    /// Fields that the spec leaves out and the connector has. They stay, since no action removes a text.
    pub retained: Vec<&'static str>,
}

/// Returns the necessary changes.
pub fn changes(spec: &ConnectorStagedSpec, record: &Record) -> Changes {
    use ConnectorUpdateAction as Act;
    let (wanted, seen) = (draft(spec), shown(record));
    let (mut actions, mut retained) = (Vec::new(), Vec::new());
    let mut text = |field, wanted: Option<String>, seen: Option<String>, act: fn(String) -> Act| {
        let seen = seen.unwrap_or_default();
        match wanted {
            Some(wanted) if wanted != seen => actions.push(act(wanted)),
            None if !seen.is_empty() => retained.push(field),
            _ => {}
        }
    };
    text("name", Some(wanted.name), Some(seen.name), |name| Act::SetName { name });
    text("description", wanted.description, seen.description, |description| Act::SetDescription { description });
    text("documentationUrl", wanted.documentation_url, seen.documentation_url, |documentation_url| {
        Act::SetDocumentationUrl { documentation_url }
    });
    let (creator, before) = (wanted.creator, seen.creator);
    text("creator.email", Some(creator.email), Some(before.email), |creator_email| Act::SetCreatorEmail {
        creator_email,
    });
    text("creator.name", creator.name, before.name, |creator_name| Act::SetCreatorName { creator_name });
    text("creator.company", creator.company, before.company, |creator_company| Act::SetCreatorCompany {
        creator_company,
    });
    text("creator.title", creator.title, before.title, |creator_title| Act::SetCreatorTitle { creator_title });
    text("creator.logoUrl", creator.logo_url, before.logo_url, |logo_url| Act::SetCreatorLogo { logo_url });
    text("creator.supportUrl", creator.support_url, before.support_url, |creator_support_url| {
        Act::SetCreatorSupportUrl { creator_support_url }
    });
    match (creator.no_of_contributors, before.no_of_contributors.unwrap_or_default()) {
        (Some(wanted), seen) if wanted != seen => {
            actions.push(Act::SetCreatorNoOfContributors { creator_no_of_contributors: wanted });
        }
        (None, seen) if seen != 0 => retained.push("creator.noOfContributors"),
        _ => {}
    }
    if BTreeSet::from_iter(&wanted.integration_types) != BTreeSet::from_iter(&seen.integration_types) {
        actions.push(Act::SetIntegrationTypes { integration_types: wanted.integration_types });
    }
    let mut changes = Changes { actions, impossible: Vec::new(), retained };
    regions(&mut changes, wanted.supported_regions, &seen.supported_regions);
    projects(&mut changes, record.private, &wanted.private_projects, &seen.private_projects);
    if wanted.repository != seen.repository {
        changes.actions.push(Act::SetRepository(wanted.repository.into()));
    }
    changes
}

/// Compares the regions. No action empties them (contract section 6.2).
fn regions(changes: &mut Changes, regions: Vec<String>, seen: &[String]) {
    if BTreeSet::from_iter(&regions) == BTreeSet::from_iter(seen) {
        return;
    }
    if regions.is_empty() {
        let there = joined(&BTreeSet::from_iter(seen));
        changes.impossible.push(format!(
            "supportedRegions cannot be emptied once it is set: name at least one (the remote has {there})"
        ));
    } else {
        changes.actions.push(ConnectorUpdateAction::SetSupportedRegions { regions });
    }
}

/// Compares the projects. Only private connectors have them (contract section 6.2).
fn projects(changes: &mut Changes, private: bool, wanted: &[String], seen: &[String]) {
    use ConnectorUpdateAction::{AddPrivateProject, RemovePrivateProject};
    let (wanted, seen): (BTreeSet<_>, BTreeSet<_>) = (wanted.iter().collect(), seen.iter().collect());
    if wanted != seen && !private {
        changes.impossible.push(format!(
            "privateProjects cannot be changed while the connector is public: set the list back to that of the remote ({})",
            joined(&seen)
        ));
        return;
    }
    let of = |project: &&String| (*project).clone();
    let added = wanted.difference(&seen).map(|project| AddPrivateProject { private_project: of(project) });
    let removed = seen.difference(&wanted).map(|project| RemovePrivateProject { private_project: of(project) });
    changes.actions.extend(added.chain(removed));
}

fn joined(words: &BTreeSet<&String>) -> String {
    let words: Vec<_> = words.iter().map(|word| word.as_str()).collect();
    if words.is_empty() { "none".to_owned() } else { words.join(", ") }
}

#[cfg(test)]
#[path = "desired_tests.rs"]
mod tests;
