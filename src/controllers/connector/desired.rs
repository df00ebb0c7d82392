//! The content of a Connector object, from the record of the registry. Pure.
//!
//! A record may exceed the schema or a reasonable object size: then it is cut, and the object names the cut parts. The
//! digest shows whether an object is up to date, and whether another writer has changed it.

use std::collections::BTreeSet;

use connect_api::model;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::Resource;
use sha2::{Digest as _, Sha256};

use crate::controllers::reporting::bounds::size;
use crate::controllers::reporting::conditions::cut;
use crate::controllers::values::digest::hex;
use crate::crd::connector::{
    ConnectorApiClientScopes, ConnectorApplication, ConnectorCreator, ConnectorRepository, ConnectorStatus,
    ConnectorSummary, ConnectorVariables, LONGEST_TEXT, LONGEST_URL, LONGEST_WORD, MOST_ENTRIES, MOST_VARIABLES,
    PlainVariable, SecuredVariable,
};
use crate::crd::{ConnectProject, Connector, ConnectorSpec, ProjectRef};

/// Largest record in bytes of JSON, without what the operator adds to it. etcd allows larger objects, but lists of
/// thousands of objects should stay small.
pub const LARGEST_RECORD: usize = 60 * 1024;
/// Entries of a short list that are never cut.
const SHORTEST_LIST: usize = 4;
/// Length to which descriptions of variables are cut in a record that is too large, in bytes.
const SHORT_TEXT: usize = 96;
/// Longest text of a printer column, in bytes.
const LONGEST_COLUMN: usize = 64;
/// Regions that a printer column lists by name.
const REGIONS_IN_COLUMN: usize = 2;
/// Maximum number of parts that are listed as cut.
const MOST_CUT: usize = 8;
/// Prefix of digests of this version; digests of other versions are not comparable.
const DIGEST_VERSION: &str = "1-";

/// The properties that identify a connector, and from which the name of its object is derived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Identity {
    /// Id.
    pub id: String,
    /// Key, if it has one.
    pub key: Option<String>,
    /// Display name.
    pub name: String,
}

/// The project that a mirror belongs to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Its kind and name.
    pub project: ProjectRef,
    /// Its uid.
    pub uid: String,
}

impl Owner {
    /// Returns the owner reference by which the cluster removes the objects with the project. It does not block the
    /// deletion of the owner: that would require more rights of the operator.
    #[must_use]
    pub fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: ConnectProject::api_version(&()).into_owned(),
            kind: self.project.kind.as_str().to_owned(),
            name: self.project.name.clone(),
            uid: self.uid.clone(),
            controller: Some(true),
            block_owner_deletion: None,
        }
    }
}

/// The desired content of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Desired {
    /// The identity of the connector.
    pub identity: Identity,
    /// The spec.
    pub spec: ConnectorSpec,
    /// The owner.
    pub owners: Vec<OwnerReference>,
    /// The record, with its digest.
    pub status: ConnectorStatus,
    /// Digest of spec, owner and record.
    pub digest: String,
}

/// Returns the desired content of the object of a connector.
#[must_use]
pub fn desired(owner: &Owner, connector: model::Connector) -> Desired {
    let identity = Identity { id: connector.id.clone(), key: connector.key.clone(), name: connector.name.clone() };
    let spec = ConnectorSpec { project_ref: owner.project.clone(), id: connector.id.clone() };
    let owners = vec![owner.reference()];
    let mut status = record(connector);
    let digest = digest(&spec, &owners, &status);
    status.digest = Some(digest.clone());
    Desired { identity, spec, owners, status, digest }
}

/// The digest state of an object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Print {
    /// Digest of its content.
    pub digest: String,
    /// Whether that is what the operator wrote last.
    pub intact: bool,
    /// Whether another writer has changed it since.
    pub changed_by_others: bool,
}

/// Returns the digest state of an object.
#[must_use]
pub fn print(object: &Connector) -> Print {
    let mut status = object.status.clone().unwrap_or_default();
    let claimed = status.digest.take();
    let owners = object.metadata.owner_references.as_deref().unwrap_or_default();
    let digest = digest(&object.spec, owners, &status);
    let intact = claimed.as_ref() == Some(&digest);
    // An object without a digest was just created, and one of another version was written differently: neither was
    // changed by another writer.
    let ours = claimed.is_some_and(|claimed| claimed.starts_with(DIGEST_VERSION));
    Print { digest, intact, changed_by_others: ours && !intact }
}

