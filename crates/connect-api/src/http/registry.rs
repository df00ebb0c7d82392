//! The registry and staged connectors over HTTP: one request for each operation of contract section 5.1.

use jiff::Timestamp;

use super::HttpConnect;
use super::call::Query;
use crate::api::{Answer, ConnectApi, PageRequest, Selector};
use crate::error::ApiError;
use crate::model::{Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, Paged};
use crate::registry::StagedApi;

impl HttpConnect {
    /// `searchConnectors`: returns one page of the connectors that match these query parameters (contract section 3), in no
    /// guaranteed order. How filters combine is unspecified. Records that cannot be decoded are omitted from
    /// `results` but included in `count`. No controller searches the registry, so it belongs to no trait.
    ///
    /// # Errors
    /// Those of the operations of [`StagedApi`].
    pub async fn search(&self, query: &Query, page: PageRequest) -> Result<Paged<Connector>, ApiError> {
        self.listed("searchConnectors", query.clone(), page).await
    }

    /// `queryConnectorsStaged`: returns one page, in no guaranteed order. Records that cannot be decoded are omitted
    /// from `results` but included in `count`. No controller lists staged connectors, so it belongs to no trait.
    ///
    /// # Errors
    /// Those of the operations of [`StagedApi`].
    pub async fn all_staged(&self, page: PageRequest) -> Result<Paged<ConnectorStaged>, ApiError> {
        self.listed("queryConnectorsStaged", Vec::new(), page).await
    }
}

impl StagedApi for HttpConnect {
    fn stage<'a>(&'a self, draft: &'a ConnectorStagedDraft, send_before: Timestamp) -> Answer<'a, ConnectorStaged> {
        Box::pin(self.one(self.post("createConnectorStaged", "", draft, send_before)))
    }

    fn update<'a>(
        &'a self,
        selector: &'a Selector,
        update: &'a ConnectorUpdate,
        send_before: Timestamp,
    ) -> Answer<'a, Option<ConnectorStaged>> {
        let operation = selector.operation("updateConnectorStagedById", "updateConnectorStagedByKey");
        Box::pin(self.maybe(self.post(operation, selector.name(), update, send_before)))
    }

    fn discard<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<ConnectorStaged>> {
        Box::pin(async move {
            let operation = selector.operation("deleteConnectorStagedById", "deleteConnectorStagedByKey");
            match self.delete(operation, selector, send_before, self.staged(selector)).await {
                // The service's 404 has no body here, and a gateway can send one too; a read tells which of the two it
                // was.
                Err(error) if error.status() == Some(404) && error.code().is_none() => {
                    match self.staged(selector).await {
                        Ok(None) => Ok(None),
                        Ok(Some(_)) | Err(_) => Err(error),
                    }
                }
                outcome => outcome,
            }
        })
    }
}
