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

use connect_api::scopes::Right;
use connect_api::{ApiError, ErrorCode, Selector};
use futures::TryStreamExt as _;
use futures::stream::Stream;

use self::project::Project;
use super::resources::{self, Output};

/// Maximum length of a name derived from a key (RFC 1123 labels; a Secret name may be longer, but users type names).
const LONGEST_NAME: usize = 63;

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
    #[error("there is no {what} with the {} in this project", name(.selector))]
    Absent {
        /// The kind of object.
        what: &'static str,
        /// Its key or id.
        selector: Selector,
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

/// Identifies a record by its key or its id.
#[derive(Clone, Debug, clap::Args)]
struct RecordName {
    /// Key of the object; its id with --id.
    #[arg(value_name = "KEY")]
    name: String,

    /// Treat the argument as an id instead of a key.
    #[arg(long)]
    id: bool,
}

impl RecordName {
    fn selector(&self) -> Selector {
        if self.id { Selector::Id(self.name.clone()) } else { Selector::Key(self.name.clone()) }
    }
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

/// Collects all results.
async fn all<T>(results: impl Stream<Item = Result<T, ApiError>>) -> Result<Vec<T>, ApiError> {
    results.try_collect().await
}

/// Returns the record that was found. `what`: its kind.
fn existing<T>(what: &'static str, selector: Selector, found: Option<T>) -> Result<T, Failed> {
    found.ok_or(Failed::Absent { what, selector })
}

/// Converts a key to an object name (RFC 1123 label).
fn label(key: &str) -> String {
    let letters =
        key.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter.to_ascii_lowercase() } else { '-' });
    let text: String = letters.take(LONGEST_NAME).collect();
    let text = text.trim_matches('-');
    if text.is_empty() { "deployment".to_owned() } else { text.to_owned() }
}
