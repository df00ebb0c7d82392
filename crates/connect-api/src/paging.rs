//! Reads all pages of a list as a stream.
//!
//! Guarantees: each id occurs once; the stream ends, after at most 10,500 results (contract section 3); an error ends
//! it, and the results before the error are valid. Not guaranteed: completeness. Pages are counted from the start of
//! the list, so if a result leaves the list meanwhile, all later ones move forward and one may fall between two pages.
//! Whether the order is stable without `sort` is unspecified. A missing result therefore proves nothing.

use std::collections::HashSet;
use std::sync::Arc;

use futures::stream::{self, Stream, TryStreamExt as _};

use super::api::{Answer, PageRequest};
use super::http::Query;
use super::model::{Connector, ConnectorStaged, Deployment, Paged};
use super::routes::{LARGEST_OFFSET, LARGEST_PAGE};
use super::{ApiError, ConnectApi, HttpConnect};

/// Page size of requests. Each result contains a whole connector, so larger pages would be megabytes.
const PAGE: u16 = 100;

/// Streams every connector that matches these query parameters, as far as lists reach.
pub fn connectors<'a>(
    api: &'a HttpConnect,
    query: &'a Query,
) -> impl Stream<Item = Result<Connector, ApiError>> + Send + 'a {
    all(|it: &Connector| &it.id, move |page| Box::pin(api.search(query, page)) as Answer<'a, _>)
}

/// Streams every staged connector, as far as lists reach.
pub fn connectors_staged(api: &HttpConnect) -> impl Stream<Item = Result<ConnectorStaged, ApiError>> + Send + '_ {
    all(|it: &ConnectorStaged| &it.id, move |page| Box::pin(api.all_staged(page)) as Answer<'_, _>)
}

/// Streams every deployment of the project, as far as lists reach.
pub fn deployments(api: &dyn ConnectApi) -> impl Stream<Item = Result<Arc<Deployment>, ApiError>> + Send + '_ {
    all(|it: &Arc<Deployment>| &it.id, move |page| api.deployments(page))
}

/// Reads all pages; `id` is unique in the list.
fn all<'a, T, R>(id: fn(&T) -> &str, read: R) -> impl Stream<Item = Result<T, ApiError>> + Send + 'a
where
    T: Send + 'a,
    R: Fn(PageRequest) -> Answer<'a, Paged<T>> + Send + 'a,
{
    let start = (Some(PageRequest { limit: PAGE, offset: 0 }), HashSet::new(), read);
    stream::try_unfold(start, move |(request, mut seen, read)| async move {
        let Some(request) = request else { return Ok(None) };
        let mut page = read(request).await?;
        let next = following(request, &page);
        page.results.retain(|result| seen.insert(id(result).to_owned()));
        Ok(Some((stream::iter(page.results.into_iter().map(Ok)), (next, seen, read))))
    })
    .try_flatten()
}

/// Returns the request after `request`, for which `page` was received. The offset always increases, so the sequence ends.
fn following<T>(request: PageRequest, page: &Paged<T>) -> Option<PageRequest> {
    // Servers may send smaller pages than requested, so the offset advances by the number received, decoded or not.
    let came = u32::try_from(page.count.max(0)).unwrap_or(u32::MAX);
    let came = came.max(u32::try_from(page.results.len()).unwrap_or(u32::MAX));
    let reached = request.offset.saturating_add(came);
    if came == 0 || i64::from(reached) >= page.total || request.offset >= LARGEST_OFFSET {
        return None;
    }
    // At the last allowed offset, the largest page reaches furthest.
    Some(match reached {
        LARGEST_OFFSET.. => PageRequest { limit: LARGEST_PAGE, offset: LARGEST_OFFSET },
        offset => PageRequest { limit: PAGE, offset },
    })
}

#[cfg(test)]
#[path = "paging_tests.rs"]
mod tests;
