//! Whether the resources in `spec.verify` exist and point to the deployment, and whether that makes it Ready (rule 17).
//! Pure.
//!
//! `reconcile/verify.rs` looks them up. Of a URL that does not belong to the deployment only the host is shown:
//! the rest may contain somebody's token.

use std::collections::BTreeSet;

use connect_api::ApiError;
use connect_api::commerce::{ResourceKind, ResourceName};
use connect_api::error::{ErrorCode, Failure};
use connect_api::model::{ApplicationDeployment, Deployment, Destination, EntryType};
use connect_api::scopes::{self, Right};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use url::Url;

use crate::crd::{ReadyWhen, Verify};
use crate::names;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::{ConditionState, Reason};

/// Longest part of a response in a message, in bytes.
const LONGEST_WORD: usize = 200;

/// The observation of one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Found {
    /// It exists and has this destination.
    There(Destination),
    /// It does not exist.
    Absent,
    /// The API client may not read it.
    Forbidden,
    /// The service rejected the credentials, with the message for users.
    CredentialsRefused(String),
    /// There was no usable answer, with the message for users.
    Unreadable(String),
}

impl Found {
    /// Returns what a failed lookup means for a resource.
    pub(super) fn failed(error: &ApiError) -> Self {
        match &error.failure {
            Failure::Answered { status: 403, .. } => Self::Forbidden,
            Failure::Answered { codes, .. } if codes.contains(&ErrorCode::AuthorizationError) => Self::Forbidden,
            Failure::CredentialsRefused | Failure::Answered { status: 401, .. } => {
                Self::CredentialsRefused(error.message.clone())
            }
            _ => Self::Unreadable(error.to_string()),
        }
    }
}

/// Returns the resources to look up, in the order of the spec.
pub fn resources(verify: &Verify) -> Vec<ResourceName> {
    wanted(verify).map(|(name, _)| name).collect()
}

/// Returns each resource with the application to which it must point.
fn wanted(verify: &Verify) -> impl Iterator<Item = (ResourceName, Option<&str>)> {
    let extensions = verify.extensions.iter().map(|wanted| (ResourceKind::Extension, wanted));
    let subscriptions = verify.subscriptions.iter().map(|wanted| (ResourceKind::Subscription, wanted));
    extensions.chain(subscriptions).map(|(kind, wanted)| {
        let name = ResourceName { kind, key: wanted.key.clone() };
        (name, wanted.application_name.as_deref())
    })
}

/// Returns the condition `Verified` for the results of the lookups. `found`: one for each of [`resources`]; `project`:
/// key of the remote project, for the names of scopes.
///
/// # Errors
/// Why there is no result: a resource cannot be read, and nothing else is wrong.
pub fn evaluate(
    verify: &Verify,
    found: &[Found],
    record: &Deployment,
    project: &str,
) -> Result<ConditionUpdate, String> {
    let mut findings = Vec::new();
    let mut unreadable = None;
    let mut verified = Vec::new();
    for ((name, application), found) in wanted(verify).zip(found) {
        let object_ref = format!("{} {}", name.kind.as_str(), name.key);
        match found {
            Found::There(destination) => match points_here(&name, destination, application, record) {
                Ok(note) => verified.push(format!("{object_ref}{note}")),
                Err(why) => findings.push((Reason::WrongDestination, format!("{object_ref} {why}"))),
            },
            Found::Absent => findings.push((Reason::NotFound, format!("{object_ref} does not exist"))),
            Found::Forbidden => findings.push((Reason::PermissionMissing, forbidden(name.kind, project))),
            Found::CredentialsRefused(why) => {
                let why = format!("the credentials for the lookup were refused: {}", shortened(why));
                findings.push((Reason::CredentialsRejected, why));
            }
            Found::Unreadable(why) => {
                unreadable = Some(format!("{object_ref} cannot be looked up: {}", shortened(why)));
            }
        }
    }
    let worst = |reason: Reason| findings.iter().any(|(found, _)| *found == reason).then_some(reason);
    let order = [Reason::CredentialsRejected, Reason::PermissionMissing, Reason::NotFound, Reason::WrongDestination];
    if let Some(reason) = order.into_iter().find_map(worst) {
        let mut listed = BTreeSet::new();
        let lines = findings.iter().map(|(_, line)| line.clone()).chain(unreadable);
        let lines: Vec<_> = lines.filter(|line| listed.insert(line.clone())).collect();
        return Ok(ConditionUpdate::new(reason, lines.join("; ")));
    }
    match unreadable {
        Some(why) => Err(why),
        None => Ok(ConditionUpdate::new(Reason::Verified, format!("Verified: {}", verified.join(", ")))),
    }
}

