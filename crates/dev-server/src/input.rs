//! Strict validation of request bodies: members that the contract requires must exist and have the right type.
//!
//! One answer reports all mistakes, each as `InvalidJsonInput` with its place and never with a value. An optional
//! member that is null counts as absent (contract section 13, row 5); unknown members are ignored. Next:
//! `input/staged.rs` for staged connectors.

mod reader;
mod staged;

use serde_json::{Map, Value};

use self::reader::{Reader, present};
use super::names::is_key;
use super::refusal::{Refusal, cut};
use connect_api::ErrorCode;
use connect_api::model::{DeploymentDraft, DeploymentType, RedeployAction};

pub(super) use self::staged::{staged_draft, staged_update};

const MESSAGE: &str = "Request body does not have the expected form.";

/// An update of a deployment: the expected version, and the redeploy actions.
#[derive(Debug)]
pub(super) struct Update {
    pub(super) version: i64,
    pub(super) redeploys: Vec<RedeployAction>,
}

/// Parses a `DeploymentDraft` (contract section 4.4).
pub(super) fn draft(body: &[u8]) -> Result<DeploymentDraft, Refusal> {
    let value = json(body)?;
    let mut reader = Reader::default();
    if let Some(draft) = reader.object(&value, "body") {
        reader.draft(draft);
    }
    reader.finish()?;
    typed(without_nulls(value))
}

/// Parses a `DeploymentUpdate` (contract sections 4.4 and 6.1).
pub(super) fn update(body: &[u8]) -> Result<Update, Refusal> {
    let value = json(body)?;
    let mut reader = Reader::default();
    let mut version = 0;
    if let Some(update) = reader.object(&value, "body") {
        version = reader.integer(update, "version", "version").unwrap_or_default();
        for (index, action) in reader.required_list(update, "actions", "actions").iter().enumerate() {
            reader.action(action, &format!("actions[{index}]"));
        }
        if update.get("actions").and_then(Value::as_array).is_some_and(Vec::is_empty) {
            reader.wrong("actions", "must hold an action");
        }
    }
    reader.finish()?;
    let actions = without_nulls(value).get_mut("actions").map(Value::take);
    let actions = match actions {
        Some(Value::Array(actions)) => actions,
        _ => Vec::new(),
    };
    let redeploys = actions.into_iter().map(|action| typed(without_declarations(action))).collect::<Result<_, _>>()?;
    Ok(Update { version, redeploys })
}

fn json(body: &[u8]) -> Result<Value, Refusal> {
    // The message of a syntax error has the place and what was expected there, but no part of the body.
    serde_json::from_slice(body).map_err(|error| refused(&error.to_string()))
}

fn typed<T: serde::de::DeserializeOwned>(value: Value) -> Result<T, Refusal> {
    // `Reader` has checked the types of all members already. A message of serde could contain a value.
    serde_json::from_value(value).map_err(|_| refused("The body cannot be read."))
}

fn refused(details: &str) -> Refusal {
    Refusal::with_details(ErrorCode::InvalidJsonInput, MESSAGE, details)
}

/// Removes members that are null, which count as absent.
fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => {
            let kept = members.into_iter().filter(|(_, member)| !member.is_null());
            Value::Object(kept.map(|(name, member)| (name, without_nulls(member))).collect())
        }
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        other => other,
    }
}

/// Removes declarations without values from the global configuration of a redeploy: they have no effect (contract
/// section 13, row 1).
fn without_declarations(mut action: Value) -> Value {
    if let Some(global) = action.get_mut("globalConfiguration").and_then(Value::as_object_mut) {
        for list in global.values_mut().filter_map(Value::as_array_mut) {
            list.retain(|entry| entry.get("value").is_some());
        }
    }
    action
}

