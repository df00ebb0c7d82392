//! The project to call and its credentials: from a ConnectProject of the current context, or from the environment.

use clap_complete::engine::ArgValueCandidates;
use connect_api::Rate;
use connect_api::api::DeploymentPaths;
use connect_api::hosts::pattern_of;
use connect_api::http::HttpConnect;
use kube::{Api, Client};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::label;
use crate::cli::cluster::Connection;
use crate::cli::completion;
use crate::cli::reach::{Reach, ReachError};
use crate::controllers::connect_project;
use crate::controllers::remote::Settings;
use crate::controllers::secret;
use crate::crd::ConnectProject;
use crate::names;

/// Requests per second without a ConnectProject.
const RATE: Rate = Rate::per_second(10);

/// The project to call. Without --project the variables `CTP_PROJECT_KEY`, `CTP_CLIENT_ID`, `CTP_CLIENT_SECRET` and
/// `CTP_REGION` define it, and optionally `CTP_SCOPES`, `CTP_API_URL` and `CTP_AUTH_URL`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Project {
    /// A `ConnectProject` of the current context, whose Secret has the credentials. Default: the environment variables
    /// `CTP_PROJECT_KEY`, `CTP_CLIENT_ID`, `CTP_CLIENT_SECRET`, `CTP_REGION` and, if needed, `CTP_SCOPES`,
    /// `CTP_API_URL` and `CTP_AUTH_URL`.
    #[arg(id = "project", long, value_name = "NAME", add = ArgValueCandidates::new(completion::projects))]
    name: Option<String>,

    /// Namespace of the `ConnectProject`. Default: that of the current context.
    #[arg(long, short, value_name = "NAMESPACE", requires = "project", add = ArgValueCandidates::new(completion::namespaces))]
    namespace: Option<String>,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    connection: Connection,
}

/// Why no project can be called.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ProjectError {
    /// A variable is not set.
    #[error(
        "{0} is not set: name a ConnectProject with --project, or set CTP_PROJECT_KEY, CTP_CLIENT_ID, CTP_CLIENT_SECRET and CTP_REGION"
    )]
    Variable(&'static str),
    /// An option for the remote is invalid.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The cluster, the ConnectProject or its Secret cannot be used.
    #[error("ConnectProject {name}: {why}")]
    Cluster {
        /// Name of the ConnectProject.
        name: String,
        /// The reason.
        why: String,
    },
    /// The client cannot be created.
    #[error("{0}")]
    Client(String),
}

/// A project as manifests refer to it.
pub(super) struct Known {
    /// Name of its `ConnectProject`.
    pub(super) name: String,
    /// Its manifest, if the project comes from the environment and its region is known.
    pub(super) manifest: Option<Value>,
}

impl Project {
    /// Returns its client; sends nothing yet.
    pub(super) async fn client(&self) -> Result<HttpConnect, ProjectError> {
        Ok(self.client_and_manifest().await?.0)
    }

    /// Returns its client, and how manifests refer to the project.
    pub(super) async fn client_and_manifest(&self) -> Result<(HttpConnect, Known), ProjectError> {
        let mut hosts = Vec::new();
        let (settings, known) = if let Some(name) = &self.name {
            (self.of_cluster(name).await?, Known { name: name.clone(), manifest: None })
        } else {
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let settings = of_environment(variable, &mut hosts)?;
            let known = manifest(&settings, variable);
            (settings, known)
        };
        Ok((client(&settings, &hosts, &self.reach)?, known))
    }

    async fn of_cluster(&self, name: &str) -> Result<Settings, ProjectError> {
        let failed = |why: String| ProjectError::Cluster { name: name.to_owned(), why };
        let (client, namespace) = self.connection.client(self.namespace.as_deref()).await.map_err(failed)?;
        of_resource(&client, &namespace, name).await
    }
}

/// Returns the client of a `ConnectProject`; sends nothing to the project yet.
pub(super) async fn client_of_resource(
    client: &Client,
    namespace: &str,
    name: &str,
    reach: &Reach,
) -> Result<HttpConnect, ProjectError> {
    self::client(&of_resource(client, namespace, name).await?, &[], reach)
}

async fn of_resource(client: &Client, namespace: &str, name: &str) -> Result<Settings, ProjectError> {
    let failed = |why: String| ProjectError::Cluster { name: name.to_owned(), why };
    let projects = Api::<ConnectProject>::namespaced(client.clone(), namespace);
    let found = projects.get_opt(name).await.map_err(|error| failed(error.to_string()))?;
    let project = found.ok_or_else(|| failed(format!("it does not exist in the namespace {namespace}")))?;
    let secret_name = &project.spec.credentials_secret_ref.name;
    let found = secret::read(client, namespace, secret_name).await.map_err(|error| failed(error.to_string()))?;
    let secret = found.ok_or_else(|| failed(format!("its Secret {secret_name} is missing")))?;
    secret::Policy::default().check(&secret).map_err(|told| failed(told.message))?;
    connect_project::settings(&project, secret_name, &secret).map_err(|told| failed(told.message))
}

