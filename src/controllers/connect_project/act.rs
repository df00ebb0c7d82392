//! The finalizer of a project: the only part of it that is written besides its status.
//!
//! Decides nothing; `mod.rs` decides when to add and remove it.

use std::sync::Arc;

use kube::ResourceExt as _;
use kube::api::Api;
use serde_json::json;

use crate::controllers::patch::patch_metadata;
use crate::controllers::project_object::ProjectObject;
use crate::names;

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