impl Reader {
    fn draft(&mut self, draft: &Map<String, Value>) {
        if let Some(key) = self.text(draft, "key", "key")
            && !is_key(key, 256)
        {
            self.wrong("key", "must be 2 to 256 characters of A-Z a-z 0-9 _ -");
        }
        if let Some(kind) = self.text(draft, "type", "type")
            && !DeploymentType::KNOWN.contains(&kind)
        {
            self.wrong("type", &format!("must be one of {}", DeploymentType::KNOWN.join(", ")));
        }
        if let Some(connector) = self.required(draft, "connector", "connector")
            && let Some(connector) = self.object(connector, "connector")
        {
            let id = self.text(connector, "id", "connector.id").is_some();
            let key = self.text(connector, "key", "connector.key").is_some();
            self.flag(connector, "staged", "connector.staged");
            if connector.get("version").is_some_and(|version| !version.is_null()) {
                self.integer(connector, "version", "connector.version");
            }
            if !id && !key {
                self.wrong("connector", "needs an id or a key");
            }
        }
        for (index, application) in self.required_list(draft, "configurations", "configurations").iter().enumerate() {
            self.application(application, &format!("configurations[{index}]"));
        }
        if let Some(global) = present(draft, "globalConfiguration") {
            self.global(global, "globalConfiguration", true);
        }
        if self.required(draft, "region", "region").is_some() {
            self.text(draft, "region", "region");
        }
    }

    fn action(&mut self, action: &Value, place: &str) {
        let Some(action) = self.object(action, place) else { return };
        let name_place = format!("{place}.action");
        if self.required(action, "action", &name_place).is_none() {
            return;
        }
        match self.text(action, "action", &name_place) {
            Some("redeploy") => {}
            Some(other) => {
                self.wrong(&name_place, &format!("`{}` is not an action of a deployment; use redeploy", cut(other)));
                return;
            }
            None => return,
        }
        self.flag(action, "skipScripts", &format!("{place}.skipScripts"));
        self.flag(action, "updateConnector", &format!("{place}.updateConnector"));
        if let Some(values) = present(action, "configurationValues") {
            let place = format!("{place}.configurationValues");
            for (index, application) in self.list(values, &place).iter().enumerate() {
                self.application(application, &format!("{place}[{index}]"));
            }
        }
        if let Some(global) = present(action, "globalConfiguration") {
            self.global(global, &format!("{place}.globalConfiguration"), false);
        }
    }

    fn application(&mut self, application: &Value, place: &str) {
        let Some(application) = self.object(application, place) else { return };
        if self.required(application, "applicationName", &format!("{place}.applicationName")).is_some() {
            self.text(application, "applicationName", &format!("{place}.applicationName"));
        }
        self.text(application, "schedule", &format!("{place}.schedule"));
        if let Some(policy) = present(application, "retryPolicy") {
            self.retry_policy(policy, &format!("{place}.retryPolicy"));
        }
        for name in ["standardConfiguration", "securedConfiguration"] {
            let place = format!("{place}.{name}");
            let values = self.required_list(application, name, &place);
            self.values(values, &place, true);
        }
    }

    /// Checks the types of a retry policy; `checks.rs` checks the values.
    fn retry_policy(&mut self, policy: &Value, place: &str) {
        let Some(policy) = self.object(policy, place) else { return };
        self.required_text(policy, "strategy", &format!("{place}.strategy"));
        for name in ["minBackoffSeconds", "maxBackoffSeconds", "maxAttempts"] {
            if present(policy, name).is_some() {
                self.integer(policy, name, &format!("{place}.{name}"));
            }
        }
    }

    fn global(&mut self, global: &Value, place: &str, values_required: bool) {
        let Some(global) = self.object(global, place) else { return };
        for name in ["standardConfiguration", "securedConfiguration"] {
            if let Some(values) = present(global, name) {
                let place = format!("{place}.{name}");
                let values = self.list(values, &place);
                self.values(values, &place, values_required);
            }
        }
    }

