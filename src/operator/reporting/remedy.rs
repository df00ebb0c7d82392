//! Commands that messages suggest to users. Pure.

use connect_api::hosts::{AllowedHosts, UrlRefused};

use super::conditions::{ConditionUpdate, LONGEST_MESSAGE, cut};
use super::reason::{ConditionState, Reason};
use crate::names;
use crate::operator::object_ref::{ObjectName, ObjectRef};

/// Maximum length of the sources that a message names, in bytes, so that the report itself has room.
const LONGEST_SOURCES: usize = 300;

/// Returns the command that requests a redeploy of the resource.
pub fn redeploy(object_ref: &ObjectRef) -> String {
    let ObjectName { kind, namespace, name } = &**object_ref;
    format!(
        "kubectl annotate {} {name} --namespace {namespace} {}=\"$(date +%s)\" --overwrite",
        kind.as_str().to_lowercase(),
        names::REDEPLOY_REQUESTED_AT
    )
}

/// Appends to the message of a failed deployment where the values come from that it names, and the command that requests a
/// redeploy. The rest of the message is cut so that these fit. `sources`: returns where the values come from that a text
/// names, see [`origins_of`](crate::operator::deployment::desired::Desired::origins_of).
pub fn of_failure(
    condition: ConditionUpdate,
    object_ref: &ObjectRef,
    sources: impl FnOnce(&str) -> Vec<String>,
) -> ConditionUpdate {
    if !condition.reason.is_failed() {
        return condition;
    }
    let mut left = LONGEST_SOURCES;
    let fitting = sources(&condition.message).into_iter().map(|source| format!(". {source}")).take_while(|source| {
        let fits = source.len() <= left;
        left = left.saturating_sub(source.len());
        fits
    });
    let sources: String = fitting.collect();
    let remedy = format!(
        "{sources}. Change the value that causes it, which redeploys by itself; or, to deploy the same values again: {}",
        redeploy(object_ref)
    );
    ConditionUpdate { event: true, ..after(condition, &remedy) }
}

/// Appends to the message of a resource whose deletion does not go on how it is deleted all the same.
pub fn of_deletion(condition: ConditionUpdate, object_ref: &ObjectRef) -> ConditionUpdate {
    let waits = !matches!(condition.reason.state(), ConditionState::Ready | ConditionState::Progressing);
    // Removing the finalizer is a request to the API server, too.
    if !waits || condition.reason == Reason::KubernetesError {
        return condition;
    }
    let ObjectName { kind, namespace, name } = &**object_ref;
    let remedy = format!(
        ". The deletion waits for this. To delete the resource now and leave at the service what it created there, set \
         deletionPolicy: Orphan: kubectl patch {} {name} --namespace {namespace} --type merge --patch \
         '{{\"spec\":{{\"deletionPolicy\":\"Orphan\"}}}}'",
        kind.as_str().to_lowercase()
    );
    after(condition, &remedy)
}

/// Appends a remedy to a message, the rest of which is cut so that it fits.
pub fn after(condition: ConditionUpdate, remedy: &str) -> ConditionUpdate {
    let ConditionUpdate { reason, message, event } = condition;
    let finding = cut(message.trim_end_matches('.'), LONGEST_MESSAGE.saturating_sub(remedy.len()));
    ConditionUpdate { reason, message: format!("{finding}{remedy}"), event }
}

/// A list of hosts that may be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HostList {
    /// Hosts of the Connect API, its authorization server and the HTTP API.
    Api,
    /// Hosts of frontends.
    Action,
}

/// Returns the message about a URL that may not be called, with the option that would allow it. `field`: the field with
/// the URL.
pub fn of_host(field: &str, refused: &UrlRefused, list: HostList) -> String {
    let (flag, value, default) = match list {
        HostList::Api => ("--allowed-api-hosts", "allowedApiHosts", AllowedHosts::DEFAULT),
        HostList::Action => ("--allowed-action-hosts", "allowedActionHosts", names::DEFAULT_ACTION_HOSTS),
    };
    // The running list is not shown: it may name hosts that are no business of the tenants.
    let remedy = refused.pattern().map(|pattern| {
        if allows(default, pattern) {
            // So the operator has another list.
            return format!(". The list is {flag} ({value} of the chart)");
        }
        format!(
            ". If the operator has the default list, start it with {flag} '{default},{pattern}' ({value} of the chart); if \
             it has another one, add to that"
        )
    });
    format!("{field}: {refused}{}", remedy.unwrap_or_default())
}