fn digest(spec: &ConnectorSpec, owners: &[OwnerReference], status: &ConnectorStatus) -> String {
    let owners: Vec<_> = owners.iter().map(|owner| (&owner.kind, &owner.name, &owner.uid)).collect();
    let whole = serde_json::to_vec(&(spec, owners, status)).unwrap_or_default();
    format!("{DIGEST_VERSION}{}", hex(&Sha256::digest(whole)[..16]))
}

/// Returns the record within its limits.
fn record(connector: model::Connector) -> ConnectorStatus {
    let mut cutter = Cutter::default();
    let mut status = cutter.record(connector);
    if size(&status) > LARGEST_RECORD {
        cutter.note("configurations[].description");
        each_text(&mut status, |text| *text = cut(text, SHORT_TEXT));
    }
    if size(&status) > LARGEST_RECORD {
        each_text(&mut status, String::clear);
    }
    while size(&status) > LARGEST_RECORD {
        let Some(path) = halve(&mut status) else { break };
        cutter.note(path);
    }
    status.cut = cutter.cut.into_iter().take(MOST_CUT).map(str::to_owned).collect();
    status
}

/// Halves the least important list, and returns its path; `None`: nothing is left to remove.
fn halve(status: &mut ConnectorStatus) -> Option<&'static str> {
    fn half<T>(list: &mut Vec<T>, least: usize) -> bool {
        let cut = list.len() > least;
        if cut {
            list.truncate((list.len() / 2).max(least));
        }
        cut
    }
    // Take the larger of the two.
    let of_all = size(&status.global_configuration) > size(&status.configurations);
    if !of_all && status.configurations.as_mut().is_some_and(|all| half(all, 0)) {
        return Some("configurations");
    }
    if let Some(global) = &mut status.global_configuration
        && (half(&mut global.standard_configuration, 0) | half(&mut global.secured_configuration, 0))
    {
        return Some("globalConfiguration");
    }
    if status.api_client.as_mut().is_some_and(|client| half(&mut client.scopes, SHORTEST_LIST)) {
        return Some("apiClient.scopes");
    }
    if half(&mut status.supported_regions, SHORTEST_LIST) {
        return Some("supportedRegions");
    }
    half(&mut status.integration_types, SHORTEST_LIST).then_some("integrationTypes")
}

/// Changes descriptions, and removes long defaults, of variables: these make a record large.
fn each_text(status: &mut ConnectorStatus, change: impl Fn(&mut String)) {
    let applications = status.configurations.iter_mut().flatten();
    let (mut plain, mut secured) = (Vec::new(), Vec::new());
    for application in applications {
        plain.extend(application.standard_configuration.iter_mut());
        secured.extend(application.secured_configuration.iter_mut());
    }
    if let Some(global) = &mut status.global_configuration {
        plain.extend(global.standard_configuration.iter_mut());
        secured.extend(global.secured_configuration.iter_mut());
    }
    for variable in plain {
        change(&mut variable.description);
        // A truncated default would be wrong, so it is removed.
        variable.default.take_if(|default| default.len() > SHORT_TEXT);
    }
    for variable in secured {
        change(&mut variable.description);
    }
}

/// Cuts what is too long for the schema, and records where.
#[derive(Default)]
struct Cutter {
    cut: BTreeSet<&'static str>,
}

impl Cutter {
    fn note(&mut self, path: &'static str) {
        self.cut.insert(path);
    }

    fn text(&mut self, path: &'static str, text: &str, longest: usize) -> String {
        if text.len() > longest {
            self.note(path);
        }
        cut(text, longest)
    }

    fn word(&mut self, path: &'static str, text: &str) -> String {
        self.text(path, text, LONGEST_WORD)
    }

    fn words(&mut self, path: &'static str, words: impl IntoIterator<Item = impl AsRef<str>>) -> Vec<String> {
        let words = self.list(path, words.into_iter().collect(), MOST_ENTRIES);
        words.into_iter().map(|word| self.word(path, word.as_ref())).collect()
    }

    fn list<T>(&mut self, path: &'static str, mut list: Vec<T>, most: usize) -> Vec<T> {
        if list.len() > most {
            self.note(path);
            list.truncate(most);
        }
        list
    }