    fn values(&mut self, values: &[Value], place: &str, value_required: bool) {
        for (index, value) in values.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let Some(value) = self.object(value, &place) else { continue };
            for (name, required) in [("key", true), ("value", value_required)] {
                let place = format!("{place}.{name}");
                if !required || self.required(value, name, &place).is_some() {
                    self.text(value, name, &place);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::testing::rows;

    fn details(refusal: &Refusal) -> String {
        assert_eq!(refusal.status, 400);
        let texts: Vec<_> = refusal
            .errors
            .iter()
            .map(|error| {
                assert_eq!(error.code, ErrorCode::InvalidJsonInput);
                error.more["detailedErrorMessage"].as_str().expect("it is a string").to_owned()
            })
            .collect();
        texts.join("; ")
    }

    fn good() -> Value {
        json!({
            "key": "tax", "connector": {"key": "demo-connector", "staged": null}, "region": "europe-west1.gcp",
            "configurations": [{"applicationName": "service", "standardConfiguration": [],
                "securedConfiguration": [{"key": "API_TOKEN", "value": "canary-41"}]}],
            "unknownMember": 7,
        })
    }

    #[test]
    fn valid_drafts_are_accepted() {
        let body = serde_json::to_vec(&good()).expect("it is JSON");
        let draft = draft(&body).expect("it is valid");
        assert_eq!(draft.connector.staged, None);
        assert_eq!(draft.configurations[0].secured_configuration.len(), 1);
    }

    #[test]
    fn each_mistake_in_a_draft_is_reported_with_its_place() {
        for [case, place, member, value, expected] in rows(
            r#"
            short key | | key | "x" | key: must be 2 to 256 characters
            key is a number | | key | 7 | key: must be a string
            no connector | | connector | null | connector: is required
            empty reference | | connector | {} | connector: needs an id or a key
            version is a text | | connector | {"id": "a", "version": "1"} | connector.version: must be an integer
            no region | | region | null | region: is required
            unknown type | | type | "staging" | type: must be one of preview, sandbox, production
            no configurations | | configurations | null | configurations: is required
            no list | /configurations/0 | standardConfiguration | null | standardConfiguration: is required
            number | /configurations/0/securedConfiguration/0 | value | 41 | Configuration[0].value: must be a string
            no value | /configurations/0/securedConfiguration/0 | value | null | Configuration[0].value: is required
            "#,
        ) {
            let mut body = good();
            body.pointer_mut(&place).expect(&place)[&member] = serde_json::from_str(&value).expect(&value);
            let refusal = draft(&serde_json::to_vec(&body).expect("it is JSON")).expect_err(&case);
            let details = details(&refusal);
            assert!(details.contains(&expected) && !details.contains("canary-41"), "{case}: {details}");
        }
        let both = json!({"connector": {}, "configurations": [], "region": 7});
        assert_eq!(draft(&serde_json::to_vec(&both).expect("it is JSON")).expect_err("two mistakes").errors.len(), 2);
        assert!(details(&draft(b"[]").expect_err("a list")).contains("body: must be an object"));
        assert!(details(&draft(b"{\"key\": canary-41}").expect_err("no JSON")).contains("column"));
    }

    #[test]
    fn updates_accept_only_redeploy_and_ignore_global_declarations() {
        let read = |body: Value| update(&serde_json::to_vec(&body).expect("it is JSON"));
        let good = json!({"version": 3, "actions": [{"action": "redeploy", "globalConfiguration": {
            "standardConfiguration": [{"key": "A", "description": "d"}, {"key": "B", "value": "b"}]}}]});
        let update = read(good).expect("it is valid");
        assert_eq!(update.version, 3);
        let global = update.redeploys[0].global_configuration.as_ref().expect("it was sent");
        assert_eq!(global.standard_configuration.len(), 1);
        let misspelt =
            json!({"version": 3, "actions": [{"action": "redeploy", "configurations": [{"nothing": "of it"}]}]});
        let update = read(misspelt).expect("an unknown member is ignored (contract section 6.1)");
        assert!(update.redeploys[0].configuration_values.is_none());
        for [case, body, expected] in rows(
            r#"
            no version | {"actions": [{"action": "redeploy"}]} | version: is required
            no actions | {"version": 1} | actions: is required
            empty actions | {"version": 1, "actions": []} | actions: must hold an action
            undeclared action | {"version": 1, "actions": [{"action": "setConfigurations"}]} | `setConfigurations`
            no name | {"version": 1, "actions": [{}]} | actions[0].action: is required
            flag as text | {"version": 1, "actions": [{"action": "redeploy", "skipScripts": "yes"}]} | skipScripts: must
            "#,
        ) {
            let body = serde_json::from_str(&body).expect(&body);
            let details = details(&read(body).expect_err(&case));
            assert!(details.contains(&expected), "{case}: {details}");
        }
    }
}
