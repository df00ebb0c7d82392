//! Extensions and Subscriptions that the scripts of connectors create in a project: pure.
//!
//! The catalogue or `/_dev` chooses whether `postDeploy` creates them, omits them, or creates them with another
//! destination; `preUndeploy` removes them. They are the only part of the HTTP API here, and their destinations are
//! never called.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::ids::Ids;
use super::refusal::Refusal;
use connect_api::Selector;
use connect_api::commerce::{ResourceKind, ResourceName};
use connect_api::model::{ApplicationDeployment, Destination};

/// Host and topic of a destination outside the deployment.
const ELSEWHERE: &str = "elsewhere";

/// What a script does with a resource.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Creation {
    /// Creates it, with its application as destination.
    #[default]
    Created,
    /// Does not create it, without a sign in the report.
    Omitted,
    /// Creates it with a destination outside the deployment.
    Elsewhere,
}

/// A resource that the `postDeploy` script of a connector creates.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScriptResource {
    /// Kind of the resource.
    #[serde(rename = "type")]
    pub kind: ResourceKind,
    /// Key, unique in the project. If two deployments create it, the later one replaces it.
    pub key: String,
    /// Application that is its destination: one with a URL for an Extension, one with a topic for a Subscription.
    pub application_name: String,
    /// What the script does.
    #[serde(default)]
    pub creation: Creation,
}

/// A resource of a project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Resource {
    /// Project.
    pub project: String,
    /// Kind.
    #[serde(rename = "type")]
    pub kind: ResourceKind,
    /// Key.
    pub key: String,
    /// Id.
    pub id: String,
    /// Version.
    pub version: i64,
    /// Id of the deployment whose script created it.
    pub deployment: String,
    /// Its destination.
    pub destination: Destination,
}

/// The resources of all projects.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Resources(Vec<Resource>);

impl Resources {
    pub(super) fn all(&self) -> &[Resource] {
        &self.0
    }

    /// Runs the `postDeploy` script of a deployment. `instead` overrides what the catalogue says.
    pub(super) fn create(
        &mut self,
        project: &str,
        deployment: &str,
        scripted: &[ScriptResource],
        applications: &[ApplicationDeployment],
        instead: Option<Creation>,
        ids: &mut Ids,
    ) {
        for wanted in scripted {
            let creation = instead.unwrap_or(wanted.creation);
            let application = applications.iter().find(|known| known.application_name == wanted.application_name);
            // A script that creates an existing resource again removes it first; id and version carry over.
            let before = self.take(project, wanted.kind, &wanted.key);
            let Some(destination) = application.and_then(|known| destination(wanted.kind, known, creation)) else {
                continue;
            };
            let version = before.as_ref().map_or(1, |before| before.version + 1);
            self.0.push(Resource {
                project: project.to_owned(),
                kind: wanted.kind,
                key: wanted.key.clone(),
                id: before.map_or_else(|| ids.next(), |before| before.id),
                version,
                deployment: deployment.to_owned(),
                destination,
            });
        }
    }

    /// Removes a resource and returns whether it existed.
    pub(super) fn remove(&mut self, project: &str, kind: ResourceKind, key: &str) -> bool {
        self.take(project, kind, key).is_some()
    }

    fn take(&mut self, project: &str, kind: ResourceKind, key: &str) -> Option<Resource> {
        let place =
            self.0.iter().position(|known| known.project == project && known.kind == kind && known.key == key)?;
        Some(self.0.remove(place))
    }

    /// Runs `preUndeploy`: removes the resources that the script of this deployment created.
    pub(super) fn undeployed(&mut self, deployment: &str) {
        self.0.retain(|known| known.deployment != deployment);
    }

    /// Returns a resource as `getExtensionByKey` and `getSubscriptionByKey` show it.
    pub(super) fn read(&self, project: &str, name: &ResourceName) -> Result<Value, Refusal> {
        let is_meant = |known: &&Resource| known.project == project && known.kind == name.kind && known.key == name.key;
        let found = self.0.iter().find(is_meant);
        let found = found.ok_or_else(|| Refusal::not_found(&Selector::Key(name.key.clone())))?;
        let Resource { id, version, key, destination, .. } = found;
        Ok(json!({"id": id, "version": version, "key": key, "destination": destination}))
    }
}

fn destination(kind: ResourceKind, application: &ApplicationDeployment, creation: Creation) -> Option<Destination> {
    let elsewhere = match creation {
        Creation::Created => false,
        Creation::Elsewhere => true,
        Creation::Omitted => return None,
    };
    match kind {
        ResourceKind::Extension => {
            let url = application.url.as_deref()?.trim_end_matches('/');
            let url = if elsewhere { format!("https://{ELSEWHERE}.example/check") } else { format!("{url}/check") };
            Some(Destination { kind: Destination::HTTP.to_owned(), url: Some(url), ..Destination::default() })
        }
        ResourceKind::Subscription => {
            let topic = application.topic.as_deref()?;
            Some(topic_destination(topic, elsewhere))
        }
    }
}

fn topic_destination(topic: &str, elsewhere: bool) -> Destination {
    if let Some((project, name)) = topic.strip_prefix("projects/").and_then(|rest| rest.split_once("/topics/")) {
        let name = if elsewhere { ELSEWHERE } else { name };
        return Destination {
            kind: Destination::PUB_SUB.to_owned(),
            project_id: Some(project.to_owned()),
            topic: Some(name.to_owned()),
            ..Destination::default()
        };
    }
    let arn = match topic.rsplit_once(':').filter(|_| elsewhere) {
        Some((place, _)) => format!("{place}:{ELSEWHERE}"),
        None => topic.to_owned(),
    };
    Destination { kind: Destination::SNS.to_owned(), topic_arn: Some(arn), ..Destination::default() }
}
