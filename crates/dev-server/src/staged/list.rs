//! Lists of staged connectors (contract section 3).
//!
//! The contract leaves these points open; the dev server chooses: without `sort`, the oldest come first; several
//! integration types match any of them, and filters combine with *and*; `sort` takes `createdAt`, `key`, `id`, `name`,
//! `version` and `status`, and ignores other fields.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::StagedBook;
use super::record::StagedRecord;
use crate::list::{Part, paged, sorted};
use connect_api::model::{ConnectorStaged, IntegrationType, Paged};

/// Query parameters of `queryConnectorsStaged`.
#[derive(Clone, Debug, Default)]
pub(crate) struct StagedListQuery {
    pub(crate) part: Part,
    /// `true` keeps only private connectors, `false` only public ones.
    pub(crate) is_private: Option<bool>,
    /// Integration types to keep; empty: all.
    pub(crate) integration_types: Vec<IntegrationType>,
}

impl StagedBook {
    /// Performs `queryConnectorsStaged`.
    pub(crate) fn list(&self, projects: &[String], query: &StagedListQuery, now: Timestamp) -> Paged<ConnectorStaged> {
        let fits = |record: &&StagedRecord| {
            let types = &query.integration_types;
            let integrates = &record.definition.integration_types;
            projects.iter().any(|project| record.is_known_to(project))
                && query.is_private.is_none_or(|private| record.definition.private == private)
                && (types.is_empty() || types.iter().any(|wanted| integrates.contains(wanted)))
        };
        let mut found: Vec<_> =
            self.records().filter(fits).filter_map(|record| Some((record, record.read(now)?))).collect();
        sorted(&mut found, &query.part.sort, |field, (left, left_shown), (right, right_shown)| match field {
            "" | "createdAt" => left.sequence.cmp(&right.sequence),
            "key" => left_shown.key.cmp(&right_shown.key),
            "id" => left_shown.id.cmp(&right_shown.id),
            "name" => left_shown.name.cmp(&right_shown.name),
            "version" => left_shown.version.cmp(&right_shown.version),
            "status" => left_shown.status.cmp(&right_shown.status),
            _ => Ordering::Equal,
        });
        paged(found, query.part.limit, query.part.offset, |(_, shown)| Some(shown))
    }
}
