//! The project to call and its credentials: from a ConnectProject or ClusterConnectProject of the current context, or from
//! the environment.

use std::env::VarError;

use connect_api::Rate;
use connect_api::hosts::pattern_of;
use connect_api::http::HttpConnect;
use kube::{Client, Resource as _};
use secrecy::SecretString;
use serde_json::{Value, json};

use super::{Failed, label};
use crate::cli::cluster::ClusterOptions;
use crate::cli::installs::{self, OperatorNamespace};
use crate::cli::reach::{PROJECT_OPTIONS, Reach, ReachError};
use crate::cli::resources::{self, project_argument};
use crate::crd::{ClusterConnectProject, ConnectProject, ProjectKind, ProjectRef};
use crate::error_text::with_causes;
use crate::operator::cluster::objects::secret;
use crate::operator::kinds::project_object::ProjectObject;
use crate::operator::object_ref::ObjectRef;
use crate::operator::project;
use crate::operator::remote::Settings;

/// Requests per second without a ConnectProject.
const RATE: Rate = Rate::per_second(10);

/// The variables that define the project.
const VARIABLES: [&str; 7] = [
    "CTP_PROJECT_KEY",
    "CTP_CLIENT_ID",
    "CTP_CLIENT_SECRET",
    "CTP_REGION",
    "CTP_SCOPES",
    "CTP_API_URL",
    "CTP_AUTH_URL",
];

/// The project to call. Without --project the variables `CTP_PROJECT_KEY`, `CTP_CLIENT_ID`, `CTP_CLIENT_SECRET` and
/// `CTP_REGION` define it, and optionally `CTP_SCOPES`, `CTP_API_URL` and `CTP_AUTH_URL`; both URLs replace the region.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Project {
    /// A `ConnectProject` of the namespace, whose Secret has the credentials, or clusterproject/NAME for a
    /// `ClusterConnectProject`. Default: the environment variables `CTP_PROJECT_KEY`, `CTP_CLIENT_ID`,
    /// `CTP_CLIENT_SECRET`, `CTP_REGION` unless `CTP_API_URL` and `CTP_AUTH_URL` are set, and, if needed, `CTP_SCOPES`.
    #[arg(id = "project", long, value_name = "NAME", help_heading = PROJECT_OPTIONS, value_parser = project_argument)]
    reference: Option<ProjectRef>,

    #[command(flatten)]
    operator: OperatorNamespace,

    #[command(flatten)]
    reach: Reach,

    #[command(flatten)]
    place: ClusterOptions,
}

/// Why no project can be called.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ProjectError {
    /// A variable is not set.
    #[error(
        "{0} is not set: name a ConnectProject with --project, or set CTP_PROJECT_KEY, CTP_CLIENT_ID, CTP_CLIENT_SECRET and CTP_REGION"
    )]
    Variable(&'static str),
    /// A variable is not a text.
    #[error("{0} is not UTF-8: set it to a text")]
    NotText(&'static str),
    /// An option for the remote is invalid.
    #[error(transparent)]
    Reach(#[from] ReachError),
    /// The cluster, the project or its Secret cannot be used.
    #[error("{project}: {why}")]
    Cluster {
        /// Kind and name of the project.
        project: String,
        /// The reason.
        why: String,
    },
    /// The client cannot be created.
    #[error("{0}")]
    Client(String),
}

/// A project as manifests refer to it.
pub(super) struct Known {
    /// What they write into `projectRef`.
    pub(super) reference: ProjectRef,
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
        let (settings, known) = if let Some(reference) = &self.reference {
            (self.of_cluster(reference).await?, Known { reference: reference.clone(), manifest: None })
        } else {
            let is_text = |name: &str| !matches!(std::env::var(name), Err(VarError::NotUnicode(_)));
            if let Some(name) = VARIABLES.into_iter().find(|name| !is_text(name)) {
                return Err(ProjectError::NotText(name));
            }
            let variable = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty());
            let settings = of_environment(variable, &mut hosts)?;
            let known = manifest(&settings, variable);
            (settings, known)
        };
        Ok((client(&settings, &hosts, &self.reach)?, known))
    }

    /// Returns a client of the cluster, and the namespace.
    pub(super) async fn cluster(&self) -> Result<(Client, String), Failed> {
        Ok(self.place.client().await.map_err(resources::Failed::Cluster)?)
    }

    /// Whether --project names a resource of the cluster.
    pub(super) fn is_of_cluster(&self) -> bool {
        self.reference.is_some()
    }

    async fn of_cluster(&self, reference: &ProjectRef) -> Result<Settings, ProjectError> {
        let failed = |why: String| cannot_use(reference, why);
        let (client, namespace) = self.place.client().await.map_err(failed)?;
        of_resource(&client, &namespace, reference, &self.operator).await
    }
}

