//! What can be asked of the registry and done with staged connectors, in the verbs of the domain (contract section 5.1).
//!
//! Beside [`super::ConnectApi`], whose callers know deployments only. What that trait says about `None`, `send_before`,
//! masking and repeating holds here too. Both traits belong to one region, not to a project in the path: the token says
//! whose they are. Next: [`super::paging`] to read all pages, `http/registry.rs` for what is sent.

use jiff::Timestamp;

use super::Selector;
use super::api::{Answer, PageRequest};
use super::model::{Connector, ConnectorStaged, ConnectorStagedDraft, ConnectorUpdate, IntegrationType, Paged};

/// Published connectors; one alone is read by [`super::ConnectApi::connector`].
pub trait RegistryApi: Send + Sync {
    /// `searchConnectors`: one page, in no promised order. Records that cannot be decoded are left out of `results`,
    /// but counted in `count`.
    fn search<'a>(&'a self, query: &'a ConnectorQuery, page: PageRequest) -> Answer<'a, Paged<Connector>>;
}

/// Connectors while they are being prepared; one alone is read by [`super::ConnectApi::staged`].
pub trait StagedApi: Send + Sync {
    /// `queryConnectorsStaged`: one page, in no promised order. Records that cannot be decoded are left out of
    /// `results`, but counted in `count`.
    fn all_staged<'a>(&'a self, query: &'a StagedQuery, page: PageRequest) -> Answer<'a, Paged<ConnectorStaged>>;

    /// `createConnectorStaged`. Not safe to repeat: look the key up first (contract section 8.4).
    fn stage<'a>(&'a self, draft: &'a ConnectorStagedDraft, send_before: Timestamp) -> Answer<'a, ConnectorStaged>;

    /// `updateConnectorStagedById`, `updateConnectorStagedByKey`. Refused if `update.version` is not the current one;
    /// whether several actions are all or nothing is unspecified (contract section 6).
    fn update<'a>(
        &'a self,
        selector: &'a Selector,
        update: &'a ConnectorUpdate,
        send_before: Timestamp,
    ) -> Answer<'a, Option<ConnectorStaged>>;

    /// `deleteConnectorStagedById`, `deleteConnectorStagedByKey`: deletes whatever is there, since no version is sent.
    ///
    /// No body is described for its 404 (contract section 5.1), so after one without the body of the contract the
    /// connector is read, and so after a success that cannot be read. `None`: it was not there. `Some`: the service said
    /// that it is deleted; the record may be the one from before.
    fn discard<'a>(&'a self, selector: &'a Selector, send_before: Timestamp) -> Answer<'a, Option<ConnectorStaged>>;
}

/// Which published connectors (contract section 3). How filters combine, and several values of one, is unspecified;
/// nothing given means all. Every value of a list is a parameter of its own: hundreds make a URL that is too long for
/// many servers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ConnectorQuery {
    /// Words to look for in name and description.
    pub text: Option<String>,
    /// `true`: only what is assigned to the caller's project; `false`: everything that is available to it.
    pub private: Option<bool>,
    /// Company of the creator.
    pub creator_company: Option<String>,
    /// Ids to look for.
    pub ids: Vec<String>,
    /// Keys to look for.
    pub keys: Vec<String>,
    /// What they integrate with.
    pub integration_types: Vec<IntegrationType>,
    /// Order; syntax and fields are unspecified.
    pub sort: Vec<String>,
}

/// Which staged connectors (contract section 3). Nothing given means all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StagedQuery {
    /// `true`: only private ones; `false`: only public ones. Not the `private` of [`ConnectorQuery`].
    pub is_private: Option<bool>,
    /// What they integrate with.
    pub integration_types: Vec<IntegrationType>,
    /// Order; syntax and fields are unspecified.
    pub sort: Vec<String>,
}

impl ConnectorQuery {
    /// As parameters of `searchConnectors`, in a fixed order.
    #[must_use]
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Parameters::default();
        parameters.add("text", &self.text);
        parameters.add("private", &self.private);
        parameters.add("creator.company", &self.creator_company);
        parameters.add("id", &self.ids);
        parameters.add("key", &self.keys);
        parameters.add("integrationTypes", &self.integration_types);
        parameters.add("sort", &self.sort);
        parameters.0
    }
}

impl StagedQuery {
    /// As parameters of `queryConnectorsStaged`, in a fixed order.
    #[must_use]
    pub fn parameters(&self) -> Vec<(&'static str, String)> {
        let mut parameters = Parameters::default();
        parameters.add("isPrivate", &self.is_private);
        parameters.add("integrationTypes", &self.integration_types);
        parameters.add("sort", &self.sort);
        parameters.0
    }
}

#[derive(Default)]
struct Parameters(Vec<(&'static str, String)>);

impl Parameters {
    fn add<'v, V: ToString + 'v>(&mut self, name: &'static str, values: impl IntoIterator<Item = &'v V>) {
        self.0.extend(values.into_iter().map(|value| (name, value.to_string())));
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
            ids: words(&["1", "2"]),
            keys: words(&["tax"]),
            integration_types: vec![IntegrationType::Tax, "moon".into()],
            sort: words(&["name asc", "key"]),
        };
        let expected = [
            ("text", "tax & more"),
            ("private", "true"),
            ("creator.company", "Example"),
            ("id", "1"),
            ("id", "2"),
            ("key", "tax"),
            ("integrationTypes", "tax"),
            ("integrationTypes", "moon"),
            ("sort", "name asc"),
            ("sort", "key"),
        ];
        assert_eq!(query.parameters(), expected.map(|(name, value)| (name, value.to_owned())));
        let query = StagedQuery {
            is_private: Some(false),
            integration_types: vec![IntegrationType::SomethingElse],
            sort: words(&["key"]),
        };
        let expected = [("isPrivate", "false"), ("integrationTypes", "other"), ("sort", "key")];
        assert_eq!(query.parameters(), expected.map(|(name, value)| (name, value.to_owned())));
        assert!(ConnectorQuery::default().parameters().is_empty() && StagedQuery::default().parameters().is_empty());
    }
}
