//! `migrate`: rewrites stored objects in the storage version of their CRD, as the storage version migrator of Kubernetes
//! does.
//!
//! etcd keeps each object in the version that was the storage version when it was last written, and the API server refuses
//! to drop a version that `status.storedVersions` of the CRD names.

use clock::Clock;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, ListParams, PartialObjectMeta, Patch};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use crate::cli::cluster::Connection;
use crate::cli::live::Live;
use crate::names;

use super::failure::Failed;

/// Objects that are read at once.
const PAGE: u32 = 100;
/// Maximum number of refused objects that an error lists.
const LISTED: usize = 5;

const EXAMPLES: &str = "\
Examples:
  # Show how many objects would be rewritten
  connect-operator migrate --dry-run

  # Rewrite them, before a release that no longer has the former version
  connect-operator migrate";

/// Rewrite stored objects in the storage version of their CRD.
///
/// Writes every object of each CRD that has former versions in `status.storedVersions`, without changing it, and then
/// removes these versions from the list. An object that somebody else changes meanwhile is skipped, because that write
/// stores it in the storage version, too. Can be repeated at any time. Needs the rights to list and patch the resources in
/// all namespaces, and to patch customresourcedefinitions/status. A terminal shows the progress; otherwise there is a line
/// on standard error after every 100 objects.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Migrate {
    /// Only count the objects; write nothing.
    #[arg(long)]
    dry_run: bool,

    #[command(flatten)]
    connection: Connection,
}

/// How many objects of a CRD were rewritten, and which were refused.
#[derive(Default)]
struct Rewritten {
    count: usize,
    skipped: usize,
    refused: Vec<String>,
}

impl Rewritten {
    /// Returns how many objects were processed.
    fn processed(&self) -> usize {
        self.count + self.skipped + self.refused.len()
    }
}

/// A migration of all CRDs.
struct Migration<'a> {
    client: Client,
    crds: Api<CustomResourceDefinition>,
    dry_run: bool,
    live: Live<'a>,
}

/// Migrates every CRD of the operator.
///
/// # Errors
/// If something cannot be read, or an object cannot be written; the other CRDs are migrated nevertheless.
pub(in crate::cli) async fn migrate(args: Migrate) -> Result<(), Failed> {
    let (client, _) = args.connection.client(None).await.map_err(Failed::Cluster)?;
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    let failed = |error| Failed::about("list", "customresourcedefinitions.apiextensions.k8s.io", None, error);
    let all = crds.list(&ListParams::default()).await.map_err(failed)?;
    let clock = Clock::system();
    let migration = Migration { client, crds, dry_run: args.dry_run, live: Live::start(&clock) };
    let mut failures = Vec::new();
    for crd in all.items.iter().filter(|crd| crd.spec.group == names::GROUP) {
        match migration.of_crd(crd).await {
            Ok(line) => migration.live.result(&format!("{}: {line}\n", crd.name_any()))?,
            Err(error) => failures.push(format!("{}: {error}", crd.name_any())),
        }
    }
    migration.live.clear();
    if failures.is_empty() { Ok(()) } else { Err(Failed::Unfinished(failures.join("\n"))) }
}

