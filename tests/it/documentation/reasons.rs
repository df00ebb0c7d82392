//! `docs/conditions.md`: every reason by its state, with a link to its section of `docs/troubleshooting.md`.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use connect_operator::operator::reporting::event_reason::EventReason;
use connect_operator::operator::reporting::reason::{ConditionState, Reason};

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
    Reason::ConfigurationInvalid,
    Reason::PermissionMissing,
    Reason::ProjectNotFound,
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
    Reason::CredentialsNotKept,
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
    Reason::HostNotAllowed,
];

/// Returns each kind that users write, with its possible reasons.
pub(crate) fn of_kinds() -> [(&'static str, Vec<Reason>); 5] {
    let given = given();
    let deployment = Reason::ALL.iter().filter(|reason| given.contains(reason.as_str())).copied();
    let deployment = deployment.filter(|reason| !NO_DEPLOYMENT.contains(reason)).collect();
    [
        ("ConnectProject", PROJECT.to_vec()),
        ("ClusterConnectProject", PROJECT.to_vec()),
        ("ConnectorDeployment", deployment),
        ("ConnectorStaged", STAGED.to_vec()),
        ("ActionCheck", CHECK.to_vec()),
    ]
}

const STATES: [ConditionState; 6] = [
    ConditionState::Ready,
    ConditionState::Progressing,
    ConditionState::Waiting,
    ConditionState::Stalled,
    ConditionState::Paused,
    ConditionState::Failing,
];

#[test]
fn the_page_of_conditions_lists_every_reason_that_the_code_uses() {
    let mut parts = vec![("states", states()), ("Verified", beside("Verified", VERIFIED))];
    // A ClusterConnectProject has the reasons of a ConnectProject.
    let kinds = of_kinds().into_iter().filter(|(kind, _)| *kind != "ClusterConnectProject");
    parts.extend(kinds.map(|(kind, reasons)| (kind, table(&reasons))));
    assert_golden_parts("docs/conditions.md", &parts);
}

#[test]
fn the_code_uses_every_reason() {
    let given = given();
    let unused: Vec<_> = Reason::ALL.iter().filter(|reason| !given.contains(reason.as_str())).collect();
    assert_eq!(unused, Vec::<&Reason>::new());
}

#[test]
fn the_table_of_events_lists_every_reason_that_no_condition_has() {
    let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/conditions.md")).unwrap();
    let (_, section) = page.split_once("\n## Events\n").expect("a section");
    let section = section.split_once("\n## ").expect("another section").0;
    let cells: Vec<_> = section.lines().filter_map(|line| line.strip_prefix("| ")?.split(" |").next()).collect();
    let listed = |reason: &str| cells.iter().any(|cell| cell.contains(&format!("`{reason}`")));
    for reason in EventReason::OF_NO_CONDITION {
        assert!(listed(reason.as_str()), "{reason:?} is not in the table of Events");
    }
    for name in cells.iter().filter_map(|cell| cell.strip_prefix('`')?.split_once('`')) {
        let known = EventReason::OF_NO_CONDITION.iter().any(|reason| reason.as_str() == name.0);
        assert!(known || Reason::parse(name.0).is_some(), "the code emits no {}", name.0);
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
    for source in sources::all().iter().filter(|source| source.is_below("operator")) {
        for words in source.words.windows(3).filter(|words| words[..2] == ["Reason", "::"]) {
            given.insert(words[2].clone());
        }
    }
    given
}

/// Returns what a condition state looks like: its meaning, `Ready`, the condition beside it, and what kstatus makes of
/// the two (kstatus reads `Reconciling` and `Stalled` first, then `Ready`).
pub(crate) fn looks(state: ConditionState) -> [&'static str; 4] {
    match state {
        ConditionState::Ready => ["in the desired state", "True", "", "Current"],
        ConditionState::Progressing => ["an operation is in progress", "Unknown", "Reconciling", "InProgress"],
        ConditionState::Waiting => ["a problem that may resolve by itself", "False", "Reconciling", "InProgress"],
        ConditionState::Stalled => ["a user must act", "False", "Stalled", "Failed"],
        ConditionState::Paused => ["suspended by a user", "False", "", "InProgress"],
        ConditionState::Failing => ["a check fails, and is repeated at its interval", "False", "", "InProgress"],
    }
}

/// Returns what Argo CD shows, with the health check of `examples/argocd/`; a test runs that on every reason.
fn argo_cd(state: ConditionState) -> &'static str {
    match state {
        ConditionState::Ready => "Healthy",
        ConditionState::Progressing | ConditionState::Waiting => "Progressing",
        ConditionState::Stalled | ConditionState::Failing => "Degraded",
        ConditionState::Paused => "Suspended",
    }
}

fn states() -> String {
    let mut table = String::from("| State | Meaning | `Ready` | Also `True` | Flux (kstatus) | Argo CD |\n");
    table.push_str("|---|---|---|---|---|---|\n");
    for state in STATES {
        let [meaning, ready, beside, kstatus] = looks(state);
        let (name, beside) = (state.as_str(), code(beside));
        writeln!(table, "| {name} | {meaning} | `{ready}` | {beside} | `{kstatus}` | {} |", argo_cd(state)).unwrap();
    }
    table
}

/// Formats the reasons of a kind, those of one state in each row.
fn table(reasons: &[Reason]) -> String {
    let mut table = String::from("| State | Reasons |\n|---|---|\n");
    for state in STATES {
        let links: Vec<_> =
            reasons.iter().filter(|reason| reason.state() == state).map(|reason| link(*reason)).collect();
        if !links.is_empty() {
            writeln!(table, "| {} | {} |", state.as_str(), links.join(", ")).unwrap();
        }
    }
    table
}

/// Formats a condition beside `Ready`, which neither Flux nor Argo CD evaluates.
fn beside(type_: &str, reasons: &[Reason]) -> String {
    let mut table = format!("| `{type_}` | Reasons |\n|---|---|\n");
    for status in ["True", "Unknown", "False"] {
        let links: Vec<_> =
            reasons.iter().filter(|reason| looks(reason.state())[1] == status).map(|reason| link(*reason)).collect();
        if !links.is_empty() {
            writeln!(table, "| `{status}` | {} |", links.join(", ")).unwrap();
        }
    }
    table
}

/// Links a reason to its section.
fn link(reason: Reason) -> String {
    format!("[{reason}](troubleshooting.md#{})", reason.as_str().to_lowercase())
}

/// Formats what has a reason that `Ready` never has.
pub(super) fn place_beside_ready(reason: Reason) -> String {
    format!("{}: condition `Verified`", reason.state().as_str())
}

fn code(word: &str) -> String {
    if word.is_empty() { String::new() } else { format!("`{word}`") }
}
