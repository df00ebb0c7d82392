//! `docs/conditions.md`: every reason, its meaning for the user, and the remedy.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use connect_operator::controllers::reason::{ConditionState, Reason};

use crate::golden::assert_golden_parts;
use crate::sources;

/// Reasons that a `ConnectProject` can have.
const PROJECT: &[Reason] = &[
    Reason::Available,
    Reason::Queued,
    Reason::InUse,
    Reason::SecretMissing,
    Reason::CredentialsNotKept,
    Reason::KubernetesError,
    Reason::ServiceUnavailable,
    Reason::Throttled,
    Reason::TooManyProjects,
    Reason::ConfigurationInvalid,
    Reason::PermissionMissing,
    Reason::ProjectNotFound,
    Reason::CredentialsRejected,
];

/// Reasons that the condition `RegistryMirrored` of a `ConnectProject` can have.
pub(crate) const MIRROR: &[Reason] = &[
    Reason::Mirrored,
    Reason::RegistryCut,
    Reason::RegistryReadInPart,
    Reason::ProjectNotReady,
    Reason::ServiceUnavailable,
    Reason::Throttled,
    Reason::KubernetesError,
    Reason::RequestRejected,
    Reason::PermissionMissing,
    Reason::CredentialsRejected,
];

/// Reasons that the condition `Verified` of a `ConnectorDeployment` can have.
const VERIFIED: &[Reason] = &[
    Reason::Verified,
    Reason::NotChecked,
    Reason::NotFound,
    Reason::WrongDestination,
    Reason::SecretMissing,
    Reason::KubernetesError,
    Reason::ConfigurationInvalid,
    Reason::PermissionMissing,
    Reason::CredentialsRejected,
];

/// Reasons that an `ActionCheck` can have.
const CHECK: &[Reason] = &[
    Reason::CheckPassed,
    Reason::Checking,
    Reason::DeploymentNotReady,
    Reason::Suspended,
    Reason::SecretMissing,
    Reason::ProjectMissing,
    Reason::ProjectNotAllowed,
    Reason::FrontendUnavailable,
    Reason::CheckFailing,
    Reason::CheckFailed,
    Reason::AnswerLost,
    Reason::ExpectInvalid,
    Reason::HostNotAllowed,
    Reason::ConfigurationInvalid,
    Reason::InternalError,
    Reason::KubernetesError,
];

/// Reasons that a `ConnectorStaged` can have.
const STAGED: &[Reason] = &[
    Reason::Published,
    Reason::Previewable,
    Reason::Staged,
    Reason::Staging,
    Reason::Updating,
    Reason::PreviewRequested,
    Reason::Publishing,
    Reason::InCertification,
    Reason::Deleting,
    Reason::Queued,
    Reason::Suspended,
    Reason::ProjectMissing,
    Reason::ProjectNotAllowed,
    Reason::ProjectNotReady,
    Reason::ServiceUnavailable,
    Reason::Throttled,
    Reason::TakesTooLong,
    Reason::AwaitingProof,
    Reason::InternalError,
    Reason::KubernetesError,
    Reason::PublishingFailed,
    Reason::PreviewRefused,
    Reason::RepositoryInvalid,
    Reason::CannotBeChanged,
    Reason::ConfigurationInvalid,
    Reason::RequestRejected,
    Reason::KeyTaken,
    Reason::KeyConflict,
    Reason::IdentityChanged,
    Reason::RemoteDisappeared,
    Reason::PermissionMissing,
    Reason::CredentialsRejected,
];

/// Reasons that a `ConnectorDeployment` cannot have.
const NO_DEPLOYMENT: &[Reason] = &[
    Reason::Available,
    Reason::InUse,
    Reason::TooManyProjects,
    Reason::CredentialsNotKept,
    Reason::Mirrored,
    Reason::RegistryCut,
    Reason::RegistryReadInPart,
    Reason::Verified,
    Reason::NotFound,
    Reason::WrongDestination,
    Reason::Published,
    Reason::Previewable,
    Reason::Staged,
    Reason::Staging,
    Reason::Updating,
    Reason::PreviewRequested,
    Reason::Publishing,
    Reason::InCertification,
    Reason::Deleting,
    Reason::PublishingFailed,
    Reason::PreviewRefused,
    Reason::CannotBeChanged,
    Reason::AwaitingProof,
    Reason::CheckPassed,
    Reason::Checking,
    Reason::DeploymentNotReady,
    Reason::FrontendUnavailable,
    Reason::CheckFailing,
    Reason::CheckFailed,
    Reason::AnswerLost,
    Reason::ExpectInvalid,
    Reason::HostNotAllowed,
];

