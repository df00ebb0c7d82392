//! The 19 update actions of a staged connector: the effect of each, and when it is refused (contract section 6.2).
//!
//! The contract leaves these points open; the dev server chooses: an action that is not possible now and has no code of
//! its own is refused with `InvalidJsonInput`; adding a project that is already listed and removing one that is not
//! listed have no effect. Next: `variant.rs` for what can be configured.

use jiff::Timestamp;

use super::Specifications;
use super::record::{Rules, StagedRecord};
use crate::refusal::{Refusal, cut};
use crate::variant::{CertifiedAgain, PublishingCode, RepositoryCheck};
use connect_api::ErrorCode;
use connect_api::model::{ConnectorStatus, ConnectorUpdateAction as Action, Creator, IsPreviewable, RepositoryChange};

/// Context of an update: the project of the caller, the time, and the repositories that were read.
#[derive(Clone, Copy, Debug)]
pub(super) struct Change<'a> {
    pub(super) project: &'a str,
    pub(super) now: Timestamp,
    pub(super) rules: Rules<'a>,
    pub(super) found: &'a Specifications,
}

/// Returns the refusal of any change while publishing runs; its code is unspecified.
pub(super) fn while_publishing(code: PublishingCode) -> Refusal {
    let text = "The connector is being published; nothing can be changed until that is over.";
    match code {
        PublishingCode::InCertification => Refusal::new(ErrorCode::ConnectorStagedInCertification, text),
        PublishingCode::PreviewRequest => Refusal::new(ErrorCode::ConnectorStagedPreviewRequestUnderProcess, text),
        PublishingCode::Invalid => not_now(text),
    }
}

fn not_now(details: &str) -> Refusal {
    Refusal::with_details(ErrorCode::InvalidJsonInput, "The action is not possible now.", details)
}

/// Applies one action. An error may leave a partial change, so callers pass a copy.
pub(super) fn apply(record: &mut StagedRecord, action: &Action, change: Change<'_>) -> Result<(), Refusal> {
    match action {
        Action::AddCertificationComment { comment } => comment_on(record, comment, change)?,
        Action::AddPrivateProject { private_project } => add_project(record, private_project)?,
        Action::RemovePrivateProject { private_project } => {
            check_private(record)?;
            record.definition.private_projects.retain(|listed| listed != private_project);
        }
        Action::Publish { certification } => publish(record, *certification, change)?,
        Action::SetCreatorCompany { .. }
        | Action::SetCreatorEmail { .. }
        | Action::SetCreatorLogo { .. }
        | Action::SetCreatorName { .. }
        | Action::SetCreatorNoOfContributors { .. }
        | Action::SetCreatorSupportUrl { .. }
        | Action::SetCreatorTitle { .. } => set_creator(&mut record.definition.creator, action),
        Action::SetDescription { description } => record.definition.description = Some(description.clone()),
        Action::SetDocumentationUrl { documentation_url } => {
            record.definition.documentation_url = Some(documentation_url.clone());
        }
        Action::SetIntegrationTypes { integration_types } => {
            record.definition.integration_types.clone_from(integration_types);
        }
        Action::SetName { name } => record.definition.name.clone_from(name),
        Action::SetRepository(repository) => set_repository(record, repository, change)?,
        Action::SetSupportedRegions { regions } => record.definition.supported_regions.clone_from(regions),
        Action::Unlist => unlist(record)?,
        Action::UpdatePreviewable => ask_for_preview(record, change)?,
    }
    Ok(())
}

fn set_creator(creator: &mut Creator, action: &Action) {
    match action {
        Action::SetCreatorCompany { creator_company } => creator.company = Some(creator_company.clone()),
        Action::SetCreatorEmail { creator_email } => creator.email.clone_from(creator_email),
        Action::SetCreatorLogo { logo_url } => creator.logo_url = Some(logo_url.clone()),
        Action::SetCreatorName { creator_name } => creator.name = Some(creator_name.clone()),
        Action::SetCreatorNoOfContributors { creator_no_of_contributors } => {
            creator.no_of_contributors = Some(*creator_no_of_contributors);
        }
        Action::SetCreatorSupportUrl { creator_support_url } => creator.support_url = Some(creator_support_url.clone()),
        Action::SetCreatorTitle { creator_title } => creator.title = Some(creator_title.clone()),
        _ => {}
    }
}

fn comment_on(record: &mut StagedRecord, comment: &str, change: Change<'_>) -> Result<(), Refusal> {
    if !record.is_in_certification() {
        return Err(not_now("Only a connector in certification can be commented on."));
    }
    record.comment(change.project, comment, change.now);
    Ok(())
}

fn check_private(record: &StagedRecord) -> Result<(), Refusal> {
    if record.definition.private {
        return Ok(());
    }
    Err(Refusal::new(
        ErrorCode::ConnectorStagedNotPrivate,
        "The connector is not private, so it has no list of projects.",
    ))
}

fn add_project(record: &mut StagedRecord, project: &str) -> Result<(), Refusal> {
    check_private(record)?;
    let listed = &mut record.definition.private_projects;
    if !listed.iter().any(|listed| listed == project) {
        listed.push(project.to_owned());
    }
    Ok(())
}

fn publish(record: &mut StagedRecord, certification: bool, change: Change<'_>) -> Result<(), Refusal> {
    if certification {
        if record.is_in_certification() {
            let text = "The connector is being certified already.";
            return Err(Refusal::new(ErrorCode::ConnectorStagedInCertification, text));
        }
        let again = change.rules.variant.certified_again;
        if record.definition.certified && (again == CertifiedAgain::Never || !record.has_changes()) {
            let text = "The connector is certified already.";
            return Err(Refusal::new(ErrorCode::ConnectorAlreadyCertified, text));
        }
    }
    record.start_publishing(certification, change.now, change.rules);
    Ok(())
}

fn set_repository(record: &mut StagedRecord, repository: &RepositoryChange, change: Change<'_>) -> Result<(), Refusal> {
    let repository = repository.clone().applied_to(record.definition.repository.clone());
    let found = change.found.of(&repository);
    if change.rules.variant.repository_check == RepositoryCheck::AtOnce
        && let Err(problem) = &found
    {
        return Err(problem.refusal());
    }
    record.definition.repository = repository;
    record.take(found, change.rules.variant);
    Ok(())
}

fn unlist(record: &mut StagedRecord) -> Result<(), Refusal> {
    if !record.definition.certified || !record.listed {
        return Err(not_now("Only a connector that is certified and listed can be unlisted."));
    }
    record.listed = false;
    Ok(())
}

fn ask_for_preview(record: &mut StagedRecord, change: Change<'_>) -> Result<(), Refusal> {
    if record.definition.is_previewable == IsPreviewable::Pending {
        let text = format!("The request to preview '{}' is being processed.", cut(&record.definition.name));
        return Err(Refusal::new(ErrorCode::ConnectorStagedPreviewRequestUnderProcess, text));
    }
    record.start_preview(change.now, change.rules);
    Ok(())
}

/// Whether publishing runs, so that no change is possible.
pub(super) fn is_publishing(record: &StagedRecord) -> bool {
    record.status == ConnectorStatus::Processing
}