fn cannot_use(reference: &ProjectRef, why: String) -> ProjectError {
    let kind = ObjectRef::of_project("", reference).kind.as_str();
    ProjectError::Cluster { project: format!("{kind} {}", reference.name), why }
}

async fn of_resource(
    client: &Client,
    namespace: &str,
    reference: &ProjectRef,
    operator: &OperatorNamespace,
) -> Result<Settings, ProjectError> {
    let settings = match reference.kind {
        ProjectKind::ConnectProject => {
            settings::<ConnectProject>(client, namespace, &reference.name, async |_| Ok(namespace.to_owned())).await
        }
        ProjectKind::ClusterConnectProject => {
            let of_operator =
                async |_: &ClusterConnectProject| installs::namespace_of_shared(client, operator.given()).await;
            settings(client, "", &reference.name, of_operator).await
        }
    };
    settings.map_err(|why| cannot_use(reference, why))
}

/// Reads a project and its credentials. `credentials`: returns the namespace of its Secret.
async fn settings<P: ProjectObject>(
    client: &Client,
    namespace: &str,
    name: &str,
    credentials: impl AsyncFnOnce(&P) -> Result<String, String>,
) -> Result<Settings, String> {
    let found = P::api(client.clone(), namespace).get_opt(name).await.map_err(|error| with_causes(&error))?;
    let place = if namespace.is_empty() { String::new() } else { format!(" in the namespace {namespace}") };
    let project = found.ok_or_else(|| format!("it does not exist{place}"))?;
    let place = credentials(&project).await?;
    let secret_name = &project.project().credentials_secret_ref.name;
    let found = secret::read(client, &place, secret_name).await.map_err(|error| with_causes(&error))?;
    let secret = found.ok_or_else(|| format!("its Secret {secret_name} is missing in the namespace {place}"))?;
    secret::Policy::default().check(&secret).map_err(|condition| condition.message)?;
    project::settings(project.project(), secret_name, &secret).map_err(|condition| condition.message)
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
        client_id: needed("CTP_CLIENT_ID")?,
        client_secret: SecretString::from(needed("CTP_CLIENT_SECRET")?),
        scopes: variable("CTP_SCOPES"),
        requests_per_second: RATE,
    })
}

/// Returns a `ConnectProject` that matches the environment. It refers to a Secret, and contains no credentials.
fn manifest(settings: &Settings, variable: impl Fn(&str) -> Option<String>) -> Known {
    let name = label(&settings.project_key);
    let reference = ProjectRef { kind: ProjectKind::ConnectProject, name: name.clone() };
    let Some(region) = variable("CTP_REGION") else { return Known { reference, manifest: None } };
    let mut spec = json!({
        "projectKey": settings.project_key,
        "region": region,
        "credentialsSecretRef": {"name": format!("{name}-credentials")},
    });
    if let Some(scopes) = &settings.scopes {
        spec["scopes"] = scopes.split_whitespace().collect();
    }
    for (member, name) in [("apiUrl", "CTP_API_URL"), ("authUrl", "CTP_AUTH_URL")] {
        if let Some(address) = variable(name) {
            spec[member] = json!(address);
        }
    }
    let manifest = json!({
        "apiVersion": ConnectProject::api_version(&()),
        "kind": "ConnectProject",
        "metadata": {"name": name},
        "spec": spec,
    });
    Known { reference, manifest: Some(manifest) }
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
    fn a_region_that_is_not_known_is_part_of_the_addresses() {
        let mut variables = ALL;
        variables[3].1 = "mars-1.aws";
        let read = settings(&variables).0.expect("it may be newer than this version");
        assert_eq!(read.api_url, "https://connect.mars-1.aws.commercetools.com");
        assert_eq!(read.auth_url, "https://auth.mars-1.aws.commercetools.com");
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
