//! One staged connector and its lifecycle (contract section 4.1): pure; the caller passes the time.
//!
//! Two operations can run concurrently: a preview request, and publishing. [`StagedRecord::advance`] applies every
//! transition that is due. Next: `actions.rs` for the update actions.

use std::time::Duration;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::repository::{Found, Outcomes, RepositoryProblem};
use super::specification::Specification;
use crate::build::{self, PlannedEntry, PlannedOutcome};
use crate::connector::ConnectorDefinition;
use crate::variant::{Certification, CertifiedAgain, NewTag, Variant, Versions};
use clock::later;
use connect_api::model::{
    CertificationInfo, CertificationInfoComment, ConnectorStaged, ConnectorStatus, IsPreviewable, Report, ReportEntry,
};

/// A staged connector with all its published versions.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct StagedRecord {
    /// Number in the order of creation.
    pub(crate) sequence: u64,
    /// The current definition, from which previews are deployed. `private` and `certified` are those of the last
    /// published version.
    pub(crate) definition: ConnectorDefinition,
    pub(super) status: ConnectorStatus,
    /// The problem of its repository, for `repository-check=later`.
    problem: Option<PlannedEntry>,
    /// Outcomes of its tag.
    of_tag: Outcomes,
    /// Planned outcomes, which override those of the tag once.
    next: Outcomes,
    publishing: Option<Publishing>,
    publishing_report: Option<Vec<ReportEntry>>,
    /// When the running preview request ends.
    preview_due: Option<Timestamp>,
    preview_report: Option<Vec<ReportEntry>>,
    comments: Vec<CertificationInfoComment>,
    /// Published versions, the newest last.
    pub(crate) published: Vec<ConnectorDefinition>,
    /// Whether the published connector is listed.
    pub(crate) listed: bool,
    pub(super) stale: Option<StaleStaged>,
}

/// Publishing that runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Publishing {
    candidate: Box<ConnectorDefinition>,
    certification: bool,
    /// When the next step is due; `None`: when `/_dev` or a test ends it.
    due: Option<Timestamp>,
}

/// What lagging reads show until `until`; `shown` is `None` if the connector did not exist.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct StaleStaged {
    pub(super) until: Timestamp,
    pub(super) shown: Option<Box<ConnectorStaged>>,
}

/// Parameters of the lifecycle, other than time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules<'a> {
    pub(crate) variant: &'a Variant,
    /// Duration of publishing, and of each step of a certification; a preview request takes half of it.
    pub(crate) lasts: Duration,
}

impl StagedRecord {
    pub(super) fn new(sequence: u64, definition: ConnectorDefinition) -> Self {
        Self {
            sequence,
            definition,
            status: ConnectorStatus::Draft,
            problem: None,
            of_tag: Outcomes::default(),
            next: Outcomes::default(),
            publishing: None,
            publishing_report: None,
            preview_due: None,
            preview_report: None,
            comments: Vec::new(),
            published: Vec::new(),
            listed: false,
            stale: None,
        }
    }

    /// Applies what was read from its repository.
    pub(super) fn take(&mut self, found: Result<Found, RepositoryProblem>, variant: &Variant) {
        self.problem = found.as_ref().err().map(RepositoryProblem::entry);
        let (specification, of_tag) =
            found.map_or_else(|_| (Specification::default(), Outcomes::default()), |f| (f.specification, f.outcomes));
        if variant.new_tag == NewTag::ResetsPreview && self.preview_due.is_none() {
            self.definition.is_previewable = IsPreviewable::NeverAsked;
        }
        specification.put_into(&mut self.definition);
        self.of_tag = of_tag;
    }

    /// Applies every transition that is due at `now`.
    pub(super) fn advance(&mut self, now: Timestamp, rules: Rules<'_>) {
        if let Some(at) = self.preview_due.filter(|at| now >= *at) {
            self.end_preview(at, rules.variant);
        }
        while let Some(at) = self.publishing.as_ref().and_then(|running| running.due).filter(|at| now >= *at) {
            self.move_on(at, rules);
        }
    }

