//! Commands that messages suggest to users. Pure.

use super::conditions::{ConditionUpdate, LONGEST_MESSAGE, cut};
use super::object_ref::ObjectRef;
use crate::names;

/// Returns the command that requests a redeploy of the resource.
#[must_use]
pub fn redeploy(object_ref: &ObjectRef) -> String {
    let ObjectRef { kind, namespace, name } = object_ref;
    format!(
        "kubectl annotate {} {name} --namespace {namespace} {}=\"$(date +%s)\" --overwrite",
        kind.as_str().to_lowercase(),
        names::REDEPLOY_REQUESTED_AT
    )
}

/// Appends the command that requests a redeploy to the message of a failed deployment. The rest of the message is cut
/// so that the command fits.
#[must_use]
pub fn of_failure(condition: ConditionUpdate, object_ref: &ObjectRef) -> ConditionUpdate {
    if !condition.reason.is_failed() {
        return condition;
    }
    let remedy = format!(". To deploy the same values again: {}", redeploy(object_ref));
    let finding = condition.message.trim_end_matches('.');
    let finding = cut(finding, LONGEST_MESSAGE.saturating_sub(remedy.len()));
    ConditionUpdate::new(condition.reason, format!("{finding}{remedy}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::controllers::reason::Reason;

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
            let update = of_failure(ConditionUpdate::new(reason, message), &ObjectRef::deployment("shop", "tax"));
            assert_eq!(update.reason, reason, "{case}");
            assert!(update.message.len() <= LONGEST_MESSAGE, "{case}");
            assert_eq!(update.message.ends_with(COMMAND), suggests, "{case}: {}", update.message);
            assert!(!update.message.contains(".."), "{case}: {}", update.message);
            assert_eq!(update.message == message, !suggests, "{case}");
        }
    }
}
