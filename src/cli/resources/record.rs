//! The record at the remote that a resource stands for, and the project that has it.

use connect_api::Selector;
use kube::Client;

use super::argument::{Selected, wanted};
use super::failure::Failed;
use super::kind::{Resource, ResourceType};
use super::selection::{get, read};
use crate::crd::{ConnectorDeployment, ConnectorStaged, ProjectRef};
use crate::operator::deployment::intent;

/// A record, and the project that has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::cli) struct Record {
    /// The project, as the resource names it.
    pub(in crate::cli) project: ProjectRef,
    /// The key or id of the record.
    pub(in crate::cli) selector: Selector,
}

/// Which record of a resource is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::cli) enum RecordType {
    /// The deployment of a `ConnectorDeployment`.
    Deployment,
    /// The staged connector of a `ConnectorStaged`.
    Staged,
    /// The published connector that a `ConnectorDeployment` deploys.
    Connector,
}

impl RecordType {
    fn resource_type(self) -> ResourceType {
        match self {
            Self::Deployment | Self::Connector => ResourceType::Deployment,
            Self::Staged => ResourceType::Staged,
        }
    }

    /// # Errors
    /// If the resource stands for no such record.
    fn of(self, resource: &Resource) -> Result<Record, String> {
        match (self, resource) {
            (Self::Deployment, Resource::Deployment(object)) => Ok(deployment(object)),
            (Self::Connector, Resource::Deployment(object)) => connector(object),
            (Self::Staged, Resource::Staged(object)) => Ok(staged(object)),
            _ => Err(format!("a {} stands for no such record", resource.resource_type().kind())),
        }
    }
}

fn deployment(object: &ConnectorDeployment) -> Record {
    let key = object.status.as_ref().and_then(|status| status.key.clone()).unwrap_or_else(|| intent::key(object));
    Record { project: object.spec.project_ref.clone(), selector: Selector::Key(key) }
}

fn staged(object: &ConnectorStaged) -> Record {
    let key = object.status.as_ref().and_then(|status| status.key.clone());
    let selector = Selector::Key(key.unwrap_or_else(|| object.spec.key.clone()));
    Record { project: object.spec.project_ref.clone(), selector }
}

fn connector(object: &ConnectorDeployment) -> Result<Record, String> {
    let wanted = &object.spec.connector;
    if let Some(staged) = &wanted.staged_ref {
        return Err(format!("it deploys a staged connector: see `status staged/{}`", staged.name));
    }
    let selector = match (&wanted.key, &wanted.id) {
        _ if wanted.staged == Some(true) => {
            return Err("it deploys a staged connector, which is not in the registry".to_owned());
        }
        (Some(key), _) => Selector::Key(key.clone()),
        (None, Some(id)) => Selector::Id(id.clone()),
        (None, None) => return Err("it names no connector".to_owned()),
    };
    Ok(Record { project: object.spec.project_ref.clone(), selector })
}

/// Reads the resource that a word names, as TYPE/NAME or NAME, and returns its record.
///
/// # Errors
/// If the word is invalid, or the resource does not exist, cannot be read, or stands for no such record.
pub(in crate::cli) async fn record(
    client: &Client,
    namespace: &str,
    word: &str,
    of: RecordType,
) -> Result<Record, Failed> {
    let types = [of.resource_type()];
    let named = match wanted(&[word.to_owned()], None, false, &types).map_err(Failed::Argument)? {
        Selected::Named(named) => named.into_iter().next(),
        Selected::Matching { .. } => None,
    };
    let (resource_type, name) = named.ok_or_else(|| Failed::Argument(format!("{word} names no resource")))?;
    let resource = read((resource_type, get(client, namespace, resource_type, &name).await?))?;
    of.of(&resource).map_err(|why| Failed::Argument(format!("{word}: {why}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cli::resources::samples;

    #[test]
    fn a_resource_stands_for_the_record_that_its_status_or_its_spec_names() {
        let of_spec = samples::deployment(&json!({"spec": {"connector": {"key": "tax"}}, "status": null}));
        let own_key = samples::deployment(&json!({"spec": {"key": "own"}, "status": null}));
        let reported = samples::deployment(
            &json!({"spec": {"key": "own"}, "status": {"observedGeneration": 3, "key": "reported"}}),
        );
        let by_id = samples::deployment(&json!({"spec": {"connector": {"key": null, "id": "7"}}}));
        let follows = json!({"spec": {"connector": {"key": null, "stagedRef": {"name": "kit"}}}});
        let follows = samples::deployment(&follows);
        let of_stage = samples::deployment(&json!({"spec": {"connector": {"key": "tax", "staged": true}}}));
        let key = |key: &str| Ok(Selector::Key(key.to_owned()));
        for (case, resource, of, expected) in [
            ("no status", &of_spec, RecordType::Deployment, key("shop_tax")),
            ("a key in the spec", &own_key, RecordType::Deployment, key("own")),
            ("a key in the status", &reported, RecordType::Deployment, key("reported")),
            ("its connector", &of_spec, RecordType::Connector, key("tax")),
            ("its connector by id", &by_id, RecordType::Connector, Ok(Selector::Id("7".to_owned()))),
            ("a stagedRef", &follows, RecordType::Connector, Err("see `status staged/kit`")),
            ("a staged one", &of_stage, RecordType::Connector, Err("is not in the registry")),
            ("another kind", &of_spec, RecordType::Staged, Err("stands for no such record")),
        ] {
            match (of.of(resource), expected) {
                (Ok(record), Ok(selector)) => {
                    assert_eq!((record.selector, record.project.name.as_str()), (selector, "shop"), "{case}");
                }
                (Err(why), Err(expected)) => assert!(why.contains(expected), "{case}: {why}"),
                (found, expected) => panic!("{case}: {found:?} instead of {expected:?}"),
            }
        }
    }
}