impl Migration<'_> {
    /// Migrates one CRD; returns what was done.
    async fn of_crd(&self, crd: &CustomResourceDefinition) -> Result<String, Failed> {
        let storage = crd.spec.versions.iter().find(|version| version.storage);
        let Some(storage) = storage.map(|version| version.name.as_str()) else {
            return Err(Failed::Unfinished("it has no storage version".to_owned()));
        };
        let stored = crd.status.as_ref().and_then(|status| status.stored_versions.clone()).unwrap_or_default();
        if stored.iter().all(|version| version == storage) {
            return Ok(format!("nothing to do, every object is stored as {storage}"));
        }
        let stored = stored.join(", ");
        let done = self.rewrite(crd, storage).await?;
        if self.dry_run {
            return Ok(format!("{} objects would be rewritten as {storage}; stored versions: {stored}", done.count));
        }
        if !done.refused.is_empty() {
            let some = done.refused.iter().take(LISTED).cloned().collect::<Vec<_>>().join("; ");
            let count = done.refused.len();
            return Err(Failed::Unfinished(format!(
                "{count} objects are refused, stored versions stay {stored}: {some}"
            )));
        }
        let status =
            json!({"metadata": {"resourceVersion": crd.resource_version()}, "status": {"storedVersions": [storage]}});
        match self.crds.patch_status(&crd.name_any(), &super::patch_params(), &Patch::Merge(status)).await {
            Ok(_) => Ok(format!(
                "{} objects rewritten as {storage}, {} changed by others meanwhile; stored versions: {stored} before, {storage} now",
                done.count, done.skipped
            )),
            Err(kube::Error::Api(refused)) if refused.code == 409 => {
                Err(Failed::Unfinished("it was changed meanwhile: run the command again".to_owned()))
            }
            Err(error) => {
                Err(Failed::about("patch", "customresourcedefinitions.apiextensions.k8s.io/status", None, error))
            }
        }
    }

    /// Writes every object back without a change, page by page.
    async fn rewrite(&self, crd: &CustomResourceDefinition, storage: &str) -> Result<Rewritten, Failed> {
        let objects: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource(crd, storage));
        let mut done = Rewritten::default();
        let mut page = ListParams::default().limit(PAGE);
        loop {
            let listed = match objects.list_metadata(&page).await {
                // The continue token has expired: what was rewritten before does no harm.
                Err(kube::Error::Api(gone)) if gone.code == 410 && page.continue_token.is_some() => {
                    (done, page.continue_token) = (Rewritten::default(), None);
                    continue;
                }
                listed => listed.map_err(|error| Failed::about("list", &crd.name_any(), None, error))?,
            };
            let more = listed.metadata.remaining_item_count.and_then(|more| usize::try_from(more).ok());
            let total = done.processed() + listed.items.len() + more.unwrap_or_default();
            for object in &listed.items {
                if self.dry_run {
                    done.count += 1;
                } else {
                    self.rewrite_one(crd, storage, object, &mut done).await?;
                }
                if self.live.is_shown() {
                    self.live.show([(crd.name_any().as_str(), progress(&done, total).as_str())].into_iter());
                }
            }
            page.continue_token = listed.metadata.continue_.filter(|token| !token.is_empty());
            if page.continue_token.is_none() {
                return Ok(done);
            }
            if !self.live.is_shown() {
                self.live.change(&format!("{}: {}", crd.name_any(), progress(&done, total)));
            }
        }
    }

    async fn rewrite_one(
        &self,
        crd: &CustomResourceDefinition,
        storage: &str,
        object: &PartialObjectMeta<DynamicObject>,
        done: &mut Rewritten,
    ) -> Result<(), Failed> {
        let resource = resource(crd, storage);
        let api: Api<DynamicObject> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), &namespace, &resource),
            None => Api::all_with(self.client.clone(), &resource),
        };
        let unchanged = json!({"metadata": {"resourceVersion": object.resource_version()}});
        match api.patch_metadata(&object.name_any(), &super::patch_params(), &Patch::Merge(unchanged)).await {
            Ok(_) => done.count += 1,
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => done.skipped += 1,
            Err(kube::Error::Api(status)) if status.code == 403 => {
                return Err(Failed::about("patch", &crd.name_any(), None, kube::Error::Api(status)));
            }
            Err(kube::Error::Api(status)) => {
                let place = object.namespace().map(|namespace| format!("{namespace}/")).unwrap_or_default();
                done.refused.push(format!("{place}{}: {}", object.name_any(), status.message));
            }
            Err(error) => return Err(error.into()),
        }
        Ok(())
    }
}

fn progress(done: &Rewritten, total: usize) -> String {
    format!("{} of {total} objects", done.processed())
}

fn resource(crd: &CustomResourceDefinition, version: &str) -> ApiResource {
    let (group, names) = (&crd.spec.group, &crd.spec.names);
    ApiResource {
        group: group.clone(),
        version: version.to_owned(),
        api_version: format!("{group}/{version}"),
        kind: names.kind.clone(),
        plural: names.plural.clone(),
    }
}
