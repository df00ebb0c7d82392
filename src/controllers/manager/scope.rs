//! The namespace whose objects are watched and reconciled, and what its controllers share.

use std::sync::Arc;

use tokio::sync::mpsc::UnboundedSender;

use crate::controllers::context::Context;
use crate::controllers::initial_lists::InitialLists;
use crate::controllers::object_ref::ObjectRef;

/// The controllers of one namespace, or of all namespaces.
pub(super) struct Scope {
    pub(super) context: Arc<Context>,
    pub(super) lists: Arc<InitialLists>,
    pub(super) namespace: Option<String>,
    /// Label selector of the objects to reconcile.
    pub(super) selector: String,
    /// Receives objects whose reconcile has ended.
    pub(super) done: UnboundedSender<ObjectRef>,
    pub(super) stop: tokio::sync::watch::Receiver<bool>,
}
