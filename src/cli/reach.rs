//! Which hosts a command may call, and which certificates it trusts.

use std::path::PathBuf;

use clock::Clock;
use connect_api::client_context::ClientContext;
use connect_api::hosts::{AllowedHosts, BadPattern};
use connect_api::http::Limits;

use super::{CaFileError, authorities};
use crate::operator::clients::connect_factory::HttpFactory;

/// This machine. The list of allowed hosts guards the operator against those who write resources; users of a command
/// line may call what runs on their own machine.
const THIS_MACHINE: [&str; 6] =
    ["http://127.0.0.1:*", "127.0.0.1:*", "http://localhost:*", "localhost:*", "http://[::1]:*", "[::1]:*"];

/// Heading of the options that concern a project and its credentials.
pub(super) const PROJECT_OPTIONS: &str = "Project options";

/// Restrictions on the remotes that may be called.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Reach {
    /// Allowed hosts for the Connect API and its authorization server, written as for `run`. This machine is always
    /// allowed. Default: the hosts of commercetools.
    #[arg(long, value_name = "HOSTS", value_delimiter = ',', env = "ALLOWED_API_HOSTS", help_heading = PROJECT_OPTIONS)]
    allowed_api_hosts: Vec<String>,

    /// Certificates in PEM to trust in addition to those of the system.
    #[arg(long, value_name = "FILE", env = "CA_FILE", help_heading = PROJECT_OPTIONS)]
    ca_file: Option<PathBuf>,
}

/// Why no remote can be called.
#[derive(Debug, thiserror::Error)]
pub(in crate::cli) enum ReachError {
    /// A host pattern is invalid.
    #[error("--allowed-api-hosts: {0}")]
    Hosts(#[from] BadPattern),
    /// The certificates cannot be read.
    #[error(transparent)]
    CaFile(#[from] CaFileError),
}

impl Reach {
    /// Returns a factory for clients that may call the given hosts, otherwise those of commercetools; and in both cases
    /// this machine and `more`.
    ///
    /// # Errors
    /// If an option is invalid.
    pub(super) fn factory(&self, more: &[String]) -> Result<HttpFactory, ReachError> {
        let hosts = self.allowed_api_hosts.iter().map(String::as_str);
        let default = AllowedHosts::DEFAULT.split(',').filter(|_| self.allowed_api_hosts.is_empty());
        let more = more.iter().map(String::as_str);
        let allowed_hosts = AllowedHosts::parse(hosts.chain(default).chain(THIS_MACHINE).chain(more))?;
        let around = ClientContext::plain(Clock::system());
        let authorities = authorities(self.ca_file.as_deref())?;
        Ok(HttpFactory { allowed_hosts, around, limits: Limits::default(), authorities })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allows(reach: &Reach, url: &str) -> bool {
        reach.factory(&[]).expect("the patterns are valid").allowed_hosts.endpoint(url).is_ok()
    }

    #[test]
    fn this_machine_is_always_allowed() {
        let given = Reach { allowed_api_hosts: vec!["gateway.example".to_owned()], ca_file: None };
        for (url, by_default, with_a_list) in [
            ("http://127.0.0.1:8787", true, true),
            ("https://localhost:8443", true, true),
            ("http://[::1]:8787", true, true),
            ("http://127.0.0.2:8787", false, false),
            ("http://localhost.example.com:8787", false, false),
            ("https://connect.us-east-2.aws.commercetools.com", true, false),
            ("https://gateway.example", false, true),
            ("http://10.0.0.1", false, false),
        ] {
            assert_eq!(allows(&Reach::default(), url), by_default, "{url}");
            assert_eq!(allows(&given, url), with_a_list, "{url}, with a list");
        }
    }
}
