//! Commands that call the Connect API directly: they read the registry and a project, and call actions of frontends.
//!
//! Results go to standard output, in the order and with the names of the API; messages go to standard error. Secured
//! values are never printed. Next: `project` for the project and its credentials, `output` for the format of results.

mod action;
mod adopt;
mod connectors;
mod deployments;
mod export;
mod manifests;
mod output;
mod project;
mod scaffold;
mod staged;
mod template;

pub(super) use action::{Actions, run as actions};
pub(super) use adopt::{Adopt, run as adopt};
#[cfg(feature = "local-cluster")]
pub(super) use connectors::search;
pub(super) use connectors::{Connectors, run as connectors};
pub(super) use deployments::{Deployments, run as deployments};
pub(super) use scaffold::{Scaffold, run as scaffold};
pub(super) use staged::{Staged, run as staged};

use std::cell::Cell;

use connect_api::http::HttpConnect;
use connect_api::scopes::Right;
use connect_api::{ApiError, ErrorCode, Selector, paging};
use futures::TryStreamExt as _;
use futures::stream::Stream;

use self::project::Project;
use super::cluster::is_resource;
use super::live;
use super::resources::{self, Output, RecordType, program, similar};

/// Maximum length of a name derived from a key (RFC 1123 labels; a Secret name may be longer, but users type names).
const LONGEST_NAME: usize = 63;

