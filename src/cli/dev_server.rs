//! `dev-server`: serves the Connect API on this machine, until Ctrl-C.

use crate::cli::printing::tell;
use crate::cli::run::{self, listen};
use std::future::Future;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use jiff::Timestamp;
use url::Url;

use clock::Clock;
use dev_server::{
    self, ActionFile, Catalogue, DevServerError, FaultFile, Options, VARIANTS, Variant, parse_application,
    parse_duration,
};

const EXAMPLES: &str = "\
Examples:
  # Serve the Connect API at http://127.0.0.1:8787, with a console for browsers
  connect-operator dev-server

  # With switches for faults, and deployments that take a minute and outlast a restart
  connect-operator dev-server --control --deploy-duration 1m --state dev-server.json

  # Stage connectors from the Git repositories in a folder
  connect-operator dev-server --repositories ~/src";

/// Serves the Connect API of commercetools on this machine, with a catalogue of example connectors.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(super) struct Args {
    /// Address and port. [::] and 0.0.0.0 are all addresses, of IPv6 and of IPv4.
    #[arg(long, default_value = "127.0.0.1:8787", env = "DEV_SERVER_LISTEN", value_parser = run::address)]
    pub listen: SocketAddr,

    /// Allow an address that other machines can reach. The credentials are public: everyone there can use the server.
    #[arg(long)]
    pub allow_remote: bool,

    /// Duration of a deployment; undeploying takes half of it.
    #[arg(long, default_value = "5s", value_parser = parse_duration)]
    pub deploy_duration: Duration,

    /// Lifetime of a token.
    #[arg(long, default_value = "48h", value_parser = parse_duration)]
    pub token_lifetime: Duration,

    /// Connectors, projects and clients to add, as YAML or JSON; entries with the same key or id replace built-in ones.
    #[arg(long, value_name = "FILE")]
    pub catalogue: Option<PathBuf>,

    /// Frontend actions to add, as YAML or JSON; those with the same namespace and name replace built-in ones.
    #[arg(long, value_name = "FILE")]
    pub actions: Option<PathBuf>,

    /// Read connect.yaml of staged connectors from local Git repositories by tag: DIR/NAME for a repository URL that
    /// ends in NAME.git. Needs the program git.
    #[arg(long, value_name = "DIR")]
    pub repositories: Option<PathBuf>,

    /// Serve /_dev/... and switches in the console: faults, calls so far, changes by other clients, reset. They need no
    /// token.
    #[arg(long)]
    pub control: bool,

    /// Keep deployments and staged connectors in this file across restarts. Secured values are kept as fingerprints
    /// only.
    #[arg(long, value_name = "FILE")]
    pub state: Option<PathBuf>,

    /// Forward the URL of an application in records to a process on this machine, NAME=http://127.0.0.1:PORT; may be
    /// repeated. Forwards bodies of up to 16 MiB; responses may take up to 5 minutes.
    #[arg(long = "application", value_name = "NAME=URL", value_parser = parse_application)]
    pub applications: Vec<(String, Url)>,

    /// Write a login for the official command line client, DIR/.commercetools/credentials. Another login is not
    /// overwritten. The server prints the command that uses it at the start.
    #[arg(long, value_name = "DIR")]
    pub write_cli_credentials: Option<PathBuf>,

    #[arg(
        long = "variant", value_name = "NAME=VALUE", value_parser = one_variant,
        help = format!("Choose a behaviour that the API leaves open; may be repeated. One of: {VARIANTS}"),
    )]
    pub variants: Vec<String>,

    /// Inject faults from the start, as this YAML or JSON file defines them; it may also choose variants.
    #[arg(long, value_name = "FILE")]
    pub faults: Option<PathBuf>,

    /// Stop the clock; only POST /_dev/clock advances it.
    #[arg(long, requires = "control")]
    pub stepped_clock: bool,
}

fn one_variant(choice: &str) -> Result<String, String> {
    Variant::default().set(choice).map(|()| choice.to_owned())
}

/// Why the dev server did not start, or stopped.
#[derive(Debug, thiserror::Error)]
pub(super) enum Error {
    /// Other machines can reach the address.
    #[error(
        "{0} can be reached from other machines, and the credentials of the dev server are public; add --allow-remote to allow that"
    )]
    Remote(SocketAddr),
    /// The port is in use, or the address does not belong to this machine.
    #[error("cannot listen on {address} ({source}); choose another one with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// A file that a flag names cannot be read.
    #[error("cannot read {path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        source: std::io::Error,
    },
    /// The folder of repositories does not exist.
    #[error("--repositories: {0} is not a folder")]
    Repositories(PathBuf),
    /// The content of a file that a flag names is invalid.
    #[error("{path}: {what}")]
    Content {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        what: String,
    },
    /// A `--variant` is invalid.
    #[error("{0}")]
    Variant(String),
    /// The server failed.
    #[error(transparent)]
    Server(#[from] DevServerError),
}

/// Serves until `shutdown` completes.
///
/// # Errors
/// If an argument is invalid, the address cannot be used, or the state file cannot be read or written.
pub(super) async fn run(args: Args, shutdown: impl Future<Output = ()> + Send + 'static) -> Result<(), Error> {
    if !args.listen.ip().is_loopback() && !args.allow_remote {
        return Err(Error::Remote(args.listen));
    }
    let options = options(&args).await?;
    let listener = listen::bind(args.listen).map_err(|source| Error::Listen { address: args.listen, source })?;
    let address = listener.local_addr().map_err(DevServerError::from)?;
    let clock = if args.stepped_clock { Clock::stepped(Timestamp::now()) } else { Clock::system() };
    greet(address, &options);
    Ok(dev_server::run(listener, options, clock, shutdown).await?)
}

