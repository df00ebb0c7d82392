//! Reads the inputs of a project's reconcile: its credentials, and who names it. Changes and keeps nothing.

use connect_api::Rate;
use k8s_openapi::api::core::v1::{Namespace, Secret};
use kube::ResourceExt;
use kube::api::{Api, ApiResource, DynamicObject, ListParams};
use secrecy::SecretString;
use serde::Deserialize as _;

use super::copy;
use super::status::Users;
use crate::crd::{ConnectProjectSpec, ConnectorDeployment, ConnectorStaged, CredentialsRef, ProjectRef};
use crate::operator::clients::served_crds;
use crate::operator::cluster::initial_lists::PAGE;
use crate::operator::cluster::objects::secret;
use crate::operator::context::Context;
use crate::operator::kinds::managed_kind::{self, ManagedKind};
use crate::operator::kinds::project_object::ProjectObject;
use crate::operator::object_ref::ObjectRef;
use crate::operator::remote::Settings;
use crate::operator::reporting::conditions::ConditionUpdate;
use crate::operator::reporting::reason::Reason;
use crate::operator::reporting::refusal::{self, Access};

/// The field that names the Secret with the credentials, for messages.
pub const CREDENTIALS_FIELD: &str = "spec.credentialsSecretRef";
/// The field that names the Secret for the HTTP API, for messages of the deployments.
const HTTP_API_FIELD: &str = "spec.httpApi.credentialsSecretRef of the project";

/// The connection settings of the remote project, by their source.
pub(super) enum Credentials {
    /// From the Secret that the project names.
    Original(Settings, Box<Secret>),
    /// From the copy, because the project or its namespace is being deleted and the Secret is gone (rule 24).
    Copied(Settings),
    /// The project or its namespace is being deleted, and neither Secret nor copy is usable.
    Lost(ConditionUpdate),
    /// There are no usable credentials.
    Unusable(ConditionUpdate),
}

/// Reads the credentials of a project.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn credentials<P: ProjectObject>(context: &Context, object: &P) -> Result<Credentials, kube::Error> {
    let name = &object.project().credentials_secret_ref.name;
    let namespace = object.own_namespace(&context.settings.operator_namespace);
    let found = match secret::named(&context.client, &context.settings.secrets, &namespace, name).await? {
        Ok(found) => found,
        Err(condition) => return Ok(Credentials::Unusable(condition)),
    };
    if let Some(secret) = found {
        return Ok(match settings(object.project(), name, &secret) {
            Ok(settings) => Credentials::Original(settings, Box::new(secret)),
            Err(condition) => Credentials::Unusable(condition),
        });
    }
    let missing = missing(object, &namespace, name, CREDENTIALS_FIELD);
    if !is_deleting(context, object).await? {
        return Ok(Credentials::Unusable(missing));
    }
    let place = copy::place(context, object);
    let why = match copy::read(context, object).await {
        Ok(Some(secret)) => match settings(object.project(), &place, &secret) {
            Ok(settings) => return Ok(Credentials::Copied(settings)),
            Err(condition) => condition.message,
        },
        Ok(None) => format!("there is no copy of it: create the Secret {place}, with the same keys"),
        Err(kube::Error::Api(status)) if refusal::is_definite(Access::Read, &status) => {
            format!("its copy {place} cannot be read: {}", status.message)
        }
        Err(error) => return Err(error),
    };
    Ok(Credentials::Lost(ConditionUpdate::new(missing.reason, format!("{}, and {why}", missing.message))))
}

/// Returns the API client of the HTTP API, or why it cannot be used; `None`: the project has no other one for it.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn http_api<P: ProjectObject>(
    context: &Context,
    object: &P,
) -> Result<Option<Result<Settings, ConditionUpdate>>, kube::Error> {
    let Some(reference) = &object.project().http_api.credentials_secret_ref else { return Ok(None) };
    let (name, namespace) = (&reference.name, object.own_namespace(&context.settings.operator_namespace));
    let read = secret::named(&context.client, &context.settings.secrets, &namespace, name).await?;
    Ok(Some(read.and_then(|found| {
        let found = found.ok_or_else(|| missing(object, &namespace, name, HTTP_API_FIELD))?;
        with_credentials(without_credentials(object.project()), reference, HTTP_API_FIELD, name, &found)
    })))
}

/// Returns the condition for a Secret that a project names and that does not exist.
fn missing<P: ProjectObject>(object: &P, namespace: &str, name: &str, field: &str) -> ConditionUpdate {
    match object.namespace() {
        Some(_) => secret::missing(name, field),
        None => secret::missing_in(namespace, name, field),
    }
}

