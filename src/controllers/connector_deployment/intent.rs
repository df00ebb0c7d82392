//! What people ask for in a `ConnectorDeployment`, apart from the values: pure, from the object and its project.

use std::collections::BTreeSet;

use kube::ResourceExt;
use sha2::{Digest as _, Sha256};

use super::decide::{Deletion, Intent, Version};
use super::ledger::{ConnectorName, Identity};
use super::status::WantedIdentity;
use crate::connect::Selector;
use crate::connect::model::ConnectorReference;
use crate::controllers::conditions::Told;
use crate::controllers::context::Project;
use crate::controllers::digest::hex;
use crate::controllers::reason::Reason;
use crate::controllers::remote::OfferName;
use crate::controllers::subject::Subject;
use crate::crd::shared::RemoteIdentity;
use crate::crd::{
    AdoptionPolicy, ConnectorDeployment, DeletionPolicy, DeploymentType, DriftPolicy, ManagementPolicy, UpdatePolicy,
};
use crate::names;

/// Longest key of a deployment (contract section 9).
const LONGEST_KEY: usize = 256;
/// Hexadecimal digits that end a key that was cut.
const DIGITS: usize = 8;

/// Key of the remote deployment: the one of the spec, or `{namespace}_{name}`.
#[must_use]
pub fn key(object: &ConnectorDeployment) -> String {
    if let Some(key) = &object.spec.key {
        return key.clone();
    }
    let full = format!("{}_{}", object.namespace().unwrap_or_default(), object.name_any()).replace('.', "__");
    if full.len() <= LONGEST_KEY {
        return full;
    }
    let digits = hex(&Sha256::digest(full.as_bytes())[..DIGITS / 2]);
    format!("{}{digits}", &full[..LONGEST_KEY - DIGITS])
}

/// Type of the remote deployment, in the word of the API.
#[must_use]
pub fn kind(object: &ConnectorDeployment) -> &'static str {
    match object.spec.effective_type() {
        DeploymentType::Preview => "preview",
        DeploymentType::Sandbox => "sandbox",
        DeploymentType::Production => "production",
    }
}

/// What the status says of the remote deployment even before it exists.
#[must_use]
pub fn wanted_identity(object: &ConnectorDeployment, project: &Project) -> WantedIdentity {
    identity_in(object, project.identity.clone(), &project.region)
}

/// The same in a remote project whose deployments go to `region` by default.
#[must_use]
pub fn identity_in(object: &ConnectorDeployment, remote: RemoteIdentity, region: &str) -> WantedIdentity {
    WantedIdentity {
        key: key(object),
        kind: object.spec.effective_type(),
        region: object.spec.region.clone().unwrap_or_else(|| region.to_owned()),
        remote,
    }
}

/// What cannot be worked with, whatever the remote says.
#[must_use]
pub fn unfit(object: &ConnectorDeployment, wanted: &WantedIdentity) -> Option<Told> {
    let status = object.status.as_ref();
    let before = status.filter(|status| status.id.is_some() || status.operation.is_some());
    let before = before.and_then(|status| status.remote.as_ref());
    if let Some(before) = before.filter(|before| **before != wanted.remote) {
        let message = format!(
            "This deployment was created in project {} at {}, and the ConnectProject now names project {} at {}: set it back",
            before.project_key, before.api_url, wanted.remote.project_key, wanted.remote.api_url
        );
        return Some(Told::new(Reason::IdentityChanged, message));
    }
    if deletion(object).is_some() {
        return None;
    }
    connector(object).err()
}

/// Rule 4: another resource has the key.
#[must_use]
pub fn key_conflict(object: &ConnectorDeployment, winner: &Subject) -> Told {
    let message = format!(
        "ConnectorDeployment {winner} has the key {} in the same remote project: delete one of the two, or create one \
         of them anew with another spec.key. Nothing is touched until then",
        key(object)
    );
    Told::new(Reason::KeyConflict, message)
}

