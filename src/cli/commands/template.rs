//! The manifests that `scaffold` prints: YAML with comments, which no serializer writes. Pure.
//!
//! Texts of the registry become comments of one line and quoted scalars, so that they cannot add anything to a manifest.

use connect_api::model::{ApplicationType, Connector, DeclaredApplication, DeclaredGlobal, SecuredKey, StandardKey};
use connect_api::scopes::MANAGE_API_CLIENTS;
use kube::Resource as _;

use crate::cli::text::{plain, quoted};
use crate::crd::{ConnectorDeployment, ProjectKind, ProjectRef};
use crate::names;

/// Mark of a value that the connector requires.
const REQUIRED: &str = "# required";

/// Returns the Secret with the credentials that a project names, for a user to fill in.
pub(super) fn credentials(name: &str) -> String {
    let mut text = Text::default();
    text.plain(0, "The API client of the project");
    text.head("Secret", "stringData:", name, true);
    for key in [names::CLIENT_ID, names::CLIENT_SECRET] {
        text.entry(1, true, &format!("{key}: \"\""));
    }
    text.line(0, "---");
    text.0
}

/// Returns a Secret for the secured values and a `ConfigMap` for the plain ones, if there are any, and a
/// `ConnectorDeployment`.
pub(super) fn manifests(connector: &Connector, project: &ProjectRef, name: &str) -> String {
    let applications = connector.configurations.as_deref().unwrap_or_default();
    let mut text = Text::default();
    text.about(connector);
    let (secured, plain) = entries(applications, connector.global_configuration.as_ref());
    text.object("Secret", "stringData:", name, &secured);
    text.object("ConfigMap", "data:", name, &plain);
    text.line(0, &format!("apiVersion: {}", ConnectorDeployment::api_version(&())));
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
    if !secured.is_empty() || !plain.is_empty() {
        text.line(1, "configurationFrom:");
    }
    for (reference, entries) in [("secretRef", &secured), ("configMapRef", &plain)] {
        if !entries.is_empty() {
            text.line(1, &format!("- {reference}: {{name: {}}}", scalar(name)));
        }
    }
    let jobs: Vec<_> = applications.iter().filter(|it| it.application_type == ApplicationType::Job).collect();
    if !jobs.is_empty() {
        text.line(1, "# configurations:");
    }
    for job in jobs {
        text.line(1, &format!("# - applicationName: {}", scalar(&job.application_name)));
        text.line(1, "#   schedule: \"0 3 * * *\" # default: that of the connector");
    }
    text.0
}

/// A key that applications declare.
struct Entry<'a> {
    key: &'a str,
    description: &'a str,
    default: &'a str,
    required: bool,
}

/// Returns the secured and the plain keys, each once, with the required ones first.
fn entries<'a>(
    applications: &'a [DeclaredApplication],
    global: Option<&'a DeclaredGlobal>,
) -> (Vec<Entry<'a>>, Vec<Entry<'a>>) {
    let lists = applications.iter().map(|it| (&it.secured_configuration, &it.standard_configuration));
    let lists: Vec<_> = lists.chain(global.map(|it| (&it.secured_configuration, &it.standard_configuration))).collect();
    let secured = lists
        .iter()
        .flat_map(|(secured, _)| *secured)
        .map(|SecuredKey { key, description, required }| Entry { key, description, default: "", required: *required });
    let plain = lists.iter().flat_map(|(_, plain)| *plain).map(|key| Entry {
        key: &key.key,
        description: &key.description,
        default: key.default.as_deref().unwrap_or_default(),
        required: is_required(key),
    });
    (once(secured), once(plain))
}

fn once<'a>(entries: impl Iterator<Item = Entry<'a>>) -> Vec<Entry<'a>> {
    let mut found: Vec<Entry<'a>> = Vec::new();
    for entry in entries {
        match found.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => known.required |= entry.required,
            None => found.push(entry),
        }
    }
    found.sort_by_key(|entry| !entry.required);
    found
}