fn forbidden(kind: ResourceKind, project: &str) -> String {
    let right = match kind {
        ResourceKind::Extension => Right::ReadExtensions,
        ResourceKind::Subscription => Right::ReadSubscriptions,
    };
    format!("The API client lacks {}", scopes::explain(&[right], project))
}

/// Whether a resource points to an application of the deployment; with a note if that cannot be determined.
fn points_here(
    name: &ResourceName,
    destination: &Destination,
    application: Option<&str>,
    record: &Deployment,
) -> Result<&'static str, String> {
    let candidates: Vec<_> = record
        .applications
        .iter()
        .filter(|candidate| application.is_none_or(|wanted| wanted == candidate.application_name))
        .collect();
    if let Some(wanted) = application.filter(|_| candidates.is_empty()) {
        return Err(format!("should point to application {wanted}, which the deployment does not have"));
    }
    let target = application
        .map_or_else(|| "an application of this deployment".to_owned(), |name| format!("application {name}"));
    match name.kind {
        ResourceKind::Extension => extension_points_to(&candidates, &target, destination).map(|()| ""),
        ResourceKind::Subscription => subscription_points_to(&candidates, &target, destination),
    }
}

fn extension_points_to(
    candidates: &[&ApplicationDeployment],
    target: &str,
    destination: &Destination,
) -> Result<(), String> {
    if destination.kind != Destination::HTTP {
        return Err(format!("has a destination of type {} instead of HTTP", shortened(&destination.kind)));
    }
    let host = destination.url.as_deref().and_then(host);
    let hosts: Vec<_> = candidates.iter().filter_map(|candidate| host_of(candidate)).collect();
    match host {
        Some(host) if hosts.contains(&host) => Ok(()),
        Some(other) if hosts.is_empty() => Err(format!("calls {}, and {target} has no URL", shortened(&other))),
        Some(other) => Err(format!("calls {}, not {target} ({})", shortened(&other), hosts.join(", "))),
        None => Err("has a destination without a host".to_owned()),
    }
}

fn host_of(application: &ApplicationDeployment) -> Option<String> {
    application.url.as_deref().and_then(host)
}

/// Returns the host of a URL in comparable form: lower case, without the default port.
fn host(url: &str) -> Option<String> {
    let url = Url::parse(url).ok()?;
    let host = url.host_str()?.to_owned();
    Some(url.port().map_or(host.clone(), |port| format!("{host}:{port}")))
}

fn subscription_points_to(
    candidates: &[&ApplicationDeployment],
    target: &str,
    destination: &Destination,
) -> Result<&'static str, String> {
    let there = match destination.kind.as_str() {
        Destination::PUB_SUB => Topic::of_pub_sub(destination),
        Destination::SNS => destination.topic_arn.as_deref().map(Topic::read),
        other => return Err(format!("has a destination of type {}, not the topic of {target}", shortened(other))),
    };
    let Some(there) = there else { return Err("has a destination without a topic".to_owned()) };
    let topics: Vec<_> = candidates.iter().filter_map(|candidate| candidate.topic.as_deref()).collect();
    if topics.iter().any(|topic| Topic::read(topic).is(&there)) {
        return Ok("");
    }
    match topics.as_slice() {
        // What the service shows for a topic on AWS is unspecified (contract section 4.4).
        [] if destination.kind == Destination::SNS => {
            Ok(" (its topic cannot be compared, since the service shows none for the deployment)")
        }
        [] => Err(format!("sends to {}, and {target} has no topic", shortened(&there.to_string()))),
        topics => Err(format!("sends to {}, not to {target} ({})", shortened(&there.to_string()), topics.join(", "))),
    }
}

