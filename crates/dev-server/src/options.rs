//! Configuration of a dev server.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::actions::ActionFile;
use super::catalogue::Catalogue;
use super::faults::Fault;
use super::variant::Variant;
use super::world::World;

/// Default duration of a deployment.
pub const DEPLOY_DURATION: Duration = Duration::from_secs(5);
/// Default lifetime of a token: two days.
pub const TOKEN_LIFETIME: Duration = Duration::from_hours(48);

/// Configuration of a dev server.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connectors, projects and clients.
    pub catalogue: Catalogue,
    /// Choices where the contract leaves something open.
    pub variant: Variant,
    /// Time from the acceptance of a deployment to its end; undeploying takes half of it.
    pub deploy_duration: Duration,
    /// Lifetime of tokens (`expires_in`).
    pub token_lifetime: Duration,
    /// Frontend actions in addition to the built-in ones.
    pub actions: ActionFile,
    /// Faults that are active at startup, and again after a reset.
    pub faults: Vec<Fault>,
    /// Whether to serve `/_dev`, with which the console has switches.
    pub control: bool,
    /// File that keeps deployments and staged connectors across restarts.
    pub state_file: Option<PathBuf>,
    /// Folder with local Git repositories, each named like the last part of its URL without `.git`. They take
    /// precedence over the catalogue.
    pub repositories: Option<PathBuf>,
    /// Local applications under development, by name, and their addresses: the address in a deployment points to the
    /// dev server, which forwards requests. See [`super::parse_application`] for valid addresses.
    pub applications: BTreeMap<String, Url>,
    /// Home folder in which the server writes a login of the official command line client at startup.
    pub cli_credentials: Option<PathBuf>,
    /// Seed for ids and for `share` of faults, so that they are the same in each run; for tests.
    pub seed: Option<u64>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            catalogue: Catalogue::built_in(),
            variant: Variant::default(),
            deploy_duration: DEPLOY_DURATION,
            token_lifetime: TOKEN_LIFETIME,
            actions: ActionFile::default(),
            faults: Vec::new(),
            control: false,
            state_file: None,
            repositories: None,
            applications: BTreeMap::new(),
            cli_credentials: None,
            seed: None,
        }
    }
}

impl Options {
    /// Creates a world without deployments.
    pub(super) fn new_world(&self) -> World {
        World::new(self.catalogue.clone(), self.variant.clone(), self.deploy_duration, self.seed)
    }
}
