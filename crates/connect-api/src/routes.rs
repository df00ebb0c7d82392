//! Paths of the Connect API (contract sections 2, 5.1, 5.2 and 11), shared by the client and the dev server.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::scopes::Right::{
    self, ManageConnectors, ManageDeployments, ReadExtensions, ReadSubscriptions, ViewConnectors, ViewDeployments,
};

/// Token endpoint on the authorization host.
pub const TOKEN: &str = "/oauth/token";
/// Search for published connectors.
pub const CONNECTOR_SEARCH: &str = "/connectors/search";
/// Staged connectors.
pub const CONNECTORS_STAGED: &str = "/connectors/drafts";
/// Maximum page size of a list.
pub const LARGEST_PAGE: u16 = 500;
/// Page size if the request names none.
pub const DEFAULT_PAGE: u16 = 20;
/// Maximum `offset` of a list.
pub const LARGEST_OFFSET: u32 = 10_000;
/// Prefix of a path segment that identifies a resource by key.
pub const KEY_PREFIX: &str = "key=";

/// Returns the path of an operation in a project, for the resource with this id or key; `name` is empty for a list and for a
/// create. Neither of the two can leave its segment.
pub fn path(operation: &str, project: &str, name: &str) -> String {
    let (project, name) = (encode(project), encode(name));
    template(operation).replace("{projectKey}", &project).replace("{id}", &name).replace("{key}", &name)
}

/// Returns the path of a frontend action below the prefix of its preset.
pub fn action(prefix: &str, namespace: &str, name: &str) -> String {
    format!("{prefix}/{}/{}", encode(namespace), encode(name))
}

/// Percent-encodes everything except the unreserved characters of RFC 3986 section 2.3, so that an id cannot leave its
/// path segment.
fn encode(segment: &str) -> String {
    // Includes `.`, although it is unreserved: a segment `.` or `..` would change the path.
    const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'~');
    utf8_percent_encode(segment, ENCODED).to_string()
}

/// Every operation: its name, the template of its path in the description of the API, and the right that it needs, if the
/// contract names a scope for it. The operations are those of contract sections 5 and 11, the two reads of the HTTP API,
/// and `token`.
const TABLE: [(&str, &str, Option<Right>); 32] = [
    ("token", TOKEN, None),
    ("searchConnectors", CONNECTOR_SEARCH, Some(ViewConnectors)),
    ("getConnectorById", "/connectors/{id}", Some(ViewConnectors)),
    ("getConnectorByKey", "/connectors/key={key}", Some(ViewConnectors)),
    ("createConnectorStaged", CONNECTORS_STAGED, Some(ManageConnectors)),
    ("queryConnectorsStaged", CONNECTORS_STAGED, Some(ViewConnectors)),
    ("getConnectorStagedById", "/connectors/drafts/{id}", Some(ViewConnectors)),
    ("getConnectorStagedByKey", "/connectors/drafts/key={key}", Some(ViewConnectors)),
    ("updateConnectorStagedById", "/connectors/drafts/{id}", Some(ManageConnectors)),
    ("updateConnectorStagedByKey", "/connectors/drafts/key={key}", Some(ManageConnectors)),
    ("deleteConnectorStagedById", "/connectors/drafts/{id}", Some(ManageConnectors)),
    ("deleteConnectorStagedByKey", "/connectors/drafts/key={key}", Some(ManageConnectors)),
    ("createDeployment", "/{projectKey}/deployments", Some(ManageDeployments)),
    ("createDeploymentUnscoped", "/deployments", Some(ManageDeployments)),
    ("queryDeployments", "/{projectKey}/deployments", Some(ViewDeployments)),
    ("getDeploymentById", "/{projectKey}/deployments/{id}", Some(ViewDeployments)),
    ("getDeploymentByKey", "/{projectKey}/deployments/key={key}", Some(ViewDeployments)),
    ("updateDeploymentById", "/{projectKey}/deployments/{id}", Some(ManageDeployments)),
    ("updateDeploymentByKey", "/{projectKey}/deployments/key={key}", Some(ManageDeployments)),
    ("updateDeploymentByKeyUnscoped", "/deployments/key={key}", Some(ManageDeployments)),
    ("deleteDeploymentById", "/{projectKey}/deployments/{id}", Some(ManageDeployments)),
    ("deleteDeploymentByKey", "/{projectKey}/deployments/key={key}", Some(ManageDeployments)),
    ("getDeploymentLogsById", "/{projectKey}/deployments/{id}/logs", Some(ViewDeployments)),
    ("getDeploymentLogsByKey", "/{projectKey}/deployments/key={key}/logs", Some(ViewDeployments)),
    ("getExtensionByKey", "/{projectKey}/extensions/key={key}", Some(ReadExtensions)),
    ("getSubscriptionByKey", "/{projectKey}/subscriptions/key={key}", Some(ReadSubscriptions)),
    ("readAction", "/service/action/{namespace}/{action_name}", None),
    ("writeActionPost", "/service/action/{namespace}/{action_name}", None),
    ("writeActionPut", "/service/action/{namespace}/{action_name}", None),
    ("readFrontasticAction", "/frontastic/action/{namespace}/{action}", None),
    ("writeFrontasticActionPost", "/frontastic/action/{namespace}/{action}", None),
    ("writeFrontasticActionPut", "/frontastic/action/{namespace}/{action}", None),
];