/// The project that a resource names does not exist.
#[must_use]
pub fn project_missing(object: &ConnectorDeployment) -> Told {
    let name = &object.spec.project_ref.name;
    Told::new(Reason::ProjectMissing, format!("ConnectProject {name} is missing in this namespace"))
}

/// Pairs of application name and key whose changes elsewhere are fine; the name is empty for global values.
#[must_use]
pub fn ignored(object: &ConnectorDeployment) -> BTreeSet<(String, String)> {
    let ignored = object.spec.drift.ignore.iter();
    ignored.map(|value| (value.application_name.clone().unwrap_or_default(), value.key.clone())).collect()
}

/// The connector in a draft.
///
/// # Errors
/// When it is named by `stagedRef`, which this version cannot resolve.
pub fn connector(object: &ConnectorDeployment) -> Result<ConnectorReference, Told> {
    let connector = &object.spec.connector;
    if connector.staged_ref.is_some() {
        let message = "connector.stagedRef cannot be resolved by this version of the operator: name the staged \
                       connector by connector.key with staged: true";
        return Err(Told::new(Reason::ConnectorNotFound, message));
    }
    Ok(ConnectorReference {
        id: connector.id.clone(),
        key: connector.key.clone(),
        staged: connector.is_staged().then_some(true),
        version: connector.version,
    })
}

/// How to look the connector up.
#[must_use]
pub fn connector_name(object: &ConnectorDeployment) -> Option<OfferName> {
    let connector = &object.spec.connector;
    let selector = match (&connector.key, &connector.id) {
        (Some(key), _) => Selector::Key(key.clone()),
        (None, Some(id)) => Selector::Id(id.clone()),
        (None, None) => return None,
    };
    Some(OfferName { selector, staged: connector.is_staged() })
}

/// What happens to the remote when the object is deleted.
#[must_use]
pub fn deletion(object: &ConnectorDeployment) -> Option<Deletion> {
    object.metadata.deletion_timestamp.as_ref()?;
    let stays = object.spec.effective_deletion_policy() == DeletionPolicy::Orphan
        || object.spec.management_policy == ManagementPolicy::ObserveOnly;
    Some(if stays { Deletion::LetGo } else { Deletion::Undeploy })
}

/// What people ask for. `latest`: version of the connector in the registry, if it was read.
#[must_use]
pub fn intent(object: &ConnectorDeployment, wanted: &WantedIdentity, latest: Option<i64>) -> Intent {
    let spec = &object.spec;
    let name = match (&spec.connector.key, &spec.connector.id) {
        (Some(key), _) => ConnectorName::Key(key.clone()),
        (None, id) => ConnectorName::Id(id.clone().unwrap_or_default()),
    };
    Intent {
        generation: object.metadata.generation.unwrap_or_default(),
        identity: Identity { connector: name, region: wanted.region.clone(), kind: kind(object).to_owned() },
        remote_id: object.annotations().get(names::REMOTE_ID).cloned(),
        redeploy_request: request(object, names::REDEPLOY_REQUESTED_AT),
        deletion: deletion(object),
        adopt: spec.adoption_policy == AdoptionPolicy::Adopt,
        observe_only: spec.management_policy == ManagementPolicy::ObserveOnly,
        suspended: spec.suspend,
        correct_drift: spec.drift.policy == DriftPolicy::Correct,
        version: Version {
            wanted: spec.connector.version,
            follow: spec.connector.update_policy == UpdatePolicy::Latest,
            latest,
        },
    }
}

/// The value of an annotation with which people ask for something; longer ones are cut to what a status keeps.
#[must_use]
pub fn request(object: &ConnectorDeployment, annotation: &str) -> Option<String> {
    object.annotations().get(annotation).map(|value| value.chars().take(256).collect())
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
    fn a_default_key_is_made_of_namespace_and_name_and_keeps_the_rules_of_the_contract() {
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
        assert_ne!(cut, key(&named("shop", &long)), "two long names stay apart");
        let mut explicit = named("shop", "tax");
        explicit.spec.key = Some("mine".into());
        assert_eq!(key(&explicit), "mine");
    }
}
