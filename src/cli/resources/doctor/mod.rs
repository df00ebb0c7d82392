//! `doctor`: checks what the operator and its users need, and reports what is missing with the remedy.
//!
//! Reads the cluster only. Next: `install` and `reported` interpret what was read; `finding` writes it.

mod finding;
mod install;
mod reported;

use std::collections::BTreeSet;
use std::process::ExitCode;

use clock::Clock;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

use self::finding::{Finding, Level, count, text, value};
use super::failure::Failed;
use super::kind::{Resource, ResourceType};
use super::output::Data;
use super::selection::{list, read};
use crate::cli::cluster::{AllNamespaces, ClusterOptions};
use crate::cli::installs::{self, Install};
use crate::cli::printing::print;
use crate::crd::ProjectKind;
use crate::error_text::with_causes;
use crate::leader::LeaseName;
use crate::operator::clients::served_crds;

const EXAMPLES: &str = "\
Examples:
  # Check the install, and the resources in the namespace of the context
  connect-operator doctor

  # Check the resources of all namespaces
  connect-operator doctor --all-namespaces

  # With the right to read two namespaces only: that of the resources, and that of the operator
  connect-operator doctor --namespace shop --operator-namespace connect-operator

  # The problems, for a script
  connect-operator doctor --output json | jq '.findings[] | select(.level == \"problem\")'";

/// Check what the operator and its users need, and show what is missing with the remedy.
///
/// Checks the CRDs, the operator's Deployment and the holder of its Lease, and which resources are not Ready. Changes
/// nothing and calls only the API server.
///
/// Exits with 1 if it found a problem, and with 0 if it found only warnings, which are also what it could not check.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = EXAMPLES)]
pub(in crate::cli) struct Doctor {
    /// Namespace of the operator. Default: operators are searched in all namespaces.
    #[arg(long, value_name = "NAMESPACE")]
    operator_namespace: Option<String>,

    /// Output format. Default: text for people.
    #[arg(long, short, value_enum)]
    output: Option<Data>,

    #[command(flatten)]
    place: ClusterOptions,

    #[command(flatten)]
    everywhere: AllNamespaces,
}

/// What helps a user who may not read what a check needs.
const MAY_NOT: &str = "Run the check as a user who may, or limit it with --namespace and --operator-namespace.";

