//! What a `ConnectorDeployment` asks for, apart from the values: pure, from the object and its project.

use connect_api::Selector;
use connect_api::model::ConnectorReference;
use kube::ResourceExt;
use sha2::{Digest as _, Sha256};

use super::decide::{Intent, Version};
use super::persisted::{ConnectorName, Identity};
use super::status::DesiredIdentity;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{
    AdoptionPolicy, ConnectorDeployment, DeletionPolicy, DeploymentType, DriftPolicy, ManagementPolicy,
    RemovedValuesPolicy, StagedConnector, UpdatePolicy,
};
use crate::names;
use crate::operator::context::Project;
use crate::operator::reconcile;
use crate::operator::remote::RegistryKey;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::values::digest::hex;

/// Longest key of a deployment (contract section 9).
const LONGEST_KEY: usize = 256;
/// Hexadecimal digits at the end of a key that was shortened.
const DIGITS: usize = 8;

/// Returns the key of the remote deployment: the one in the spec, or `{namespace}_{name}`.
pub fn key(object: &ConnectorDeployment) -> String {
    if let Some(key) = &object.spec.key {
        return key.clone();
    }
    let full = format!("{}_{}", object.namespace().unwrap_or_default(), object.name_any()).replace('.', "__");
    if full.len() <= LONGEST_KEY {
        return full;
    }
    let digits = hex(&Sha256::digest(full.as_bytes())[..DIGITS / 2]);
    format!("{}{digits}", &full[..full.floor_char_boundary(LONGEST_KEY - DIGITS)])
}

/// Returns the type of the remote deployment, as the API names it.
pub fn kind(object: &ConnectorDeployment) -> &'static str {
    match object.spec.effective_type() {
        DeploymentType::Preview => "preview",
        DeploymentType::Sandbox => "sandbox",
        DeploymentType::Production => "production",
    }
}

/// Returns what identifies the remote deployment, which the status shows even before it exists.
pub fn desired_identity(object: &ConnectorDeployment, project: &Project) -> DesiredIdentity {
    identity_in(object, project.identity.clone(), &project.region)
}

/// Returns the same for a remote project whose deployments go to `region` by default.
pub fn identity_in(object: &ConnectorDeployment, remote: RemoteIdentity, region: &str) -> DesiredIdentity {
    DesiredIdentity {
        key: key(object),
        kind: object.spec.effective_type(),
        region: object.spec.region.clone().unwrap_or_else(|| region.to_owned()),
        remote,
    }
}

/// The connector that a resource deploys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// How to look the connector up.
    pub name: RegistryKey,
    /// For a connector that `stagedRef` names: since which version it can be deployed, or why it cannot be.
    pub staged: Option<Result<i64, String>>,
}

impl Target {
    /// Returns the connector as a draft names it: without a version, which is deprecated and means the latest (contract
    /// section 4.2).
    pub fn reference(&self) -> ConnectorReference {
        let (id, key) = match self.name.selector.clone() {
            Selector::Id(id) => (Some(id), None),
            Selector::Key(key) => (None, Some(key)),
        };
        ConnectorReference { id, key, staged: self.name.staged.then_some(true), version: None }
    }
}

/// Returns the connector that a resource deploys. `staged`: what is known of the `ConnectorStaged` of `stagedRef`.
///
/// # Errors
/// Why the connector is not known.
pub fn target(object: &ConnectorDeployment, staged: Option<&StagedConnector>) -> Result<Target, ConditionUpdate> {
    let connector = &object.spec.connector;
    let named = |selector| Target { name: RegistryKey { selector, staged: connector.is_staged() }, staged: None };
    match (&connector.key, &connector.id, &connector.staged_ref) {
        (Some(key), _, _) => Ok(named(Selector::Key(key.clone()))),
        (None, Some(id), _) => Ok(named(Selector::Id(id.clone()))),
        (None, None, Some(reference)) => staged_target(object, &reference.name, staged),
        // The schema refuses this, but a plan of files alone evaluates no rules of it.
        (None, None, None) => {
            Err(ConditionUpdate::new(Reason::ConfigurationInvalid, "connector has neither key, id nor stagedRef"))
        }
    }
}

/// Returns the connector of a `stagedRef`. What is deployed stays managed when its `ConnectorStaged` is gone.
fn staged_target(
    object: &ConnectorDeployment,
    name: &str,
    staged: Option<&StagedConnector>,
) -> Result<Target, ConditionUpdate> {
    let live = object.status.as_ref().filter(|status| status.id.is_some());
    let live = live.and_then(|status| status.connector.as_ref()).and_then(|connector| connector.id.clone());
    let not_ready = |why: &str| ConditionUpdate::new(Reason::StagedNotReady, format!("ConnectorStaged {name}: {why}"));
    let missing = || "it is missing in this namespace".to_owned();
    let known = staged.and_then(|staged| staged.id.clone());
    let waits = staged.map_or_else(|| Err(missing()), |staged| staged.deployable.clone());
    match (live, known) {
        (Some(live), Some(known)) if live != known => Err(ConditionUpdate::new(
            Reason::IdentityChanged,
            format!(
                "ConnectorStaged {name} is connector {known} now, but connector {live} is deployed: delete this \
                 resource and create it again"
            ),
        )),
        (Some(id), _) | (None, Some(id)) => {
            Ok(Target { name: RegistryKey { selector: Selector::Id(id), staged: true }, staged: Some(waits) })
        }
        (None, None) => Err(not_ready(&waits.err().unwrap_or_else(missing))),
    }
}

