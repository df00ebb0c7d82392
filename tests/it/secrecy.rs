//! Types with secrets do not show them, and no field of a resource leads out of its namespace.

use connect_api::http::{self, Credentials};
use connect_api::mask::Masker;
use connect_api::model::SecuredValue;
use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::context::content_cache::Content;
use connect_operator::operator::reconcile::panics;
use connect_operator::operator::remote::Settings;
use connect_operator::operator::values::Values;
use connect_operator::operator::values::digest::{DigestKey, KEY_LENGTH};
use connect_operator::operator::values::names::{GLOBAL, Item};
use connect_operator::telemetry::{self, LogFormat};
use secrecy::SecretString;

use crate::prelude::*;

const SECRET: &str = "canary-value";
/// The same as a list of bytes, as `Debug` formats it.
const BYTES: &str = "99, 97, 110, 97, 114, 121";

fn secret() -> SecretString {
    SECRET.into()
}

#[test]
fn debug_of_types_with_secrets_shows_none() {
    let credentials = Credentials { client_id: "id".into(), client_secret: secret(), scopes: None };
    let configuration = json!({"applicationName": "service", "securedConfiguration": [{"key": "A", "value": SECRET}]});
    let draft = json!({"connector": {"key": "c"}, "region": "r", "configurations": [configuration]});
    let record = json!({"id": "1", "version": 1, "status": "Queued", "applications": [configuration]});
    let secured = [(Item::secured(GLOBAL, "A"), secret())].into();
    let source =
        Source { kind: String::new(), name: String::new(), uid: String::new(), resource_version: String::new() };
    let data = [("A".to_owned(), SecretSlice::from(SECRET.as_bytes().to_vec()))];
    let mut key = [0; KEY_LENGTH];
    key[..SECRET.len()].copy_from_slice(SECRET.as_bytes());
    let clients = format!("clients: [{{id: a, secret: {SECRET}, scopes: [b]}}]");
    for (what, shown) in [
        ("credentials", format!("{credentials:#?}")),
        (
            "settings of a client",
            format!(
                "{:#?}",
                http::Settings { credentials: credentials.clone(), ..settings("http://127.0.0.1", "http://127.0.0.1") }
            ),
        ),
        (
            "settings of a remote",
            format!(
                "{:#?}",
                Settings {
                    api_url: "a".into(),
                    auth_url: "b".into(),
                    project_key: "demo".into(),
                    client_id: "id".into(),
                    client_secret: secret(),
                    scopes: None,
                    requests_per_second: Rate::per_second(1),
                }
            ),
        ),
        ("a secured value", format!("{:?}", SecuredValue { key: "A".into(), value: secret() })),
        ("a draft", format!("{:?}", serde_json::from_value::<DeploymentDraft>(draft).expect("a draft"))),
        (
            "a redeploy",
            format!(
                "{:?}",
                serde_json::from_value::<RedeployAction>(json!({"configurationValues": [configuration]})).expect("one")
            ),
        ),
        ("a record", format!("{:?}", serde_json::from_value::<Deployment>(record).expect("a record"))),
        ("values", format!("{:?}", Values { secured, ..Values::default() })),
        ("content of a Secret", format!("{:?}", Content { source, data: data.into() })),
        ("the digest key", format!("{:?}", DigestKey::new(key))),
        ("a masker", format!("{:?}", Masker::new([SECRET]))),
        ("clients of the dev server", format!("{:?}", Catalogue::parse(&clients).expect("a catalogue"))),
        (
            "a granted token",
            format!("{:?}", http::answer::grant(json!({"access_token": SECRET}).to_string().as_bytes(), None)),
        ),
    ] {
        assert!(!shown.is_empty() && !shown.contains(SECRET) && !shown.contains(BYTES), "{what}: {shown}");
    }
}

/// Calls `see` for every member of a schema, with its path.
fn members(path: &str, schema: &Value, see: &mut impl FnMut(&str, &str, &Value)) {
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        see(&path, name, member);
        members(&path, member, see);
    }
    if schema["items"].is_object() {
        members(path, &schema["items"], see);
    }
}

#[test]
fn no_field_names_a_namespace() {
    let mut references = Vec::new();
    for definition in crd::all() {
        let schema = serde_json::to_value(&definition.spec.versions[0].schema).expect("a schema is JSON");
        let shared = definition.spec.names.kind == "ClusterConnectProject";
        members("", &schema["openAPIV3Schema"]["properties"]["spec"], &mut |path, name, member| {
            // A part of the path of an action, not a namespace of the cluster.
            let of_an_action = definition.spec.names.kind == "ActionCheck" && path == ".action.namespace";
            // Who may use a shared project; only administrators of the cluster write it.
            let allows = shared && path == ".allowedNamespaces";
            assert!(of_an_action || allows || !name.to_lowercase().contains("namespace"), "{path} names a namespace");
            let parent = path.trim_end_matches(name).trim_end_matches('.').rsplit('.').next().unwrap_or_default();
            if name == "name" && (parent.ends_with("Ref") || parent == "configMap") {
                assert_eq!(member["pattern"], crd::schema::NAME_PATTERN, "{path}");
                assert_eq!(member["maxLength"], 253, "{path}");
                references.push(path.to_owned());
            }
        });
        assert_eq!(definition.spec.scope, if shared { "Cluster" } else { "Namespaced" });
    }
    assert!(references.len() >= 8, "references were checked: {references:?}");
}

/// A panic hook belongs to a process, so this test starts another one.
#[test]
fn the_message_of_a_panic_is_printed_nowhere_but_its_location_is_logged() {
    const PANICS: &str = "SECRECY_PANICS";
    if std::env::var_os(PANICS).is_some() {
        telemetry::start(LogFormat::Json, "info");
        panics::log_places();
        let ended = std::thread::spawn(|| panic!("{SECRET}")).join();
        assert!(ended.is_err());
        return;
    }
    let name = "secrecy::the_message_of_a_panic_is_printed_nowhere_but_its_location_is_logged";
    let program = std::env::current_exe().expect("a test has a path");
    let mut other = Command::new(program);
    other.args([name, "--exact", "--nocapture"]).env(PANICS, "1").env_remove("RUST_LOG");
    let output = other.output().expect("the program runs");
    let shown = [output.stdout, output.stderr].map(|text| String::from_utf8_lossy(&text).into_owned()).join("");
    assert!(output.status.success() && !shown.contains(SECRET), "{shown}");
    assert!(shown.contains("\"place\":\"tests/it/secrecy.rs:") && shown.contains("\"level\":\"ERROR\""), "{shown}");
}
