//! Test fixture: a book with one staged connector, and a time that the test advances.

use std::sync::LazyLock;
use std::time::Duration;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Outcomes, Rules, Specifications, StagedBook};
use crate::build::PlannedOutcome;
use crate::catalogue::Catalogue;
use crate::ids::Ids;
use crate::refusal::Refusal;
use crate::variant::Variant;
use clock::later;
use connect_api::Selector;
use connect_api::model::{ConnectorStaged, ConnectorUpdate};

/// Duration of publishing.
pub(super) const LASTS: Duration = Duration::from_secs(10);
pub(super) const KIT: &str = "https://github.com/example/demo-kit.git";

/// Parsed once: parsing it takes most of the time of a short test.
static CATALOGUE: LazyLock<Catalogue> = LazyLock::new(Catalogue::built_in);

/// A book with its time and variant.
pub(super) struct Stage {
    pub(super) book: StagedBook,
    pub(super) variant: Variant,
    pub(super) now: Timestamp,
    ids: Ids,
}

pub(super) fn by_key() -> Selector {
    Selector::Key("mine".into())
}

pub(super) fn demo() -> Vec<String> {
    vec!["demo".to_owned()]
}

impl Stage {
    pub(super) fn new(choices: &[&str]) -> Self {
        let mut variant = Variant::default();
        for choice in choices {
            variant.set(choice).expect(choice);
        }
        let now = "2026-03-01T12:00:00Z".parse().expect("a valid time");
        Self { book: StagedBook::default(), variant, now, ids: Ids::new(Some(1)) }
    }

    /// Creates a stage with the connector `mine` of the project `demo`.
    pub(super) fn with_mine(choices: &[&str]) -> Self {
        let mut stage = Self::new(choices);
        stage.create("mine", "1.0.0").expect("it is created");
        stage
    }

    pub(super) fn create(&mut self, key: &str, tag: &str) -> Result<ConnectorStaged, Refusal> {
        let draft = json!({
            "key": key, "name": "Mine", "creator": {"email": "dev@example.com"}, "integrationTypes": ["tax"],
            "repository": {"url": KIT, "tag": tag}, "privateProjects": ["europe-west1.gcp:demo"],
        });
        let draft = serde_json::from_value(draft).expect("it is a draft");
        let found = Self::found(&json!([{"action": "setRepository", "url": KIT, "tag": tag}]));
        let rules = Rules { variant: &self.variant, lasts: LASTS };
        self.book.create("demo", draft, &found, self.now, rules, &mut self.ids)
    }

    fn found(actions: &Value) -> Specifications {
        let mut found = Specifications::default();
        for action in actions.as_array().into_iter().flatten() {
            if let Some(tag) = action["tag"].as_str() {
                let url = action["url"].as_str().unwrap_or(KIT);
                let repository = connect_api::model::Repository { url: url.into(), tag: tag.into() };
                found.add(repository.clone(), CATALOGUE.tag(&repository));
            }
        }
        found
    }

    pub(super) fn update_at(&mut self, version: i64, actions: &Value) -> Result<ConnectorStaged, Refusal> {
        let update = json!({"version": version, "actions": actions});
        let update: ConnectorUpdate = serde_json::from_value(update).expect("it is an update");
        let found = Self::found(actions);
        let rules = Rules { variant: &self.variant, lasts: LASTS };
        self.book.advance(self.now, rules);
        self.book.update(&demo(), &by_key(), &update, &found, self.now, rules)
    }

    pub(super) fn update(&mut self, actions: &Value) -> Result<ConnectorStaged, Refusal> {
        let version = self.book.named(&by_key()).expect("the connector exists").definition.version;
        self.update_at(version, actions)
    }

    /// Sends an update with one action, which must be accepted.
    pub(super) fn act(&mut self, action: &Value) -> ConnectorStaged {
        self.update(&json!([action])).unwrap_or_else(|refusal| panic!("{action}: {refusal:?}"))
    }

    pub(super) fn publish(&mut self, certification: bool) {
        self.act(&json!({"action": "publish", "certification": certification}));
    }

    pub(super) fn step(&mut self, seconds: u64) -> ConnectorStaged {
        self.now = later(self.now, Duration::from_secs(seconds));
        self.shown()
    }

    /// Returns the current state, without lag.
    pub(super) fn shown(&mut self) -> ConnectorStaged {
        self.book.advance(self.now, Rules { variant: &self.variant, lasts: LASTS });
        self.book.named(&by_key()).expect("the connector exists").show()
    }

    pub(super) fn plan(&mut self, outcomes: Outcomes) {
        let id = self.shown().id;
        self.book.by_id(&id).expect("the connector exists").plan(outcomes);
    }
}

/// Returns a failure with a report.
pub(super) fn failure(title: &str) -> PlannedOutcome {
    PlannedOutcome::failure("service", title, "A longer text.")
}
