//! `examples/quickstart.yaml`, as people read it, and how it is applied. Only the address of the dev server is put in.

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::Value;

use super::Error;

/// The file, which is part of this program.
const QUICKSTART: &str = include_str!("../../../examples/quickstart.yaml");

/// Field manager of what the demo writes in place of a person.
const FIELD_MANAGER: &str = "connect-operator-demo";

/// Where the plain value stands that the demo breaks.
const LOG_LEVEL: &str = "/spec/configurations/0/standardConfiguration/0/value";

/// The objects of the file, in its order.
#[derive(Clone, Debug)]
pub(super) struct Quickstart(Vec<Value>);

impl Quickstart {
    /// The file, with the address of the remote in place of the one that is written there.
    pub(super) fn with_remote(url: &str) -> Result<Self, Error> {
        let mut objects: Vec<Value> =
            serde_saphyr::from_multiple(QUICKSTART).map_err(|error| Error::Example(error.to_string()))?;
        for name in ["/spec/apiUrl", "/spec/authUrl"] {
            for member in objects.iter_mut().filter_map(|object| object.pointer_mut(name)) {
                *member = url.into();
            }
        }
        Ok(Self(objects))
    }

    /// With another value of `LOG_LEVEL`, as somebody edits the file.
    pub(super) fn with_log_level(mut self, value: &str) -> Self {
        for member in self.0.iter_mut().filter_map(|object| object.pointer_mut(LOG_LEVEL)) {
            *member = value.into();
        }
        self
    }

    /// With another token in the Secret of the connector, as somebody edits the file.
    pub(super) fn with_token(mut self, value: &str) -> Self {
        for member in self.0.iter_mut().filter_map(|object| object.pointer_mut("/stringData/token")) {
            *member = value.into();
        }
        self
    }

    /// The objects that are not the same in `before`.
    pub(super) fn changed_since(&self, before: &Self) -> Self {
        Self(self.0.iter().filter(|object| !before.0.contains(object)).cloned().collect())
    }

    /// Applies everything, as `kubectl apply --server-side` does, and says of each object what it is.
    pub(super) async fn apply(&self, client: &Client, namespace: &str, told: impl Fn(&str)) -> Result<(), Error> {
        for object in &self.0 {
            let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let (kind, name) = (text("/kind"), text("/metadata/name"));
            let (group, version) = text("/apiVersion").split_once('/').unwrap_or(("", text("/apiVersion")));
            let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
            let api: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &resource);
            // By force: a person may have changed the same field with kubectl meanwhile.
            let parameters = PatchParams::apply(FIELD_MANAGER).force().validation_strict();
            api.patch(name, &parameters, &Patch::Apply(object)).await?;
            told(&format!("applied {kind} {name}"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crd::{ConnectProject, ConnectorDeployment};
    use crate::dev_server::Catalogue;

    fn object(quickstart: &Quickstart, kind: &str, name: &str) -> Value {
        let is = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
        quickstart.0.iter().find(is).unwrap_or_else(|| panic!("{kind} {name}")).clone()
    }

    #[test]
    fn the_file_fits_the_kinds_and_the_dev_server() {
        let quickstart = Quickstart::with_remote("http://127.0.0.1:1").expect("it is YAML");
        let project: ConnectProject =
            serde_json::from_value(object(&quickstart, "ConnectProject", "shop")).expect("a project");
        assert_eq!(project.spec.effective_api_url(), "http://127.0.0.1:1");
        assert_eq!(project.spec.effective_auth_url(), "http://127.0.0.1:1");
        let _: ConnectorDeployment =
            serde_json::from_value(object(&quickstart, "ConnectorDeployment", "tax")).expect("a deployment");
        let client = Catalogue::built_in().clients.remove(0);
        let credentials = object(&quickstart, "Secret", "shop-credentials");
        assert_eq!(credentials["stringData"]["clientId"], client.id);
        assert_eq!(credentials["stringData"]["clientSecret"], client.secret);
    }

    #[test]
    fn edits_change_one_value_each() {
        let before = Quickstart::with_remote("http://127.0.0.1:8787").expect("it is YAML");
        let written: Vec<Value> = serde_saphyr::from_multiple(QUICKSTART).expect("it is YAML");
        assert_eq!(before.0, written, "the file names the usual address of the dev server");
        let loud = before.clone().with_log_level("loud");
        let deployment = object(&loud, "ConnectorDeployment", "tax");
        let entry = &deployment["spec"]["configurations"][0]["standardConfiguration"][0];
        assert_eq!(*entry, serde_json::json!({"key": "LOG_LEVEL", "value": "loud"}));
        let rotated = before.clone().with_token("other");
        assert_eq!(object(&rotated, "Secret", "tax")["stringData"]["token"], "other");
        for (case, after) in [("log level", loud), ("token", rotated)] {
            assert_eq!(after.changed_since(&before).0.len(), 1, "{case}");
        }
    }
}