    pub(super) fn start_preview(&mut self, now: Timestamp, rules: Rules<'_>) {
        self.definition.is_previewable = IsPreviewable::Pending;
        self.preview_report = None;
        self.preview_due = Some(later(now, rules.lasts / 2));
    }

    fn end_preview(&mut self, at: Timestamp, variant: &Variant) {
        let (good, report) = self.outcome(|outcomes| &mut outcomes.preview, at);
        self.definition.is_previewable = if good { IsPreviewable::Yes } else { IsPreviewable::No };
        self.preview_report = report;
        self.preview_due = None;
        self.changed_by_itself(variant);
    }

    pub(super) fn start_publishing(&mut self, certification: bool, now: Timestamp, rules: Rules<'_>) {
        let candidate = Box::new(self.definition.clone());
        self.publishing = Some(Publishing { candidate, certification, due: Some(later(now, rules.lasts)) });
        self.publishing_report = None;
        self.status = ConnectorStatus::Processing;
    }

    /// Performs the next step of publishing.
    fn move_on(&mut self, at: Timestamp, rules: Rules<'_>) {
        let Some(mut running) = self.publishing.take() else { return };
        let certifies = self.status == ConnectorStatus::InCertification;
        let next_due = match rules.variant.certification {
            Certification::Automatic => Some(later(at, rules.lasts)),
            Certification::ByHand => None,
        };
        if self.status == ConnectorStatus::ReadyForCertification {
            running.due = next_due;
            self.publishing = Some(running);
            self.status = ConnectorStatus::InCertification;
            self.changed_by_itself(rules.variant);
            return;
        }
        let (good, report) = if certifies {
            self.outcome(|outcomes| &mut outcomes.certification, at)
        } else {
            self.outcome(|outcomes| &mut outcomes.publishing, at)
        };
        self.publishing_report = report;
        if !good {
            self.status = ConnectorStatus::Failed;
        } else if running.certification && !certifies {
            running.due = next_due;
            self.publishing = Some(running);
            self.status = ConnectorStatus::ReadyForCertification;
        } else {
            self.publish(*running.candidate, certifies, rules.variant);
        }
        self.changed_by_itself(rules.variant);
    }

    fn publish(&mut self, mut connector: ConnectorDefinition, certified: bool, variant: &Variant) {
        // With `certified-again=never`, a certified connector stays certified in all later versions.
        let certified = certified || (variant.certified_again == CertifiedAgain::Never && self.definition.certified);
        (connector.certified, connector.private) = (certified, !certified);
        (self.definition.certified, self.definition.private) = (certified, !certified);
        connector.staged = false;
        connector.is_previewable = IsPreviewable::NeverAsked;
        connector.version = self.published.last().map_or(1, |newest| newest.version + 1);
        self.published.push(connector);
        self.listed = true;
        self.status = ConnectorStatus::Published;
    }

    /// Determines the outcome of an operation: the planned one, else a problem of the repository, else that of the tag.
    fn outcome(
        &mut self,
        which: fn(&mut Outcomes) -> &mut Option<PlannedOutcome>,
        at: Timestamp,
    ) -> (bool, Option<Vec<ReportEntry>>) {
        let broken = || self.problem.clone().map(|entry| PlannedOutcome { fails: true, entries: vec![entry] });
        let planned = which(&mut self.next).take().or_else(broken).or_else(|| which(&mut self.of_tag).clone());
        let planned = planned.unwrap_or_default();
        let (_, mut entries) = build::written(&planned, at);
        for entry in &mut entries {
            // Reports of connectors have no `application` (contract section 13, row 8).
            entry.application = None;
        }
        (!planned.fails, (!entries.is_empty()).then_some(entries))
    }

