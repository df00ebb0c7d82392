//! Walks a list from its first page to its last (contract section 3). What a walk shows is there; what it does not show
//! may be there all the same, because pages move while one walks.

use std::collections::HashMap;
use std::sync::Arc;

use super::ApiError;
use super::api::{ConnectApi, PageRequest};
use super::model::Deployment;
use super::routes::LARGEST_OFFSET;

/// Records asked for in one page: each deployment carries its whole connector, so the largest page would be large.
pub const PAGE_SIZE: u16 = 100;

/// The deployments of a project, as far as a list shows them.
#[derive(Clone, Debug, Default)]
pub struct Listing {
    /// Each once, in the order of their first sight, as they were seen last.
    pub deployments: Vec<Arc<Deployment>>,
    /// Records that could not be read.
    pub left_out: usize,
    /// Whether the last page was reached; nothing beyond [`LARGEST_OFFSET`] and one page can be.
    pub complete: bool,
}

/// Reads all pages of the deployments of a project.
///
/// # Errors
/// Those of the first page that fails.
pub async fn all_deployments(api: &dyn ConnectApi) -> Result<Listing, ApiError> {
    let mut listing = Listing::default();
    let mut places = HashMap::new();
    let mut offset = 0;
    while offset <= LARGEST_OFFSET {
        let page = api.deployments(PageRequest { limit: PAGE_SIZE, offset }).await?;
        // `count` counts the records that came, readable or not.
        let count = u32::try_from(page.count).unwrap_or(0);
        listing.left_out += usize::try_from(count).unwrap_or(usize::MAX).saturating_sub(page.results.len());
        for deployment in page.results {
            if let Some(place) = places.get(&deployment.id) {
                listing.deployments[*place] = deployment;
            } else {
                places.insert(deployment.id.clone(), listing.deployments.len());
                listing.deployments.push(deployment);
            }
        }
        // A server may give smaller pages than it was asked for, and says so.
        let limit = u32::try_from(page.limit).ok().filter(|limit| *limit > 0).unwrap_or(u32::MAX);
        let seen = i64::from(offset) + i64::from(count);
        if count < limit.min(PAGE_SIZE.into()) || (page.total > 0 && seen >= page.total) {
            listing.complete = true;
            break;
        }
        offset += count;
    }
    Ok(listing)
}
