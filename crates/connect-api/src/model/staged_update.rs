//! Updates of a staged connector: nineteen actions (contract section 6.2).

use serde::{Deserialize, Serialize};

use super::{IntegrationType, Repository};

/// The request body for updating a staged connector (contract section 4.3). Whether an update with several actions is
/// atomic is unspecified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConnectorUpdate {
    /// The version that the caller read.
    pub version: i64,
    /// The update actions.
    pub actions: Vec<ConnectorUpdateAction>,
}

/// An update action of a staged connector, tagged by the member `action` (contract section 6.2). The service accepts
/// none while publishing is in progress. No action changes the key.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "action", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum ConnectorUpdateAction {
    /// Adds a comment during certification.
    AddCertificationComment {
        /// The text of the comment.
        comment: String,
    },
    /// Allows one more project to use it; only for a private connector.
    AddPrivateProject {
        /// `{region}:{projectKey}`.
        private_project: String,
    },
    /// Removes a project from the list; only for a private connector.
    RemovePrivateProject {
        /// `{region}:{projectKey}`.
        private_project: String,
    },
    /// Starts publishing.
    Publish {
        /// `true`: certifies the connector, which then becomes public. `false`: publishes it as private, deployable
        /// only in its `privateProjects`.
        certification: bool,
    },
    /// Sets the company of the creator.
    SetCreatorCompany {
        /// The company.
        creator_company: String,
    },
    /// Sets the email address of the creator.
    SetCreatorEmail {
        /// The email address.
        creator_email: String,
    },
    /// Sets the logo of the creator.
    SetCreatorLogo {
        /// Address of the logo.
        logo_url: String,
    },
    /// Sets the name of the creator.
    SetCreatorName {
        /// The name.
        creator_name: String,
    },
    /// Sets the number of contributors.
    SetCreatorNoOfContributors {
        /// At least 1 (contract section 9).
        creator_no_of_contributors: i64,
    },
    /// Sets the support site.
    SetCreatorSupportUrl {
        /// Address of the support site.
        creator_support_url: String,
    },
    /// Sets the job title of the creator.
    SetCreatorTitle {
        /// The job title.
        creator_title: String,
    },
    /// Sets the description.
    SetDescription {
        /// The description.
        description: String,
    },
    /// Sets the documentation.
    SetDocumentationUrl {
        /// Address of the documentation.
        documentation_url: String,
    },
    /// Replaces the integration types.
    SetIntegrationTypes {
        /// The complete new list.
        integration_types: Vec<IntegrationType>,
    },
    /// Sets the display name.
    SetName {
        /// The display name.
        name: String,
    },
    /// Sets the repository and tag, which are members beside `action`.
    SetRepository(RepositoryChange),
    /// Replaces the supported regions.
    SetSupportedRegions {
        /// At least one region (contract section 9): the list cannot be emptied.
        regions: Vec<String>,
    },
    /// Removes a certified connector from search and lists; existing deployments remain.
    Unlist,
    /// Requests permission to deploy it while staged.
    UpdatePreviewable,
}

/// A new repository URL or tag. The operator always sends the URL. Some clients omit it, which keeps the old URL, so
/// that only decoding can produce a value without one.
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
    /// Returns the repository after the change.
    pub fn applied_to(self, old: Repository) -> Repository {
        Repository { url: self.url.unwrap_or(old.url), tag: self.tag }
    }
}

#[cfg(test)]
#[path = "staged_tests.rs"]
mod tests;
