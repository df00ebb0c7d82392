//! The Connect API by hand: what is in the registry and in a project, which is only read, and the actions of frontends.
//!
//! Results go to standard output, in the order and the words of the API; messages go to standard error. Secured values
//! are never printed. Next: `project` for which project is asked, `output` for how results look.

mod action;
mod connectors;
mod deployments;
mod export;
mod output;
mod project;
mod staged;

pub(super) use action::{Actions, run as actions};
#[cfg(feature = "local-cluster")]
pub(super) use connectors::search;
pub(super) use connectors::{Connectors, run as connectors};
pub(super) use deployments::{Deployments, run as deployments};
pub(super) use staged::{Staged, run as staged};

use connect_api::api::LOGS_END;
use connect_api::scopes::Right;
use connect_api::{ApiError, ErrorCode, Selector};
use futures::TryStreamExt as _;
use futures::stream::Stream;

use self::output::Output;
use self::project::Project;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub(super) enum Failed {
    /// The project or its credentials.
    #[error(transparent)]
    Project(#[from] project::ProjectError),
    /// The API.
    #[error("{}{}", .0, scopes(.0))]
    Api(#[from] ApiError),
    /// A log, which the service may not have any more.
    #[error("{0}; {LOGS_END}")]
    Log(String),
    /// There is none.
    #[error("there is no {what} with the {} in this project; try `connect-operator {list}`", name(.selector))]
    Absent {
        /// What was looked for.
        what: &'static str,
        /// Its name.
        selector: Selector,
        /// The command that shows what there is.
        list: &'static str,
    },
    /// An argument, or what came of it.
    #[error("{0}")]
    Argument(String),
    /// Standard output cannot be written.
    #[error("the result cannot be written: {0}")]
    Output(#[from] std::io::Error),
}

/// Which scopes a call takes that was refused for want of one.
fn scopes(error: &ApiError) -> String {
    let forbidden = error.status() == Some(403) || error.code() == Some(&ErrorCode::AuthorizationError);
    let right = Right::of_operation(error.operation).filter(|_| forbidden);
    right.map(|right| format!("; it takes {}", right.scopes().join(" or "))).unwrap_or_default()
}

fn name(selector: &Selector) -> String {
    match selector {
        Selector::Id(id) => format!("id {id}"),
        Selector::Key(key) => format!("key {key}"),
    }
}

/// Names one thing: by its key, or by its id.
#[derive(Clone, Debug, clap::Args)]
struct Name {
    /// Its key; its id with --id.
    #[arg(value_name = "KEY")]
    name: String,

    /// The name is an id, not a key.
    #[arg(long)]
    id: bool,
}

impl Name {
    fn selector(&self) -> Selector {
        if self.id { Selector::Id(self.name.clone()) } else { Selector::Key(self.name.clone()) }
    }
}

/// One thing, and how to show it.
#[derive(Clone, Debug, clap::Args)]
struct Get {
    #[command(flatten)]
    name: Name,

    #[command(flatten)]
    project: Project,

    #[command(flatten)]
    output: Output,
}

/// The first of a list, or all.
async fn first<T>(results: impl Stream<Item = Result<T, ApiError>>, most: Option<usize>) -> Result<Vec<T>, ApiError> {
    use futures::StreamExt as _;
    results.take(most.unwrap_or(usize::MAX)).try_collect().await
}
