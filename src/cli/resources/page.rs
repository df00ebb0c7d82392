//! The page that `status` prints about one resource. Pure.
//!
//! Next: `facts` for the lines that differ between kinds, `advice` for the next step.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use crate::crd::ReportEntry;
use crate::names;

use super::advice;
use super::facts;
use super::kind::Resource;
use crate::cli::text::{Lines, age, age_of, columns, plain};

/// How a page is written.
#[derive(Clone, Copy, Debug)]
pub(super) struct View<'a> {
    /// The time from which ages are counted.
    pub(super) now: Timestamp,
    /// The program in commands that the page recommends.
    pub(super) program: &'a str,
    /// Whether to list every condition.
    pub(super) wide: bool,
}

/// Returns the page about a resource: what runs, what is wanted, why not, the last report, and the next step.
pub(super) fn page(resource: &Resource, view: &View<'_>) -> String {
    let mut lines = Lines::default();
    readiness(resource, view, &mut lines);
    facts::lines(resource, view.now, &mut lines);
    requests(resource, &mut lines);
    lines.list("Notices", notices(resource));
    match resource {
        Resource::Deployment(object) => {
            if let Some(status) = &object.status {
                lines.list("Last report", findings(&status.report));
            }
        }
        Resource::Staged(object) => {
            if let Some(status) = &object.status {
                lines.list("Last report", findings(&status.publishing_report));
                lines.list("Preview report", findings(&status.preview_report));
                lines.list("Certification", status.certification_comments.iter().map(|it| &it.comment));
            }
        }
        Resource::Project(_) | Resource::Check(_) | Resource::ClusterProject(_) => {}
    }
    if view.wide {
        lines.list("Conditions", columns(&conditions(resource, view)).lines());
    }
    lines.list("Next step", advice::next_step(resource, view.program));
    let title = format!("{} {}", resource.resource_type().kind(), resource.full_name());
    format!("{title}\n\n{}", columns(&lines.0))
}

fn readiness(resource: &Resource, view: &View<'_>, lines: &mut Lines) {
    if let Some(since) = &resource.meta().deletion_timestamp {
        let finalizers = resource.meta().finalizers.as_deref().unwrap_or_default().join(", ");
        lines.add("Deletion", format!("requested {} ago; finalizers: {finalizers}", age(since.0, view.now)));
    }
    match resource.ready() {
        Some(ready) => {
            let since = age(ready.last_transition_time.0, view.now);
            lines.add("Ready", format!("{} ({}) for {since}", ready.status, ready.reason));
            lines.add("Message", &ready.message);
        }
        None => lines.add("Ready", "Unknown: the operator has not observed the resource yet"),
    }
    if let (Some(observed), Some(generation)) = (resource.observed_generation(), resource.meta().generation)
        && observed != generation
    {
        lines.add(
            "Outdated",
            format!("this status describes generation {observed}; the spec has generation {generation}"),
        );
    }
}

/// Adds the requests of users that the operator has not handled yet.
fn requests(resource: &Resource, lines: &mut Lines) {
    let all = [
        ("reconcile", names::RECONCILE_REQUESTED_AT),
        ("redeploy", names::REDEPLOY_REQUESTED_AT),
        ("retry", names::RETRY_REQUESTED_AT),
        ("rerun", names::RERUN_REQUESTED_AT),
    ];
    let pending = all.into_iter().filter_map(|(what, annotation)| {
        let requested = resource.annotation(annotation)?;
        (resource.handled(annotation) != Some(requested)).then(|| format!("{what} ({requested}), not handled yet"))
    });
    lines.list("Requested", pending);
}

/// Returns the conditions beside Ready that a user should know of.
fn notices(resource: &Resource) -> impl Iterator<Item = String> {
    let when_true =
        [names::DRIFTED, names::UPDATE_AVAILABLE, names::VALUES_RETAINED, names::SECRETS_UNVERIFIED, names::SUSPENDED];
    let when_false = [names::VERIFIED];
    let notable = move |condition: &&Condition| {
        let names = if condition.status == "True" { &when_true[..] } else { &when_false[..] };
        condition.status != "Unknown" && names.contains(&condition.type_.as_str())
    };
    resource.conditions().iter().filter(notable).map(|it| format!("{}: {}", it.type_, it.message))
}

fn conditions(resource: &Resource, view: &View<'_>) -> Vec<Vec<String>> {
    let header = ["TYPE", "STATUS", "REASON", "AGE", "MESSAGE"].map(ToOwned::to_owned).to_vec();
    let row = |it: &Condition| {
        let age = age_of(Some(&it.last_transition_time), view.now);
        vec![plain(&it.type_), plain(&it.status), plain(&it.reason), age, plain(&it.message)]
    };
    std::iter::once(header).chain(resource.conditions().iter().map(row)).collect()
}

/// Returns the entries of a report, each on a line.
pub(in crate::cli) fn findings(report: &[ReportEntry]) -> impl Iterator<Item = String> {
    report.iter().map(|entry| {
        let place = entry.application_name.as_deref().map(|name| format!(" in {name}")).unwrap_or_default();
        let message = entry.message.as_deref().map(|message| format!(": {message}")).unwrap_or_default();
        format!("{}{place}: {}{message}", entry.entry_type, entry.title)
    })
}
