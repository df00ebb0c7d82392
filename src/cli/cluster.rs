//! The options with which every command selects the cluster, the user and the namespace, written as for kubectl: before
//! the name of the command or after it.

use std::error::Error;
use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args as _, Command};
use kube::config::{InClusterError, Kubeconfig};
use kube::{Client, Config};

use super::printing::option;
use crate::error_text::with_causes;
use crate::operator::clients::cluster_access::{Access, AccessError};
use crate::operator::clients::kube_client::{self, Limits};

/// Heading of the options in the help. `next_help_heading` would also apply to the options that follow these.
const HEADING: &str = "Cluster options";

/// Id of the option of [`AllNamespaces`].
const ALL_NAMESPACES: &str = "all_namespaces";

/// The options of [`Connection`].
const CONNECTION: [&str; 4] = ["context", "kubeconfig", "user", "groups"];

/// The commands that use only some of the options.
const PARTIAL: [(&str, &[&str]); 6] = [
    ("run", &CONNECTION),
    ("demo", &["context"]),
    ("dev-server", &[]),
    ("action", &[]),
    ("crds", &[]),
    ("completion", &[]),
];

/// The commands that can look in all namespaces.
const EVERYWHERE: [&str; 9] =
    ["status", "tree", "doctor", "reconcile", "redeploy", "rerun", "suspend", "resume", "wait"];

/// Options that exclude each other. clap validates the options before the name of a command and those after it apart.
const CONFLICTS: [(&str, &[&str]); 2] = [(ALL_NAMESPACES, &["namespace"]), ("local", &CONNECTION)];

/// Options that need another one, if the command has it.
const REQUIREMENTS: [(&str, &str); 2] = [("groups", "user"), ("namespace", "project")];

/// Arguments whose values may be resources, as TYPE/NAME; these name their project.
const RESOURCES: [&str; 2] = ["name", "keys"];

/// Which cluster to talk to, and as whom.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Connection {
    /// Context of the kubeconfig. Default: the current context.
    #[arg(long, value_name = "NAME", help_heading = HEADING)]
    pub(super) context: Option<String>,

    /// Kubeconfig file. Default: those that KUBECONFIG names, otherwise ~/.kube/config; without any, the service account
    /// of the pod.
    #[arg(long, value_name = "FILE", help_heading = HEADING, value_hint = clap::ValueHint::FilePath)]
    pub(super) kubeconfig: Option<PathBuf>,

    /// User to impersonate, as in system:serviceaccount:shop:deployer.
    #[arg(long = "as", value_name = "USER", help_heading = HEADING)]
    pub(super) user: Option<String>,

    /// Group to impersonate, with --as; may be repeated.
    #[arg(long = "as-group", value_name = "GROUP", help_heading = HEADING)]
    pub(super) groups: Vec<String>,
}

/// Which cluster and which namespace.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct ClusterOptions {
    /// Namespace. Default: that of the context.
    #[arg(long, short, value_name = "NAMESPACE", help_heading = HEADING)]
    pub(super) namespace: Option<String>,

    #[command(flatten)]
    pub(super) connection: Connection,
}

/// Whether to look in all namespaces.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub(super) struct AllNamespaces {
    /// Look in all namespaces.
    #[arg(id = ALL_NAMESPACES, long = "all-namespaces", short = 'A', help_heading = HEADING)]
    pub(super) given: bool,
}

/// Returns whether a word names a resource, as TYPE/NAME: no key contains a slash (contract section 9).
pub(super) fn is_resource(word: &str) -> bool {
    word.contains('/')
}

/// Returns all options.
fn options() -> Vec<Arg> {
    let all = AllNamespaces::augment_args(ClusterOptions::augment_args(Command::new("")));
    all.get_arguments().cloned().collect()
}

/// Returns whether a command uses an option.
fn uses(command: &str, option: &Arg) -> bool {
    let id = option.get_id().as_str();
    match PARTIAL.iter().find(|(partial, _)| *partial == command) {
        Some((_, used)) => used.contains(&id),
        None => id != ALL_NAMESPACES || EVERYWHERE.contains(&command),
    }
}

/// Returns the command line with the options on each level, hidden where they are not used.
pub(super) fn everywhere(command: Command) -> Command {
    let options: Vec<Arg> = options().into_iter().map(|it| it.global(true)).collect();
    let names: Vec<String> = command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    let command = names.into_iter().fold(command, |command, name| {
        let unused = options.iter().filter(|it| !uses(&name, it)).map(|it| it.clone().hide(true));
        let unused: Vec<Arg> = unused.collect();
        // Each is replaced, so that their order stays.
        command.mut_subcommand(name, |inner| inner.args(unused))
    });
    command.args(&options)
}

