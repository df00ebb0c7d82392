//! A project that the namespaces share: what users do about who may use it, and who that is.

mod named;

use proptest::prelude::*;

use crate::prelude::*;
use crate::users::{NAMESPACES, YARD, encoded};

/// The namespace of the operator.
pub(crate) const HOME: &str = "operator";
/// Name of the shared project, of its credentials, and value of the label by which it allows a namespace.
const SHARED: &str = "shared";
const LABEL: &str = "connect";

/// Whether a step needs the shared project.
pub(crate) fn is_step(step: &Step) -> bool {
    matches!(step, Step::Share(_) | Step::Label(..))
}

/// Returns a new namespace, which has the label.
pub(crate) fn namespace() -> Value {
    json!({"metadata": {"finalizers": ["kubernetes"], "labels": label(true)}})
}

/// Returns the labels of a namespace that has the label, or a patch that removes it.
fn label(has: bool) -> Value {
    json!({LABEL: has.then_some(SHARED)})
}

fn stored() -> Key {
    Key::new(Kind::ClusterProject, "", SHARED)
}

/// A Secret with credentials.
pub(crate) fn credentials() -> Value {
    json!({"data": {"clientId": encoded("dev-client"), "clientSecret": encoded("dev-secret")}})
}

/// A project whose credentials are in this Secret.
pub(crate) fn project(credentials: &str) -> Value {
    json!({"spec": {
        "projectKey": PROJECT,
        "region": "europe-west1.gcp",
        "credentialsSecretRef": {"name": credentials},
    }})
}

/// Returns whether the project did not allow a namespace, in the state of a version of the project and one of the
/// namespaces.
pub(crate) fn denies(cluster: &Cluster, (project, namespaces): (u64, u64), namespace: &str) -> bool {
    let Some(project) = cluster.at(Kind::ClusterProject, project).remove(&stored()) else { return false };
    let allowed = &project["spec"]["allowedNamespaces"];
    let named = allowed["names"].as_array().is_some_and(|names| names.contains(&json!(namespace)));
    let found = cluster.at(Kind::Namespace, namespaces).remove(&Key::new(Kind::Namespace, "", namespace));
    let labelled = found.is_some_and(|namespace| namespace["metadata"]["labels"][LABEL] == SHARED);
    !(named || (labelled && allowed["selector"].is_object()))
}

impl Simulation {
    /// Creates the shared project, which allows namespaces with the label.
    pub(crate) fn open_shared(&mut self) {
        let now = self.now();
        {
            let mut cluster = lock(&self.reach.cluster);
            for (key, object) in [(Key::new(Kind::Secret, HOME, SHARED), credentials()), (stored(), project(SHARED))] {
                cluster.create(&key, object, now).expect("nothing exists yet");
            }
        }
        self.share(1);
    }

    /// Lets the spec of a deployment name the shared project, if there is one.
    pub(crate) fn with_project(&self, mut spec: Value) -> Value {
        if self.shares {
            spec["projectRef"] = json!({"kind": "ClusterConnectProject", "name": SHARED});
        }
        spec
    }

    /// Changes which namespaces may use the shared project.
    pub(crate) fn share(&mut self, with: u8) {
        let selector = json!({"matchLabels": {LABEL: SHARED}});
        let allowed = match with {
            0 => Value::Null,
            1 => json!({"from": "Selector", "names": null, "selector": selector}),
            2 => json!({"from": "Names", "names": [SHOP], "selector": null}),
            _ => json!({"from": "Names", "names": [YARD], "selector": null}),
        };
        self.edit(&stored(), &json!({"spec": {"allowedNamespaces": allowed}}));
    }

    /// Adds the label to a namespace, or removes it.
    pub(crate) fn label(&mut self, namespace: &str, has: bool) {
        self.edit(&Key::new(Kind::Namespace, "", namespace), &json!({"metadata": {"labels": label(has)}}));
    }

    /// Lets every namespace use the shared project.
    pub(crate) fn allow_all(&mut self) {
        if self.shares {
            self.share(1);
            for namespace in NAMESPACES {
                self.label(namespace, true);
            }
        }
    }
}

/// Returns steps that change who may use the project, each with a place for it.
pub(crate) fn steps() -> BoxedStrategy<Vec<(usize, Step)>> {
    let step = prop_oneof![
        1 => (0..4_u8).prop_map(Step::Share),
        2 => (0..2_u8, any::<bool>()).prop_map(|(namespace, has)| Step::Label(namespace, has)),
    ];
    prop::collection::vec((any::<usize>(), step), 1..8).boxed()
}
