//! All results of a list, page after page, as a stream.
//!
//! What it promises: each id comes once; it ends, after 10,500 results at the latest (contract section 3); an error ends
//! it, and what came before stays good. What it cannot promise: pages are counted from the start of the list, so if
//! something leaves the list meanwhile, everything behind it moves forward, and one result may fall between two pages.
//! Whether the order is stable without `sort` is unspecified. So a result that did not come proves nothing.

use std::collections::HashSet;
use std::sync::Arc;

use futures::stream::{self, Stream, TryStreamExt as _};

use super::api::{Answer, PageRequest};
use super::model::{Connector, ConnectorStaged, Deployment, Paged};
use super::registry::{ConnectorQuery, RegistryApi, StagedApi, StagedQuery};
use super::routes::{LARGEST_OFFSET, LARGEST_PAGE};
use super::{ApiError, ConnectApi};

/// Results that are asked for at once. Each holds a whole connector, so that larger pages would be megabytes.
const PAGE: u16 = 100;

/// Every connector that fits, as far as lists reach.
pub fn connectors<'a>(
    api: &'a dyn RegistryApi,
    query: &'a ConnectorQuery,
) -> impl Stream<Item = Result<Connector, ApiError>> + Send + 'a {
    all(move |page| api.search(query, page))
}

/// How much of a list was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Extent {
    /// Results in all pages, as the last page says; 0: it does not say.
    pub total: u64,
    /// Different results that came.
    pub came: u64,
    /// Whether nothing speaks against what did not come not being in the list: every result that was counted could be
    /// read, as many came as every page announced, and lists reach that far. Something that left the list and something
    /// else that joined it between two pages can still hide a third one, so absence needs a second look.
    pub whole: bool,
}

/// Hands over every connector that fits, as far as lists reach, each once, and says how much of the list that was. Pages
/// are let go as soon as they are read.
///
/// # Errors
/// Those of `search`, at the first page that fails; what came before it was handed over.
pub async fn each_connector(
    api: &dyn RegistryApi,
    query: &ConnectorQuery,
    mut take: impl FnMut(Connector) + Send,
) -> Result<Extent, ApiError> {
    let mut walk = Walk::default();
    let mut measure = Measure::default();
    while let Some(request) = walk.next {
        let page = api.search(query, request).await?;
        measure.note(&page);
        walk.take(request, page).into_iter().for_each(&mut take);
    }
    Ok(measure.extent(walk.seen.len()))
}

/// What the pages of one list say of it.
#[derive(Default)]
struct Measure {
    totals: Option<(i64, i64)>,
    unreadable: bool,
}

impl Measure {
    fn note<T>(&mut self, page: &Paged<T>) {
        let (first, _) = self.totals.unwrap_or((page.total, page.total));
        self.totals = Some((first, page.total));
        self.unreadable |= i64::try_from(page.results.len()).unwrap_or(i64::MAX) < page.count;
    }

    fn extent(&self, came: usize) -> Extent {
        let came = u64::try_from(came).unwrap_or(u64::MAX);
        let (first, last) = self.totals.unwrap_or_default();
        let total = u64::try_from(last).unwrap_or_default();
        let reach = u64::from(LARGEST_OFFSET) + u64::from(LARGEST_PAGE);
        let announced = if total == 0 { came < reach } else { came == total && total <= reach };
        Extent { total, came, whole: announced && first == last && !self.unreadable }
    }
}

/// Every staged connector that fits, as far as lists reach.
pub fn connectors_staged<'a>(
    api: &'a dyn StagedApi,
    query: &'a StagedQuery,
) -> impl Stream<Item = Result<ConnectorStaged, ApiError>> + Send + 'a {
    all(move |page| api.all_staged(query, page))
}

/// Every deployment of the project, as far as lists reach.
pub fn deployments(api: &dyn ConnectApi) -> impl Stream<Item = Result<Arc<Deployment>, ApiError>> + Send + '_ {
    all(move |page| api.deployments(page))
}

/// What has an id of its own in its list.
trait Listed {
    fn id(&self) -> &str;
}

impl Listed for Connector {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Listed for ConnectorStaged {
    fn id(&self) -> &str {
        &self.id
    }
}

impl Listed for Arc<Deployment> {
    fn id(&self) -> &str {
        &self.id
    }
}

fn all<'a, T, R>(read: R) -> impl Stream<Item = Result<T, ApiError>> + Send + 'a
where
    T: Listed + Send + 'a,
    R: Fn(PageRequest) -> Answer<'a, Paged<T>> + Send + 'a,
{
    stream::try_unfold((Walk::default(), read), |(mut walk, read)| async move {
        let Some(request) = walk.next else { return Ok(None) };
        let page = read(request).await?;
        let news = walk.take(request, page);
        Ok(Some((stream::iter(news.into_iter().map(Ok)), (walk, read))))
    })
    .try_flatten()
}

/// How far a list is read.
struct Walk {
    /// The next page; `None` at the end.
    next: Option<PageRequest>,
    seen: HashSet<String>,
}

impl Default for Walk {
    fn default() -> Self {
        Self { next: Some(PageRequest { limit: PAGE, offset: 0 }), seen: HashSet::new() }
    }
}

impl Walk {
    /// What is new in the page that `request` brought.
    fn take<T: Listed>(&mut self, request: PageRequest, page: Paged<T>) -> Vec<T> {
        // Servers may give smaller pages than they are asked for, so what counts is how many came, decoded or not.
        let came = u32::try_from(page.count.max(0)).unwrap_or(u32::MAX);
        let came = came.max(u32::try_from(page.results.len()).unwrap_or(u32::MAX));
        self.next = following(request, came, page.total);
        page.results.into_iter().filter(|result| self.seen.insert(result.id().to_owned())).collect()
    }
}

/// The page after `request`, which brought so many results. Each offset is larger than the one before, so it ends.
fn following(request: PageRequest, came: u32, total: i64) -> Option<PageRequest> {
    let reached = request.offset.saturating_add(came);
    let more = match total {
        // Not said, though it is required: a full page may have one behind it.
        ..=0 => came >= u32::from(request.limit),
        total => i64::from(reached) < total,
    };
    if came == 0 || !more || request.offset >= LARGEST_OFFSET {
        return None;
    }
    // The last offset is where the largest page reaches furthest.
    Some(match reached {
        LARGEST_OFFSET.. => PageRequest { limit: LARGEST_PAGE, offset: LARGEST_OFFSET },
        offset => PageRequest { limit: PAGE, offset },
    })
}

#[cfg(test)]
#[path = "paging_tests.rs"]
mod tests;