    fn record(&mut self, connector: model::Connector) -> ConnectorStatus {
        // Without `..`, so that a new field of the record does not compile until it is handled here.
        let model::Connector {
            id: _,
            key,
            version,
            name,
            description,
            integration_types,
            creator,
            repository,
            configurations,
            api_client,
            private,
            global_configuration,
            supported_regions,
            certified,
            documentation_url,
        } = connector;
        let types = integration_types.iter().map(ToString::to_string);
        let integration_types = self.words("integrationTypes", types);
        let supported_regions = self.words("supportedRegions", supported_regions);
        let applications = configurations.map(|all| self.list("configurations", all, MOST_ENTRIES));
        ConnectorStatus {
            summary: summary(&integration_types, &supported_regions),
            key: key.map(|key| self.word("key", &key)),
            version,
            name: self.word("name", &name),
            description: description.map(|text| self.text("description", &text, LONGEST_TEXT)),
            integration_types,
            creator: self.creator(&creator),
            repository: ConnectorRepository {
                url: self.text("repository.url", &repository.url, LONGEST_URL),
                tag: self.word("repository.tag", &repository.tag),
            },
            configurations: applications.map(|all| all.into_iter().map(|one| self.application(one)).collect()),
            api_client: api_client
                .map(|client| ConnectorApiClientScopes { scopes: self.words("apiClient.scopes", client.scopes) }),
            private,
            global_configuration: global_configuration.map(|global| ConnectorVariables {
                standard_configuration: self.plain(global.standard_configuration),
                secured_configuration: self.secured(global.secured_configuration),
            }),
            supported_regions,
            certified,
            documentation_url: documentation_url.map(|url| self.text("documentationUrl", &url, LONGEST_URL)),
            cut: Vec::new(),
            digest: None,
        }
    }

    fn creator(&mut self, creator: &model::Creator) -> ConnectorCreator {
        let model::Creator { name, title, email, company, logo_url, no_of_contributors, support_url } = creator;
        let mut optional =
            |text: &Option<String>, longest| text.as_deref().map(|text| self.text("creator", text, longest));
        ConnectorCreator {
            name: optional(name, LONGEST_WORD),
            title: optional(title, LONGEST_WORD),
            company: optional(company, LONGEST_WORD),
            logo_url: optional(logo_url, LONGEST_URL),
            support_url: optional(support_url, LONGEST_URL),
            email: self.word("creator", email),
            no_of_contributors: *no_of_contributors,
        }
    }

    fn application(&mut self, application: model::DeclaredApplication) -> ConnectorApplication {
        ConnectorApplication {
            application_name: self.word("configurations", &application.application_name),
            application_type: self.word("configurations", &application.application_type.to_string()),
            standard_configuration: self.plain(application.standard_configuration),
            secured_configuration: self.secured(application.secured_configuration),
        }
    }

    fn plain(&mut self, variables: Vec<model::StandardKey>) -> Vec<PlainVariable> {
        let variables = self.list("configurations[].standardConfiguration", variables, MOST_VARIABLES);
        let mut bounded = Vec::with_capacity(variables.len());
        for model::StandardKey { key, description, default, required } in variables {
            // One that is cut or cleaned would be wrong, so it is removed.
            let is_whole = |default: &String| *default == cut(default, LONGEST_TEXT);
            if default.as_ref().is_some_and(|default| !is_whole(default)) {
                self.note("configurations[].default");
            }
            bounded.push(PlainVariable {
                key: self.word("configurations[].key", &key),
                description: self.text("configurations[].description", &description, LONGEST_TEXT),
                default: default.filter(is_whole),
                required,
            });
        }
        bounded
    }

    fn secured(&mut self, variables: Vec<model::SecuredKey>) -> Vec<SecuredVariable> {
        let variables = self.list("configurations[].securedConfiguration", variables, MOST_VARIABLES);
        let mut bounded = Vec::with_capacity(variables.len());
        for model::SecuredKey { key, description, required } in variables {
            bounded.push(SecuredVariable {
                key: self.word("configurations[].key", &key),
                description: self.text("configurations[].description", &description, LONGEST_TEXT),
                required,
            });
        }
        bounded
    }
}

fn summary(types: &[String], regions: &[String]) -> ConnectorSummary {
    let regions = match regions {
        [] => "any".to_owned(),
        [first @ .., _] if first.len() < REGIONS_IN_COLUMN => regions.join(","),
        _ => format!("{},+{}", regions[..REGIONS_IN_COLUMN].join(","), regions.len() - REGIONS_IN_COLUMN),
    };
    ConnectorSummary { types: cut(&types.join(","), LONGEST_COLUMN), regions: cut(&regions, LONGEST_COLUMN) }
}

#[cfg(test)]
#[path = "desired_tests.rs"]
mod tests;
