//! OAuth scopes of the API (contract section 2): which permission needs which scope, and which scopes include others.
//! Pure.
//!
//! This is the single table of scopes. The dev server grants and checks by it, the operator compares a token with it
//! before it sends anything, and messages about missing scopes are generated from it. Scopes are written without the
//! project, `view_connectors` instead of `view_connectors:shop`, unless a function documents otherwise.

/// Includes every scope in this module except [`MANAGE_API_CLIENTS`].
pub const MANAGE_PROJECT: &str = "manage_project";
/// Creates, updates and deletes staged connectors; includes [`VIEW_CONNECTORS`].
pub const MANAGE_CONNECTORS: &str = "manage_connectors";
/// Reads connectors and staged connectors.
pub const VIEW_CONNECTORS: &str = "view_connectors";
/// Creates, redeploys and deletes deployments; includes [`VIEW_CONNECTORS_DEPLOYMENTS`].
pub const MANAGE_CONNECTORS_DEPLOYMENTS: &str = "manage_connectors_deployments";
/// Reads deployments.
pub const VIEW_CONNECTORS_DEPLOYMENTS: &str = "view_connectors_deployments";
/// Allows a deployment to generate an API client. No other scope includes it.
pub const MANAGE_API_CLIENTS: &str = "manage_api_clients";

/// Reads and changes Extensions. A scope of the HTTP API, which has no read-only scope for them; [`MANAGE_PROJECT`]
/// includes it. Source: the vendor's reference of the HTTP API, not the contract.
pub const MANAGE_EXTENSIONS: &str = "manage_extensions";
/// Reads and changes Subscriptions. Otherwise like [`MANAGE_EXTENSIONS`].
pub const MANAGE_SUBSCRIPTIONS: &str = "manage_subscriptions";

/// A permission of a caller: one group of operations in contract section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Read and search connectors, read and list staged connectors.
    ViewConnectors,
    /// Create, update and delete staged connectors.
    ManageConnectors,
    /// Read and list deployments.
    ViewDeployments,
    /// Create, update and delete deployments.
    ManageDeployments,
    /// Create a deployment whose API client is generated; needed in addition to [`Right::ManageDeployments`].
    GenerateApiClients,
    /// Read Extensions, for `spec.verify`.
    ReadExtensions,
    /// Read Subscriptions, for `spec.verify`.
    ReadSubscriptions,
}

impl Right {
    /// All rights, in the order of contract section 2, then those of the HTTP API.
    pub const ALL: [Self; 7] = [
        Self::ViewConnectors,
        Self::ManageConnectors,
        Self::ViewDeployments,
        Self::ManageDeployments,
        Self::GenerateApiClients,
        Self::ReadExtensions,
        Self::ReadSubscriptions,
    ];

    /// Returns the scopes of which any single one is sufficient. The last one grants the least.
    pub const fn scopes(self) -> &'static [&'static str] {
        match self {
            Self::ViewConnectors => &[MANAGE_PROJECT, MANAGE_CONNECTORS, VIEW_CONNECTORS],
            Self::ManageConnectors => &[MANAGE_PROJECT, MANAGE_CONNECTORS],
            Self::ViewDeployments => &[MANAGE_PROJECT, MANAGE_CONNECTORS_DEPLOYMENTS, VIEW_CONNECTORS_DEPLOYMENTS],
            Self::ManageDeployments => &[MANAGE_PROJECT, MANAGE_CONNECTORS_DEPLOYMENTS],
            Self::GenerateApiClients => &[MANAGE_API_CLIENTS],
            Self::ReadExtensions => &[MANAGE_PROJECT, MANAGE_EXTENSIONS],
            Self::ReadSubscriptions => &[MANAGE_PROJECT, MANAGE_SUBSCRIPTIONS],
        }
    }

    /// Returns what the right is needed for, as the end of a sentence.
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::ViewConnectors => "to read connectors",
            Self::ManageConnectors => "to create, update and delete staged connectors",
            Self::ViewDeployments => "to read deployments",
            Self::ManageDeployments => "to create, redeploy and delete deployments",
            Self::GenerateApiClients => "to deploy a connector whose API client is generated",
            Self::ReadExtensions => "to read Extensions",
            Self::ReadSubscriptions => "to read Subscriptions",
        }
    }

    /// Returns whether `scopes`, each with its project, grant the right in `project`.
    pub fn is_granted<'a>(self, scopes: impl IntoIterator<Item = &'a str>, project: &str) -> bool {
        scopes
            .into_iter()
            .filter_map(|scope| scope.split_once(':'))
            .any(|(scope, of)| of == project && self.scopes().contains(&scope))
    }

    /// Returns the sufficient scopes, each with the project, joined by `or`.
    pub fn needed(self, project: &str) -> String {
        let scopes: Vec<_> = self.scopes().iter().map(|scope| format!("{scope}:{project}")).collect();
        scopes.join(" or ")
    }
}

