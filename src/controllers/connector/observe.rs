//! Reads the inputs of a mirror: its project, the existing objects, and the registry. Changes nothing.
//!
//! Of the registry, only what `decide` needs is kept, and the records to write, up to a limit: the rest is written
//! after another read.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use clock::Clock;
use connect_api::ApiError;
use connect_api::error::Failure;
use connect_api::model::{self, IntegrationType};
use connect_api::paging::{self, Extent};
use connect_api::registry::{ConnectorQuery, RegistryApi};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::ResourceExt;
use kube::api::{Api, ListParams, ObjectMeta};

use super::decide::{Kept, ObservedObject};
use super::desired::{self, Desired, Owner, desired};
use super::errors::{OfRequest as _, RequestError};
use super::names;
use crate::controllers::kinds::project_object::ProjectObject;
use crate::controllers::reporting::bounds;
use crate::controllers::tracking::initial_lists::PAGE;
use crate::crd::connector::LONGEST_WORD;
use crate::crd::{Connector, ProjectKind, ProjectRef, RegistryMirror};

/// The request for the objects.
pub(super) const LIST: &str = "list Connectors";
/// Limit of the records that are kept for writing after one read, in bytes of JSON.
const LARGEST_LOAD: usize = 4 << 20;
/// Time limit of one read of the registry, because it holds one of few slots. Lists reach 101 pages far, so each may take
/// almost 6 s; without the limit, a service may send pages of one result, each after 30 s.
pub(super) const LONGEST_READ: Duration = Duration::from_mins(10);

/// Reads the current project; `None`: it does not exist.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn project<P: ProjectObject>(api: &Api<P>, name: &str) -> Result<Option<P>, RequestError> {
    api.get_opt(name).await.reading(&format!("get {} {name}", P::kind(&())))
}

/// Lists the objects of a project: the digest state of each, and its version.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn objects(
    api: &Api<Connector>,
    owner: &Owner,
) -> Result<(BTreeMap<String, Kept>, BTreeMap<String, u64>), RequestError> {
    let (mut kept, mut versions) = (BTreeMap::new(), BTreeMap::new());
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = api.list(&page).await.reading(LIST)?;
        for object in list.items.iter().filter(|object| belongs(object, owner)) {
            let print = desired::print(object);
            kept.insert(object.name_any(), Kept { id: object.spec.id.clone(), print });
            versions.insert(object.name_any(), version(object.resource_version().as_deref()));
        }
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok((kept, versions)),
        }
    }
}

/// Whether an object belongs to this project, by its owner, or without one by its spec.
fn belongs(object: &Connector, owner: &Owner) -> bool {
    named_owner(object.owner_references()).as_ref().unwrap_or(&object.spec.project_ref) == &owner.project
}

/// Returns the project that owns an object.
fn named_owner(owners: &[OwnerReference]) -> Option<ProjectRef> {
    owners.iter().find_map(|owner| {
        let kind = [ProjectKind::ConnectProject, ProjectKind::ClusterConnectProject];
        let kind = kind.into_iter().find(|kind| kind.as_str() == owner.kind)?;
        Some(ProjectRef { kind, name: owner.name.clone() })
    })
}

/// Returns the project of an object, as far as its metadata shows it.
#[must_use]
pub fn project_of(meta: &ObjectMeta) -> Option<ProjectRef> {
    let by_name = || meta.name.as_deref().and_then(names::project_of);
    meta.owner_references.as_deref().and_then(named_owner).or_else(by_name)
}

/// Returns a resource version as a number; the largest one if it is not a number, so that it never equals a known one.
#[must_use]
pub fn version(text: Option<&str>) -> u64 {
    text.and_then(|text| text.parse().ok()).unwrap_or(u64::MAX)
}

/// An observation of the registry.
pub(super) struct RegistryRead {
    pub(super) extent: Extent,
    pub(super) seen: Vec<ObservedObject>,
    /// The records to write, by their index in `seen`; incomplete if they exceed the limit.
    pub(super) records: BTreeMap<usize, Desired>,
}