/// A topic in comparable form: its name, and its project or account if that is known.
struct Topic<'a> {
    place: Option<&'a str>,
    name: &'a str,
}

impl<'a> Topic<'a> {
    /// `projects/{project}/topics/{name}`, an ARN, or a bare name.
    fn read(text: &'a str) -> Self {
        if let Some((project, name)) = text.strip_prefix("projects/").and_then(|rest| rest.split_once("/topics/")) {
            return Self { place: Some(project), name };
        }
        match text.rsplit_once(':') {
            Some((place, name)) => Self { place: Some(place), name },
            None => Self { place: None, name: text },
        }
    }

    fn of_pub_sub(destination: &'a Destination) -> Option<Self> {
        let topic = Self::read(destination.topic.as_deref()?);
        Some(Self { place: topic.place.or(destination.project_id.as_deref()), ..topic })
    }

    /// Whether both are the same topic, as far as both have a location.
    fn is(&self, other: &Self) -> bool {
        self.name == other.name && self.place.zip(other.place).is_none_or(|(one, other)| one == other)
    }
}

impl std::fmt::Display for Topic<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.place {
            Some(arn) if arn.starts_with("arn:") => write!(formatter, "{arn}:{}", self.name),
            Some(project) => write!(formatter, "projects/{project}/topics/{}", self.name),
            None => formatter.write_str(self.name),
        }
    }
}

fn shortened(text: &str) -> String {
    crate::operator::reporting::conditions::cut(text, LONGEST_WORD)
}

/// Returns the condition while there is no new result: the one of this generation, or that nothing was looked up yet.
pub fn unknown(before: &[Condition], generation: i64, why: String) -> ConditionUpdate {
    let reported = before
        .iter()
        .find(|condition| condition.type_ == names::VERIFIED && condition.observed_generation == Some(generation));
    let kept = reported
        .and_then(|condition| Some(ConditionUpdate::new(Reason::parse(&condition.reason)?, condition.message.clone())));
    kept.filter(|kept| kept.reason != Reason::NotChecked)
        .unwrap_or_else(|| ConditionUpdate::new(Reason::NotChecked, why))
}

/// Whether a report has warnings or errors.
pub fn has_findings(record: &Deployment) -> bool {
    record.report().iter().any(|entry| matches!(entry.kind, EntryType::Warning | EntryType::Error))
}

/// Returns the Ready condition of a deployment whose own condition is `condition`.
pub fn ready(
    mut condition: ConditionUpdate,
    when: &[ReadyWhen],
    has_findings: bool,
    verified: Option<&ConditionUpdate>,
) -> ConditionUpdate {
    if condition.reason.state() != ConditionState::Ready {
        return condition;
    }
    if when.contains(&ReadyWhen::Verified) {
        // The schema requires `verify`.
        let Some(verified) = verified else {
            return ConditionUpdate::new(Reason::NotVerified, "verify names no resources");
        };
        let reason = match verified.reason {
            Reason::Verified => condition.reason,
            Reason::NotFound | Reason::WrongDestination => Reason::NotVerified,
            other => other,
        };
        condition = ConditionUpdate::new(reason, format!("{}. {}", condition.message, verified.message));
    }
    if when.contains(&ReadyWhen::NoWarnings) && has_findings && condition.reason.state() == ConditionState::Ready {
        return ConditionUpdate::new(Reason::WarningsReported, condition.message);
    }
    condition
}

#[cfg(test)]
#[path = "verification_tests.rs"]
mod tests;
