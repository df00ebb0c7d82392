//! Offset pages, of deployments first of all (contract section 3).
//!
//! Unspecified there, chosen here: oldest first without `sort`; several values of a filter mean any of them, filters
//! combine with *and*; `sort` takes `createdAt`, `lastModifiedAt`, `key`, `id`, `version` and `status` with `asc` or
//! `desc`, and passes over fields that it does not know.

use std::cmp::Ordering;

use super::record::Record;
use connect_api::model::{Deployment, IntegrationType, Paged};
use connect_api::routes::DEFAULT_PAGE;

/// Which part of what was found, and in which order.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Largest number of results.
    pub(super) limit: u16,
    /// Results to skip.
    pub(super) offset: u32,
    /// Fields to sort by, `true` for descending.
    pub(super) sort: Vec<(String, bool)>,
}

impl Default for Part {
    fn default() -> Self {
        Self { limit: DEFAULT_PAGE, offset: 0, sort: Vec::new() }
    }
}

/// Which deployments, as the query has them.
#[derive(Clone, Debug)]
pub struct ListQuery {
    /// Largest number of results.
    pub limit: u16,
    /// Results to skip.
    pub offset: u32,
    /// Fields to sort by, `true` for descending.
    pub sort: Vec<(String, bool)>,
    /// Any of these types; empty: all.
    pub types: Vec<String>,
    /// Any of these integration types; empty: all.
    pub integration_types: Vec<IntegrationType>,
}

impl Default for ListQuery {
    fn default() -> Self {
        Self { limit: DEFAULT_PAGE, offset: 0, sort: Vec::new(), types: Vec::new(), integration_types: Vec::new() }
    }
}

/// One page of these records, which are all visible to `read`.
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

/// Brings what was found into the order that the query wants. `compare` gets the name of a field; the empty one is
/// asked last and decides.
pub(super) fn sorted<T>(found: &mut [T], sort: &[(String, bool)], compare: impl Fn(&str, &T, &T) -> Ordering) {
    found.sort_by(|left, right| {
        let by_fields = sort.iter().map(|(field, descending)| {
            let order = compare(field, left, right);
            if *descending { order.reverse() } else { order }
        });
        by_fields.chain([compare("", left, right)]).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    });
}

/// The page of what was found, which is in order.
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