/// Reads the registry. `needed`: if there are any, only the records with
/// these ids are returned, even if their objects seem to be up to date.
///
/// # Errors
/// The error of the first page that fails, or one after [`LONGEST_READ`].
pub(super) async fn look(
    api: &dyn RegistryApi,
    clock: &Clock,
    filter: &RegistryMirror,
    owner: &Owner,
    kept: &BTreeMap<String, Kept>,
    needed: &BTreeSet<String>,
) -> Result<RegistryRead, ApiError> {
    let (mut seen, mut records, mut load) = (Vec::new(), BTreeMap::new(), 0);
    let take = |connector: model::Connector| {
        // The service generates short ids, so a record whose id does not fit into an object is not valid.
        if connector.id.is_empty() || connector.id.len() > LONGEST_WORD {
            return;
        }
        let desired = desired(owner, connector);
        let is_written =
            |name: String| kept.get(&name).is_some_and(|kept| kept.print.intact && kept.print.digest == desired.digest);
        let written = is_written(names::usual(&owner.project, &desired.identity))
            || is_written(names::by_id(&owner.project, &desired.identity));
        seen.push(ObservedObject { identity: desired.identity.clone(), digest: desired.digest.clone() });
        // With the others beside it, what is needed might not fit again.
        let is_kept = if needed.is_empty() { !written } else { needed.contains(&desired.identity.id) };
        if load < LARGEST_LOAD && is_kept {
            load += bounds::size(&desired.status);
            records.insert(seen.len() - 1, desired);
        }
    };
    let query = query(filter);
    let extent = tokio::select! {
        biased;
        extent = paging::each_connector(api, &query, take) => extent?,
        () = clock.sleep(LONGEST_READ) => return Err(too_slow()),
    };
    Ok(RegistryRead { extent, seen, records })
}

fn too_slow() -> ApiError {
    ApiError {
        operation: "searchConnectors",
        failure: Failure::NoAnswer,
        message: format!("reading the registry takes longer than {} minutes", LONGEST_READ.as_secs() / 60),
        correlation_id: None,
        retry_after: None,
    }
}

fn query(filter: &RegistryMirror) -> ConnectorQuery {
    ConnectorQuery {
        text: filter.text.clone(),
        private: filter.private,
        creator_company: filter.creator_company.clone(),
        integration_types: filter.integration_types.iter().map(|word| IntegrationType::from(word.as_str())).collect(),
        ..ConnectorQuery::default()
    }
}

#[cfg(test)]
mod tests {
    use clock::between;
    use connect_api::api::{Answer, PageRequest};
    use connect_api::model::Paged;
    use jiff::Timestamp;

    use super::*;

    /// A registry that sends one connector of many in each page, so long after the request.
    struct Slow(Clock, Duration);

    impl RegistryApi for Slow {
        fn search<'a>(&'a self, _: &'a ConnectorQuery, page: PageRequest) -> Answer<'a, Paged<model::Connector>> {
            Box::pin(async move {
                let Self(clock, takes) = self;
                clock.step(*takes);
                tokio::task::yield_now().await;
                let results = serde_json::json!([{"id": page.offset.to_string(), "key": "tax", "version": 1}]);
                let page =
                    serde_json::json!({"limit": 1, "offset": page.offset, "count": 1, "total": 50, "results": results});
                Ok(serde_json::from_value(page).expect("a page"))
            })
        }
    }

    #[tokio::test]
    async fn a_slow_registry_does_not_keep_its_slot() {
        for (seconds, expected) in [(10, Ok(50)), (30, Err(Failure::NoAnswer))] {
            let clock = Clock::stepped(Timestamp::UNIX_EPOCH);
            let api = Slow(clock.clone(), Duration::from_secs(seconds));
            let project = ProjectRef { kind: ProjectKind::ConnectProject, name: "shop".into() };
            let owner = Owner { project, uid: "1".into() };
            let filter = serde_json::from_value(serde_json::json!({"private": false})).expect("a filter");
            let (kept, needed) = (BTreeMap::new(), BTreeSet::new());
            let read = look(&api, &clock, &filter, &owner, &kept, &needed).await;
            assert_eq!(read.map(|read| read.seen.len()).map_err(|error| error.failure), expected, "{seconds} s a page");
            let took = between(Timestamp::UNIX_EPOCH, clock.now());
            assert!(took <= LONGEST_READ + Duration::from_secs(seconds), "{took:?}");
        }
    }
}
