//! The catalogue: connectors, projects and API clients (design section 6).
//!
//! Pure, except for the file `catalogue.yaml`, which is compiled in and shows the format. The catalogue itself is
//! static; [`super::world`] adds new versions of connectors. Next: `connector.rs` for one connector.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::connector::ConnectorDefinition;
use super::names::is_key;
use super::refusal::cut;
use super::staged::repository::{self, Found, RepositoryProblem};
use super::staged::{KnownRepository, Outcomes, Specification};
use super::yaml;
use connect_api::model::Repository;

/// The content of a dev server.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    /// The projects.
    #[serde(default)]
    pub projects: Vec<Project>,
    /// The API clients.
    #[serde(default)]
    pub clients: Vec<Client>,
    /// Connectors, published and staged; several entries with one key are versions of one connector.
    #[serde(default)]
    pub connectors: Vec<ConnectorDefinition>,
    /// Repositories from which staged connectors can be created, in addition to those of the connectors.
    #[serde(default)]
    pub repositories: Vec<KnownRepository>,
}

/// A project with Connect.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Project {
    /// 2 to 36 characters of `A-Z a-z 0-9 _ -` (contract section 9).
    pub key: String,
    /// Whether it may deploy with type `production`.
    #[serde(default)]
    pub production: bool,
}

impl Project {
    /// Creates a project without production deployments.
    pub(super) fn new(key: &str) -> Self {
        Self { key: key.to_owned(), production: false }
    }
}

/// An API client. Its secret is for development only; it is stored in files and never printed by `Debug`.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Client {
    /// Client id.
    pub id: String,
    /// Client secret.
    pub secret: String,
    /// All scopes that its tokens may have, such as `manage_project:demo`.
    pub scopes: Vec<String>,
}

impl std::fmt::Debug for Client {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Client").field("id", &self.id).field("scopes", &self.scopes).finish_non_exhaustive()
    }
}

/// Why a catalogue is not valid; the message says what to change.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
#[error("catalogue: {0}")]
pub struct CatalogueError(String);

impl Catalogue {
    /// Returns the catalogue that is compiled in.
    ///
    /// # Panics
    /// Never: a test parses the compiled-in file.
    pub fn built_in() -> Self {
        Self::parse(include_str!("catalogue.yaml")).expect("a test parses the built-in catalogue")
    }

    /// Parses a catalogue in YAML or JSON.
    ///
    /// # Errors
    /// If the text is neither, has an unknown member, or breaks a rule; the error names the entry.
    pub fn parse(text: &str) -> Result<Self, CatalogueError> {
        let mut catalogue: Self = yaml::parse(text).map_err(CatalogueError)?;
        for connector in &mut catalogue.connectors {
            if connector.id.is_empty() {
                connector.id = id_from(&connector.key, connector.staged);
            }
        }
        catalogue.check()?;
        Ok(catalogue)
    }

    /// Merges another catalogue into this one. Entries of the other one replace those with the same key, client id or
    /// repository URL.
    pub fn and(mut self, more: Self) -> Self {
        self.projects.retain(|old| more.projects.iter().all(|new| new.key != old.key));
        self.clients.retain(|old| more.clients.iter().all(|new| new.id != old.id));
        let same =
            |old: &ConnectorDefinition, new: &ConnectorDefinition| old.key == new.key && old.staged == new.staged;
        self.connectors.retain(|old| more.connectors.iter().all(|new| !same(old, new)));
        self.repositories.retain(|old| more.repositories.iter().all(|new| new.url != old.url));
        self.projects.extend(more.projects);
        self.clients.extend(more.clients);
        self.connectors.extend(more.connectors);
        self.repositories.extend(more.repositories);
        self
    }