/// Prints what was found. The exit code is that of a failure if there is a problem.
///
/// # Errors
/// If the cluster cannot be reached, or answers with an unexpected error.
pub(in crate::cli) async fn doctor(args: Doctor) -> Result<ExitCode, Failed> {
    let (client, namespace) = args.place.client().await.map_err(Failed::Cluster)?;
    let namespace = (!args.everywhere.given).then_some(namespace.as_str());
    let mut findings = crds(served_crds::missing(&client).await)?;
    let (resources, unreadable) = resources(&client, namespace).await?;
    let (operators, unknown) = match installs::list(&client, args.operator_namespace.as_deref()).await {
        Ok(operators) if operators.is_empty() => (operators, vec![install::none()]),
        Ok(operators) => (operators, Vec::new()),
        Err(error) => (Vec::new(), known(install::DEPLOYMENT, Err(error))?),
    };
    findings.extend(unknown);
    findings.extend(operators_of(&client, &operators).await?);
    findings.extend(unreadable);
    for resource_type in ResourceType::ALL {
        findings.extend(reported::not_ready(resource_type, &resources, super::program()));
    }
    print(&match args.output {
        None => text(&findings),
        Some(form) => form.text(&value(&findings)).map_err(Failed::Argument)?,
    })?;
    Ok(if count(&findings, Level::Problem) == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn crds(missing: Result<Vec<String>, kube::Error>) -> Result<Vec<Finding>, kube::Error> {
    const CHECK: &str = "CRDs";
    let missing = match missing {
        Err(error) if served_crds::is_not_told(&error) => {
            let message = format!("not checked: {}", with_causes(&error));
            return Ok(vec![Finding::new(Level::Warning, CHECK, message, served_crds::DISCOVERY)]);
        }
        missing => missing?,
    };
    if missing.is_empty() {
        let served = format!("every kind is served with the version and fields of {}", env!("CARGO_PKG_VERSION"));
        return Ok(vec![Finding::ok(CHECK, served)]);
    }
    // A missing CRD or field stops the operator, so a few of them say enough.
    let some = missing.iter().take(5).cloned().collect::<Vec<_>>().join(", ");
    let more = missing.len().saturating_sub(5);
    let rest = if more == 0 { String::new() } else { format!(" and {more} more") };
    let remedy = format!("{} crds | kubectl apply --server-side -f -", super::program());
    Ok(vec![Finding::new(Level::Problem, CHECK, format!("missing: {some}{rest}"), remedy)])
}

/// Returns the findings, or a warning if the user may not read what the check needs.
fn known(check: &'static str, found: Result<Vec<Finding>, kube::Error>) -> Result<Vec<Finding>, kube::Error> {
    match found {
        Err(kube::Error::Api(status)) if status.code == 403 => {
            let message = format!("not checked: {}", status.message);
            Ok(vec![Finding::new(Level::Warning, check, message, MAY_NOT)])
        }
        found => found,
    }
}

/// Returns the resources that can be read, and a finding for each type that cannot. Of the shared projects, a check of one
/// namespace has those that its resources name.
async fn resources(client: &Client, namespace: Option<&str>) -> Result<(Vec<Resource>, Vec<Finding>), Failed> {
    let (mut resources, mut findings) = (Vec::new(), Vec::new());
    for resource_type in ResourceType::ALL {
        let check = resource_type.kind();
        let objects = match list(client, namespace, resource_type, None).await {
            Ok(objects) => objects,
            // The check of the CRDs reports it with a remedy.
            Err(Failed::NotInstalled(_)) => continue,
            Err(error @ Failed::Forbidden { .. }) => {
                findings.push(Finding::new(Level::Warning, check, format!("not checked: {error}"), MAY_NOT));
                continue;
            }
            Err(error) => return Err(error),
        };
        for object in objects {
            match read(object) {
                Ok(resource) => resources.push(resource),
                Err(error) => {
                    let remedy = "Use this program in the version of the operator.";
                    findings.push(Finding::new(Level::Warning, check, error.to_string(), remedy));
                }
            }
        }
    }
    let named: BTreeSet<String> = resources
        .iter()
        .filter_map(Resource::project)
        .filter(|project| project.kind == ProjectKind::ClusterConnectProject)
        .map(|project| project.name.clone())
        .collect();
    if namespace.is_some() {
        resources.retain(|it| it.resource_type() != ResourceType::ClusterProject || named.contains(it.name()));
    }
    Ok((resources, findings))
}

/// Checks the operators and their Leases.
async fn operators_of(client: &Client, operators: &[Deployment]) -> Result<Vec<Finding>, Failed> {
    let mut findings: Vec<Finding> = operators.iter().map(install::deployment).collect();
    let installs = operators.iter().filter_map(Install::of);
    let leases: BTreeSet<LeaseName> = installs.filter_map(|install| install.lease()).collect();
    for name in leases {
        let found = Api::<Lease>::namespaced(client.clone(), &name.namespace).get_opt(&name.name).await;
        let found = found.map(|found| vec![install::lease(&name, found.as_ref(), Clock::system().now())]);
        findings.extend(known(install::LEASE, found)?);
    }
    Ok(findings)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_crds_are_a_problem() {
        let of = |missing: &[&str]| crds(Ok(missing.iter().map(|it| (*it).to_owned()).collect())).expect("findings");
        assert_eq!(of(&[])[0].level, Level::Ok);
        let found = of(&["a", "b", "c", "d", "e", "f"]);
        assert_eq!((found[0].level, found[0].message.as_str()), (Level::Problem, "missing: a, b, c, d, e and 1 more"));
    }
}
