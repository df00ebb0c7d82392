//! Drafts and updates of staged connectors (contract sections 4.3 and 6.2).

use serde_json::{Map, Value};

use super::reader::{Reader, present};
use super::{json, typed, without_nulls};
use crate::names::is_key;
use crate::refusal::{Refusal, cut};
use connect_api::model::REGIONS;
use connect_api::model::{ConnectorStagedDraft, ConnectorUpdate, IntegrationType};

const PROJECT: &str = "must be {region}:{projectKey}, the key of 2 to 36 characters of A-Z a-z 0-9 _ -";

/// Type of a member of an action. All members are required, except the URL of a repository, which some clients leave
/// out to keep the old one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Text,
    OptionalText,
    Flag,
    Contributors,
    Project,
    IntegrationTypes,
    Regions,
}

/// The 19 actions with their members.
const ACTIONS: [(&str, &[(&str, Kind)]); 19] = [
    ("addCertificationComment", &[("comment", Kind::Text)]),
    ("addPrivateProject", &[("privateProject", Kind::Project)]),
    ("removePrivateProject", &[("privateProject", Kind::Project)]),
    ("publish", &[("certification", Kind::Flag)]),
    ("setCreatorCompany", &[("creatorCompany", Kind::Text)]),
    ("setCreatorEmail", &[("creatorEmail", Kind::Text)]),
    ("setCreatorLogo", &[("logoUrl", Kind::Text)]),
    ("setCreatorName", &[("creatorName", Kind::Text)]),
    ("setCreatorNoOfContributors", &[("creatorNoOfContributors", Kind::Contributors)]),
    ("setCreatorSupportUrl", &[("creatorSupportUrl", Kind::Text)]),
    ("setCreatorTitle", &[("creatorTitle", Kind::Text)]),
    ("setDescription", &[("description", Kind::Text)]),
    ("setDocumentationUrl", &[("documentationUrl", Kind::Text)]),
    ("setIntegrationTypes", &[("integrationTypes", Kind::IntegrationTypes)]),
    ("setName", &[("name", Kind::Text)]),
    ("setRepository", &[("url", Kind::OptionalText), ("tag", Kind::Text)]),
    ("setSupportedRegions", &[("regions", Kind::Regions)]),
    ("unlist", &[]),
    ("updatePreviewable", &[]),
];

/// Parses a `ConnectorStagedDraft`.
pub(crate) fn staged_draft(body: &[u8]) -> Result<ConnectorStagedDraft, Refusal> {
    let value = json(body)?;
    let mut reader = Reader::default();
    if let Some(draft) = reader.object(&value, "body") {
        reader.staged_draft(draft);
    }
    reader.finish()?;
    typed(without_nulls(value))
}

/// Parses a `ConnectorUpdate`.
pub(crate) fn staged_update(body: &[u8]) -> Result<ConnectorUpdate, Refusal> {
    let value = json(body)?;
    let mut reader = Reader::default();
    if let Some(update) = reader.object(&value, "body") {
        reader.integer(update, "version", "version");
        let actions = reader.required_list(update, "actions", "actions");
        for (index, action) in actions.iter().enumerate() {
            reader.staged_action(action, &format!("actions[{index}]"));
        }
        if actions.is_empty() && update.get("actions").is_some_and(Value::is_array) {
            reader.wrong("actions", "must hold an action");
        }
    }
    reader.finish()?;
    typed(without_nulls(value))
}

impl Reader {
    fn staged_draft(&mut self, draft: &Map<String, Value>) {
        if let Some(key) = self.text(draft, "key", "key")
            && !is_key(key, 256)
        {
            self.wrong("key", "must be 2 to 256 characters of A-Z a-z 0-9 _ -");
        }
        self.required_text(draft, "name", "name");
        self.text(draft, "description", "description");
        self.text(draft, "documentationUrl", "documentationUrl");
        if let Some(creator) = self.required(draft, "creator", "creator")
            && let Some(creator) = self.object(creator, "creator")
        {
            self.required_text(creator, "email", "creator.email");
            for name in ["name", "title", "company", "logoUrl", "supportUrl"] {
                self.text(creator, name, &format!("creator.{name}"));
            }
            if present(creator, "noOfContributors").is_some() {
                self.integer(creator, "noOfContributors", "creator.noOfContributors");
            }
        }
        if let Some(repository) = self.required(draft, "repository", "repository")
            && let Some(repository) = self.object(repository, "repository")
        {
            self.required_text(repository, "url", "repository.url");
            self.required_text(repository, "tag", "repository.tag");
        }
        if let Some(types) = present(draft, "integrationTypes") {
            self.integration_types(types, "integrationTypes");
        }
        if let Some(regions) = present(draft, "supportedRegions") {
            self.regions(regions, "supportedRegions");
        }
        if let Some(projects) = present(draft, "privateProjects") {
            self.texts(projects, "privateProjects", PROJECT, is_project);
        }
    }

    fn staged_action(&mut self, action: &Value, place: &str) {
        let Some(action) = self.object(action, place) else { return };
        let name_place = format!("{place}.action");
        let Some(name) = self.required_text(action, "action", &name_place) else { return };
        let Some((_, members)) = ACTIONS.iter().find(|(known, _)| *known == name) else {
            let known: Vec<_> = ACTIONS.iter().map(|(known, _)| *known).collect();
            self.wrong(&name_place, &format!("`{}` must be one of {}", cut(name), known.join(", ")));
            return;
        };
        for (name, kind) in *members {
            self.member(action, name, *kind, &format!("{place}.{name}"));
        }
    }

    fn member(&mut self, action: &Map<String, Value>, name: &str, kind: Kind, place: &str) {
        if kind == Kind::OptionalText {
            self.text(action, name, place);
            return;
        }
        let Some(value) = self.required(action, name, place) else { return };
        match kind {
            Kind::Text | Kind::OptionalText => {
                self.text(action, name, place);
            }
            Kind::Flag => self.flag(action, name, place),
            Kind::Contributors => {
                if self.integer(action, name, place).is_some_and(|number| number < 1) {
                    self.wrong(place, "must be at least 1");
                }
            }
            Kind::Project => {
                if self.text(action, name, place).is_some_and(|project| !is_project(project)) {
                    self.wrong(place, PROJECT);
                }
            }
            Kind::IntegrationTypes => self.integration_types(value, place),
            Kind::Regions => {
                if value.as_array().is_some_and(Vec::is_empty) {
                    self.wrong(place, "must hold at least one region");
                }
                self.regions(value, place);
            }
        }
    }

    fn integration_types(&mut self, value: &Value, place: &str) {
        let what = format!("must be one of {}", IntegrationType::KNOWN.join(", "));
        self.texts(value, place, &what, |word| IntegrationType::KNOWN.contains(&word));
    }

    fn regions(&mut self, value: &Value, place: &str) {
        let what = format!("must be one of {}", REGIONS.join(", "));
        self.texts(value, place, &what, |word| REGIONS.contains(&word));
    }
}

/// Whether a text is a valid `ProjectIdentifier` (contract section 4.1).
fn is_project(text: &str) -> bool {
    text.split_once(':').is_some_and(|(region, key)| {
        let in_region = |byte: u8| byte.is_ascii_alphanumeric() || b"_.-".contains(&byte);
        !region.is_empty() && region.bytes().all(in_region) && is_key(key, 36)
    })
}
