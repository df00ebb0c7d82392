//! Repositories and their tags, regardless of their source: pure.
//!
//! Next: `repositories.rs` for local repositories, `catalogue.yaml` for the built-in ones.

use serde::{Deserialize, Serialize};

use super::Specification;
use crate::build::{PlannedEntry, PlannedOutcome};
use crate::catalogue::Catalogue;
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

/// Looks up a tag in the catalogue: among its repositories, then among the repositories of its connectors.
pub(crate) fn known(catalogue: &Catalogue, repository: &Repository) -> Result<Found, RepositoryProblem> {
    let wanted = place_of(&repository.url);
    let known = catalogue.repositories.iter().find(|known| place_of(&known.url) == wanted);
    if let Some(tag) = known.and_then(|known| known.tags.iter().find(|tag| tag.tag == repository.tag)) {
        let specification = read(repository, tag.connect_yaml.as_deref())?;
        return Ok(Found { specification, outcomes: tag.outcomes.clone() });
    }
    let mut sources = catalogue.connectors.iter().filter(|connector| place_of(&connector.repository.url) == wanted);
    if let Some(source) = sources.clone().find(|connector| connector.repository.tag == repository.tag) {
        return Ok(Found { specification: Specification::of(source), outcomes: Outcomes::default() });
    }
    let url = cut(&repository.url);
    Err(RepositoryProblem::NotReachable(if known.is_some() || sources.next().is_some() {
        format!("The repository {url} has no tag '{}'.", cut(&repository.tag))
    } else {
        format!("The repository {url} cannot be reached.")
    }))
}

/// Returns host and path of a repository URL, the same for its HTTPS and its SSH form.
fn place_of(url: &str) -> String {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let rest = rest.rsplit_once('@').map_or(rest, |(_, rest)| rest);
    let path = rest.trim_end_matches('/').trim_end_matches(".git");
    path.replacen(':', "/", 1).to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(url: &str, tag: &str) -> Repository {
        Repository { url: url.into(), tag: tag.into() }
    }

    #[test]
    fn a_tag_of_the_catalogue_has_its_declarations_or_an_error() {
        let catalogue = Catalogue::built_in();
        for (url, tag, expected) in [
            ("https://github.com/example/demo-kit.git", "1.0.0", None),
            ("https://github.com/example/demo-kit", "1.0.0", None),
            ("git@github.com:example/demo-kit.git", "1.1.0", None),
            ("ssh://git@github.com/example/demo-kit.git", "1.1.0", None),
            ("https://github.com/example/demo-connector.git", "1.0.0", None),
            ("https://github.com/example/demo-connector.git", "9.0.0", Some("no tag '9.0.0'")),
            ("https://github.com/example/demo-kit.git", "9.0.0", Some("no tag '9.0.0'")),
            ("https://github.com/example/demo-kit.git", "1.0.0 ", Some("no tag")),
            ("https://github.com/example/elsewhere.git", "1.0.0", Some("elsewhere.git cannot be reached")),
            ("", "", Some("cannot be reached")),
            ("https://github.com/example/demo-kit.git", "0.1.0-empty", Some("no connect.yaml at tag '0.1.0-empty'")),
            ("https://github.com/example/demo-kit.git", "0.2.0-broken", Some("[deployAs.0.applicationType]")),
        ] {
            let found = known(&catalogue, &at(url, tag));
            match (found, expected) {
                (Ok(found), None) => assert_ne!(found.specification, Specification::default(), "{url} {tag}"),
                (Err(problem), Some(expected)) => {
                    let text = problem.refusal().errors[0].message.clone();
                    assert!(text.contains(expected), "{url} {tag}: {text}");
                }
                (found, _) => panic!("{url} {tag}: {found:?}"),
            }
        }
    }
}
