//! Which values of whole objects are sent, depending on declarations; and values that cannot be.

use connect_operator::operator::cluster::references::Referenced;
use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::context::content_cache::Content;
use connect_operator::operator::deployment::declared::{Declared, DeclaredKey};
use connect_operator::operator::deployment::desired::{Contents, from_spec};
use connect_operator::operator::values::Values;
use connect_operator::operator::values::names::{GLOBAL, Item};

use super::resource;
use crate::prelude::*;

/// An object with its data.
type Object<'a> = (Referenced, &'a str, &'a [(&'a str, &'a [u8])]);

fn contents(objects: &[Object<'_>]) -> Contents {
    let content = |(kind, name, data): &Object<'_>| {
        let word = if *kind == Referenced::Secret { "Secret" } else { "ConfigMap" };
        let source = Source {
            kind: word.to_owned(),
            name: (*name).to_owned(),
            uid: format!("uid-of-{name}"),
            resource_version: "1".to_owned(),
        };
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), SecretSlice::from(value.to_vec())));
        ((*kind, (*name).to_owned()), Ok(Content { source, data: data.collect() }))
    };
    objects.iter().map(content).collect()
}

/// Returns the name of every value: `service.A`, global ones with `*`, secured ones with `!`.
fn named(values: &Values) -> Vec<String> {
    let name =
        |item: &Item| format!("{}.{}", if item.application == GLOBAL { "*" } else { &item.application }, item.key);
    let secured = values.secured.keys().map(|item| format!("!{}", name(item)));
    values.visible.keys().map(name).chain(secured).collect()
}

/// Returns a spec with the lists of one application.
fn service(lists: &Value) -> Value {
    let mut application = lists.clone();
    application["applicationName"] = json!("service");
    json!({"configurations": [application]})
}

fn secret_value(key: &str, name: &str, from: &str) -> Value {
    json!({"key": key, "valueFrom": {"secretKeyRef": {"name": name, "key": from}}})
}

const TAX: Object<'_> = (Referenced::Secret, "tax", &[("token", b"s3cret"), ("other", b"not-named")]);
const SETTINGS: Object<'_> = (Referenced::ConfigMap, "settings", &[("A", b"1"), ("B", b"2")]);

#[test]
fn rule_14_a_key_goes_to_whoever_declares_it() {
    let declared = |keys: &str| {
        let item = |word: &str| {
            let (application, key) = word.split_once('.').expect("a name");
            let application = if application == "all" { GLOBAL } else { application };
            let secured = key.strip_prefix('!').map(|key| Item::secured(application, key));
            (secured.unwrap_or_else(|| Item::standard(application, key)), DeclaredKey::default())
        };
        Declared { keys: keys.split_whitespace().map(item).collect(), ..Declared::default() }
    };
    let sources = |name: &str| match name {
        "tax" => json!([{"secretRef": {"name": "tax"}}]),
        "settings" => json!([{"configMapRef": {"name": "settings"}}]),
        "allowed" => json!([{"secretRef": {"name": "tax"}, "plainKeys": "Allow"}]),
        "one" => json!([{"secretRef": {"name": "tax"}, "applications": ["job"]}]),
        "prefixed" => json!([{"configMapRef": {"name": "settings"}, "prefix": "X_"}]),
        "both" => json!([{"secretRef": {"name": "tax"}}, {"configMapRef": {"name": "plain"}}]),
        _ => json!([{"secretRef": {"name": "none"}, "optional": true}]),
    };
    let plain = "declares them as plain, so that they could be read at the service";
    let allow = "; set plainKeys: Allow there, or take them from a ConfigMap";
    // A case, the sources, what is declared, what is sent, and what is said about the rest.
    let table = "
        each that declares it | tax | service.!token job.!token all.!other | !*.other !job.token !service.token |
        those that are named | one | service.!token job.!token job.!other all.!other | !job.other !job.token |
        nobody declares it | tax | service.!token | !service.token | does not declare them: other of Secret tax
        with a prefix | prefixed | service.X_A service.X_B service.A | service.X_A service.X_B |
        plain from a ConfigMap | settings | service.A all.B | *.B service.A |
        plain from a Secret | tax | service.token job.!other | !job.other | PLAIN: token of Secret taxALLOW
        plain from a Secret, as allowed | allowed | service.token job.!other | service.token !job.other |
        plain and secured | tax | service.token job.!token job.!other | !job.other !job.token | PLAIN: token of Secret taxALLOW
        plain from another object | both | service.token job.!token job.!other | service.token !job.other !job.token |
        secured from a ConfigMap | settings | service.!A service.B | service.B | declares them as secured: A of ConfigMap settings; put them into a Secret
        an optional object that is missing | none | service.!token | |
    ";
    for row in table.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [case, from, of_connector, expected, note] = cells[..] else { panic!("{row}") };
        let note = note.replace("PLAIN", plain).replace("ALLOW", allow);
        let note = (!note.is_empty()).then(|| format!("Not sent, because the connector {note}"));
        let from = sources(from);
        let spec = resource(&json!({"configurationFrom": from, "configurations": []})).spec;
        let objects = contents(&[TAX, SETTINGS, (Referenced::ConfigMap, "plain", &[("token", b"1")])]);
        let desired = from_spec(&spec, &objects, Some(&declared(of_connector))).expect(case);
        assert_eq!(named(&desired.values).join(" "), expected, "{case}");
        assert_eq!(desired.not_sent_note(), note, "{case}");
    }
}

