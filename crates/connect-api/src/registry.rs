//! The operations on staged connectors as a trait in domain terms (contract section 5.1).
//!
//! The trait is separate from [`super::ConnectApi`], whose callers need deployments only. Its rules for `None`,
//! `send_before`, masking and repeating apply here too. It addresses a region, not a project in the path: the token
//! identifies the project. See [`super::paging`] for reading all pages and `http/registry.rs` for the requests.

use jiff::Timestamp;

use super::Selector;
use super::api::Answer;
use super::model::{ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate};

/// Staged connectors. [`super::ConnectApi::staged`] reads a single one, and [`super::HttpConnect::all_staged`] lists them.
pub trait StagedApi: Send + Sync {
    /// `createConnectorStaged`. Not safe to repeat: look up the key first (contract section 8.4).
    fn stage<'a>(&'a self, draft: &'a ConnectorStagedDraft, send_before: Timestamp) -> Answer<'a, ConnectorStaged>;

    /// `updateConnectorStagedById`, `updateConnectorStagedByKey`. The service refuses it unless `update.version` is
    /// current. Whether an update with several actions is atomic is unspecified (contract section 6).
    fn update<'a>(
        &'a self,
        selector: &'a Selector,
        update: &'a ConnectorUpdate,
        send_before: Timestamp,
    ) -> Answer<'a, Option<ConnectorStaged>>;

    /// `deleteConnectorStagedById`, `deleteConnectorStagedByKey`: deletes the connector in any version, since no
    /// version is sent.
    ///
    /// The contract describes no body for its 404 (section 5.1). The client therefore reads the connector after a 404
    /// without the contract's error body and after a success that cannot be decoded. `None`: it did not exist. `Some`:
    /// the service reported that it is deleted; the record may be the one from before the deletion.
    fn discard<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<ConnectorStaged>>;
}