/// Maximum number of records among which a suggestion is searched.
const SEARCHED: usize = 500;
/// Maximum number of suggestions.
const SUGGESTIONS: usize = 3;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The project or its credentials cannot be used.
    #[error(transparent)]
    Project(#[from] project::ProjectError),
    /// A resource of the cluster cannot be read.
    #[error(transparent)]
    Resource(#[from] resources::Failed),
    /// The API returned an error, or did not respond.
    #[error("{}{}", .0, scopes(.0))]
    Api(#[from] ApiError),
    /// The requested object does not exist.
    #[error("there is no {what} with the {} in this project; {}", name(.selector), hint(.meant, .list))]
    Absent {
        /// The kind of object.
        what: &'static str,
        /// Its key or id.
        selector: Selector,
        /// The command that lists the existing objects, with the options that select the project.
        list: String,
        /// Keys that the given one may stand for.
        meant: Vec<String>,
    },
    /// An argument, or a result that follows from it, is invalid.
    #[error("{0}")]
    Argument(String),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// Returns the scopes that an operation needs, if the service refused it for lack of one.
fn scopes(error: &ApiError) -> String {
    let forbidden = error.status() == Some(403) || error.code() == Some(&ErrorCode::AuthorizationError);
    let right = Right::of_operation(error.operation).filter(|_| forbidden);
    right.map(|right| format!("; it needs the scope {}", right.scopes().join(" or "))).unwrap_or_default()
}

fn name(selector: &Selector) -> String {
    match selector {
        Selector::Id(id) => format!("id {id}"),
        Selector::Key(key) => format!("key {key}"),
    }
}

/// Returns what to try instead of a name that does not exist.
fn hint(meant: &[String], list: &str) -> String {
    match meant {
        [] => format!("try `{} {list}`", program()),
        meant => format!("did you mean {}?", meant.join(" or ")),
    }
}

/// Identifies a record by its key or its id, or by its resource.
#[derive(Clone, Debug, clap::Args)]
struct RecordName {
    /// Key of the object; its id with --id.
    #[arg(value_name = "KEY", required = true)]
    name: Option<String>,

    /// The same, as the official client expects it; a present argument that excludes a required one replaces it.
    #[arg(long, value_name = "KEY", hide = true, conflicts_with = "name")]
    key: Option<String>,

    /// Treat the argument as an id instead of a key.
    #[arg(long)]
    id: bool,
}

impl RecordName {
    fn word(&self) -> &str {
        self.name.as_deref().or(self.key.as_deref()).unwrap_or_default()
    }

    fn selector(&self) -> Selector {
        let word = self.word().to_owned();
        if self.id { Selector::Id(word) } else { Selector::Key(word) }
    }

    /// Returns the selector of the record, and the project that has it: a resource names its own.
    async fn find(&self, project: Project, of: RecordType) -> Result<(Selector, Project), Failed> {
        if self.id || !is_resource(self.word()) {
            return Ok((self.selector(), project));
        }
        let (mut found, project) = project.of_resources(&[self.word()], of).await?;
        Ok((found.remove(0), project))
    }
}

/// Returns the keys that the words name, and the project that has them: resources name their own.
async fn keys(words: &[String], project: Project, of: RecordType) -> Result<(Vec<String>, Project), Failed> {
    let resources: Vec<&str> = words.iter().map(String::as_str).filter(|word| is_resource(word)).collect();
    if resources.is_empty() {
        return Ok((words.to_vec(), project));
    }
    if resources.len() < words.len() {
        return Err(Failed::Argument("give keys, or resources as TYPE/NAME, but not both".to_owned()));
    }
    let (found, project) = project.of_resources(&resources, of).await?;
    let keys = found.into_iter().map(|selector| match selector {
        Selector::Key(name) | Selector::Id(name) => name,
    });
    Ok((keys.collect(), project))
}

/// Arguments of a command that shows one object.
#[derive(Clone, Debug, clap::Args)]
struct Get {
    #[command(flatten)]
    name: RecordName,

    #[command(flatten)]
    project: Project,

    #[command(flatten)]
    output: Output,
}

/// Collects the first `most` results, or all.
async fn first<T>(results: impl Stream<Item = Result<T, ApiError>>, most: Option<usize>) -> Result<Vec<T>, ApiError> {
    use futures::StreamExt as _;
    results.take(most.unwrap_or(usize::MAX)).try_collect().await
}

/// The same, and shows on a terminal how many were read. `what`: the kind of results.
async fn read<T>(
    what: &str,
    results: impl Stream<Item = Result<T, ApiError>>,
    most: Option<usize>,
) -> Result<Vec<T>, ApiError> {
    let count = Cell::new(0_usize);
    let counted = results.inspect_ok(|_| count.set(count.get() + 1));
    live::during(&format!("reading {what}"), || format!("{} so far", count.get()), first(counted, most)).await
}

/// A deployment that does not exist. Without `spec.key`, a ConnectorDeployment deploys under the key `NAMESPACE_NAME`, so
/// its name alone stands for keys with this end. `options`: those that select the project, for the suggested command.
async fn absent(client: &HttpConnect, selector: Selector, options: &str) -> Failed {
    let meant = meant(&selector, paging::deployments(client).map_ok(|it| it.key.clone())).await;
    Failed::Absent { what: "deployment", selector, list: format!("deployments list{options}"), meant }
}

/// A published connector that does not exist.
async fn absent_connector(client: &HttpConnect, selector: Selector, options: &str) -> Failed {
    let all = Vec::new();
    let meant = meant(&selector, paging::connectors(client, &all).map_ok(|it| it.key)).await;
    Failed::Absent { what: "connector", selector, list: format!("connectors search{options}"), meant }
}

/// A staged connector that does not exist.
async fn absent_staged(client: &HttpConnect, selector: Selector, options: &str) -> Failed {
    let meant = meant(&selector, paging::connectors_staged(client).map_ok(|it| it.key)).await;
    Failed::Absent { what: "staged connector", selector, list: format!("staged export{options}"), meant }
}

/// Returns the existing keys that end with the given one, otherwise the one that is similar.
async fn meant(selector: &Selector, keys: impl Stream<Item = Result<Option<String>, ApiError>>) -> Vec<String> {
    let Selector::Key(key) = selector else { return Vec::new() };
    // Without a list there is no suggestion; the error is about the key.
    let keys: Vec<String> = first(keys, Some(SEARCHED)).await.unwrap_or_default().into_iter().flatten().collect();
    let end = format!("_{key}");
    let longer: Vec<String> = keys.iter().filter(|key| key.ends_with(&end)).take(SUGGESTIONS).cloned().collect();
    if longer.is_empty() {
        similar(key, keys.iter().map(String::as_str)).map(ToOwned::to_owned).into_iter().collect()
    } else {
        longer
    }
}

/// Converts a key to an object name (RFC 1123 label).
fn label(key: &str) -> String {
    let letters =
        key.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let text: String = letters.take(LONGEST_NAME).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "deployment".to_owned() } else { text.to_owned() }
}