async fn options(args: &Args) -> Result<Options, Error> {
    let mut catalogue = Catalogue::built_in();
    if let Some(path) = &args.catalogue {
        let parsed = Catalogue::parse(&read(path).await?);
        let more = parsed.map_err(|error| Error::Content { path: path.clone(), what: error.to_string() })?;
        catalogue = catalogue.and(more);
    }
    let mut actions = ActionFile::default();
    if let Some(path) = &args.actions {
        let parsed = ActionFile::parse(&read(path).await?);
        actions = parsed.map_err(|what| Error::Content { path: path.clone(), what })?;
    }
    let mut faults = FaultFile::default();
    if let Some(path) = &args.faults {
        let parsed = FaultFile::parse(&read(path).await?);
        faults = parsed.map_err(|what| Error::Content { path: path.clone(), what })?;
    }
    let mut variant = faults.variant.unwrap_or_default();
    for choice in &args.variants {
        variant.set(choice).map_err(Error::Variant)?;
    }
    if let Some(folder) = &args.repositories
        && !tokio::fs::metadata(folder).await.is_ok_and(|found| found.is_dir())
    {
        return Err(Error::Repositories(folder.clone()));
    }
    Ok(Options {
        catalogue,
        variant,
        deploy_duration: args.deploy_duration,
        token_lifetime: args.token_lifetime,
        actions,
        faults: faults.faults,
        state_file: args.state.clone(),
        applications: args.applications.iter().cloned().collect(),
        cli_credentials: args.write_cli_credentials.clone(),
        repositories: args.repositories.clone(),
        control: args.control,
        ..Options::default()
    })
}

async fn read(path: &Path) -> Result<String, Error> {
    let text = tokio::fs::read_to_string(path).await;
    text.map_err(|source| Error::File { path: path.to_owned(), source })
}

/// Prints to standard error where the server listens and how to get a token. The secret of the built-in client is
/// public; secrets of other clients are not shown.
fn greet(address: SocketAddr, options: &Options) {
    let url = dev_server::local_url(address);
    tell!("Connect API and token endpoint: {url}");
    tell!("Console for browsers: {url}/");
    let built_in = Catalogue::built_in();
    let Some(client) = built_in.clients.first() else { return };
    let is_there = options.catalogue.clients.iter().any(|other| other.id == client.id && other.secret == client.secret);
    if is_there {
        let project = built_in.projects.first().map(|project| project.key.as_str()).unwrap_or_default();
        tell!("Project {project}, client id {}, client secret {}", client.id, client.secret);
        tell!("Token: curl -s -u {}:{} -d grant_type=client_credentials {url}/oauth/token", client.id, client.secret);
    }
    let connectors: Vec<_> = options.catalogue.connectors.iter().map(|connector| connector.key.as_str()).collect();
    tell!("Connectors: {}", connectors.join(", "));
    for (name, target) in &options.applications {
        tell!("Application {name}: {url}/_applications/{name}, forwarded to {target}");
    }
    if let Some(home) = &options.cli_credentials {
        let home = home.display();
        tell!("Official client: HOME={home} CTP_CLI_CONNECT_API_URL={url} commercetools connect deployment list");
    }
    if options.control {
        tell!("Control: {url}/_dev/ (faults, calls, clock, variant, tokens, deployments, staged, reset)");
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser as _;

    use super::*;

    #[derive(clap::Parser)]
    struct Command {
        #[command(flatten)]
        args: Args,
    }

    fn parse(args: &[&str]) -> Result<Args, clap::Error> {
        let line = std::iter::once(&"dev-server").chain(args);
        Command::try_parse_from(line).map(|command| command.args)
    }

    #[tokio::test]
    async fn flags_become_options_and_errors_name_the_remedy() {
        let args = parse(&["--deploy-duration", "250ms", "--variant", "versions=status", "--variant=key-held=1m"]);
        let options = options(&args.expect("they are valid")).await.expect("they are consistent");
        assert_eq!(options.deploy_duration, Duration::from_millis(250));
        assert_eq!(options.variant.key_held, Duration::from_mins(1));
        for (case, args, expected) in [
            ("span without a unit", &["--deploy-duration", "5"][..], "500ms, 5s"),
            ("unknown variant", &["--variant", "moon=full"], "read-lag=DURATION"),
            ("an application elsewhere", &["--application", "service=http://10.0.0.1"], "of this machine"),
            ("a stepped clock without the control API", &["--stepped-clock"], "--control"),
        ] {
            let error = parse(args).expect_err(case).to_string();
            assert!(error.contains(expected), "{case}: {error}");
        }
    }

    #[tokio::test]
    async fn it_serves_until_shutdown() {
        let args = parse(&["--listen", "127.0.0.1:0", "--control", "--stepped-clock"]).expect("they are valid");
        run(args, std::future::ready(())).await.expect("it starts and stops");
    }

    #[tokio::test]
    async fn reachable_addresses_and_missing_files_are_rejected() {
        let wrong = [
            (&["--listen", "0.0.0.0:0"][..], "--allow-remote"),
            (&["--listen", "127.0.0.1:0", "--catalogue", "no/such.yaml"], "no/such.yaml"),
            (&["--listen", "127.0.0.1:0", "--actions", "no/actions.yaml"], "no/actions.yaml"),
            (&["--listen", "127.0.0.1:0", "--repositories", "no/such"], "no/such is not a folder"),
        ];
        for (args, expected) in wrong {
            let args = parse(args).expect("clap accepts them");
            let error = run(args, std::future::ready(())).await.expect_err("it must not start").to_string();
            assert!(error.contains(expected), "{error}");
        }
    }
}
