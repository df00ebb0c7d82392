//! Writes the status of a project, and its finalizer, the only other part of it that is written.
//!
//! Decides nothing; `mod.rs` decides what to write, and when.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::Api;
use serde_json::json;

use crate::controllers::context::Context;
use crate::controllers::managed_kind::object_ref;
use crate::controllers::patch::{self, patch_metadata};
use crate::controllers::project_object::ProjectObject;
use crate::crd::ConnectProjectStatus;
use crate::names;

/// Writes the status if it differs, and remembers that: the store may show the earlier status to the next reconcile, which
/// would have nothing to write if it were to report the earlier status again, and nothing would enqueue another one.
///
/// # Errors
/// Errors of the API server; 409 if the object was changed meanwhile.
pub(super) async fn write_status<P: ProjectObject>(
    context: &Context,
    api: &Api<P>,
    object: &P,
    before: &ConnectProjectStatus,
    after: &ConnectProjectStatus,
) -> Result<Option<P>, kube::Error> {
    let answer = patch::write_status(api, object, before, after).await;
    let written = match &answer {
        Ok(None) | Err(kube::Error::Api(_)) => None,
        Ok(Some(stored)) => stored.resource_version(),
        Err(_) => Some(String::new()),
    };
    if let Some(written) = written {
        context.project_writes.insert(&object_ref(object), written);
    }
    answer
}

/// Adds the finalizer, if it is missing, so that the project stays while it is used.
///
/// # Errors
/// Errors of the API server; 409 if the object was changed meanwhile.
pub(super) async fn add_finalizer<P: ProjectObject>(api: &Api<P>, object: Arc<P>) -> Result<Arc<P>, kube::Error> {
    if has_finalizer(&*object) {
        return Ok(object);
    }
    let mut finalizers = object.finalizers().to_vec();
    finalizers.push(names::PROJECT_FINALIZER.to_owned());
    patch_metadata(api, &*object, json!({ "finalizers": finalizers })).await.map(Arc::new)
}

/// Removes the finalizer, so that the object can be deleted.
///
/// # Errors
/// Errors of the API server; 409 if the object was changed meanwhile.
pub(super) async fn remove_finalizer<P: ProjectObject>(api: &Api<P>, object: &P) -> Result<(), kube::Error> {
    if !has_finalizer(object) {
        return Ok(());
    }
    let others: Vec<_> = object.finalizers().iter().filter(|name| *name != names::PROJECT_FINALIZER).cloned().collect();
    match patch_metadata(api, object, json!({ "finalizers": others })).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        answer => answer.map(|_| ()),
    }
}

fn has_finalizer<P: ProjectObject>(object: &P) -> bool {
    object.finalizers().iter().any(|name| name == names::PROJECT_FINALIZER)
}
