//! Report entries of the service for a status: the newest, truncated, and without secrets. Pure.

use connect_api::mask::{LEFT_OUT, Masker};
use connect_api::model::{EntryType, ReportEntry as Finding};
use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::conditions::{cut, whole_seconds};
use crate::crd::ReportEntry;
use crate::crd::connector_deployment_status::{MESSAGE_LENGTH, REPORT_ENTRIES};

/// Returns the newest entries. `masker`: hides secrets in their texts; without one, texts are left out.
pub fn newest(findings: &[Finding], masker: Option<&Masker>) -> Vec<ReportEntry> {
    let mut findings: Vec<_> = findings.iter().collect();
    // RFC 3339 times in UTC sort like strings; entries without a time come last.
    findings.sort_by(|one, other| other.created_at.cmp(&one.created_at));
    findings.truncate(REPORT_ENTRIES);
    let masker = masker.filter(|_| !findings.is_empty()).map(Masker::compile);
    let shown = |text: &str| masker.as_ref().map(|masker| cut(&masker.mask(text), MESSAGE_LENGTH));
    let entry = |finding: &Finding| ReportEntry {
        entry_type: cut(finding.kind.as_str(), 64),
        title: shown(&finding.title).unwrap_or_else(|| LEFT_OUT.to_owned()),
        message: finding.message.as_deref().and_then(shown),
        application_name: finding.application.as_deref().map(|name| cut(name, 256)),
        created_at: finding.created_at.parse::<Timestamp>().ok().map(|at| Time(whole_seconds(at))),
    };
    findings.into_iter().map(entry).collect()
}

/// Maximum number of errors of a report in one message.
const NAMED_ERRORS: usize = 5;

/// Returns the first error, or else the first warning, as one line.
pub fn worst(report: &[ReportEntry]) -> Option<String> {
    let first = |kind: EntryType| report.iter().find(|entry| entry.entry_type == kind.as_str());
    first(EntryType::Error).or_else(|| first(EntryType::Warning)).map(line)
}

/// Returns the errors, newest first, each as one line; five at most.
pub fn errors(report: &[ReportEntry]) -> Vec<String> {
    let errors = report.iter().filter(|entry| entry.entry_type == EntryType::Error.as_str());
    errors.take(NAMED_ERRORS).map(line).collect()
}

fn line(entry: &ReportEntry) -> String {
    let place = entry.application_name.as_deref().map(|name| format!("{name}: ")).unwrap_or_default();
    let more = entry.message.as_deref().map(|message| format!(" ({message})")).unwrap_or_default();
    format!("{place}{}{more}", entry.title)
}
