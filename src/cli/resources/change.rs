//! What `reconcile`, `redeploy`, `rerun`, `suspend` and `resume` change of a resource, and what they print. Pure.

use serde_json::{Value, json};

use crate::crd::ManagementPolicy;
use crate::names;

use super::kind::{Resource, ResourceType};

/// A change that a user requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// Read the remote now.
    Reconcile,
    /// Send the current values once more.
    Redeploy,
    /// Call the action once more.
    Rerun,
    /// Set `spec.suspend`.
    Suspend,
    /// Remove `spec.suspend`.
    Resume,
}

impl Change {
    /// Returns what the change works on; a bare name is one of the first.
    pub(super) fn types(self) -> &'static [ResourceType] {
        use ResourceType::{Check, ClusterProject, Deployment, Project, Staged};
        match self {
            Self::Reconcile => &[Deployment, Staged, Project, ClusterProject],
            Self::Redeploy => &[Deployment, Staged],
            Self::Rerun => &[Check],
            Self::Suspend | Self::Resume => &[Deployment, Staged, Check],
        }
    }

    /// Returns the help of the argument for the resources.
    pub(super) fn help(self) -> String {
        let kind = self.types()[0].kind();
        let types: Vec<&str> = self.types().iter().map(|it| it.alias()).collect();
        match types.as_slice() {
            [only] => format!("{kind}s as NAME or {only}/NAME. With --selector or --all: nothing, or the type"),
            types => format!(
                "Resources as TYPE/NAME or TYPE NAME...; a NAME alone is a {kind}. With --selector or --all: types. Types \
                 of this command: {}",
                types.join(", ")
            ),
        }
    }

    /// Returns the annotation that requests the change of a resource, if it is one that the operator handles once.
    pub(super) fn annotation(self, of: ResourceType) -> Option<&'static str> {
        match self {
            Self::Reconcile => Some(names::RECONCILE_REQUESTED_AT),
            Self::Redeploy if of == ResourceType::Staged => Some(names::RETRY_REQUESTED_AT),
            Self::Redeploy => Some(names::REDEPLOY_REQUESTED_AT),
            Self::Rerun => Some(names::RERUN_REQUESTED_AT),
            Self::Suspend | Self::Resume => None,
        }
    }

    /// Returns the merge patch; `None`: there is nothing to change. `request`: a value that no request had before.
    /// `followed`: whether the end of the request is awaited, for which the remote is read as well. The patch applies
    /// only to the version of the object that was read.
    pub(super) fn patch(self, resource: &Resource, request: &str, followed: bool) -> Option<Value> {
        let (uid, version) = (&resource.meta().uid, &resource.meta().resource_version);
        let mut patch = json!({"metadata": {"uid": uid, "resourceVersion": version}});
        match self {
            Self::Suspend if resource.suspend() => return None,
            Self::Resume if !resource.suspend() => return None,
            Self::Suspend => patch["spec"] = json!({"suspend": true}),
            Self::Resume => patch["spec"] = json!({"suspend": null}),
            Self::Reconcile | Self::Redeploy | Self::Rerun => {
                let mut annotations = json!({});
                // A redeploy that the operator cannot send is not handled, so only a handled read proves that the
                // conditions are newer than the request.
                let read = followed && self == Self::Redeploy;
                for name in self
                    .annotation(resource.resource_type())
                    .into_iter()
                    .chain(read.then_some(names::RECONCILE_REQUESTED_AT))
                {
                    annotations[name] = json!(request);
                }
                patch["metadata"]["annotations"] = annotations;
            }
        }
        Some(patch)
    }

    /// Returns the line that reports the change.
    pub(super) fn reply(self, resource_type: ResourceType, name: &str, changed: bool) -> String {
        let done = match self {
            Self::Reconcile => "reconcile requested",
            Self::Redeploy => "redeploy requested",
            Self::Rerun => "rerun requested",
            Self::Suspend => "suspended",
            Self::Resume => "resumed",
        };
        let unchanged = if changed { "" } else { " (no change)" };
        format!("{} {done}{unchanged}\n", resource_type.full_name(name))
    }

    /// Returns why the change has no effect yet, if that is so.
    pub(super) fn caveat(self, resource: &Resource, program: &str) -> Option<String> {
        let own = format!("{}/{}", resource.resource_type().alias(), resource.name());
        if resource.meta().deletion_timestamp.is_some() {
            return Some(format!("{own} is being deleted"));
        }
        let sends = matches!(self, Self::Redeploy | Self::Rerun);
        if sends && resource.suspend() {
            let resume = format!("{program} resume {}", resource.argument());
            return Some(format!("{own} is suspended, so nothing is sent until it is resumed: {resume}"));
        }
        match resource {
            Resource::Deployment(object) if sends && object.spec.management_policy == ManagementPolicy::ObserveOnly => {
                Some(format!("{own} is only observed (managementPolicy: ObserveOnly), so nothing is sent"))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::resources::testing::{check, deployment, staged};

    #[test]
    fn a_change_is_a_conditional_patch_of_what_the_operator_reads() {
        let (suspended, deployment) = (deployment(&json!({"spec": {"suspend": true}})), deployment(&json!({})));
        let annotated = |names: &[&str]| {
            let annotations: serde_json::Map<String, Value> =
                names.iter().map(|name| ((*name).to_owned(), json!("now"))).collect();
            Some(json!({"metadata": {"uid": "u-1", "resourceVersion": "7", "annotations": annotations}}))
        };
        let suspend = |suspend: Value| {
            Some(json!({"metadata": {"uid": "u-1", "resourceVersion": "7"}, "spec": {"suspend": suspend}}))
        };
        for (case, change, resource, followed, expected) in [
            ("reconcile", Change::Reconcile, &deployment, false, annotated(&[names::RECONCILE_REQUESTED_AT])),
            ("redeploy", Change::Redeploy, &deployment, false, annotated(&[names::REDEPLOY_REQUESTED_AT])),
            (
                "redeploy, and wait",
                Change::Redeploy,
                &deployment,
                true,
                annotated(&[names::REDEPLOY_REQUESTED_AT, names::RECONCILE_REQUESTED_AT]),
            ),
            (
                "a redeploy of a staged connector",
                Change::Redeploy,
                &staged(&json!({})),
                false,
                annotated(&[names::RETRY_REQUESTED_AT]),
            ),
            ("rerun", Change::Rerun, &check(&json!({})), true, annotated(&[names::RERUN_REQUESTED_AT])),
            ("suspend", Change::Suspend, &deployment, false, suspend(json!(true))),
            ("suspend again", Change::Suspend, &suspended, false, None),
            ("resume", Change::Resume, &suspended, false, suspend(Value::Null)),
            ("resume again", Change::Resume, &deployment, false, None),
        ] {
            assert_eq!(change.patch(resource, "now", followed), expected, "{case}");
        }
    }

    #[test]
    fn the_help_names_the_types_that_a_change_works_on_and_no_other() {
        use Change::{Reconcile, Redeploy, Rerun, Resume, Suspend};
        for change in [Reconcile, Redeploy, Rerun, Suspend, Resume] {
            let help = change.help();
            let words: Vec<&str> = help.split([' ', ',', '/']).collect();
            for resource_type in ResourceType::ALL {
                let named = words.contains(&resource_type.alias());
                assert_eq!(named, change.types().contains(&resource_type), "{change:?}: {help}");
            }
        }
    }

    #[test]
    fn a_change_without_effect_is_explained() {
        let held = json!({"spec": {"suspend": true}});
        let observed = json!({"spec": {"managementPolicy": "ObserveOnly"}});
        let deleted = json!({"metadata": {"deletionTimestamp": "2026-11-23T00:00:00Z"}});
        for (case, change, resource, expected) in [
            ("nothing holds it", Change::Redeploy, deployment(&json!({})), ""),
            ("suspended", Change::Redeploy, staged(&held), "p resume staged/kit --namespace shop"),
            ("a read of a suspended one", Change::Reconcile, deployment(&held), ""),
            ("a check", Change::Rerun, check(&held), "p resume check/cart --namespace shop"),
            (
                "observed",
                Change::Redeploy,
                deployment(&observed),
                "deployment/tax is only observed (managementPolicy: Ob",
            ),
            ("deleted", Change::Reconcile, staged(&deleted), "staged/kit is being deleted"),
        ] {
            let caveat = change.caveat(&resource, "p").unwrap_or_default();
            assert_eq!(caveat.is_empty(), expected.is_empty(), "{case}: {caveat}");
            assert!(caveat.contains(expected), "{case}: {caveat}");
        }
    }
}
