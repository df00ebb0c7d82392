//! Which values of whole objects are sent, depending on declarations; and values that cannot be.

use connect_operator::operator::cluster::references::Named;
use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::context::content_cache::Content;
use connect_operator::operator::deployment::declared::{Declared, DeclaredKey};
use connect_operator::operator::deployment::desired::{Contents, from_spec};
use connect_operator::operator::reporting::reason::Reason;
use connect_operator::operator::values::Values;
use connect_operator::operator::values::names::Item;
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::{Value, json};

use super::resource;

/// An object with its data.
type Object<'a> = (Named, &'a str, &'a [(&'a str, &'a [u8])]);

fn contents(objects: &[Object<'_>]) -> Contents {
    let content = |(kind, name, data): &Object<'_>| {
        let word = if *kind == Named::Secret { "Secret" } else { "ConfigMap" };
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

/// Returns every value on one line each: `A=1`, secured ones with `!`.
fn shown(values: &Values) -> Vec<String> {
    let visible = values.visible.iter().map(|(item, value)| format!("{}={value}", item.key));
    let secured = values.secured.iter().map(|(item, value)| format!("!{}={}", item.key, value.expose_secret()));
    visible.chain(secured).collect()
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

const TAX: Object<'_> = (Named::Secret, "tax", &[("token", b"s3cret"), ("other", b"not-named")]);
const SETTINGS: Object<'_> = (Named::ConfigMap, "settings", &[("A", b"1"), ("B", b"2")]);

#[test]
fn rule_14_of_whole_objects_only_declared_keys_are_sent() {
    let lists = json!({
        "standardConfiguration": [{"key": "EXPLICIT", "value": "1"}],
        "standardConfigurationFrom": [{"configMapRef": {"name": "settings"}, "prefix": "X_"}],
        "securedConfigurationFrom": [{"secretRef": {"name": "tax"}}],
    });
    let of_service = |standard: &[&str], secured: &[&str]| {
        let standard = standard.iter().map(|key| Item::standard("service", key));
        let keys = standard.chain(secured.iter().map(|key| Item::secured("service", key)));
        let keys = keys.map(|item| (item, DeclaredKey::default())).collect();
        Some(Declared { keys, ..Declared::default() })
    };
    let all = "EXPLICIT=1 X_A=1 X_B=2 !other=not-named !token=s3cret";
    for (case, declared, expected, undeclared) in [
        ("not readable: all", None, all, ""),
        (
            "some",
            of_service(&["X_A"], &["token"]),
            "EXPLICIT=1 X_A=1 !token=s3cret",
            "X_B of ConfigMap settings, other of Secret tax",
        ),
        (
            "without the prefix it is another key",
            of_service(&["A", "B", "X_B"], &["token", "other"]),
            "EXPLICIT=1 X_B=2 !other=not-named !token=s3cret",
            "X_A of ConfigMap settings",
        ),
        (
            "declared as plain, so not secured",
            of_service(&["X_A", "X_B", "token"], &["other"]),
            "EXPLICIT=1 X_A=1 X_B=2 !other=not-named",
            "token of Secret tax",
        ),
        (
            "an application that declares nothing",
            Some(Declared::default()),
            "EXPLICIT=1",
            "X_A of ConfigMap settings, X_B of ConfigMap settings, other of Secret tax, token of Secret tax",
        ),
    ] {
        let spec = resource(&service(&lists)).spec;
        let desired = from_spec(&spec, &contents(&[TAX, SETTINGS]), declared.as_ref()).expect(case);
        assert_eq!(shown(&desired.values).join(" "), expected, "{case}");
        assert_eq!(desired.undeclared.join(", "), undeclared, "{case}");
    }
}

#[test]
fn unusable_values_are_named_without_showing_them() {
    let broken: Object<'_> = (Named::Secret, "raw", &[("token", b"\xff\xfehidden")]);
    let value = |key: &str| json!({"key": key, "value": "1"});
    let secured = |values: &[Value]| json!({"securedConfiguration": values});
    let (tax, raw) = (secret_value("T", "tax", "token"), secret_value("U", "raw", "token"));
    let whole = json!({"securedConfigurationFrom": [{"secretRef": {"name": "raw"}}]});
    let both = json!({"standardConfiguration": [value("T")], "securedConfiguration": [tax]});
    let all = json!({"standardConfiguration": [{"key": "A"}, value("T")], "securedConfiguration": [tax, raw]});
    let no_utf8 = "key token of Secret raw is not UTF-8";
    for (case, lists, named) in [
        ("not UTF-8", secured(std::slice::from_ref(&raw)), &[no_utf8][..]),
        ("not UTF-8 in a whole Secret", whole, &[no_utf8]),
        ("plain and secured", both, &["application service: T is both plain and secured"]),
        ("no value at all", json!({"standardConfiguration": [{"key": "A"}]}), &["application service: A has neither"]),
        ("all at once", all, &["A has neither", "T is both", no_utf8]),
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