/// Returns whether a list of hosts allows the URLs of a pattern of one host.
fn allows(list: &str, pattern: &str) -> bool {
    let url = if pattern.starts_with("http://") { pattern.to_owned() } else { format!("https://{pattern}") };
    AllowedHosts::parse(list.split(',')).is_ok_and(|hosts| hosts.endpoint(&url).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_of_the_default_list_is_not_suggested_beside_that_list() {
        let other = AllowedHosts::parse(["gateway.example"]).expect("a pattern");
        for (case, url, list, flag) in [
            ("the API", "https://connect.us-east-2.aws.commercetools.com", HostList::Api, "--allowed-api-hosts"),
            ("a frontend", "https://shop-example.frontastic.live", HostList::Action, "--allowed-action-hosts"),
        ] {
            let refused = other.endpoint(url).expect_err(case);
            let message = of_host("apiUrl", &refused, list);
            assert!(!message.contains("default list") && message.contains(flag), "{case}: {message}");
        }
    }

    #[test]
    fn a_host_that_is_not_allowed_names_the_option_and_a_wrong_url_does_not() {
        let hosts = AllowedHosts::parse(AllowedHosts::DEFAULT.split(',')).expect("patterns");
        let action = "--allowed-action-hosts '*.frontastic.live";
        for (case, url, list, suggested) in [
            ("a dev server", "http://127.0.0.1:8787", HostList::Api, Some("--allowed-api-hosts 'connect.")),
            ("a frontend", "https://shop.example.com", HostList::Action, Some(action)),
            ("not a URL", "nope", HostList::Api, None),
        ] {
            let refused = hosts.endpoint(url).expect_err(case);
            let message = of_host("apiUrl", &refused, list);
            assert!(message.starts_with("apiUrl: "), "{case}: {message}");
            assert_eq!(message.contains("--allowed"), suggested.is_some(), "{case}: {message}");
            assert!(message.contains(suggested.unwrap_or_default()), "{case}: {message}");
            let host = url.trim_start_matches("https://");
            assert!(message.contains(&format!(",{host}' (allowed")) || suggested.is_none(), "{case}: {message}");
        }
    }

    const COMMAND: &str = "kubectl annotate connectordeployment tax --namespace shop \
                           connect-operator.io/redeploy-requested-at=\"$(date +%s)\" --overwrite";

    #[test]
    fn only_a_failed_deployment_suggests_a_redeploy_and_the_command_is_never_cut() {
        let long = "x".repeat(2 * LONGEST_MESSAGE);
        for (case, reason, message, suggests) in [
            ("failed", Reason::DeploymentFailed, "the build failed", true),
            ("a sentence", Reason::RedeployFailed, "The build failed.", true),
            ("a long report", Reason::RedeployFailed, long.as_str(), true),
            ("live", Reason::Deployed, "Deployed", false),
            ("nothing was sent", Reason::ConfigurationInvalid, "no such key", false),
        ] {
            let sources = ["TOKEN is key token of Secret tax".to_owned(), "x".repeat(LONGEST_SOURCES)];
            let before = ConditionUpdate::new(reason, message);
            let update = of_failure(before, &ObjectRef::deployment("shop", "tax"), |_| sources.into());
            let (found, text) = (update.reason, update.message);
            assert_eq!(found, reason, "{case}");
            assert!(text.len() <= LONGEST_MESSAGE && !text.contains(".."), "{case}: {text}");
            assert_eq!(text.ends_with(COMMAND), suggests, "{case}: {text}");
            assert_eq!(text.contains(". TOKEN is key token of Secret tax. Change"), suggests, "{case}: {text}");
            assert_eq!(text == message, !suggests, "{case}");
        }
    }

    #[test]
    fn a_deletion_that_does_not_go_on_names_the_way_out_and_it_is_never_cut() {
        let long = "x".repeat(2 * LONGEST_MESSAGE);
        for (case, reason, message, waits) in [
            ("a revoked API client", Reason::CredentialsRejected, "the client id or secret was refused", true),
            ("no such project", Reason::ProjectNotFound, "The service does not answer for a project demo.", true),
            ("no project", Reason::ProjectNotReady, long.as_str(), true),
            ("an outage", Reason::ServiceUnavailable, "no response", true),
            ("a pause", Reason::Suspended, "A change is pending", true),
            ("it goes on", Reason::Undeploying, "Undeploying", false),
            ("the API server refuses", Reason::KubernetesError, "patch the finalizers", false),
        ] {
            let object_ref = ObjectRef::deployment("shop", "tax");
            let update = of_deletion(ConditionUpdate::new(reason, message), &object_ref);
            assert_eq!(update.reason, reason, "{case}");
            assert!(update.message.len() <= LONGEST_MESSAGE && !update.message.contains(".."), "{case}");
            let command = "deletionPolicy: Orphan: kubectl patch connectordeployment tax --namespace shop --type merge \
                           --patch '{\"spec\":{\"deletionPolicy\":\"Orphan\"}}'";
            assert_eq!(update.message.ends_with(command), waits, "{case}: {}", update.message);
            assert_eq!(update.message == message, !waits, "{case}");
        }
    }
}
