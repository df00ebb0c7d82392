//! The operations on staged connectors as a trait in domain terms, and the query of the registry (contract section 5.1).
//!
//! The trait is separate from [`super::ConnectApi`], whose callers need deployments only. Its rules for `None`,
//! `send_before`, masking and repeating apply here too. It addresses a region, not a project in the path: the token
//! identifies the project. See [`super::paging`] for reading all pages and `http/registry.rs` for the requests.

use jiff::Timestamp;

use super::Selector;
use super::api::Answer;
use super::model::{ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, IntegrationType};

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

/// Selects published connectors (contract section 3); the default selects all. How filters combine, and how several
/// values of one filter combine, is unspecified. Each list value becomes a parameter of its own, so hundreds of values
/// make a URL that is too long for many servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectorQuery {
    /// Words to search for in name and description.
    pub text: Option<String>,
    /// `true`: only connectors assigned to the caller's project; `false`: all connectors available to it.
    pub private: Option<bool>,
    /// The creator's company.
    pub creator_company: Option<String>,
    /// Systems that the connectors integrate with.
    pub integration_types: Vec<IntegrationType>,
    /// Sort order; syntax and fields are unspecified.
    pub sort: Vec<String>,
}

impl ConnectorQuery {
    /// Returns the query parameters of `searchConnectors` in a fixed order.
    #[must_use]
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let text = self.text.iter().map(|text| ("text", text.clone()));
        let private = self.private.iter().map(|private| ("private", private.to_string()));
        let company = self.creator_company.iter().map(|company| ("creator.company", company.clone()));
        let types = self.integration_types.iter().map(|word| ("integrationTypes", word.to_string()));
        let sort = self.sort.iter().map(|sort| ("sort", sort.clone()));
        text.chain(private).chain(company).chain(types).chain(sort).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_name_each_parameter_as_the_contract_does_and_repeat_lists() {
        let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
        let query = ConnectorQuery {
            text: Some("tax & more".into()),
            private: Some(true),
            creator_company: Some("Example".into()),
            integration_types: vec![IntegrationType::Tax, "moon".into()],
            sort: words(&["name asc", "key"]),
        };
        let expected = [
            ("text", "tax & more"),
            ("private", "true"),
            ("creator.company", "Example"),
            ("integrationTypes", "tax"),
            ("integrationTypes", "moon"),
            ("sort", "name asc"),
            ("sort", "key"),
        ];
        assert_eq!(query.parameters(), expected.map(|(name, value)| (name, value.to_owned())));
        assert!(ConnectorQuery::default().parameters().is_empty());
    }
}
