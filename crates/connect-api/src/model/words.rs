//! Lists of words (contract sections 4.1, 4.5 and 7), open for words that come later.

use crate::open_enum;

open_enum! {
    /// Where a deployment is in its life (contract section 7).
    DeploymentStatus {
        /// Not described by the contract; idle and not live.
        Draft = "Draft",
        /// Waits for its turn.
        Queued = "Queued",
        /// Is being deployed.
        Deploying = "Deploying",
        /// Live.
        Deployed = "Deployed",
        /// Deploying did not work.
        Failed = "Failed",
        /// Is being taken down.
        Undeploying = "Undeploying",
        /// Taking it down did not work; something may still run.
        UndeployFailed = "UndeployFailed",
    }
}

impl DeploymentStatus {
    /// Whether something moves by itself, so that looking again makes sense and a redeploy is refused (contract
    /// section 7). A word that is not listed counts as busy: nothing may be concluded from it.
    #[must_use]
    pub fn is_busy(&self) -> bool {
        match self {
            Self::Queued | Self::Deploying | Self::Undeploying | Self::Other(_) => true,
            Self::Draft | Self::Deployed | Self::Failed | Self::UndeployFailed => false,
        }
    }
}

open_enum! {
    /// Kind of a deployment (contract section 4.1).
    DeploymentType {
        /// Of a staged connector.
        Preview = "preview",
        /// Of a published connector, for trying.
        Sandbox = "sandbox",
        /// Of a published connector; the project must be marked as production.
        Production = "production",
    }
}

open_enum! {
    /// Where a staged connector is on its way to being published (contract section 4.1).
    #[derive(Default)]
    ConnectorStatus {
        /// Nothing was asked for yet.
        #[default]
        Draft = "Draft",
        /// Publishing runs; no update is accepted.
        Processing = "Processing",
        /// Waits for certification.
        ReadyForCertification = "ReadyForCertification",
        /// Is being certified.
        InCertification = "InCertification",
        /// Is published.
        Published = "Published",
        /// Was not published.
        Failed = "Failed",
    }
}

open_enum! {
    /// Whether a staged connector may be deployed; words, not a boolean (contract section 4.1).
    #[derive(Default)]
    IsPreviewable {
        /// It may.
        Yes = "true",
        /// It may not; the support has to be asked.
        No = "false",
        /// The request is being looked at.
        Pending = "pending",
        /// Nobody asked.
        #[default]
        NeverAsked = "none",
    }
}

open_enum! {
    /// What a connector integrates with (contract section 4.1).
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
    /// Weight of an entry of a report.
    EntryType {
        /// To know.
        Information = "Information",
        /// To look at.
        Warning = "Warning",
        /// What was asked for broke off.
        Error = "Error",
    }
}

open_enum! {
    /// Kind of an application (contract section 4.1).
    ApplicationType {
        /// Answers over HTTP.
        Service = "service",
        /// Answers messages of a topic.
        Event = "event",
        /// Runs on a schedule.
        Job = "job",
        /// An application of the Merchant Center.
        MerchantCenterCustomApplication = "merchant-center-custom-application",
        /// A view of the Merchant Center.
        MerchantCenterCustomView = "merchant-center-custom-view",
        /// Static files.
        Assets = "assets",
    }
}

open_enum! {
    /// Weight of a log entry.
    LogSeverity {
        /// None was given.
        Default = "DEFAULT",
        /// For developers.
        Debug = "DEBUG",
        /// Routine.
        Info = "INFO",
        /// Normal but significant.
        Notice = "NOTICE",
        /// Might cause trouble.
        Warning = "WARNING",
        /// Likely causes trouble.
        Error = "ERROR",
        /// Causes severe trouble.
        Critical = "CRITICAL",
        /// A person must act at once.
        Alert = "ALERT",
        /// Unusable.
        Emergency = "EMERGENCY",
    }
}

open_enum! {
    /// Origin and form of a log entry.
    LogType {
        /// A request that was served.
        HttpRequest = "HTTP_REQUEST",
        /// A line of text.
        ApplicationText = "APPLICATION_TEXT",
        /// A JSON object.
        ApplicationJson = "APPLICATION_JSON",
    }
}
