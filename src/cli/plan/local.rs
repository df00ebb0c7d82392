//! `plan --local`: the projected cluster. It contains the manifests, and nothing else.
//!
//! Next: `schema` for the check in place of that of the API server.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;

use super::difference::Change;
use super::dry_run::{self, WouldBe};
use super::manifests::Document;
use super::schema;
use super::simulation::{Action, Projection, UNVERIFIED};
use crate::crd::ConnectProjectSpec;
use crate::operator::deployment::desired::{Desired, Unready};
use crate::operator::object_ref::ObjectRef;
use crate::operator::reporting::reason::Reason;
use crate::operator::values::names::Kind;

/// Key of the project for which the environment has credentials, and these.
const PROJECT_KEY: &str = "CTP_PROJECT_KEY";
const CLIENT_ID: &str = "CTP_CLIENT_ID";
const CLIENT_SECRET: &str = "CTP_CLIENT_SECRET";

/// What the whole plan notes.
pub(super) const NOTE: &str = "a local plan does not read the cluster. It assumes that an existing deployment with the same \
    key belongs to the resource. It does not check rules between fields, or keys of other resources";

/// Checks a manifest against the schema of its kind; returns what it becomes, or what is wrong.
pub(super) fn check(document: &Document, namespace: &str) -> Result<WouldBe, String> {
    let body = document.body_in(namespace);
    let problems = schema::problems(&document.kind, &body);
    if !problems.is_empty() {
        return Err(problems.join("; "));
    }
    Ok(WouldBe { before: None, after: dry_run::apply_locally(None, &body), unchecked: None })
}

/// Returns the credentials of the environment as the Secret that a project names, if they are those of this project.
/// `variable`: returns the value of a variable.
pub(super) fn credentials(project: &ConnectProjectSpec, variable: impl Fn(&str) -> Option<String>) -> Option<Secret> {
    let value = |name: &str| variable(name).filter(|value| !value.is_empty());
    if value(PROJECT_KEY).as_ref() != Some(&project.project_key) {
        return None;
    }
    let keys = &project.credentials_secret_ref;
    let data = BTreeMap::from([
        (keys.client_id_key().to_owned(), ByteString(value(CLIENT_ID)?.into_bytes())),
        (keys.client_secret_key().to_owned(), ByteString(value(CLIENT_SECRET)?.into_bytes())),
    ]);
    Some(Secret { data: Some(data), ..Secret::default() })
}

/// Returns why a project is not asked.
pub(super) fn no_credentials(project: &str, spec: &ConnectProjectSpec) -> String {
    format!(
        "neither the files nor the environment ({PROJECT_KEY}={}, {CLIENT_ID}, {CLIENT_SECRET}) have credentials of {project}",
        spec.project_key
    )
}

/// Returns why nothing is known of a project that is not among the files.
pub(super) fn absent(project: &ObjectRef) -> String {
    format!("{} {} is not among the files, so what would happen is not known", project.kind.as_str(), project.name)
}

/// Returns the names of the values where only their Secrets and ConfigMaps are absent, with a note about these, if the plan
/// is local; they may exist in the cluster.
pub(super) fn without_absent(
    values: Result<Desired, Unready>,
    is_local: bool,
) -> (Result<Desired, Unready>, Option<String>) {
    match values {
        Err(unready)
            if is_local && matches!(unready.condition.reason, Reason::SecretMissing | Reason::ConfigMapMissing) =>
        {
            let note = format!("not every value is known: {}", unready.among_files);
            (Ok(*unready.names), Some(note))
        }
        values => (values, None),
    }
}

/// Turns the adoption of a deployment into its redeploy, because the resource of the cluster owns it. `unknown`: whether
/// values are not among the files. `secured`: whether there are secured values.
pub(super) fn owned(outcome: &mut Projection, unknown: bool, secured: bool) {
    outcome.notes.retain(|note| note != UNVERIFIED);
    if !matches!(outcome.action, Action::Adopt | Action::AdoptAndRedeploy) {
        return;
    }
    for difference in &mut outcome.differences {
        // A value that is not among the files is empty.
        let empty = difference.kind == Kind::Standard.as_str() && difference.after.as_deref() == Some("");
        if unknown && empty {
            (difference.change, difference.after) = (Change::Unknown, None);
        }
    }
    let differs = outcome.connector.is_some() || outcome.differences.iter().any(|it| it.change != Change::Unknown);
    outcome.action = match outcome.action {
        Action::AdoptAndRedeploy if differs => Action::Redeploy,
        Action::Adopt if !secured => Action::None,
        _ => Action::Unknown,
    };
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn credentials_of_the_environment_are_used_for_their_project_only() {
        let project: ConnectProjectSpec = serde_json::from_value(json!({
            "projectKey": "demo", "region": "us-east-2.aws", "credentialsSecretRef": {"name": "login", "clientIdKey": "id"},
        }))
        .expect("a project");
        let all = json!({"CTP_PROJECT_KEY": "demo", "CTP_CLIENT_ID": "a", "CTP_CLIENT_SECRET": "b"});
        for (case, change, expected) in [
            ("all", json!({}), Some(2)),
            ("another project", json!({"CTP_PROJECT_KEY": "other"}), None),
            ("no project", json!({"CTP_PROJECT_KEY": null}), None),
            ("an empty secret", json!({"CTP_CLIENT_SECRET": ""}), None),
        ] {
            let mut variables = all.clone();
            for (name, value) in change.as_object().into_iter().flatten() {
                variables[name] = value.clone();
            }
            let found = credentials(&project, |name| variables[name].as_str().map(ToOwned::to_owned));
            let data = found.and_then(|secret| secret.data);
            assert_eq!(data.as_ref().map(BTreeMap::len), expected, "{case}");
            let id = data.as_ref().and_then(|data| data.get("id"));
            assert_eq!(id.map(|id| id.0.as_slice()), expected.map(|_| &b"a"[..]), "{case}");
        }
    }
}