/// Reports why a connector of `stagedRef` cannot be deployed yet.
pub fn not_deployable(object: &ConnectorDeployment, why: &str) -> ConditionUpdate {
    let name = object.spec.connector.staged_ref.as_ref().map(|reference| reference.name.as_str()).unwrap_or_default();
    ConditionUpdate::new(Reason::StagedNotReady, format!("ConnectorStaged {name}: {why}"))
}

/// Returns what happens to the remote deployment when the object is deleted. `install`: the default policy of this
/// install.
pub fn deletion(object: &ConnectorDeployment, install: Option<DeletionPolicy>) -> Option<DeletionPolicy> {
    object.metadata.deletion_timestamp.as_ref()?;
    let stays = object.spec.deletion_policy_of(install) == DeletionPolicy::Orphan
        || object.spec.management_policy == ManagementPolicy::ObserveOnly;
    Some(if stays { DeletionPolicy::Orphan } else { DeletionPolicy::Delete })
}

/// Returns what a user asks for, where the install has no default deletion policy. `target`: the connector, if it is
/// known; `latest`: its version in the registry, if it was read.
pub fn intent(
    object: &ConnectorDeployment,
    wanted: &DesiredIdentity,
    target: Option<&Target>,
    latest: Option<i64>,
) -> Intent {
    let spec = &object.spec;
    let name = match target.map(|target| &target.name.selector) {
        Some(Selector::Key(key)) => ConnectorName::Key(key.clone()),
        Some(Selector::Id(id)) => ConnectorName::Id(id.clone()),
        None => ConnectorName::Unknown,
    };
    Intent {
        generation: object.metadata.generation.unwrap_or_default(),
        identity: Identity { connector: name, region: wanted.region.clone(), kind: kind(object).to_owned() },
        remote_id: object.annotations().get(names::REMOTE_ID).cloned(),
        redeploy_request: reconcile::request(object, names::REDEPLOY_REQUESTED_AT),
        reconcile_request: reconcile::request(object, names::RECONCILE_REQUESTED_AT),
        deletion: deletion(object, None),
        adopt: spec.adoption_policy == AdoptionPolicy::Adopt,
        observe_only: spec.management_policy == ManagementPolicy::ObserveOnly,
        suspended: spec.suspend,
        correct_drift: spec.drift_policy == DriftPolicy::Correct,
        recreate: spec.removed_values_policy == RemovedValuesPolicy::Recreate,
        version: version(object, latest),
    }
}

/// Returns the version of the connector that is asked for; `latest`: the version in the registry, if it was read.
pub fn version(object: &ConnectorDeployment, latest: Option<i64>) -> Version {
    let connector = &object.spec.connector;
    Version { wanted: connector.version, follow: connector.update_policy == UpdatePolicy::Latest, latest }
}

#[cfg(test)]
mod tests {
    use crate::crd::ConnectorDeploymentSpec;

    use super::*;

    fn named(namespace: &str, name: &str) -> ConnectorDeployment {
        let spec: ConnectorDeploymentSpec =
            serde_json::from_value(serde_json::json!({"projectRef": {"name": "shop"}, "connector": {"key": "tax"}}))
                .expect("a spec");
        let mut object = ConnectorDeployment::new(name, spec);
        object.metadata.namespace = Some(namespace.to_owned());
        object
    }

    #[test]
    fn a_default_key_consists_of_namespace_and_name_and_follows_the_rules_of_the_contract() {
        let long = "n".repeat(253);
        for (case, namespace, name, expected) in [
            ("short", "shop", "tax", "shop_tax".to_owned()),
            ("dots", "shop", "tax.eu.v1", "shop_tax__eu__v1".to_owned()),
            ("just fits", "shop", &long[..251], format!("shop_{}", &long[..251])),
        ] {
            assert_eq!(key(&named(namespace, name)), expected, "{case}");
        }
        let cut = key(&named("shop", &long[..252]));
        assert_eq!(cut.len(), LONGEST_KEY);
        assert!(cut.starts_with("shop_nnn") && cut[248..].chars().all(|digit| digit.is_ascii_hexdigit()), "{cut}");
        assert_ne!(cut, key(&named("shop", &long)), "two long names have different keys");
        // Only a manifest on a disk can have such a name.
        assert!(key(&named("shop", &"ä".repeat(200))).starts_with("shop_ä"));
        let mut explicit = named("shop", "tax");
        explicit.spec.key = Some("mine".into());
        assert_eq!(key(&explicit), "mine");
    }
}
