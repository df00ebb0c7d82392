//! Commands about the resources of the cluster: they show what the operator reports, and request changes of it.
//!
//! Each reads and patches objects of the cluster only, and never calls the Connect API. Next: `argument` for the
//! resources that a user names, `selection` for reading them, `page` and `branches` for what is shown, `change` for
//! what is patched, `progress` and `follow` for waiting.

mod advice;
mod argument;
mod branches;
mod change;
mod doctor;
mod facts;
mod failure;
mod follow;
mod kind;
mod output;
mod page;
#[cfg(test)]
mod pages_tests;
mod progress;
mod request;
mod selection;
mod status;
#[cfg(test)]
mod testing;
mod tree;
mod wait;

pub(super) use self::argument::project as project_argument;
pub(super) use self::doctor::{Doctor, doctor};
pub(super) use self::failure::Failed;
pub(super) use self::follow::TIMEOUT;
pub(super) use self::kind::ResourceType;
pub(super) use self::output::{Form, Output};
#[cfg(feature = "local-cluster")]
pub(super) use self::page::findings;
pub(super) use self::request::{Request, change};
pub(super) use self::status::{Status, status};
pub(super) use self::tree::{Tree, tree};
pub(super) use self::wait::{Wait, await_ready, wait};

use kube::api::PatchParams;

use crate::names;

/// Returns the parameters of a patch that a user requests with a command.
pub(super) fn patch_params() -> PatchParams {
    PatchParams { field_manager: Some(names::COMMAND_FIELD_MANAGER.to_owned()), ..PatchParams::default() }
}

/// Returns the program as the user called it, for commands in its output.
pub(super) fn program() -> &'static str {
    let called = std::env::args_os().next().map(std::path::PathBuf::from);
    let plugin = called.as_deref().and_then(|path| path.file_name()).is_some_and(|name| name == names::KUBECTL_PLUGIN);
    if plugin { "kubectl connect" } else { env!("CARGO_PKG_NAME") }
}