/// Returns the client of a project whose variables are not those of the process.
#[cfg(feature = "local-cluster")]
pub(super) fn client_of(variable: impl Fn(&str) -> Option<String>) -> Result<HttpConnect, ProjectError> {
    let mut hosts = Vec::new();
    let settings = of_environment(variable, &mut hosts)?;
    client(&settings, &hosts, &Reach::default())
}

/// `hosts`: those that the user chose, in addition to those that `reach` allows.
fn client(settings: &Settings, hosts: &[String], reach: &Reach) -> Result<HttpConnect, ProjectError> {
    reach.factory(hosts)?.client(settings).map_err(ProjectError::Client)
}

/// Reads the variables. The hosts of explicit URLs are allowed, because the user chose them.
fn of_environment(
    variable: impl Fn(&str) -> Option<String>,
    hosts: &mut Vec<String>,
) -> Result<Settings, ProjectError> {
    let needed = |name: &'static str| variable(name).ok_or(ProjectError::Variable(name));
    let mut address = |name: &str, service: &str| -> Result<String, ProjectError> {
        let Some(address) = variable(name) else {
            return Ok(format!("https://{service}.{}.commercetools.com", needed("CTP_REGION")?));
        };
        hosts.extend(host(&address));
        Ok(address)
    };
    Ok(Settings {
        api_url: address("CTP_API_URL", "connect")?,
        auth_url: address("CTP_AUTH_URL", "auth")?,
        project_key: needed("CTP_PROJECT_KEY")?,
        deployment_paths: DeploymentPaths::Project,
        client_id: needed("CTP_CLIENT_ID")?,
        client_secret: SecretString::from(needed("CTP_CLIENT_SECRET")?),
        scopes: variable("CTP_SCOPES"),
        requests_per_second: RATE,
    })
}

/// Returns a `ConnectProject` that matches the environment. It refers to a Secret, and contains no credentials.
fn manifest(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Known {
    let name = label(&settings.project_key);
    let Some(region) = variable("CTP_REGION") else { return Known { name, manifest: None } };
    let mut spec = json!({
        "projectKey": settings.project_key,
        "region": region,
        "credentialsSecretRef": {"name": format!("{name}-credentials")},
    });
    for (member, name) in [("apiUrl", "CTP_API_URL"), ("authUrl", "CTP_AUTH_URL")] {
        if let Some(address) = variable(name) {
            spec[member] = json!(address);
        }
    }
    let manifest = json!({
        "apiVersion": format!("{}/{}", names::GROUP, names::VERSION),
        "kind": "ConnectProject",
        "metadata": {"name": name},
        "spec": spec,
    });
    Known { name, manifest: Some(manifest) }
}

/// Returns the pattern that allows the host of a URL; `None` for an invalid URL, which is reported when it is used.
pub(super) fn host(address: &str) -> Option<String> {
    pattern_of(&url::Url::parse(address).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ALL: [(&str, &str); 4] = [
        ("CTP_PROJECT_KEY", "demo"),
        ("CTP_CLIENT_ID", "client"),
        ("CTP_CLIENT_SECRET", "secret"),
        ("CTP_REGION", "us-east-2.aws"),
    ];

    fn settings(variables: &[(&str, &str)]) -> (Result<Settings, ProjectError>, Vec<String>) {
        let value =
            |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned());
        let value = |name: &str| value(name).filter(|value| !value.is_empty());
        let mut hosts = Vec::new();
        (of_environment(value, &mut hosts), hosts)
    }

    #[test]
    fn the_environment_defines_a_project_and_errors_name_missing_variables() {
        let (read, hosts) = settings(&ALL);
        let read = read.expect("every variable is set");
        assert_eq!(read.api_url, "https://connect.us-east-2.aws.commercetools.com");
        assert_eq!(read.auth_url, "https://auth.us-east-2.aws.commercetools.com");
        assert_eq!((read.project_key.as_str(), read.scopes), ("demo", None));
        assert_eq!(hosts, Vec::<String>::new());
        for (missing, _) in ALL {
            let rest: Vec<_> = ALL.into_iter().filter(|(name, _)| *name != missing).collect();
            let error = settings(&rest).0.expect_err(missing).to_string();
            assert!(error.starts_with(missing) && error.contains("--project"), "{error}");
            let mut empty = rest;
            empty.push((missing, ""));
            assert!(settings(&empty).0.is_err(), "{missing} is empty");
        }
    }

    #[test]
    fn explicit_urls_need_no_region_and_their_hosts_are_allowed() {
        let mut variables = ALL[..3].to_vec();
        variables.extend([("CTP_API_URL", "http://127.0.0.1:8787"), ("CTP_AUTH_URL", "https://auth.internal/")]);
        let (read, hosts) = settings(&variables);
        assert_eq!(read.expect("no region is needed").api_url, "http://127.0.0.1:8787");
        assert_eq!(hosts, ["http://127.0.0.1:8787", "auth.internal"]);
    }
}
