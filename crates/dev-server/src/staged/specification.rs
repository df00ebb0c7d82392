//! `connect.yaml`, the file that describes a connector in its repository: pure.
//!
//! Contract section 16 defines its format and rules. All mistakes are reported at once, each with its member and line.
//! Next: `specification/file.rs` for the members, `specification/rules.rs` for the rules across members.

mod file;
mod findings;
mod node;
mod rules;
mod schedule;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use self::file::{Application, Variable, Variables};
use self::findings::Findings;
use self::node::Node;
use crate::connector::{AllowedValues, Builds, ConnectorDefinition, Scripts};
use crate::refusal::cut;
use connect_api::model::{
    ConnectorApiClient, DeclaredApplication, DeclaredGlobal, RetryPolicy, SecuredKey, StandardKey,
};

/// The declarations at a tag of a repository, and how deployments of it behave.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Specification {
    configurations: Vec<DeclaredApplication>,
    global_configuration: Option<DeclaredGlobal>,
    api_client: Option<ConnectorApiClient>,
    schedules: BTreeMap<String, String>,
    retry_policies: BTreeMap<String, RetryPolicy>,
    endpoints: BTreeMap<String, String>,
    scripts: Scripts,
    builds: Builds,
    allowed_values: Vec<AllowedValues>,
}

impl Specification {
    /// Parses the text of a `connect.yaml`.
    ///
    /// # Errors
    /// If the text is not YAML or breaks a rule of contract section 16. The error is one line: for each mistake
    /// `[member]: what is wrong (line)`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let root = Node::parse(text).map_err(|what| cut(&what))?;
        let mut findings = Findings::default();
        let file = file::file(&root, &mut findings);
        rules::check(&file, &mut findings);
        findings.finish()?;
        let mut read = Self::default();
        for application in file.applications {
            read.add(application);
        }
        read.global_configuration = file.inherited.map(|variables| {
            let (standard_configuration, secured_configuration) = declared(variables);
            DeclaredGlobal { standard_configuration, secured_configuration }
        });
        read.api_client = file.scopes.map(|scopes| ConnectorApiClient { scopes });
        Ok(read)
    }

    fn add(&mut self, application: Application) {
        let Application { name, kind, variables, has_post_deploy, endpoint, schedule, retry_policy, .. } = application;
        if has_post_deploy {
            self.scripts = Scripts::Succeed;
        }
        self.schedules.extend(schedule.map(|schedule| (name.clone(), schedule)));
        self.endpoints.extend(endpoint.map(|endpoint| (name.clone(), endpoint)));
        self.retry_policies.extend(retry_policy.map(|policy| (name.clone(), policy)));
        let (standard_configuration, secured_configuration) = declared(variables);
        self.configurations.push(DeclaredApplication {
            application_name: name,
            application_type: kind,
            standard_configuration,
            secured_configuration,
        });
    }

    /// Returns the current declarations of a connector.
    pub(crate) fn of(connector: &ConnectorDefinition) -> Self {
        Self {
            configurations: connector.configurations.clone(),
            global_configuration: connector.global_configuration.clone(),
            api_client: connector.api_client.clone(),
            schedules: connector.schedules.clone(),
            retry_policies: connector.retry_policies.clone(),
            endpoints: connector.endpoints.clone(),
            scripts: connector.scripts,
            builds: connector.builds,
            allowed_values: connector.allowed_values.clone(),
        }
    }

    /// Replaces the declarations of a connector by these.
    pub(crate) fn put_into(self, connector: &mut ConnectorDefinition) {
        connector.configurations = self.configurations;
        connector.global_configuration = self.global_configuration;
        connector.api_client = self.api_client;
        connector.schedules = self.schedules;
        connector.retry_policies = self.retry_policies;
        connector.endpoints = self.endpoints;
        connector.scripts = self.scripts;
        connector.builds = self.builds;
        connector.allowed_values = self.allowed_values;
    }
}

fn declared(variables: Variables) -> (Vec<StandardKey>, Vec<SecuredKey>) {
    let Variables { plain, secured } = variables;
    let plain = plain.into_iter().map(|Variable { key, description, required, default, .. }| StandardKey {
        key,
        description,
        default,
        required,
    });
    let secured = secured.into_iter().map(|Variable { key, description, required, .. }| SecuredKey {
        key,
        description,
        required,
    });
    (plain.collect(), secured.collect())
}
