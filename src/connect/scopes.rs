//! Scopes of the API (contract section 2): which right needs which of them, and which of them contain others. Pure.
//!
//! The one table of scopes: the dev server grants and checks by it, and texts that tell a person which scope is missing
//! are made from it. Scopes are written without the project here, `view_connectors` rather than `view_connectors:shop`,
//! unless a function says otherwise.

/// Contains every scope of this page but [`MANAGE_API_CLIENTS`].
pub const MANAGE_PROJECT: &str = "manage_project";
/// Prepares, changes and deletes staged connectors; contains [`VIEW_CONNECTORS`].
pub const MANAGE_CONNECTORS: &str = "manage_connectors";
/// Reads connectors and staged connectors.
pub const VIEW_CONNECTORS: &str = "view_connectors";
/// Creates, redeploys and deletes deployments; contains [`VIEW_CONNECTORS_DEPLOYMENTS`].
pub const MANAGE_CONNECTORS_DEPLOYMENTS: &str = "manage_connectors_deployments";
/// Reads deployments and their logs.
pub const VIEW_CONNECTORS_DEPLOYMENTS: &str = "view_connectors_deployments";
/// Lets a deployment generate an API client. No other scope contains it.
pub const MANAGE_API_CLIENTS: &str = "manage_api_clients";

/// Reads and changes Extensions. A scope of the HTTP API, which has none for reading alone; [`MANAGE_PROJECT`] contains
/// it. Not in the contract: the vendor's reference of the HTTP API.
pub const MANAGE_EXTENSIONS: &str = "manage_extensions";
/// Reads and changes Subscriptions. The same holds for it.
pub const MANAGE_SUBSCRIPTIONS: &str = "manage_subscriptions";

/// Each scope that contains others, with those others.
const CONTAINED: [(&str, &[&str]); 3] = [
    (
        MANAGE_PROJECT,
        &[
            MANAGE_CONNECTORS,
            VIEW_CONNECTORS,
            MANAGE_CONNECTORS_DEPLOYMENTS,
            VIEW_CONNECTORS_DEPLOYMENTS,
            MANAGE_EXTENSIONS,
            MANAGE_SUBSCRIPTIONS,
        ],
    ),
    (MANAGE_CONNECTORS, &[VIEW_CONNECTORS]),
    (MANAGE_CONNECTORS_DEPLOYMENTS, &[VIEW_CONNECTORS_DEPLOYMENTS]),
];

/// What a caller may do: one group of operations of contract section 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Right {
    /// Read and search connectors, read and list staged connectors.
    ViewConnectors,
    /// Create, update and delete staged connectors.
    ManageConnectors,
    /// Read and list deployments, read their logs.
    ViewDeployments,
    /// Create, update and delete deployments.
    ManageDeployments,
    /// Create a deployment whose API client is generated, beside [`Right::ManageDeployments`].
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

    /// The scopes of which any one is enough. The last one allows the least.
    #[must_use]
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

    /// What it is needed for, as the end of a sentence.
    #[must_use]
    pub const fn purpose(self) -> &'static str {
        match self {
            Self::ViewConnectors => "to read connectors",
            Self::ManageConnectors => "to create, update and delete staged connectors",
            Self::ViewDeployments => "to read deployments and their logs",
            Self::ManageDeployments => "to create, redeploy and delete deployments",
            Self::GenerateApiClients => "to deploy a connector whose API client is generated",
            Self::ReadExtensions => "to read Extensions",
            Self::ReadSubscriptions => "to read Subscriptions",
        }
    }

    /// Whether a token with these scopes, which name their projects, has it in a project.
    pub fn is_granted<'a>(self, scopes: impl IntoIterator<Item = &'a str>, project: &str) -> bool {
        scopes
            .into_iter()
            .filter_map(|scope| scope.split_once(':'))
            .any(|(scope, of)| of == project && self.scopes().contains(&scope))
    }

    /// The scopes that are enough, each with the project, joined by `or`.
    #[must_use]
    pub fn needed(self, project: &str) -> String {
        let scopes: Vec<_> = self.scopes().iter().map(|scope| format!("{scope}:{project}")).collect();
        scopes.join(" or ")
    }
}

/// Whether a client that owns `own` may ask for a token with `asked`; both name their project. Each scope contains
/// itself, and nothing of another project.
#[must_use]
pub fn contains(own: &str, asked: &str) -> bool {
    if own == asked {
        return true;
    }
    let (Some((own, own_project)), Some((asked, asked_project))) = (own.split_once(':'), asked.split_once(':')) else {
        return false;
    };
    own_project == asked_project
        && CONTAINED.iter().any(|(scope, contained)| *scope == own && contained.contains(&asked))
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

    /// A client that may ask for a token with a scope must not gain a right by it.
    #[test]
    fn a_contained_scope_gives_no_right_that_its_owner_lacks() {
        for (own, contained) in CONTAINED {
            for scope in contained {
                for right in Right::ALL.iter().filter(|right| right.scopes().contains(scope)) {
                    assert!(right.scopes().contains(&own), "{own}, {scope}: {right:?}");
                }
            }
        }
        assert_eq!(Right::ManageConnectors.needed("shop"), "manage_project:shop or manage_connectors:shop");
        assert!(Right::ViewConnectors.is_granted(["view_connectors:shop"], "shop"));
        assert!(!Right::ViewConnectors.is_granted(["view_connectors:shop", "view_connectors"], "demo"));
    }
}
