//! Repositories and their tags, regardless of their source: pure.
//!
//! Next: `repositories.rs` for local repositories, `catalogue.rs` for the known ones.

use serde::{Deserialize, Serialize};

use super::Specification;
use crate::build::{PlannedEntry, PlannedOutcome};
use crate::refusal::{Refusal, cut};
use connect_api::ErrorCode;
use connect_api::model::{EntryType, Repository};

/// A repository of the catalogue, with its tags.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KnownRepository {
    /// URL.
    pub url: String,
    /// Its tags.
    pub tags: Vec<KnownTag>,
}

/// A tag with its `connect.yaml`, and the outcomes of its operations.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KnownTag {
    /// Name of the tag.
    pub tag: String,
    /// Text of the file, which need not be valid; left out: the tag has no file.
    #[serde(default)]
    pub connect_yaml: Option<String>,
    /// Outcomes of its operations; left out: they succeed.
    #[serde(default)]
    pub outcomes: Outcomes,
}

/// Outcomes of the operations on a staged connector; those that are left out succeed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Outcomes {
    /// The preview request; if it fails, the service denies the permission to deploy the staged connector.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preview: Option<PlannedOutcome>,
    /// Publishing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub publishing: Option<PlannedOutcome>,
    /// Certification.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certification: Option<PlannedOutcome>,
}

/// What was read at a tag.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) specification: Specification,
    pub(crate) outcomes: Outcomes,
}

/// Why a tag cannot be used; each text names the place and the mistake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RepositoryProblem {
    /// The repository or the tag does not exist, or cannot be read.
    NotReachable(String),
    /// The tag has no `connect.yaml`.
    NoFile(String),
    /// The `connect.yaml` is not valid.
    WrongFile(String),
}

impl RepositoryProblem {
    pub(crate) fn refusal(&self) -> Refusal {
        let (code, _, text) = self.described();
        Refusal::new(code, text)
    }

    /// Returns the problem as an entry of a report.
    pub(super) fn entry(&self) -> PlannedEntry {
        let (_, title, message) = self.described();
        PlannedEntry {
            kind: EntryType::Error,
            title: title.to_owned(),
            message: Some(message.to_owned()),
            application: None,
        }
    }

    fn described(&self) -> (ErrorCode, &'static str, &str) {
        match self {
            Self::NotReachable(text) => (ErrorCode::GitRepositoryNotReachable, "Git repository not reachable", text),
            Self::NoFile(text) => {
                (ErrorCode::ConnectorSpecificationFileNotFound, "Connector specification file not found", text)
            }
            Self::WrongFile(text) => {
                (ErrorCode::ConnectorSpecificationFileNotValid, "Connector specification file not valid", text)
            }
        }
    }
}

/// Parses a `connect.yaml`. `text` is `None` if there is no such file.
pub(crate) fn read(repository: &Repository, text: Option<&str>) -> Result<Specification, RepositoryProblem> {
    let place = format!("tag '{}' of {}", cut(&repository.tag), cut(&repository.url));
    let text = text.ok_or_else(|| RepositoryProblem::NoFile(format!("There is no connect.yaml at {place}.")))?;
    let parsed = Specification::parse(text);
    parsed.map_err(|what| RepositoryProblem::WrongFile(format!("connect.yaml at {place}: {what}.")))
}
