//! Findings of the service in a status: the newest, cut, and without secrets. Pure.

use connect_api::mask::Masker;
use connect_api::model::{EntryType, ReportEntry as Finding};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::conditions::{cut, whole_seconds};
use crate::crd::ReportEntry;
use crate::crd::connector_deployment_status::{MESSAGE_LENGTH, REPORT_ENTRIES};

/// The newest entries. `messages`: not only their titles.
#[must_use]
pub fn newest(findings: &[Finding], masker: &Masker, messages: bool) -> Vec<ReportEntry> {
    let mut findings: Vec<_> = findings.iter().collect();
    // RFC 3339 in UTC sorts as text; entries without a time come last.
    findings.sort_by(|one, other| other.created_at.cmp(&one.created_at));
    let entry = |finding: &Finding| ReportEntry {
        entry_type: cut(finding.kind.as_str(), 64),
        title: cut(&masker.mask(&finding.title), MESSAGE_LENGTH),
        message: finding
            .message
            .as_deref()
            .filter(|_| messages)
            .map(|message| cut(&masker.mask(message), MESSAGE_LENGTH)),
        application: finding.application.as_deref().map(|name| cut(name, 256)),
        created_at: finding.created_at.parse::<Timestamp>().ok().map(|at| Time(whole_seconds(at))),
    };
    findings.into_iter().take(REPORT_ENTRIES).map(entry).collect()
}

/// Most errors of a report that one message names.
const NAMED_ERRORS: usize = 5;

/// The first error, or the first warning, in a line.
#[must_use]
pub fn worst(report: &[ReportEntry]) -> Option<String> {
    let first = |kind: EntryType| report.iter().find(|entry| entry.entry_type == kind.as_str());
    first(EntryType::Error).or_else(|| first(EntryType::Warning)).map(line)
}

/// The errors, newest first, each in a line; five at most.
#[must_use]
pub fn errors(report: &[ReportEntry]) -> Vec<String> {
    let errors = report.iter().filter(|entry| entry.entry_type == EntryType::Error.as_str());
    errors.take(NAMED_ERRORS).map(line).collect()
}

fn line(entry: &ReportEntry) -> String {
    let place = entry.application.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    let more = entry.message.as_deref().map(|message| format!(" ({message})")).unwrap_or_default();
    format!("{place}{}{more}", entry.title)
}
