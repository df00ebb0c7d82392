//! What users do with a ConnectorStaged, and what other clients do with its staged connector. Next: `named.rs`,
//! `held.rs` and `random.rs` for histories of it.

mod held;
mod named;
pub(crate) mod random;

use connect_api::model::{ConnectorStagedDraft, ConnectorUpdate, ConnectorUpdateAction, Creator, Repository};
use dev_server::{Outcomes, PlannedOutcome};

use crate::prelude::*;
use crate::users;

/// Name of the resource.
const NAME: &str = "kit";
/// Key of its connector.
const KEY: &str = "kit";
const REPOSITORY: &str = "https://github.com/example/demo-kit.git";
/// Tags of the repository; processing fails for all but the first two.
pub(crate) const TAGS: [&str; 5] =
    ["1.0.0", "1.1.0", "1.2.0-not-previewable", "1.2.0-not-published", "1.2.0-not-certified"];
const PUBLISH: [&str; 3] = ["Never", "Private", "Certified"];

/// The spec with which a resource is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a field of the spec")]
pub(crate) struct Plan {
    /// Index in [`TAGS`].
    pub(crate) tag: u8,
    /// Selects the text fields.
    pub(crate) words: u8,
    pub(crate) previewable: bool,
    /// 0: never; 1: private; 2: certified.
    pub(crate) publish: u8,
    pub(crate) adopt: bool,
    /// `deletionPolicy: Delete`.
    pub(crate) delete: bool,
    pub(crate) suspend: bool,
}

/// What another client does with the staged connector.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum StagedChange {
    /// Changes its name.
    Rename,
    /// Changes its tag.
    Retag,
    /// Requests a preview.
    Preview,
    /// Publishes it.
    Publish,
    /// Increments its version.
    Bump,
    /// Removes it.
    Remove,
    /// Creates one with the key.
    Create,
    /// Ends the running process now.
    Finish,
    /// Makes the running process fail, or the next one.
    Fail,
}

pub(crate) fn stored() -> Key {
    Key::new(Kind::Staged, SHOP, NAME)
}

/// A resource that deploys each tag of the staged connector.
pub(crate) const FOLLOWER: Resource = Resource::named("preview");

fn spec(plan: Plan) -> Value {
    let words = usize::from(plan.words);
    json!({
        "projectRef": {"name": PROJECT_NAME},
        "key": KEY,
        "name": format!("Kit {words}"),
        "description": (words > 0).then(|| format!("Description {words}")),
        "creator": {"email": "dev@example.com", "company": format!("Company {words}")},
        "repository": {"url": REPOSITORY, "tag": TAGS[usize::from(plan.tag) % TAGS.len()]},
        "integrationTypes": if words % 2 == 0 { json!(["tax"]) } else { json!(["tax", "oms"]) },
        "privateProjects": [{"region": "europe-west1.gcp", "projectKey": "demo"}],
        "preview": if plan.previewable { "Request" } else { "Never" },
        "publishPolicy": PUBLISH[usize::from(plan.publish) % PUBLISH.len()],
        "adoptionPolicy": if plan.adopt { "Adopt" } else { "Never" },
        "deletionPolicy": if plan.delete { "Delete" } else { "Orphan" },
        "suspend": plan.suspend,
    })
}

impl Simulation {
    /// Creates the resource, or replaces its spec.
    pub(crate) fn plan(&mut self, plan: Plan) {
        self.write_object(&stored(), &spec(plan));
    }

    /// Creates a deployment that follows the staged connector.
    pub(crate) fn follow(&mut self) {
        let mut spec = users::spec(FOLLOWER, Shape::default());
        spec["connector"] = json!({"stagedRef": {"name": NAME}, "updatePolicy": "Latest"});
        self.write_object(&FOLLOWER.stored(), &spec);
    }

    /// Deletes the resource.
    pub(crate) fn drop_plan(&mut self) {
        let now = self.now();
        let _ = lock(&self.reach.cluster).delete(&stored(), now);
        self.check();
    }

    pub(crate) fn ask_again(&mut self, annotation: &str, number: usize) {
        let patch = json!({"metadata": {"annotations": {annotation: format!("request-{number}")}}});
        self.edit(&stored(), &patch);
    }

    /// Returns the number of staged connectors with the key.
    pub(crate) fn staged(&self) -> usize {
        let now = self.now();
        let all = lock(&self.reach.remote).world.all_staged(now);
        all.iter().filter(|record| record.key.as_deref() == Some(KEY)).count()
    }

    fn staged_id(&self) -> Option<String> {
        let now = self.now();
        let all = lock(&self.reach.remote).world.all_staged(now);
        all.into_iter().find(|record| record.key.as_deref() == Some(KEY)).map(|record| record.id)
    }

    /// Lets another client act; `number` makes what it writes different each time.
    pub(crate) fn change_staged_elsewhere(&mut self, act: StagedChange, number: usize) {
        let now = self.now();
        let id = self.staged_id();
        let mut remote = lock(&self.reach.remote);
        let world = &mut remote.world;
        let done = match (act, &id) {
            (StagedChange::Create, _) => {
                let draft = ConnectorStagedDraft {
                    key: Some(KEY.to_owned()),
                    name: "Somebody else's".to_owned(),
                    description: None,
                    integration_types: Vec::new(),
                    creator: Creator { email: "else@example.com".to_owned(), ..Creator::default() },
                    repository: Repository { url: REPOSITORY.to_owned(), tag: TAGS[0].to_owned() },
                    supported_regions: Vec::new(),
                    private_projects: Vec::new(),
                    documentation_url: None,
                };
                world.stage_known(PROJECT, draft, now).is_ok()
            }
            (_, None) => false,
            (StagedChange::Remove, Some(id)) => world.remove_staged(id, now).is_ok(),
            (StagedChange::Bump, Some(id)) => world.bump_staged_version(id, now).is_ok(),
            (StagedChange::Finish, Some(id)) => world.finish_staged(id, now).is_ok(),
            (StagedChange::Fail, Some(id)) => {
                let fails = || Some(PlannedOutcome { fails: true, entries: Vec::new() });
                let outcomes = Outcomes { preview: fails(), publishing: fails(), certification: fails() };
                world.plan_staged(id, outcomes, now).is_ok()
            }
            (StagedChange::Rename | StagedChange::Retag | StagedChange::Preview | StagedChange::Publish, Some(id)) => {
                let action = match act {
                    StagedChange::Rename => ConnectorUpdateAction::SetName { name: format!("Name {number}") },
                    StagedChange::Retag => {
                        let (url, tag) = (REPOSITORY.to_owned(), TAGS[number % 2].to_owned());
                        ConnectorUpdateAction::SetRepository(Repository { url, tag }.into())
                    }
                    StagedChange::Preview => ConnectorUpdateAction::UpdatePreviewable,
                    _ => ConnectorUpdateAction::Publish { certification: false },
                };
                let by_id = Selector::Id(id.clone());
                let version = world.staged_by_id(id, now).map(|record| record.version).unwrap_or_default();
                let update = ConnectorUpdate { version, actions: vec![action] };
                world.update_staged_known(&[PROJECT.to_owned()], &by_id, &update, now).is_ok()
            }
        };
        drop(remote);
        if let Some(id) = id.filter(|_| done) {
            self.checker.staged.foreign(&id);
            self.check();
            if matches!(act, StagedChange::Preview | StagedChange::Publish) {
                self.checker.staged.done_elsewhere(&id);
            }
        }
        self.check();
    }
}
