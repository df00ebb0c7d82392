//! User-defined actions: `--actions FILE`.

use std::collections::BTreeMap;

use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::{Asked, wrong_method};
use super::{Unanswered, json_answer, template, text_answer};
use crate::yaml;

/// Headers of an answer, by name.
pub type ActionHeaders = BTreeMap<String, String>;

/// A file of actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionFile {
    /// The actions. An action with the name of a built-in one replaces it.
    pub actions: Vec<ActionDefinition>,
}

/// One action and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionDefinition {
    /// Namespace, as in the path.
    pub namespace: String,
    /// Name, as in the path.
    pub name: String,
    /// Allowed methods, of GET, POST and PUT; empty: all three.
    #[serde(default)]
    pub methods: Vec<String>,
    /// HTTP status of the answer, 200 to 599; default 200.
    #[serde(default = "ok")]
    pub status: u16,
    /// Headers in addition to those of every answer.
    #[serde(default)]
    pub headers: ActionHeaders,
    /// JSON body. In its strings, `{{body.x}}`, `{{query.x}}`, `{{locale}}`, `{{method}}`, `{{namespace}}` and
    /// `{{action}}` are replaced by what was sent.
    #[serde(default)]
    pub body: Value,
    /// Text that is sent unchanged instead of `body`, as plain text unless `headers` has a `Content-Type`.
    #[serde(default)]
    pub text: Option<String>,
}

fn ok() -> u16 {
    StatusCode::OK.as_u16()
}

impl ActionFile {
    /// Parses a file in YAML or JSON.
    ///
    /// # Errors
    /// If the text is neither, or an action is not valid; the error says what to change.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = yaml::parse(text)?;
        for (index, action) in file.actions.iter().enumerate() {
            let name = format!("{}/{}", action.namespace, action.name);
            action.check().map_err(|what| format!("action `{name}`: {what}"))?;
            if file.actions[..index].iter().any(|other| other.is(&action.namespace, &action.name)) {
                return Err(format!("action `{name}` is defined twice"));
            }
        }
        Ok(file)
    }

    pub(super) fn find(&self, namespace: &str, name: &str) -> Option<&ActionDefinition> {
        self.actions.iter().find(|action| action.is(namespace, name))
    }
}

impl ActionDefinition {
    fn is(&self, namespace: &str, name: &str) -> bool {
        self.namespace == namespace && self.name == name
    }

    fn check(&self) -> Result<(), String> {
        if [&self.namespace, &self.name].iter().any(|text| matches!(text.as_str(), "" | "." | "..")) {
            return Err("namespace and name must be segments of a path, and not empty".to_owned());
        }
        if let Some(method) = self.methods.iter().find(|method| !["GET", "POST", "PUT"].contains(&method.as_str())) {
            return Err(format!("`{method}` must be one of GET, POST, PUT"));
        }
        if !(200..=599).contains(&self.status) {
            return Err("status must be a number from 200 to 599".to_owned());
        }
        for (name, value) in &self.headers {
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return Err(format!("`{name}` or its value is not a valid header"));
            }
        }
        if self.text.is_some() && !self.body.is_null() {
            return Err("set body or text, not both".to_owned());
        }
        template::check(&self.body)
    }

    pub(super) fn answer(&self, asked: &Asked) -> Result<Response, Unanswered> {
        if !self.methods.is_empty() && !self.methods.iter().any(|method| method == asked.method) {
            return Err(wrong_method(self.methods.join(", ")));
        }
        let status = StatusCode::from_u16(self.status).unwrap_or_default();
        let mut response = match &self.text {
            Some(text) => text_answer(status, text.clone()),
            None => json_answer(status, &template::filled(&self.body, &template::values(asked))),
        };
        for (name, value) in &self.headers {
            if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value)) {
                response.headers_mut().insert(name, value);
            }
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_invalid_file_is_rejected_with_what_to_change() {
        for (case, text, expected) in [
            ("not YAML", "actions: [", "line"),
            ("unknown member", "actions: [{namespace: a, name: b, color: red}]", "color"),
            ("no name", "actions: [{namespace: a}]", "name"),
            ("an empty name", "actions: [{namespace: a, name: ''}]", "action `a/`"),
            ("a step in the path", "actions: [{namespace: .., name: b}]", "action `../b`"),
            ("wrong method", "actions: [{namespace: a, name: b, methods: [DELETE]}]", "`DELETE`"),
            ("wrong status", "actions: [{namespace: a, name: b, status: 99}]", "200 to 599"),
            ("wrong header", "actions: [{namespace: a, name: b, headers: {'a b': c}}]", "`a b`"),
            ("both", "actions: [{namespace: a, name: b, body: 1, text: x}]", "not both"),
            ("placeholder", "actions: [{namespace: a, name: b, body: ['{{header.x}}']}]", "{{header.x}}"),
            ("twice", "actions: [{namespace: a, name: b}, {namespace: a, name: b, status: 201}]", "twice"),
        ] {
            let error = ActionFile::parse(text).expect_err(case);
            assert!(error.contains(expected), "{case}: {error}");
        }
    }
}
