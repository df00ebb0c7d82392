//! What the tests build their cases from: a live deployment `id-1` at version 5, whose only visible value is `A`.

use jiff::Timestamp;

use crate::controllers::connector_deployment::decide::{Intent, Version};
use crate::controllers::connector_deployment::ledger::{ConnectorName, Identity, Phase, Seen};
use crate::controllers::values::{VisibleApplication, VisibleValues};

/// The time of every look, unless a test says otherwise.
pub(super) const NOW: Timestamp = Timestamp::constant(1_000_000, 0);

pub(super) fn identity() -> Identity {
    Identity { connector: ConnectorName::Key("connector".into()), region: "region".into(), kind: "sandbox".into() }
}

pub(super) fn intent() -> Intent {
    Intent {
        generation: 1,
        identity: identity(),
        remote_id: None,
        redeploy_request: None,
        deletion: None,
        adopt: false,
        observe_only: false,
        suspended: false,
        correct_drift: false,
        version: Version::default(),
    }
}

pub(super) fn visible(values: &[(&str, &str)]) -> VisibleValues {
    let standard = values.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
    let application = VisibleApplication { standard, schedule: None };
    VisibleValues { applications: [("service".to_owned(), application)].into(), ..VisibleValues::default() }
}

pub(super) fn seen(phase: Phase) -> Seen {
    Seen {
        id: "id-1".into(),
        version: 5,
        phase,
        build: Some("build-1".into()),
        connector_id: "connector-id".into(),
        connector_key: Some("connector".into()),
        connector_version: 1,
        region: "region".into(),
        kind: "sandbox".into(),
        values: visible(&[("A", "1")]),
    }
}