/// Returns each kind that users write, with its possible reasons.
pub(crate) fn of_kinds() -> [(&'static str, Vec<Reason>); 4] {
    let given = given();
    let deployment = Reason::ALL.iter().filter(|reason| given.contains(reason.as_str())).copied();
    let deployment = deployment.filter(|reason| !NO_DEPLOYMENT.contains(reason)).collect();
    [
        ("ConnectProject", PROJECT.to_vec()),
        ("ConnectorDeployment", deployment),
        ("ConnectorStaged", STAGED.to_vec()),
        ("ActionCheck", CHECK.to_vec()),
    ]
}

#[test]
fn the_page_of_conditions_lists_every_reason_that_the_code_uses() {
    let mut parts = vec![
        ("kstatus", stances()),
        ("RegistryMirrored", beside("RegistryMirrored", MIRROR)),
        ("Verified", beside("Verified", VERIFIED)),
        ("not given", not_given(&given())),
    ];
    parts.extend(of_kinds().map(|(kind, reasons)| (kind, table(&reasons))));
    assert_golden_parts("docs/conditions.md", &parts);
}

#[test]
fn every_listed_reason_is_used_by_the_code() {
    let given = given();
    for reason in PROJECT.iter().chain(MIRROR).chain(VERIFIED).chain(CHECK).chain(STAGED) {
        assert!(given.contains(reason.as_str()), "{reason} is listed, and no code uses it");
    }
}

#[test]
fn every_sentence_says_enough_to_act_on() {
    for reason in Reason::ALL {
        let sentence = reason.sentence();
        assert!(sentence.len() > 20 && sentence.ends_with('.') && !sentence.contains(['|', '\n']), "{reason}");
        if reason.state() == ConditionState::Stalled {
            assert!(sentence.contains(':'), "{reason} needs a user, and names no remedy");
        }
    }
}

/// Returns the reasons that the code uses: every `Reason::Name` of the controllers.
fn given() -> BTreeSet<String> {
    let mut given = BTreeSet::new();
    for source in sources::all().iter().filter(|source| source.is_below("controllers")) {
        for words in source.words.windows(3).filter(|words| words[..2] == ["Reason", "::"]) {
            given.insert(words[2].clone());
        }
    }
    given
}

fn not_given(given: &BTreeSet<String>) -> String {
    let names = Reason::ALL.iter().filter(|reason| !given.contains(reason.as_str()));
    let names: Vec<_> = names.map(|reason| format!("`{reason}`")).collect();
    if names.is_empty() {
        return "This version gives every reason that it knows.".to_owned();
    }
    format!("Known, and not given by this version: {}.", names.join(", "))
}

/// Returns what a condition state looks like: `Ready`, the condition beside it, and what kstatus makes of the two
/// (kstatus reads `Reconciling` and `Stalled` first, then `Ready`).
pub(crate) fn looks(state: ConditionState) -> [&'static str; 4] {
    match state {
        ConditionState::Ready => ["it is as wanted", "True", "", "Current"],
        ConditionState::Running => ["something runs", "Unknown", "Reconciling", "InProgress"],
        ConditionState::Waiting => {
            ["something is missing that may come by itself", "False", "Reconciling", "InProgress"]
        }
        ConditionState::Stalled => ["a person has to act", "False", "Stalled", "Failed"],
        ConditionState::Paused => ["a person wanted it so", "False", "", "InProgress"],
        ConditionState::Failing => ["it does not work now, and is tried at its interval", "False", "", "InProgress"],
    }
}

fn stances() -> String {
    let mut table =
        String::from("| What is the case | `Ready` | Also there, as `True` | kstatus |\n|---|---|---|---|\n");
    for state in [
        ConditionState::Ready,
        ConditionState::Running,
        ConditionState::Waiting,
        ConditionState::Stalled,
        ConditionState::Paused,
        ConditionState::Failing,
    ] {
        let [classify, ready, beside, kstatus] = looks(state);
        writeln!(table, "| {classify} | `{ready}` | {} | `{kstatus}` |", code(beside)).unwrap();
    }
    table
}

fn table(reasons: &[Reason]) -> String {
    let mut table = String::from("| Reason | `Ready` | Also there | kstatus | What it means and what to do |\n");
    table.push_str("|---|---|---|---|---|\n");
    for reason in reasons {
        let [_, ready, beside, kstatus] = looks(reason.state());
        let sentence = reason.sentence();
        writeln!(table, "| `{reason}` | `{ready}` | {} | `{kstatus}` | {sentence} |", code(beside)).unwrap();
    }
    table
}

/// Formats a condition beside `Ready`, which neither Flux nor Argo CD evaluates.
fn beside(type_: &str, reasons: &[Reason]) -> String {
    let mut table = format!("| Reason | `{type_}` | What it means and what to do |\n|---|---|---|\n");
    for reason in reasons {
        let [_, status, ..] = looks(reason.state());
        writeln!(table, "| `{reason}` | `{status}` | {} |", reason.sentence()).unwrap();
    }
    table
}

/// Returns the condition of a reason that `Ready` never has.
pub(super) fn condition_of(reason: Reason) -> &'static str {
    if VERIFIED.contains(&reason) { "Verified" } else { "RegistryMirrored" }
}

fn code(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("`{word}`") }
}
