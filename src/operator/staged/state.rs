//! What must survive a restart, under the names of this folder; [`crate::crd::connector_staged_state`] defines it.

pub use crate::crd::{
    DeletionPolicy, RequestedPreview, SentContent, StagedCall, StagedCallKind as CallKind,
    StagedDeployable as Deployable, StagedState as State,
};
