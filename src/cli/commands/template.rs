//! The manifests that `scaffold` prints: YAML with comments, which no serializer writes. Pure.
//!
//! Texts of the registry become comments of one line and quoted scalars, so that they cannot add anything to a manifest.

use connect_api::model::{ApplicationType, Connector, DeclaredApplication, DeclaredGlobal, SecuredKey, StandardKey};
use connect_api::scopes::MANAGE_API_CLIENTS;

use super::export::key_of_secret;
use crate::cli::text::{plain, quoted};
use crate::crd::{ProjectKind, ProjectRef};
use crate::names;

/// Mark of a value that the connector requires.
const REQUIRED: &str = "# required";

/// Returns the Secret with the credentials that a project names, for a user to fill in.
pub(super) fn credentials(name: &str) -> String {
    let mut text = Text::default();
    text.plain(0, "The API client of the project");
    text.secret_of(name, true);
    for key in [names::CLIENT_ID, names::CLIENT_SECRET] {
        text.entry(1, true, &format!("{key}: \"\""));
    }
    text.plain(1, &format!("{}: \"\"", names::SCOPES));
    text.line(0, "---");
    text.0
}

/// Returns a Secret for the secured values, if there are any, and a `ConnectorDeployment`.
pub(super) fn manifests(connector: &Connector, project: &ProjectRef, name: &str) -> String {
    let applications = connector.configurations.as_deref().unwrap_or_default();
    let none = DeclaredGlobal::default();
    let global = connector.global_configuration.as_ref().unwrap_or(&none);
    let mut text = Text::default();
    text.about(connector);
    text.secret(name, applications, global);
    text.line(0, &format!("apiVersion: {}/{}", names::GROUP, names::VERSION));
    text.line(0, "kind: ConnectorDeployment");
    text.line(0, &format!("metadata: {{name: {}}}", scalar(name)));
    text.line(0, "spec:");
    let kind = match project.kind {
        ProjectKind::ConnectProject => "",
        ProjectKind::ClusterConnectProject => "kind: ClusterConnectProject, ",
    };
    text.line(1, &format!("projectRef: {{{kind}name: {}}}", scalar(&project.name)));
    let (member, value) = connector.key.as_ref().map_or(("id", &connector.id), |key| ("key", key));
    text.line(1, &format!("connector: {{{member}: {}}}", scalar(value)));
    if connector.configurations.is_none() {
        text.plain(1, "The registry does not report the applications of this connector.");
    }
    text.line(1, if applications.is_empty() { "configurations: []" } else { "configurations:" });
    for application in applications {
        let kind = &application.application_type;
        let key = scalar(&application.application_name);
        text.line(1, &format!("- applicationName: {key} # type {}", plain(kind.as_str())));
        if *kind == ApplicationType::Job {
            text.line(2, "# schedule: \"0 3 * * *\" # default: that of the connector");
        }
        let prefix = format!("{}.", application.application_name);
        text.values(2, name, &prefix, &application.standard_configuration, &application.secured_configuration);
    }
    if !global.standard_configuration.is_empty() || !global.secured_configuration.is_empty() {
        let required = global.standard_configuration.iter().any(is_required);
        let required = required || global.secured_configuration.iter().any(|key| key.required);
        text.line(1, if required { "globalConfiguration:" } else { "# globalConfiguration:" });
        text.values(2, name, "", &global.standard_configuration, &global.secured_configuration);
    }
    text.0
}

fn is_required(key: &StandardKey) -> bool {
    key.required && key.default.is_none()
}

/// Returns the keys with the required ones first.
fn required_first<T>(keys: &[T], is_required: impl Fn(&T) -> bool) -> impl Iterator<Item = (&T, bool)> {
    let mut keys: Vec<(&T, bool)> = keys.iter().map(|key| (key, is_required(key))).collect();
    keys.sort_by_key(|(_, required)| !required);
    keys.into_iter()
}

/// Lines of YAML, indented by two blanks for each level.
#[derive(Default)]
struct Text(String);