/// Checks what clap cannot: it validates the options before the name of a command and those after it apart.
///
/// # Errors
/// If an option is not used by the command, or excludes or needs another one.
pub(super) fn check(command: &mut Command, matches: &ArgMatches) -> Result<(), clap::Error> {
    let Some((name, mut leaf)) = matches.subcommand() else { return Ok(()) };
    while let Some((_, inner)) = leaf.subcommand() {
        leaf = inner;
    }
    let has = |id: &str| leaf.try_contains_id(id).is_ok();
    let given = |id: &str| has(id) && leaf.value_source(id) == Some(ValueSource::CommandLine);
    let options = options();
    let flag = |id: &str| {
        let long = options.iter().find(|it| it.get_id() == id).and_then(Arg::get_long);
        format!("--{}", long.map_or_else(|| id.replace('_', "-"), ToOwned::to_owned))
    };
    let unused = options.iter().find(|it| given(it.get_id().as_str()) && !uses(name, it)).map(|it| {
        let of_one = it.get_id() == ALL_NAMESPACES && !PARTIAL.iter().any(|(partial, _)| *partial == name);
        let instead = if of_one { ": name one with --namespace" } else { "" };
        format!("`{name}` does not use {}{instead}", flag(it.get_id().as_str()))
    });
    let conflict = CONFLICTS.iter().filter(|(id, _)| given(id)).find_map(|(id, others)| {
        let other = others.iter().find(|other| given(other))?;
        Some(format!("{} cannot be used with {}", flag(id), flag(other)))
    });
    let names_project = |id: &&str| {
        let words = leaf.try_get_many::<String>(id).ok().flatten();
        words.into_iter().flatten().any(|word| is_resource(word))
    };
    let met = |needed: &str| given(needed) || (needed == "project" && RESOURCES.iter().any(names_project));
    let missing = REQUIREMENTS.iter().find(|(id, needed)| given(id) && has(needed) && !met(needed));
    let missing = missing.map(|(id, needed)| format!("{} needs {}", flag(id), flag(needed)));
    match unused.or(conflict).or(missing) {
        Some(why) => Err(command.error(ErrorKind::ArgumentConflict, why)),
        None => Ok(()),
    }
}

impl Connection {
    /// Returns a client of the cluster, and the namespace to use: the given one, or that of the context.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn client(&self, namespace: Option<&str>) -> Result<(Client, String), String> {
        let access = self.access().await?;
        let namespace = namespace.unwrap_or(&access.config.default_namespace).to_owned();
        let client = kube_client::client(access, Limits { repeats: true, ..Limits::default() })
            .map_err(|error| with_causes(&error))?;
        Ok((client, namespace))
    }

    /// Returns where the cluster is, and as whom to talk to it.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn access(&self) -> Result<Access, String> {
        let kubeconfig = match &self.kubeconfig {
            Some(path) => Kubeconfig::read_from(path),
            None => Kubeconfig::read(),
        };
        let access = match kubeconfig {
            Ok(kubeconfig) => Access::of_kubeconfig(kubeconfig, self.context.as_deref()).await,
            Err(error) => Err(error.into()),
        };
        let mut access = match (access, &self.kubeconfig) {
            (Ok(access), _) => access,
            (Err(error), Some(path)) => return Err(format!("--kubeconfig {}: {}", path.display(), first_line(&error))),
            (Err(error), None) if self.context.is_some() => return Err(first_line(&error)),
            (Err(error), None) => Access::direct(Config::incluster().map_err(|in_pod| neither(&error, &in_pod))?),
        };
        if self.user.is_some() {
            let who = &mut access.config.auth_info;
            who.impersonate.clone_from(&self.user);
            who.impersonate_groups = (!self.groups.is_empty()).then(|| self.groups.clone());
        }
        Ok(access)
    }
}

/// Returns the first line of an error: the others may quote the file, which has secrets. kube quotes a path twice.
fn first_line(error: &dyn Error) -> String {
    error.to_string().lines().next().unwrap_or_default().replace("'\"", "'").replace("\"'", "'")
}

/// Variable that every pod has (Kubernetes: accessing the API from a pod).
const IN_A_POD: &str = "KUBERNETES_SERVICE_HOST";

/// Returns why neither a kubeconfig nor the service account of a pod can be used.
fn neither(kubeconfig: &AccessError, in_pod: &InClusterError) -> String {
    if std::env::var_os(IN_A_POD).is_some() {
        return first_line(in_pod);
    }
    let why = first_line(kubeconfig);
    format!("no kubeconfig can be used ({why}), and this is no pod: name one with --kubeconfig or KUBECONFIG")
}

impl ClusterOptions {
    /// Returns a client of the cluster, and the namespace to use.
    ///
    /// # Errors
    /// If the kubeconfig cannot be read, or names no such context.
    pub(super) async fn client(&self) -> Result<(Client, String), String> {
        self.connection.client(self.namespace.as_deref()).await
    }

    /// Returns the given options as a user types them, each after a blank.
    pub(super) fn options(&self) -> String {
        let Connection { context, kubeconfig, user, groups } = &self.connection;
        let one = option("namespace", self.namespace.as_ref())
            + &option("context", context.as_ref())
            + &option("kubeconfig", kubeconfig.as_ref())
            + &option("as", user.as_ref());
        groups.iter().fold(one, |options, group| options + &option("as-group", Some(group)))
    }
}
