//! Pages with an offset, mainly of deployments (contract section 3).
//!
//! The contract leaves these points open; the dev server chooses: without `sort`, the oldest come first; several values
//! of a filter match any of them, and filters combine with *and*; `sort` takes `createdAt`, `lastModifiedAt`, `key`,
//! `id`, `version` and `status` with `asc` or `desc`, and ignores other fields.

use std::cmp::Ordering;

use super::record::Record;
use connect_api::model::{Deployment, IntegrationType, Paged};
use connect_api::routes::DEFAULT_PAGE;

/// Paging and sorting of a list.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Maximum number of results.
    pub(super) limit: u16,
    /// Number of results to skip.
    pub(super) offset: u32,
    /// Fields to sort by, `true` for descending.
    pub(super) sort: Vec<(String, bool)>,
}

impl Default for Part {
    fn default() -> Self {
        Self { limit: DEFAULT_PAGE, offset: 0, sort: Vec::new() }
    }
}

/// Query parameters of `queryDeployments`.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Maximum number of results.
    pub limit: u16,
    /// Number of results to skip.
    pub offset: u32,
    /// Fields to sort by, `true` for descending.
    pub sort: Vec<(String, bool)>,
    /// Deployment types to keep; empty: all.
    pub types: Vec<String>,
    /// Integration types to keep; empty: all.
    pub integration_types: Vec<IntegrationType>,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self { limit: DEFAULT_PAGE, offset: 0, sort: Vec::new(), types: Vec::new(), integration_types: Vec::new() }
    }
}

/// Returns one page of these records. `read` must return a deployment for each of them.
pub(super) fn page<'a>(
    records: impl Iterator<Item = &'a Record>,
    query: &ListQuery,
    read: impl Fn(&Record) -> Option<Deployment>,
) -> Paged<Deployment> {
    let fits = |record: &&Record| {
        let integrates = &record.connector.integration_types;
        (query.types.is_empty() || query.types.iter().any(|kind| kind == record.kind.as_str()))
            && (query.integration_types.is_empty()
                || query.integration_types.iter().any(|wanted| integrates.contains(wanted)))
    };
    let mut found: Vec<_> = records.filter(fits).collect();
    sorted(&mut found, &query.sort, |field, left, right| compare(field, left, right));
    paged(found, query.limit, query.offset, read)
}

/// Sorts the results as the query requests. `compare` gets the name of a field; the empty name is used last, as the
/// tie-breaker.
pub(super) fn sorted<T>(found: &mut [T], sort: &[(String, bool)], compare: impl Fn(&str, &T, &T) -> Ordering) {
    found.sort_by(|left, right| {
        let by_fields = sort.iter().map(|(field, descending)| {
            let order = compare(field, left, right);
            if *descending { order.reverse() } else { order }
        });
        by_fields.chain([compare("", left, right)]).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
}

/// Returns one page of the sorted results.
pub(super) fn paged<T, R>(found: Vec<T>, limit: u16, offset: u32, show: impl Fn(T) -> Option<R>) -> Paged<R> {
    let total = found.len();
    let skip = usize::try_from(offset).unwrap_or(usize::MAX);
    let results: Vec<_> = found.into_iter().skip(skip).take(usize::from(limit)).filter_map(show).collect();
    let count = |number: usize| i64::try_from(number).unwrap_or(i64::MAX);
    Paged {
        limit: i64::from(limit),
        offset: i64::from(offset),
        count: count(results.len()),
        total: count(total),
        results,
    }
}

fn compare(field: &str, left: &Record, right: &Record) -> Ordering {
    match field {
        "" => left.sequence.cmp(&right.sequence),
        "createdAt" => left.created_at.cmp(&right.created_at),
        "lastModifiedAt" => left.changed_at.cmp(&right.changed_at),
        "key" => left.key.cmp(&right.key),
        "id" => left.id.cmp(&right.id),
        "version" => left.version.cmp(&right.version),
        "status" => left.status.cmp(&right.status),
        _ => Ordering::Equal,
    }
}