impl Text {
    fn line(&mut self, level: usize, text: &str) {
        self.0.extend(std::iter::repeat_n("  ", level));
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// Adds a text of others as comments.
    fn plain(&mut self, level: usize, text: &str) {
        for line in text.lines().map(plain).filter(|line| !line.is_empty()) {
            self.line(level, &format!("# {line}"));
        }
    }

    fn about(&mut self, connector: &Connector) {
        let key = connector.key.as_deref().unwrap_or(&connector.id);
        self.plain(0, &format!("{} ({key}, version {})", connector.name, connector.version));
        self.plain(0, connector.description.as_deref().unwrap_or_default());
        if let Some(url) = &connector.documentation_url {
            self.plain(0, &format!("Documentation: {url}"));
        }
        if !connector.supported_regions.is_empty() {
            self.plain(0, &format!("Regions: {}", connector.supported_regions.join(", ")));
        }
        if connector.api_client.is_some() {
            let needs = format!("Deploying it generates an API client: the project's own needs {MANAGE_API_CLIENTS}.");
            self.plain(0, &needs);
        }
    }

    fn secret(&mut self, name: &str, applications: &[DeclaredApplication], global: &DeclaredGlobal) {
        let of_applications = applications.iter().flat_map(|application| {
            let name = application.application_name.as_str();
            application.secured_configuration.iter().map(move |key| (format!("{name}."), key))
        });
        let of_all = global.secured_configuration.iter().map(|key| (String::new(), key));
        let keys: Vec<(String, &SecuredKey)> = of_applications.chain(of_all).collect();
        if keys.is_empty() {
            return;
        }
        self.secret_of(name, keys.iter().any(|(_, key)| key.required));
        for ((prefix, key), required) in required_first(&keys, |(_, key)| key.required) {
            self.plain(1, &key.description);
            let entry = scalar(&key_of_secret(&format!("{prefix}{}", key.key)));
            self.entry(1, required, &format!("{entry}: \"\""));
        }
        self.line(0, "---");
    }

    /// Adds the lines of a Secret before its values. `some`: whether one of these is no comment.
    fn secret_of(&mut self, name: &str, some: bool) {
        for line in ["apiVersion: v1", "kind: Secret"] {
            self.line(0, line);
        }
        self.line(0, &format!("metadata: {{name: {}}}", scalar(name)));
        self.line(0, if some { "stringData:" } else { "# stringData:" });
    }

    /// Adds a line with the mark of a required value, or as a comment.
    fn entry(&mut self, level: usize, required: bool, text: &str) {
        let line = if required { format!("{text} {REQUIRED}") } else { format!("# {text}") };
        self.line(level, &line);
    }

    fn values(&mut self, level: usize, name: &str, prefix: &str, standard: &[StandardKey], secured: &[SecuredKey]) {
        self.header(level, "standardConfiguration:", standard, is_required);
        for (key, required) in required_first(standard, is_required) {
            self.plain(level, &key.description);
            let out = if required { "" } else { "# " };
            self.line(level, &format!("{out}- key: {}", scalar(&key.key)));
            let default = key.default.as_deref().unwrap_or_default();
            let mark = if required { format!(" {REQUIRED}") } else { String::new() };
            self.line(level, &format!("{out}  value: {}{mark}", quoted(default)));
        }
        self.header(level, "securedConfiguration:", secured, |key| key.required);
        for (key, required) in required_first(secured, |key| key.required) {
            let out = if required { "" } else { "# " };
            let entry = scalar(&key_of_secret(&format!("{prefix}{}", key.key)));
            self.line(level, &format!("{out}- key: {}", scalar(&key.key)));
            let reference = format!("{{name: {}, key: {entry}}}", scalar(name));
            self.line(level, &format!("{out}  valueFrom: {{secretKeyRef: {reference}}}"));
        }
    }

    /// Adds the name of a list; as a comment if every entry is one, because a name without entries is no list.
    fn header<T>(&mut self, level: usize, name: &str, keys: &[T], is_required: impl Fn(&T) -> bool) {
        if keys.iter().any(is_required) {
            self.line(level, name);
        } else if !keys.is_empty() {
            self.line(level, &format!("# {name}"));
        }
    }
}

/// Words that a YAML parser (1.1 or 1.2) does not read as a text.
const NO_TEXTS: [&str; 9] = ["y", "n", "yes", "no", "on", "off", "true", "false", "null"];

/// Returns a text as a scalar: quoted, unless every YAML parser reads it as a text.
fn scalar(text: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.' | '/');
    let is_text = text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(fits);
    let is_word = NO_TEXTS.iter().any(|word| text.eq_ignore_ascii_case(word));
    if is_text && !is_word { text.to_owned() } else { quoted(text) }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::crd::ConnectorDeployment;

    fn connector(change: &Value) -> Connector {
        let mut record = json!({"id": "9", "key": "tax", "version": 7, "name": "Tax"});
        for (name, value) in change.as_object().expect("members") {
            record[name] = value.clone();
        }
        serde_json::from_value(record).expect("a connector")
    }

    fn documents(text: &str) -> Vec<Value> {
        serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
    }

    fn named(name: &str) -> ProjectRef {
        ProjectRef { kind: ProjectKind::ConnectProject, name: name.to_owned() }
    }

    #[test]
    fn required_keys_come_first_and_the_others_are_comments() {
        let connector = connector(&json!({
            "description": "Calculates taxes.", "apiClient": {"scopes": ["manage_orders"]},
            "documentationUrl": "https://example.com/tax",
            "configurations": [
                {"applicationName": "service", "applicationType": "service",
                    "standardConfiguration": [
                        {"key": "LOG_LEVEL", "description": "How much is logged", "default": "info", "required": true},
                        {"key": "COMPANY", "description": "Company code", "required": true},
                    ],
                    "securedConfiguration": [{"key": "PIN", "description": "Old login"}, {"key": "API_TOKEN", "required": true}]},
                {"applicationName": "export", "applicationType": "job"},
            ],
            "globalConfiguration": {"standardConfiguration": [{"key": "SHOP", "description": "Name of the shop"}]},
        }));
        let text = manifests(&connector, &named("shop"), "tax");
        assert_eq!(
            text,
            r#"# Tax (tax, version 7)
# Calculates taxes.
# Documentation: https://example.com/tax
# Deploying it generates an API client: the project's own needs manage_api_clients.
apiVersion: v1
kind: Secret
metadata: {name: tax}
stringData:
  service.API_TOKEN: "" # required
  # Old login
  # service.PIN: ""
---
apiVersion: connect-operator.io/v1alpha1
kind: ConnectorDeployment
metadata: {name: tax}
spec:
  projectRef: {name: shop}
  connector: {key: tax}
  configurations:
  - applicationName: service # type service
    standardConfiguration:
    # Company code
    - key: COMPANY
      value: "" # required
    # How much is logged
    # - key: LOG_LEVEL
    #   value: "info"
    securedConfiguration:
    - key: API_TOKEN
      valueFrom: {secretKeyRef: {name: tax, key: service.API_TOKEN}}
    # - key: PIN
    #   valueFrom: {secretKeyRef: {name: tax, key: service.PIN}}
  - applicationName: export # type job
    # schedule: "0 3 * * *" # default: that of the connector
  # globalConfiguration:
    # standardConfiguration:
    # Name of the shop
    # - key: SHOP
    #   value: ""
"#
        );
        let documents = documents(&text);
        assert_eq!(documents[0]["stringData"], json!({"service.API_TOKEN": ""}));
        let deployment: ConnectorDeployment = serde_json::from_value(documents[1].clone()).expect("it is valid");
        assert_eq!(deployment.spec.configurations.len(), 2);
    }

    #[test]
    fn texts_of_the_registry_add_nothing_to_a_manifest() {
        let hostile = "a\u{2028}kind: Injected\u{2029}b\u{85}c\nkind: Injected\r\n---\nkind: Injected # \" \\ '";
        let connector = connector(&json!({
            "name": hostile, "key": hostile, "description": hostile, "documentationUrl": hostile, "supportedRegions": [hostile],
            "configurations": [{"applicationName": hostile, "applicationType": hostile,
                "standardConfiguration": [{"key": hostile, "description": hostile, "required": true}, {"key": "b", "default": hostile}],
                "securedConfiguration": [{"key": hostile, "description": hostile, "required": true}]}],
        }));
        let text = manifests(&connector, &named(hostile), hostile);
        assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{85}', '\r']), "{text}");
        assert!(text.lines().all(|line| !line.trim_start().starts_with("kind: Injected")), "{text}");
        let documents = documents(&text);
        assert_eq!(documents.len(), 2, "{text}");
        assert_eq!(documents[1]["metadata"]["name"], json!(hostile));
        let application = &documents[1]["spec"]["configurations"][0];
        assert_eq!(application["applicationName"], json!(hostile));
        assert_eq!(application["standardConfiguration"], json!([{"key": hostile, "value": ""}]));
    }

    #[test]
    fn a_scalar_is_read_as_the_text_that_it_is() {
        let words = "yes null ~ 1e3 0x10 1_000 .5 - true *a tax my-shop LOG_LEVEL service.TOKEN on Infinity .inf é \
                     a\\\"b 2001-01-01 e-1";
        for text in words.split(' ').chain(["", "a: b"]) {
            let read: Value = serde_saphyr::from_str(&format!("value: {}", scalar(text))).expect(text);
            assert_eq!(read["value"], json!(text), "{text}");
        }
    }

    #[test]
    fn a_connector_without_applications_has_no_secret() {
        for (change, expected) in [
            (json!({"key": null, "configurations": []}), "connector: {id: \"9\"}"),
            (json!({}), "  # The registry does not report the applications of this connector.\n  configurations: []"),
        ] {
            let text = manifests(&connector(&change), &named("shop"), "tax");
            assert!(text.contains(expected) && !text.contains("Secret"), "{text}");
            assert_eq!(documents(&text)[0]["spec"]["configurations"], json!([]));
        }
    }

    #[test]
    fn a_shared_project_is_named_with_its_kind() {
        let shared = ProjectRef { kind: ProjectKind::ClusterConnectProject, name: "shop".to_owned() };
        let text = manifests(&connector(&json!({})), &shared, "tax");
        assert!(text.contains("  projectRef: {kind: ClusterConnectProject, name: shop}\n"), "{text}");
    }
}
