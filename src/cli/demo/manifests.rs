//! The files of `examples/` that the demo applies, and how it applies them. Only the URL of the dev server is replaced.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;

use super::display::detail;
use super::{Error, NAMESPACE};
use crate::crd;

/// A file that is compiled into this program: its name and its text.
type File = (&'static str, &'static str);

/// A deployment of a connector of the registry.
pub(super) const QUICKSTART: File = ("quickstart.yaml", include_str!("../../../examples/quickstart.yaml"));
/// Calls of actions.
pub(super) const CHECK: File = ("check.yaml", include_str!("../../../examples/check.yaml"));
/// A staged connector.
pub(super) const STAGED: File = ("staged.yaml", include_str!("../../../examples/staged.yaml"));
/// A deployment of it, once it is published.
pub(super) const PINNED: File = ("pinned.yaml", include_str!("../../../examples/pinned.yaml"));

/// Field manager of what the demo writes on behalf of a user.
const FIELD_MANAGER: &str = "connect-operator-demo";

/// JSON pointers to URLs of the dev server.
const ADDRESSES: [&str; 3] = ["/spec/apiUrl", "/spec/authUrl", "/spec/frontend/url"];

/// JSON pointer to the plain value that the demo breaks.
pub(super) const LOG_LEVEL: &str = "/spec/configurations/0/standardConfiguration/0/value";
/// JSON pointer to the token of the connector in its Secret.
pub(super) const TOKEN: &str = "/stringData/API_TOKEN";
/// JSON pointer to the Git tag of the connector.
pub(super) const TAG: &str = "/spec/repository/tag";
/// JSON pointer to the update policy.
pub(super) const UPDATE_POLICY: &str = "/spec/connector/updatePolicy";

/// The objects of a file, in its order.
#[derive(Clone, Debug)]
pub(super) struct Manifests(Vec<Value>);

impl Manifests {
    /// Parses the file, and replaces the URL of the dev server by `remote`.
    pub(super) fn read((name, text): File, remote: &str) -> Result<Self, Error> {
        let objects = serde_saphyr::from_multiple(text);
        let objects = objects.map_err(|error| Error(format!("examples/{name}: {error}")))?;
        Ok(ADDRESSES.into_iter().fold(Self(objects), |manifests, place| manifests.with(place, remote)))
    }

    /// Replaces the value at this place (a JSON pointer, RFC 6901) in each object that has one.
    fn with(mut self, place: &str, text: &str) -> Self {
        for member in self.0.iter_mut().filter_map(|object| object.pointer_mut(place)) {
            *member = text.into();
        }
        self
    }

    /// Replaces the value at this place, as a user edits the file, and returns the changed objects.
    pub(super) fn edit(&mut self, place: &str, text: &str) -> Self {
        let edited = self.clone().with(place, text);
        let changed = edited.0.iter().filter(|object| !self.0.contains(object)).cloned().collect();
        *self = edited;
        Self(changed)
    }

    /// Returns the value of the first object that has one at this place.
    pub(super) fn text(&self, place: &str) -> Option<&str> {
        self.0.iter().find_map(|object| object.pointer(place)).and_then(Value::as_str)
    }

    /// Applies all objects, as `kubectl apply --server-side` does, and prints each one.
    pub(super) async fn apply(&self, client: &Client) -> Result<(), Error> {
        for object in &self.0 {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let (kind, name) = (text("/kind"), text("/metadata/name"));
            let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
            let api: Api<DynamicObject> = Api::namespaced_with(
                client.clone(),
                NAMESPACE,
                &resource(&GroupVersionKind::gvk(group, version, kind)),
            );
            // With force, because the user may have changed the same field with kubectl.
            let parameters = PatchParams::apply(FIELD_MANAGER).force().validation_strict();
            api.patch(name, &parameters, &Patch::Apply(object)).await?;
            detail(&format!("applied {kind} {name}"));
        }
        Ok(())
    }
}

/// Returns the API resource of a kind, with the defined plural for our own kinds, which cannot be guessed.
fn resource(kind: &GroupVersionKind) -> ApiResource {
    let ours = crd::resources().into_iter().find(|resource| resource.kind == kind.kind);
    ours.unwrap_or_else(|| ApiResource::from_gvk(kind))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_names_only_the_default_address_of_the_dev_server() {
        for file in [QUICKSTART, CHECK, STAGED, PINNED] {
            let usual = Manifests::read(file, "http://127.0.0.1:8787").expect("it is YAML");
            let written: Vec<Value> = serde_saphyr::from_multiple(file.1).expect("it is YAML");
            assert_eq!(usual.0, written, "{}", file.0);
            let elsewhere = Manifests::read(file, "http://127.0.0.1:1").expect("it is YAML");
            assert!(!serde_json::to_string(&elsewhere.0).expect("JSON").contains("8787"), "{}", file.0);
        }
    }

    #[test]
    fn an_edit_changes_one_object_and_returns_it() {
        for (file, place, text, name) in [
            (QUICKSTART, LOG_LEVEL, "loud", "tax"),
            (QUICKSTART, TOKEN, "other", "tax"),
            (STAGED, TAG, "1.1.0", "my-connector"),
            (PINNED, UPDATE_POLICY, "Latest", "my-live"),
        ] {
            let mut manifests = Manifests::read(file, "http://127.0.0.1:8787").expect("it is YAML");
            let changed = manifests.edit(place, text);
            assert_eq!(changed.0.len(), 1, "{place}");
            assert_eq!((changed.text("/metadata/name"), changed.text(place)), (Some(name), Some(text)));
            assert_eq!(manifests.text(place), Some(text), "the next edit starts from this one");
        }
    }
}