    fn changed_by_itself(&mut self, variant: &Variant) {
        if variant.versions == Versions::Status {
            self.definition.version += 1;
        }
    }

    /// Adds a certification comment.
    pub(crate) fn comment(&mut self, user_id: &str, comment: &str, now: Timestamp) {
        let (user_id, comment) = (user_id.to_owned(), comment.to_owned());
        self.comments.push(CertificationInfoComment { user_id, datetime: build::in_milliseconds(now), comment });
    }

    /// Plans the outcomes of the running operations, or of the next ones. Outcomes that are not given stay as planned.
    pub(crate) fn plan(&mut self, outcomes: Outcomes) {
        let next = &mut self.next;
        next.preview = outcomes.preview.or(next.preview.take());
        next.publishing = outcomes.publishing.or(next.publishing.take());
        next.certification = outcomes.certification.or(next.certification.take());
    }

    /// Ends everything that runs at `now`, including all steps of a certification.
    pub(crate) fn hasten(&mut self, now: Timestamp, rules: Rules<'_>) {
        self.preview_due = self.preview_due.map(|due| due.min(now));
        self.advance(now, rules);
        while let Some(running) = &mut self.publishing {
            running.due = Some(now);
            self.move_on(now, rules);
        }
    }

    /// Sets any status and cancels publishing.
    pub(crate) fn set_status(&mut self, status: ConnectorStatus) {
        self.status = status;
        self.publishing = None;
    }

    /// Whether it is ready for certification, or in certification.
    pub(super) fn is_in_certification(&self) -> bool {
        matches!(self.status, ConnectorStatus::ReadyForCertification | ConnectorStatus::InCertification)
    }

    /// Whether it differs from the last published version.
    pub(super) fn has_changes(&self) -> bool {
        self.published.last().is_some_and(|published| content(published) != content(&self.definition))
    }

    /// Whether a caller of this project may see it, and change it with the necessary right.
    pub(super) fn is_known_to(&self, project: &str) -> bool {
        match &self.definition.owner {
            Some(owner) => owner == project,
            None => self.definition.is_open_to(project),
        }
    }

    /// Returns what a read at `now` shows; `None` while a lagging read does not find it yet.
    pub(super) fn read(&self, now: Timestamp) -> Option<ConnectorStaged> {
        match &self.stale {
            Some(stale) if now < stale.until => stale.shown.as_deref().cloned(),
            _ => Some(self.show()),
        }
    }

    /// Returns what the answer to a change shows.
    pub(crate) fn show(&self) -> ConnectorStaged {
        let report = |entries: &Option<Vec<ReportEntry>>| entries.clone().map(|entries| Report { entries });
        let definition = self.definition.clone();
        ConnectorStaged {
            key: definition.shown_key(),
            id: definition.id,
            version: definition.version,
            name: definition.name,
            description: definition.description.unwrap_or_default(),
            integration_types: definition.integration_types,
            creator: definition.creator,
            repository: definition.repository,
            configurations: Some(definition.configurations),
            global_configuration: definition.global_configuration,
            api_client: definition.api_client,
            private: definition.private,
            private_projects: definition.private_projects,
            supported_regions: definition.supported_regions,
            certification_info: (!self.comments.is_empty())
                .then(|| CertificationInfo { comments: self.comments.clone() }),
            status: self.status.clone(),
            publishing_report: report(&self.publishing_report),
            already_listed: self.listed,
            has_changes: self.has_changes(),
            is_previewable: definition.is_previewable,
            previewable_report: report(&self.preview_report),
            documentation_url: definition.documentation_url,
        }
    }
}

/// Returns a connector without the members that publishing itself changes.
fn content(connector: &ConnectorDefinition) -> ConnectorDefinition {
    ConnectorDefinition {
        version: 0,
        certified: false,
        private: false,
        staged: false,
        is_previewable: IsPreviewable::NeverAsked,
        ..connector.clone()
    }
}
