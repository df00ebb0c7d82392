//! How a dev server is set up.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use super::actions::ActionFile;
use super::catalogue::Catalogue;
use super::faults::Fault;
use super::variant::Variant;
use super::world::World;

/// How long a deployment takes where nothing else is said.
pub const DEPLOY_DURATION: Duration = Duration::from_secs(5);
/// How long a token lasts where nothing else is said: two days.
pub const TOKEN_LIFETIME: Duration = Duration::from_hours(48);

/// How a dev server is set up.
#[derive(Clone, Debug)]
pub struct Options {
    /// Connectors, projects and clients.
    pub catalogue: Catalogue,
    /// What the contract leaves open.
    pub variant: Variant,
    /// Time from the acceptance of a deployment to its end; undeploying takes half.
    pub deploy_duration: Duration,
    /// `expires_in` of tokens.
    pub token_lifetime: Duration,
    /// Frontend actions beside the built-in ones.
    pub actions: ActionFile,
    /// Calls that go wrong from the start, and again after a reset.
    pub faults: Vec<Fault>,
    /// Whether `/_dev` is there.
    pub control: bool,
    /// Keeps deployments and staged connectors over restarts.
    pub state_file: Option<PathBuf>,
    /// Folder with local Git repositories, each named like the last part of an address without `.git`; they win over the
    /// catalogue.
    pub repositories: Option<PathBuf>,
    /// Applications that somebody develops on this machine, by name, and where they listen: a record's address leads to the
    /// dev server, which passes requests on. See [`super::parse_application`] for what an address may be.
    pub applications: BTreeMap<String, Url>,
    /// Home folder in which a login of the official command line client is written at the start.
    pub cli_credentials: Option<PathBuf>,
    /// The same ids and the same faults by share in each run; for tests.
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
    /// A world with nothing deployed.
    pub(super) fn new_world(&self) -> World {
        World::new(self.catalogue.clone(), self.variant.clone(), self.deploy_duration, self.seed)
    }
}