/// Whether the project or its namespace is being deleted. If the operator may not read the namespace, only the project
/// counts: its own deletion follows that of its namespace within seconds.
async fn is_deleting<P: ProjectObject>(context: &Context, object: &P) -> Result<bool, kube::Error> {
    if object.meta().deletion_timestamp.is_some() {
        return Ok(true);
    }
    let Some(namespace) = object.namespace() else { return Ok(false) };
    let api = Api::<Namespace>::all(context.client.clone());
    match api.get_metadata_opt(&namespace).await {
        Ok(namespace) => Ok(namespace.is_none_or(|namespace| namespace.metadata.deletion_timestamp.is_some())),
        Err(kube::Error::Api(status)) if status.code == 403 => Ok(false),
        Err(error) => Err(error),
    }
}

/// Counts the `ConnectorDeployment`s and `ConnectorStaged`s of the cluster that name this project; reads nothing else
/// of them. Those of a namespace that may not use it count if something was created for them.
///
/// # Errors
/// Errors of the API server.
pub(super) async fn users<P: ProjectObject>(context: &Context, object: &P) -> Result<Users, kube::Error> {
    Ok(Users {
        deployments: users_of_kind::<ConnectorDeployment, P>(context, object).await?,
        staged: users_of_kind::<ConnectorStaged, P>(context, object).await?,
    })
}

async fn users_of_kind<K, P>(context: &Context, object: &P) -> Result<u32, kube::Error>
where
    K: ManagedKind,
    P: ProjectObject,
{
    let kind = ApiResource::erase::<K>(&());
    let (client, project) = (context.client.clone(), managed_kind::object_ref(object));
    let api = match object.namespace() {
        Some(namespace) => Api::<DynamicObject>::namespaced_with(client, &namespace, &kind),
        None => Api::<DynamicObject>::all_with(client, &kind),
    };
    let is_user = |user: &DynamicObject| {
        let namespace = user.namespace().unwrap_or_default();
        // A reference that this version cannot read is no reason to delete what it may name.
        let reference = ProjectRef::deserialize(&user.data["spec"]["projectRef"]);
        let names_it = reference.map_or(true, |reference| ObjectRef::of_project(&namespace, &reference) == project);
        let holds = || user.clone().try_parse::<K>().map_or(true, |user| user.has_begun());
        names_it && (!context.permissions.denies(&project, &namespace) || holds())
    };
    let mut users = 0;
    let mut page = ListParams::default().limit(PAGE);
    loop {
        let list = match api.list(&page).await {
            // If the kind is not served, the operator is being removed, and no object names a project: a kind stays
            // until its last object is deleted.
            Err(kube::Error::Api(status))
                if status.code == 404 && !served_crds::is_served(&context.client, &kind).await? =>
            {
                return Ok(0);
            }
            list => list?,
        };
        users += u32::try_from(list.items.iter().filter(|user| is_user(user)).count()).unwrap_or(u32::MAX);
        match list.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => page = page.continue_token(&token),
            None => return Ok(users),
        }
    }
}

/// Returns the connection settings of the remote project, from the Secret `name`.
///
/// # Errors
/// The missing part of the Secret.
pub fn settings(spec: &ConnectProjectSpec, name: &str, secret: &Secret) -> Result<Settings, ConditionUpdate> {
    let scopes = (!spec.scopes.is_empty()).then(|| spec.scopes.join(" "));
    let settings = Settings { scopes, ..without_credentials(spec) };
    with_credentials(settings, &spec.credentials_secret_ref, CREDENTIALS_FIELD, name, secret)
}

fn without_credentials(spec: &ConnectProjectSpec) -> Settings {
    Settings {
        api_url: spec.effective_api_url(),
        auth_url: spec.effective_auth_url(),
        project_key: spec.project_key.clone(),
        client_id: String::new(),
        client_secret: SecretString::default(),
        scopes: None,
        requests_per_second: Rate::per_second(spec.requests_per_second),
    }
}

/// Returns `settings` with the API client of the Secret `name`, from the keys that `credentials` names. `field`: where
/// that is in the spec.
///
/// # Errors
/// The missing part of the Secret.
fn with_credentials(
    settings: Settings,
    credentials: &CredentialsRef,
    field: &str,
    name: &str,
    secret: &Secret,
) -> Result<Settings, ConditionUpdate> {
    let value = |key: &str| {
        let bytes = secret.data.as_ref().and_then(|data| data.get(key));
        let text = bytes.map(|bytes| std::str::from_utf8(&bytes.0).map(|text| text.trim().to_owned()));
        text.transpose().map_err(|_| {
            ConditionUpdate::new(Reason::ConfigurationInvalid, format!("key {key} of Secret {name} is not UTF-8"))
        })
    };
    let needed = |key: &str| match value(key)? {
        Some(text) if !text.is_empty() => Ok(text),
        _ => Err(secret::lacks_key(name, key, field)),
    };
    Ok(Settings {
        client_id: needed(credentials.client_id_key())?,
        client_secret: SecretString::from(needed(credentials.client_secret_key())?),
        ..settings
    })
}
