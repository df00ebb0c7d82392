//! Every state that the operator can write, as objects: each kind with each reason, made by the code that writes
//! statuses.

use connect_api::mask::Masker;
use connect_operator::crd::ConnectProjectStatus;
use connect_operator::crd::shared::{RemoteIdentity, UNSEEN};
use connect_operator::crd::{ActionCheckStatus, DeletionPolicy};
use connect_operator::operator::check;
use connect_operator::operator::deployment;
use connect_operator::operator::deployment::status::Comparison;
use connect_operator::operator::object_ref::ObjectRef;
use connect_operator::operator::project;
use connect_operator::operator::reporting::conditions::{ConditionUpdate, conditions};
use connect_operator::operator::reporting::observed_record::ObservedRecord;
use connect_operator::operator::reporting::reason::{ConditionState, Reason};
use connect_operator::operator::staged;

use crate::prelude::*;

/// Kinds with a status of their own; a ClusterConnectProject has that of a ConnectProject.
pub(crate) const KINDS: [&str; 4] = ["ConnectProject", "ConnectorDeployment", "ConnectorStaged", "ActionCheck"];

/// Generation of every object here.
const GENERATION: i64 = 3;

/// An object as Flux and Argo CD see it.
pub(crate) struct State {
    /// Its name, for messages.
    pub(crate) name: String,
    /// What it means for a client that waits.
    pub(crate) means: Means,
    /// The object.
    pub(crate) object: Value,
}

/// What a state means for a client that waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Means {
    /// The operator has reported this state for the current generation.
    Said(ConditionState),
    /// The operator has not observed the current generation.
    NotSeenYet,
    /// It is being deleted.
    BeingDeleted,
}

/// Every state of every kind.
pub(crate) fn all() -> Vec<State> {
    let mut all = Vec::new();
    for kind in KINDS {
        for reason in Reason::ALL {
            for beside in [false, true] {
                let name = format!("{kind} {reason}{}", if beside { " with more conditions" } else { "" });
                let written = Means::Said(reason.state());
                all.push(State {
                    name,
                    means: written,
                    object: object(kind, GENERATION, &status(kind, *reason, beside)),
                });
            }
        }
        all.push(State {
            name: format!("{kind} that was just created"),
            means: Means::NotSeenYet,
            // An object without a status, with the default of the schema.
            object: object(kind, 1, &json!({"observedGeneration": UNSEEN})),
        });
        for reason in [Reason::Deployed, Reason::DeploymentFailed, Reason::Creating] {
            let written = status(kind, reason, false);
            let changed = object(kind, GENERATION + 1, &written);
            all.push(State {
                name: format!("{kind} {reason}, changed since"),
                means: Means::NotSeenYet,
                object: changed,
            });
            let mut deleted = object(kind, GENERATION, &written);
            deleted["metadata"]["deletionTimestamp"] = json!("2026-11-21T12:00:00Z");
            all.push(State { name: format!("{kind} {reason}, deleted"), means: Means::BeingDeleted, object: deleted });
        }
    }
    all
}

fn object(kind: &str, generation: i64, status: &Value) -> Value {
    json!({
        "apiVersion": "connect-operator.io/v1alpha1",
        "kind": kind,
        "metadata": {"name": "tax", "namespace": "shop", "generation": generation},
        "spec": {},
        "status": status,
    })
}

/// The status that the operator writes for this reason; `beside`: with every condition that may exist beside the main
/// ones.
fn status(kind: &str, reason: Reason, beside: bool) -> Value {
    let (now, condition) = (Timestamp::UNIX_EPOCH, ConditionUpdate::new(reason, "so it is"));
    match kind {
        "ConnectorDeployment" => {
            let mut persisted = deployment::persisted::PersistedState { unverified: beside, ..Default::default() };
            persisted.id = Some("1".to_owned());
            let release = |version| deployment::status::Release { version, tag: String::new() };
            let newer = if beside {
                deployment::status::Newer::Yes { running: release(1), latest: release(2) }
            } else {
                deployment::status::Newer::No
            };
            let masker = Masker::new([]);
            let object_ref = ObjectRef::deployment("shop", "tax");
            let facts = deployment::status::DeploymentFacts {
                object_ref: &object_ref,
                generation: GENERATION,
                persisted: &persisted,
                condition,
                comparison: if beside { Comparison::Different(Vec::new()) } else { Comparison::Same },
                retained: None,
                secured: beside,
                suspended: beside,
                newer,
                wanted: None,
                deletion_policy: DeletionPolicy::Delete,
                record: ObservedRecord::NotRead,
                texts: deployment::status::Texts::Masked(&masker),
                handled_reconcile: None,
                verified: beside.then(|| ConditionUpdate::new(Reason::NotFound, "Extension tax does not exist")),
            };
            json!(deployment::status::summarize(&ConnectorDeploymentStatus::default(), &facts, now))
        }
        "ConnectorStaged" => {
            let mut kit = kit();
            kit["metadata"]["generation"] = json!(GENERATION);
            kit["spec"]["suspend"] = json!(beside);
            let object: ConnectorStaged = serde_json::from_value(kit).unwrap();
            let facts = staged::status::StagedFacts {
                object: &object,
                state: None,
                condition: &condition,
                remote: None,
                record: ObservedRecord::NotRead,
            };
            json!(staged::status::summarize(&facts, now))
        }
        "ActionCheck" => {
            json!(check::status::with_condition(&ActionCheckStatus::default(), &condition, (GENERATION, false), now))
        }
        _ => {
            let facts = project::status::ProjectFacts {
                generation: GENERATION,
                identity: RemoteIdentity { api_url: "https://connect.test".to_owned(), project_key: "demo".to_owned() },
                health: Err(condition.clone()),
                was_available: false,
                handled: None,
                scopes: None,
                users: project::status::Users::default(),
                deleting: false,
                unkept: None,
                credentials: String::new(),
                copied_from: None,
            };
            let status = project::status::summarize(&ConnectProjectStatus::default(), &facts, now);
            let same = conditions(&[], &condition, Vec::new(), GENERATION, now);
            assert_eq!(status.conditions[..same.len()], same, "{reason} is reported unchanged");
            json!(status)
        }
    }
}
