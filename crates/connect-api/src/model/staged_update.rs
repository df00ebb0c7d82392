//! Changes of a staged connector: nineteen actions (contract section 6.2).

use serde::{Deserialize, Serialize};

use super::{IntegrationType, Repository};

/// Changes of a staged connector (contract section 4.3). Whether several actions in one update are all or nothing is
/// unspecified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorUpdate {
    /// The version that the caller has seen.
    pub version: i64,
    /// The changes.
    pub actions: Vec<ConnectorUpdateAction>,
}

/// A change of a staged connector; the member `action` tells which (contract section 6.2). None is accepted while
/// publishing runs. There is none for the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConnectorUpdateAction {
    /// Adds a remark during certification.
    AddCertificationComment {
        /// The remark.
        comment: String,
    },
    /// Lets one more project use it; only if it is private.
    AddPrivateProject {
        /// `{region}:{projectKey}`.
        private_project: String,
    },
    /// Takes a project off the list; only if it is private.
    RemovePrivateProject {
        /// `{region}:{projectKey}`.
        private_project: String,
    },
    /// Starts publishing.
    Publish {
        /// `true`: goes to certification and becomes public after it. `false`: private, deployable only in its
        /// `privateProjects`.
        certification: bool,
    },
    /// Company of the creator.
    SetCreatorCompany {
        /// The company.
        creator_company: String,
    },
    /// Address of the creator.
    SetCreatorEmail {
        /// The address.
        creator_email: String,
    },
    /// Logo of the creator.
    SetCreatorLogo {
        /// Its address.
        logo_url: String,
    },
    /// Name of the creator.
    SetCreatorName {
        /// The name.
        creator_name: String,
    },
    /// Number of people working on it.
    SetCreatorNoOfContributors {
        /// At least 1 (contract section 9).
        creator_no_of_contributors: i64,
    },
    /// Support site.
    SetCreatorSupportUrl {
        /// Its address.
        creator_support_url: String,
    },
    /// Title of the creator.
    SetCreatorTitle {
        /// The title.
        creator_title: String,
    },
    /// Description.
    SetDescription {
        /// The description.
        description: String,
    },
    /// Documentation.
    SetDocumentationUrl {
        /// Its address.
        documentation_url: String,
    },
    /// Replaces the integration types.
    SetIntegrationTypes {
        /// All of them.
        integration_types: Vec<IntegrationType>,
    },
    /// Name.
    SetName {
        /// The name.
        name: String,
    },
    /// Repository and tag; the two stand beside `action`.
    SetRepository(RepositoryChange),
    /// Replaces the regions.
    SetSupportedRegions {
        /// At least one (contract section 9): regions cannot be emptied.
        regions: Vec<String>,
    },
    /// Takes a certified one out of search and lists; what is deployed stays.
    Unlist,
    /// Asks for permission to deploy it while staged.
    UpdatePreviewable,
}

/// Another repository or tag. The address is always written; some clients leave it out, which keeps the old one, so
/// that only reading can make one without it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryChange {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    url: Option<String>,
    tag: String,
}

impl From<Repository> for RepositoryChange {
    fn from(Repository { url, tag }: Repository) -> Self {
        Self { url: Some(url), tag }
    }
}

impl RepositoryChange {
    /// What becomes of a connector's repository.
    #[must_use]
    pub fn applied_to(self, old: Repository) -> Repository {
        Repository { url: self.url.unwrap_or(old.url), tag: self.tag }
    }
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