    /// Looks up a tag: among the repositories, then among those of the connectors.
    pub(crate) fn tag(&self, repository: &Repository) -> Result<Found, RepositoryProblem> {
        let wanted = place_of(&repository.url);
        let known = self.repositories.iter().find(|known| place_of(&known.url) == wanted);
        if let Some(tag) = known.and_then(|known| known.tags.iter().find(|tag| tag.tag == repository.tag)) {
            let specification = repository::read(repository, tag.connect_yaml.as_deref())?;
            return Ok(Found { specification, outcomes: tag.outcomes.clone() });
        }
        let mut sources = self.connectors.iter().filter(|connector| place_of(&connector.repository.url) == wanted);
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

    fn check(&self) -> Result<(), CatalogueError> {
        let fail = |text: String| Err(CatalogueError(text));
        for project in &self.projects {
            if !is_key(&project.key, 36) {
                return fail(format!("project key `{}` must be 2 to 36 characters of A-Z a-z 0-9 _ -", project.key));
            }
        }
        for client in &self.clients {
            if client.id.is_empty() || client.secret.is_empty() || client.scopes.is_empty() {
                return fail(format!("client `{}` needs an id, a secret and at least one scope", client.id));
            }
        }
        let mut seen = BTreeSet::new();
        for connector in &self.connectors {
            if let Err(what) = connector.check() {
                return fail(format!("connector `{}`: {what}", connector.key));
            }
            if !seen.insert((&connector.key, connector.staged, connector.version)) {
                return fail(format!("connector `{}` version {} is defined twice", connector.key, connector.version));
            }
        }
        for repository in &self.repositories {
            let mut seen = BTreeSet::new();
            if let Some(twice) = repository.tags.iter().find(|tag| !seen.insert(&tag.tag)) {
                return fail(format!("repository `{}`: the tag `{}` is defined twice", repository.url, twice.tag));
            }
        }
        Ok(())
    }
}

/// Derives the id from the key, so that it is the same after each start and files can refer to it.
fn id_from(key: &str, staged: bool) -> String {
    let hash = Sha256::digest(format!("{}/{key}", if staged { "staged" } else { "published" }));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&hash[..16]);
    uuid::Builder::from_random_bytes(bytes).into_uuid().to_string()
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
            let found = catalogue.tag(&Repository { url: url.into(), tag: tag.into() });
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

    #[test]
    fn an_invalid_catalogue_is_rejected_with_the_name_of_the_entry() {
        for (case, text, expected) in [
            ("not YAML", "projects: [", "catalogue:"),
            ("unknown member", "projects: [{key: shop, color: red}]", "color"),
            ("bad project key", "projects: [{key: 'a b'}]", "`a b`"),
            ("client without scopes", "clients: [{id: a, secret: b, scopes: []}]", "client `a`"),
            ("bad connector key", "connectors: [{key: x, name: X}]", "connector `x`"),
            ("bad id", "connectors: [{key: xy, name: X, id: '7'}]", "UUID"),
            ("unknown region", "connectors: [{key: xy, name: X, supportedRegions: [moon]}]", "`moon`"),
            ("twice", "connectors: [{key: xy, name: X}, {key: xy, name: Y}]", "twice"),
            (
                "unknown type",
                "connectors: [{key: xy, name: X, configurations: [{applicationName: ab, applicationType: c}]}]",
                "`c`",
            ),
        ] {
            let error = Catalogue::parse(text).expect_err(case).to_string();
            assert!(error.contains(expected), "{case}: {error}");
        }
    }

    #[test]
    fn entries_of_a_file_replace_built_in_ones() {
        let more = Catalogue::parse(
            r#"{"clients": [{"id": "dev-client", "secret": "other", "scopes": ["view_connectors:demo"]}]}"#,
        )
        .expect("JSON is YAML");
        let both = Catalogue::built_in().and(more);
        let client: Vec<_> = both.clients.iter().filter(|client| client.id == "dev-client").collect();
        assert_eq!(client.len(), 1);
        assert_eq!(client[0].secret, "other");
        assert!(both.projects.iter().any(|project| project.key == "demo"));
    }
}