fn is_required(key: &StandardKey) -> bool {
    key.required && key.default.is_none()
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

    /// Adds an object with the keys, if there are any.
    fn object(&mut self, kind: &str, field: &str, name: &str, entries: &[Entry<'_>]) {
        if entries.is_empty() {
            return;
        }
        let fits = |entry: &Entry<'_>| !entry.key.is_empty() && entry.key.chars().all(is_of_data);
        self.head(kind, field, name, entries.iter().any(|entry| entry.required && fits(entry)));
        for entry in entries {
            self.plain(1, entry.description);
            if !fits(entry) {
                let what =
                    format!("{} cannot be a key of a {kind}: give it in configurations of the deployment", entry.key);
                self.plain(1, &what);
                continue;
            }
            self.entry(1, entry.required, &format!("{}: {}", scalar(entry.key), quoted(entry.default)));
        }
        self.line(0, "---");
    }

    /// Adds the lines of an object before its values. `some`: whether one of these is no comment.
    fn head(&mut self, kind: &str, field: &str, name: &str, some: bool) {
        self.line(0, "apiVersion: v1");
        self.line(0, &format!("kind: {kind}"));
        self.line(0, &format!("metadata: {{name: {}}}", scalar(name)));
        self.line(0, &if some { field.to_owned() } else { format!("# {field}") });
    }

    /// Adds a line with the mark of a required value, or as a comment.
    fn entry(&mut self, level: usize, required: bool, text: &str) {
        let line = if required { format!("{text} {REQUIRED}") } else { format!("# {text}") };
        self.line(level, &line);
    }
}

/// Whether a Secret and a `ConfigMap` may have this character in a key.
pub(super) fn is_of_data(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || "-_.".contains(letter)
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
  API_TOKEN: "" # required
  # Old login
  # PIN: ""
---
apiVersion: v1
kind: ConfigMap
metadata: {name: tax}
data:
  # Company code
  COMPANY: "" # required
  # How much is logged
  # LOG_LEVEL: "info"
  # Name of the shop
  # SHOP: ""
---
apiVersion: connect-operator.io/v1alpha1
kind: ConnectorDeployment
metadata: {name: tax}
spec:
  projectRef: {name: shop}
  connector: {key: tax}
  configurationFrom:
  - secretRef: {name: tax}
  - configMapRef: {name: tax}
  # configurations:
  # - applicationName: export
  #   schedule: "0 3 * * *" # default: that of the connector
"#
        );
        let documents = documents(&text);
        assert_eq!(documents[0]["stringData"], json!({"API_TOKEN": ""}));
        let deployment: ConnectorDeployment = serde_json::from_value(documents[2].clone()).expect("it is valid");
        assert_eq!(deployment.spec.configuration_from.len(), 2);
    }

    #[test]
    fn texts_of_the_registry_add_nothing_to_a_manifest() {
        let hostile = "a\u{2028}kind: Injected\u{2029}b\u{85}c\nkind: Injected\r\n---\nkind: Injected # \" \\ '";
        let connector = connector(&json!({
            "name": hostile, "key": hostile, "description": hostile, "documentationUrl": hostile, "supportedRegions": [hostile],
            "configurations": [{"applicationName": hostile, "applicationType": "job",
                "standardConfiguration": [{"key": hostile, "description": hostile, "required": true}, {"key": "b", "default": hostile}],
                "securedConfiguration": [{"key": hostile, "description": hostile, "required": true}]}],
        }));
        let text = manifests(&connector, &named(hostile), hostile);
        assert!(!text.contains(['\u{2028}', '\u{2029}', '\u{85}', '\r']), "{text}");
        assert!(text.lines().all(|line| !line.trim_start().starts_with("kind: Injected")), "{text}");
        let documents = documents(&text);
        assert_eq!(documents.len(), 3, "{text}");
        assert_eq!(documents[2]["metadata"]["name"], json!(hostile));
        assert_eq!(documents[2]["spec"]["configurationFrom"][0]["secretRef"]["name"], json!(hostile));
        assert!(text.contains("cannot be a key of a Secret"), "{text}");
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
            (json!({}), "  # The registry does not report the applications of this connector.\n"),
        ] {
            let text = manifests(&connector(&change), &named("shop"), "tax");
            assert!(text.contains(expected) && !text.contains("Secret"), "{text}");
            assert_eq!(documents(&text).len(), 1, "{text}");
        }
    }

    #[test]
    fn a_shared_project_is_named_with_its_kind() {
        let shared = ProjectRef { kind: ProjectKind::ClusterConnectProject, name: "shop".to_owned() };
        let text = manifests(&connector(&json!({})), &shared, "tax");
        assert!(text.contains("  projectRef: {kind: ClusterConnectProject, name: shop}\n"), "{text}");
    }
}