/// Names of all operations. Faults are configured and requests are counted by these names.
pub const OPERATIONS: [&str; TABLE.len()] = {
    let mut names = [""; TABLE.len()];
    let mut at = 0;
    while at < names.len() {
        names[at] = TABLE[at].0;
        at += 1;
    }
    names
};

/// Returns the path template of an operation, as the description of the API has it; empty for an unknown operation.
pub fn template(operation: &str) -> &'static str {
    row(operation).map_or("", |(_, template, _)| template)
}

impl Right {
    /// Returns the right that an operation needs, by its name in contract section 5, or `None` if the contract names no
    /// scope for it.
    pub fn of_operation(operation: &str) -> Option<Self> {
        row(operation).and_then(|(_, _, right)| *right)
    }
}

fn row(operation: &str) -> Option<&'static (&'static str, &'static str, Option<Right>)> {
    TABLE.iter().find(|(name, ..)| *name == operation)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_those_of_the_contract_and_no_segment_can_be_left() {
        for (path, expected) in [
            (path("createDeployment", "demo", ""), "/demo/deployments"),
            (path("createDeploymentUnscoped", "demo", ""), "/deployments"),
            (path("getDeploymentByKey", "demo", "tax-eu"), "/demo/deployments/key=tax-eu"),
            (path("getDeploymentById", "../x", "1"), "/%2E%2E%2Fx/deployments/1"),
            (path("getDeploymentById", "{id}", "{projectKey}"), "/%7Bid%7D/deployments/%7BprojectKey%7D"),
            (path("updateDeploymentByKeyUnscoped", "demo", "a_b"), "/deployments/key=a_b"),
            (path("getExtensionByKey", "demo", "tax-cart"), "/demo/extensions/key=tax-cart"),
            (path("getSubscriptionByKey", "demo", "a/b"), "/demo/subscriptions/key=a%2Fb"),
            (path("getConnectorByKey", "demo", "demo-connector"), "/connectors/key=demo-connector"),
            (path("getConnectorById", "demo", "../drafts"), "/connectors/%2E%2E%2Fdrafts"),
            (path("getConnectorStagedById", "demo", "1"), "/connectors/drafts/1"),
            (path("getConnectorStagedByKey", "demo", "my-tax"), "/connectors/drafts/key=my-tax"),
            (path("getConnectorStagedById", "demo", "../search?a#b"), "/connectors/drafts/%2E%2E%2Fsearch%3Fa%23b"),
            (path("getConnectorStagedById", "demo", "%2e%2e"), "/connectors/drafts/%252e%252e"),
            (path("getConnectorStagedById", "demo", "a b\t/"), "/connectors/drafts/a%20b%09%2F"),
            (path("getConnectorStagedById", "demo", "key=x"), "/connectors/drafts/key%3Dx"),
            (action("/service/action", "cart", "addToCart"), "/service/action/cart/addToCart"),
            (action("/service/action", "a/../b", "?x#y @"), "/service/action/a%2F%2E%2E%2Fb/%3Fx%23y%20%40"),
        ] {
            assert_eq!(path, expected);
        }
    }
}