/// Returns those of `rights` that a token lacks in a project. `granted` are its scopes from the token response. If none
/// of them names this project, the scopes prove nothing and no right is reported as missing.
pub fn missing(rights: &[Right], granted: &[String], project: &str) -> Vec<Right> {
    let of_project = |scope: &String| scope.split_once(':').is_some_and(|(_, of)| of == project);
    if !granted.iter().any(of_project) {
        return Vec::new();
    }
    let lacks = |right: &&Right| !right.is_granted(granted.iter().map(String::as_str), project);
    rights.iter().filter(lacks).copied().collect()
}

/// Describes which scopes these rights need, each with the project, and what they are needed for.
pub fn explain(rights: &[Right], project: &str) -> String {
    let each = rights.iter().map(|right| format!("{}, which is needed {}", right.needed(project), right.purpose()));
    each.collect::<Vec<_>>().join("; and ")
}

/// Returns whether a client with the scope `own` may request a token with the scope `asked`; both name their project.
/// Each scope includes itself and those that give no further right, and none includes a scope of another project.
pub fn contains(own: &str, asked: &str) -> bool {
    if own == asked {
        return true;
    }
    let (Some((own, own_project)), Some((asked, asked_project))) = (own.split_once(':'), asked.split_once(':')) else {
        return false;
    };
    let mut given = Right::ALL.iter().map(|right| right.scopes()).filter(|scopes| scopes.contains(&asked)).peekable();
    own_project == asked_project && given.peek().is_some() && given.all(|scopes| scopes.contains(&own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scope_contains_what_the_contract_says_and_nothing_of_other_projects() {
        for (own, asked, expected) in [
            ("manage_project:demo", "manage_project:demo", true),
            ("manage_project:demo", "manage_connectors:demo", true),
            ("manage_project:demo", "view_connectors:demo", true),
            ("manage_project:demo", "manage_connectors_deployments:demo", true),
            ("manage_project:demo", "view_connectors_deployments:demo", true),
            ("manage_project:demo", "manage_extensions:demo", true),
            ("manage_project:demo", "manage_subscriptions:demo", true),
            ("manage_connectors:demo", "manage_extensions:demo", false),
            ("manage_project:demo", "manage_api_clients:demo", false),
            ("manage_project:demo", "view_connectors:other", false),
            ("manage_project:demo", "something:demo", false),
            ("manage_project:demo", "view_connectors", false),
            ("manage_project", "view_connectors", false),
            ("manage_connectors:demo", "view_connectors:demo", true),
            ("manage_connectors:demo", "view_connectors_deployments:demo", false),
            ("manage_connectors_deployments:demo", "view_connectors_deployments:demo", true),
            ("manage_connectors_deployments:demo", "view_connectors:demo", false),
            ("view_connectors:demo", "manage_connectors:demo", false),
            ("manage_api_clients:demo", "manage_api_clients:demo", true),
            ("something", "something", true),
        ] {
            assert_eq!(contains(own, asked), expected, "{own} contains {asked}");
        }
    }

    #[test]
    fn a_token_lacks_what_its_scopes_of_the_project_do_not_cover() {
        use Right::{GenerateApiClients, ManageConnectors, ManageDeployments, ViewConnectors};
        let create = &[ManageDeployments, ViewConnectors, GenerateApiClients];
        for (granted, expected) in [
            ("", &[][..]),
            ("manage_project:other", &[]),
            ("manage_project", &[]),
            ("customer_id:7", &[]),
            ("manage_project:shop", &[GenerateApiClients]),
            ("manage_project:shop manage_api_clients:shop", &[]),
            ("manage_project:shop manage_api_clients:other", &[GenerateApiClients]),
            ("manage_connectors_deployments:shop view_connectors:shop manage_api_clients:shop", &[]),
            ("manage_connectors_deployments:shop manage_api_clients:shop", &[ViewConnectors]),
            ("manage_connectors:shop", &[ManageDeployments, GenerateApiClients]),
            ("view_products:shop", &[ManageDeployments, ViewConnectors, GenerateApiClients]),
        ] {
            let granted: Vec<_> = granted.split_whitespace().map(str::to_owned).collect();
            assert_eq!(missing(create, &granted, "shop"), expected, "{granted:?}");
        }
        assert_eq!(
            explain(&[GenerateApiClients, ManageConnectors], "shop"),
            "manage_api_clients:shop, which is needed to deploy a connector whose API client is generated; and \
             manage_project:shop or manage_connectors:shop, which is needed to create, update and delete staged connectors"
        );
    }
}
