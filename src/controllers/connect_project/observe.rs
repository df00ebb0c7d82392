//! Reads the credentials of a project. Changes nothing; keeps nothing.

use std::num::NonZeroU32;

use k8s_openapi::api::core::v1::Secret;
use kube::ResourceExt;
use secrecy::SecretString;

use crate::connect::api::DeploymentPaths;
use crate::controllers::conditions::Told;
use crate::controllers::context::Context;
use crate::controllers::reason::Reason;
use crate::controllers::remote::Settings;
use crate::controllers::secret;
use crate::crd::{self, ConnectProject};
use crate::names;

/// How to reach the remote project. The inner error is for people.
pub(super) async fn credentials(
    context: &Context,
    object: &ConnectProject,
) -> Result<Result<Settings, Told>, kube::Error> {
    let name = &object.spec.credentials_secret_ref.name;
    let namespace = object.namespace().unwrap_or_default();
    Ok(match secret::read(&context.client, &namespace, name).await? {
        Some(secret) => settings(object, name, &secret),
        None => Err(Told::new(Reason::SecretMissing, format!("Secret {name} is missing in this namespace"))),
    })
}

fn settings(object: &ConnectProject, name: &str, secret: &Secret) -> Result<Settings, Told> {
    let value = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        let text = bytes.map(|bytes| std::str::from_utf8(&bytes.0).map(|text| text.trim().to_owned()));
        text.transpose()
            .map_err(|_| Told::new(Reason::ConfigurationInvalid, format!("key {key} of Secret {name} is not UTF-8")))
    };
    let needed = |key: &str| match value(key)? {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(Told::new(Reason::SecretMissing, format!("Secret {name} lacks the key {key}, or it is empty"))),
    };
    Ok(Settings {
        api_url: object.spec.effective_api_url(),
        auth_url: object.spec.effective_auth_url(),
        project_key: object.spec.project_key.clone(),
        deployment_paths: match object.spec.deployment_paths {
            crd::DeploymentPaths::Project => DeploymentPaths::Project,
            crd::DeploymentPaths::Unscoped => DeploymentPaths::Unscoped,
        },
        client_id: needed(names::CLIENT_ID)?,
        client_secret: SecretString::from(needed(names::CLIENT_SECRET)?),
        scopes: value(names::SCOPES)?.filter(|scopes| !scopes.is_empty()),
        requests_per_second: NonZeroU32::new(object.spec.requests_per_second).unwrap_or(NonZeroU32::MIN),
    })
}
