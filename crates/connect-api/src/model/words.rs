//! Enums of the contract (sections 4.1 and 7), which keep words that the contract does not list.

use crate::open_enum;

open_enum! {
    /// Lifecycle status of a deployment (contract section 7).
    DeploymentStatus {
        /// Not described by the contract; treated as idle and not live.
        Draft = "Draft",
        /// Waiting to be deployed.
        Queued = "Queued",
        /// Being deployed.
        Deploying = "Deploying",
        /// Live.
        Deployed = "Deployed",
        /// The deployment failed.
        Failed = "Failed",
        /// Being undeployed.
        Undeploying = "Undeploying",
        /// The removal failed; some parts may still run.
        UndeployFailed = "UndeployFailed",
    }
}

impl DeploymentStatus {
    /// Returns whether an operation is in progress, so that polling makes sense and the service refuses a redeploy
    /// (contract section 7). An unknown status counts as busy, because nothing can be concluded from it.
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Queued | Self::Deploying | Self::Undeploying | Self::Other(_) => true,
            Self::Draft | Self::Deployed | Self::Failed | Self::UndeployFailed => false,
        }
    }
}

open_enum! {
    /// Type of a deployment (contract section 4.1).
    DeploymentType {
        /// Deploys a staged connector.
        Preview = "preview",
        /// Deploys a published connector for testing.
        Sandbox = "sandbox",
        /// Deploys a published connector; the project must be marked as production.
        Production = "production",
    }
}

open_enum! {
    /// Publication status of a staged connector (contract section 4.1).
    #[derive(Default)]
    ConnectorStatus {
        /// Publishing was not requested yet.
        #[default]
        Draft = "Draft",
        /// Publishing is in progress; updates are refused.
        Processing = "Processing",
        /// Waiting for certification.
        ReadyForCertification = "ReadyForCertification",
        /// In certification.
        InCertification = "InCertification",
        /// Published.
        Published = "Published",
        /// Publishing failed.
        Failed = "Failed",
    }
}

open_enum! {
    /// Whether a staged connector may be deployed: an enum of words, not a boolean (contract section 4.1).
    #[derive(Default)]
    IsPreviewable {
        /// It may be deployed.
        Yes = "true",
        /// It may not be deployed; contact the vendor's support.
        No = "false",
        /// The request is under review.
        Pending = "pending",
        /// Nobody requested permission.
        #[default]
        NeverAsked = "none",
    }
}

open_enum! {
    /// A system that a connector integrates with (contract section 4.1).
    IntegrationType {
        /// Taxes.
        Tax = "tax",
        /// Marketplaces.
        Marketplace = "marketplace",
        /// Order management.
        Oms = "oms",
        /// Payment.
        Psp = "psp",
        /// Product information.
        Pim = "pim",
        /// Promotions.
        Promotion = "promotion",
        /// Search.
        Search = "search",
        /// Resource planning.
        Erp = "erp",
        /// Customer relations.
        Crm = "crm",
        /// Mail.
        Email = "email",
        /// Analytics.
        Analytics = "analytics",
        /// Shipping.
        Shipping = "shipping",
        /// Gift cards.
        Giftcard = "giftcard",
        /// Anything else: the word `other`, which the contract lists.
        SomethingElse = "other",
    }
}

open_enum! {
    /// Severity of a report entry.
    #[derive(Default)]
    EntryType {
        /// Information only.
        #[default]
        Information = "Information",
        /// A warning.
        Warning = "Warning",
        /// The requested operation failed.
        Error = "Error",
    }
}

open_enum! {
    /// Type of an application (contract section 4.1).
    #[derive(Default)]
    ApplicationType {
        /// Serves HTTP requests.
        #[default]
        Service = "service",
        /// Handles the messages of a topic.
        Event = "event",
        /// Runs on a schedule.
        Job = "job",
        /// A custom application of the Merchant Center.
        MerchantCenterCustomApplication = "merchant-center-custom-application",
        /// A custom view of the Merchant Center.
        MerchantCenterCustomView = "merchant-center-custom-view",
        /// Static files.
        Assets = "assets",
    }
}
