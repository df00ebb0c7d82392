//! Pages of lists (contract section 3).

use serde::{Deserialize, Serialize};

use crate::lenient::nullable;

/// A page of a list (contract section 3).
#[serde_with::apply(i64 => #[serde(default, deserialize_with = "nullable")])]
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
pub struct Paged<T> {
    /// Maximum number of results in this page.
    pub limit: i64,
    /// Number of results before this page.
    pub offset: i64,
    /// Number of results in this page.
    pub count: i64,
    /// Number of results in all pages.
    pub total: i64,
    /// The results of this page.
    pub results: Vec<T>,
}
