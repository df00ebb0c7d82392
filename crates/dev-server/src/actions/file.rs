//! Actions that people define: `--actions FILE`.

use std::collections::BTreeMap;

use axum::response::Response;
use http::{HeaderName, HeaderValue, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::request::{Asked, wrong_method};
use super::{Unanswered, json_answer, template, text_answer};

/// Headers of an answer, by name.
pub type ActionHeaders = BTreeMap<String, String>;

/// A file of actions.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ActionFile {
    /// The actions. One that is called like a built-in one replaces it.
    pub actions: Vec<ActionDefinition>,
}

/// What one action answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ActionDefinition {
    /// Its namespace, as in the path.
    pub namespace: String,
    /// Its name, as in the path.
    pub name: String,
    /// Methods that it has, of GET, POST and PUT; left out: all three.
    #[serde(default)]
    pub methods: Vec<String>,
    /// HTTP status, 200 to 599.
    #[serde(default = "ok")]
    pub status: u16,
    /// Headers beside those that every answer has.
    #[serde(default)]
    pub headers: ActionHeaders,
    /// JSON in whose texts `{{body.x}}`, `{{query.x}}`, `{{locale}}`, `{{method}}`, `{{namespace}}` and `{{action}}`
    /// stand for what was sent.
    #[serde(default)]
    pub body: Value,
    /// Sent as it is instead of `body`, as plain text unless a `Content-Type` is given.
    #[serde(default)]
    pub text: Option<String>,
}

fn ok() -> u16 {
    StatusCode::OK.as_u16()
}

impl ActionFile {
    /// Reads YAML or JSON.
    ///
    /// # Errors
    /// When it is neither, or an action cannot work, with a text that says what to change.
    pub fn parse(text: &str) -> Result<Self, String> {
        let file: Self = serde_saphyr::from_str(text).map_err(|error| {
            let text = error.to_string();
            text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
        })?;
        for (index, action) in file.actions.iter().enumerate() {
            let name = format!("{}/{}", action.namespace, action.name);
            action.check().map_err(|what| format!("action `{name}`: {what}"))?;
            if file.actions[..index].iter().any(|other| other.is(&action.namespace, &action.name)) {
                return Err(format!("action `{name}` is there twice"));
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
            return Err("namespace and name must be parts of a path, and not empty".to_owned());
        }
        if let Some(method) = self.methods.iter().find(|method| !["GET", "POST", "PUT"].contains(&method.as_str())) {
            return Err(format!("`{method}` must be one of GET, POST, PUT"));
        }
        if !(200..=599).contains(&self.status) {
            return Err("status must be a number from 200 to 599".to_owned());
        }
        for (name, value) in &self.headers {
            if HeaderName::try_from(name).is_err() || HeaderValue::try_from(value).is_err() {
                return Err(format!("`{name}` or its value cannot be a header"));
            }
        }
        if self.text.is_some() && !self.body.is_null() {
            return Err("write body or text, not both".to_owned());
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
    fn a_wrong_file_is_refused_with_what_to_change() {
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