#[test]
fn a_failure_names_the_objects_of_the_values_that_its_text_names() {
    let (tax, settings) = (contents(&[TAX, SETTINGS]), "settings");
    let declared = ["token", "other"].map(|key| (Item::secured("service", key), DeclaredKey::default()));
    let declared = Declared { keys: declared.into_iter().collect(), ..Declared::default() };
    let mut spec = service(&json!({
        "standardConfiguration": [
            {"key": "URL", "valueFrom": {"configMapKeyRef": {"name": settings, "key": "A"}}}, {"key": "LEVEL", "value": "info"}],
        "securedConfiguration": [secret_value("PIN", "tax", "token")],
    }));
    spec["configurationFrom"] = json!([{"secretRef": {"name": "tax"}}]);
    let desired = from_spec(&resource(&spec).spec, &tax, Some(&declared)).expect("they are there");
    for (text, expected) in [
        ("the build failed", vec![]),
        ("token is not valid", vec!["token is key token of Secret tax"]),
        ("is `PIN` set? PIN: no", vec!["PIN is key token of Secret tax"]),
        ("PINS is not valid, nor X_PIN, nor PIN-2", vec![]),
        ("LEVEL is in the spec itself", vec![]),
        ("URL and PIN", vec!["PIN is key token of Secret tax", "URL is key A of ConfigMap settings"]),
    ] {
        assert_eq!(desired.origins_of(text), expected, "{text}");
    }
}

#[test]
fn unusable_values_are_named_without_showing_them() {
    let broken: Object<'_> = (Referenced::Secret, "raw", &[("token", b"\xff\xfehidden")]);
    let value = |key: &str| json!({"key": key, "value": "1"});
    let secured = |values: &[Value]| json!({"securedConfiguration": values});
    let (tax, raw) = (secret_value("T", "tax", "token"), secret_value("U", "raw", "token"));
    let both = json!({"standardConfiguration": [value("T")], "securedConfiguration": [tax]});
    let all = json!({"standardConfiguration": [value("T")], "securedConfiguration": [tax, raw]});
    let no_utf8 = "key token of Secret raw is not UTF-8";
    for (case, lists, named) in [
        ("not UTF-8", secured(std::slice::from_ref(&raw)), &[no_utf8][..]),
        ("plain and secured", both, &["application service: T is both plain and secured"]),
        ("all at once", all, &["T is both", no_utf8]),
    ] {
        let condition =
            from_spec(&resource(&service(&lists)).spec, &contents(&[TAX, broken]), None).expect_err(case).condition;
        assert_eq!(condition.reason, Reason::ConfigurationInvalid, "{case}");
        for name in named {
            assert!(condition.message.contains(name), "{case}: {}", condition.message);
        }
        assert!(
            !condition.message.contains("hidden") && !condition.message.contains("s3cret"),
            "{case}: {}",
            condition.message
        );
    }
}
