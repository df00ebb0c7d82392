//! Which values are sent, depending on spec, Secrets, ConfigMaps and declarations.

use std::collections::BTreeSet;

use connect_operator::operator::cluster::references::Named;
use connect_operator::operator::cluster::references::Source;
use connect_operator::operator::context::content_cache::Content;
use connect_operator::operator::deployment::declared::{Declared, DeclaredKey};
use connect_operator::operator::deployment::desired::{Contents, Desired, from_spec};
use connect_operator::operator::deployment::persisted::{
    Applied, Operation, OperationState, OperationType, PersistedState, Phase, Sources,
};
use connect_operator::operator::reporting::reason::Reason;
use connect_operator::operator::values::Values;
use connect_operator::operator::values::names::{GLOBAL, Item, Kind, Names};
use secrecy::{ExposeSecret, SecretSlice};
use serde_json::{Value, json};

use super::resource;

/// Returns a create that was accepted.
fn creating() -> Operation {
    Operation {
        kind: OperationType::Create,
        state: OperationState::Accepted,
        attempt: 1,
        generation: 1,
        payload: None,
        from_version: None,
        from_build: None,
        changes_visible: false,
        seen_busy: true,
        redeploy_request: None,
        started_at: jiff::Timestamp::UNIX_EPOCH,
    }
}

#[test]
fn rule_08_a_removed_value_that_was_sent_is_set_to_its_declared_default() {
    let defaults = [
        ("service", "LEVEL", "info"),
        ("service", "MODE", "slow"),
        ("service", "NEVER_SENT", "x"),
        ("export", "TARGET", "ftp"),
        ("lost", "LEVEL", "info"),
        (GLOBAL, "SHOP", "eu"),
    ];
    let key = |(place, key, text): &(&str, &str, &str)| {
        (Item::standard(place, key), DeclaredKey { default: Some((*text).to_owned()), required: false })
    };
    let declared = Declared { keys: defaults.iter().map(key).collect(), ..Declared::default() };
    let mut sent = Names::default();
    for (place, key) in [
        ("service", "LEVEL"),
        ("service", "MODE"),
        ("service", "FREE"),
        ("export", "TARGET"),
        ("lost", "LEVEL"),
        (GLOBAL, "SHOP"),
    ] {
        sent.insert(Item::standard(place, key));
    }
    let retained = Names::default();
    let mut persisted = PersistedState::default();
    let spec = resource(&service(&json!({"standardConfiguration": [{"key": "MODE", "value": "fast"}]}))).spec;
    let fitted = |persisted: &PersistedState, declared: Option<&Declared>| {
        let mut desired = from_spec(&spec, &Contents::new(), None).unwrap();
        desired.fit(&BTreeSet::from(["lost".to_owned()]), declared, persisted);
        desired
    };
    assert_eq!(shown(&fitted(&persisted, Some(&declared))), ["service: MODE=fast"], "nothing was sent before");
    persisted.operation = None;
    persisted.applied = Some(Applied {
        generation: 1,
        digest: None,
        outcome: Phase::Deployed,
        serves: true,
        from_version: None,
        connector_version: None,
        rollback: None,
        names: Some(sent),
        differs: None,
        uncompared: false,
        accepted: None,
        retained,
        sources: Sources::default(),
        at: jiff::Timestamp::UNIX_EPOCH,
    });
    let desired = fitted(&persisted, Some(&declared));
    assert_eq!(shown(&desired), ["export: TARGET=ftp", "service: LEVEL=info", "service: MODE=fast", "SHOP=eu"]);
    let reset: Vec<_> = desired.reset.iter().map(ToString::to_string).collect();
    assert_eq!(reset, ["globalConfiguration/SHOP", "export/TARGET", "service/LEVEL"]);
    assert_eq!(shown(&fitted(&persisted, None)), ["service: MODE=fast"], "no default is declared");
    persisted.operation = Some(creating());
    assert_eq!(
        shown(&fitted(&persisted, Some(&declared))),
        ["service: MODE=fast"],
        "a new deployment has none of these values"
    );
}

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

/// Returns every value on one line each: `service: A=1`, secured ones with `!`, the global ones without application.
fn shown(desired: &Desired) -> Vec<String> {
    let Values { applications, visible, secured } = &desired.values;
    let mut lines = Vec::new();
    for name in applications.iter().map(String::as_str).chain([GLOBAL]) {
        let place = if name == GLOBAL { String::new() } else { format!("{name}: ") };
        let standard = visible.iter().filter(|(item, _)| item.application == name && item.kind == Kind::Standard);
        lines.extend(standard.map(|(item, value)| format!("{place}{}={value}", item.key)));
        let secured = secured.iter().filter(|(item, _)| item.application == name);
        lines.extend(secured.map(|(item, value)| format!("{place}!{}={}", item.key, value.expose_secret())));
        lines.extend(visible.get(&Item::schedule(name)).map(|schedule| format!("{place}at {schedule}")));
        lines.extend(desired.values.retry_policy(name).map(|policy| format!("{place}retry {}", json!(policy))));
    }
    lines
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

const TAX: Object<'_> = (Named::Secret, "tax", &[("token", b"s3cret"), ("other", b"not named")]);
const SETTINGS: Object<'_> = (Named::ConfigMap, "settings", &[("A", b"1"), ("B", b"2")]);

#[test]
fn rule_8_every_value_is_taken_from_its_source_in_the_spec() {
    let spec = json!({
        "configurations": [
            {"applicationName": "service", "schedule": "0 5 * * *", "standardConfiguration": [
                {"key": "LOG_LEVEL", "value": "info"},
                {"key": "EMPTY", "value": ""},
                {"key": "FROM_MAP", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "A"}}},
            ], "securedConfiguration": [secret_value("API_TOKEN", "tax", "token")]},
            {"applicationName": "job"},
            {"applicationName": "events", "retryPolicy": {
                "strategy": "exponential-backoff", "minBackoffSeconds": 1, "maxBackoffSeconds": 2, "maxAttempts": 5,
            }},
            {"applicationName": "hooks", "retryPolicy": {"strategy": "immediate"}},
        ],
        "globalConfiguration": {
            "standardConfiguration": [{"key": "SHOP", "value": "eu"}],
            "securedConfiguration": [secret_value("SIGN", "tax", "other")],
        },
    });
    let desired = from_spec(&resource(&spec).spec, &contents(&[TAX, SETTINGS]), None).unwrap();
    let expected = [
        concat!(
            r#"events: retry {"maxAttempts":5,"maxBackoffSeconds":2,"minBackoffSeconds":1,"#,
            r#""strategy":"exponential-backoff"}"#
        ),
        r#"hooks: retry {"strategy":"immediate"}"#,
        "service: EMPTY=",
        "service: FROM_MAP=1",
        "service: LOG_LEVEL=info",
        "service: !API_TOKEN=s3cret",
        "service: at 0 5 * * *",
        "SHOP=eu",
        "!SIGN=not named",
    ];
    assert_eq!(shown(&desired), expected);
    assert!(desired.values.applications.contains("job"), "an application without values is included all the same");
    let sources: Vec<_> = desired.sources.iter().map(|source| source.uid.as_str()).collect();
    assert_eq!(sources, ["uid-of-tax", "uid-of-settings"]);
}

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
    let all = &["EXPLICIT=1", "X_A=1", "X_B=2", "!other=not named", "!token=s3cret"][..];
    for (case, declared, expected, undeclared) in [
        ("not readable: all", None, all, &[][..]),
        (
            "some",
            of_service(&["X_A"], &["token"]),
            &["EXPLICIT=1", "X_A=1", "!token=s3cret"],
            &["X_B of ConfigMap settings", "other of Secret tax"],
        ),
        (
            "without the prefix it is another key",
            of_service(&["A", "B", "X_B"], &["token", "other"]),
            &["EXPLICIT=1", "X_B=2", "!other=not named", "!token=s3cret"],
            &["X_A of ConfigMap settings"],
        ),
        (
            "declared as plain, so not secured",
            of_service(&["X_A", "X_B", "token"], &["other"]),
            &["EXPLICIT=1", "X_A=1", "X_B=2", "!other=not named"],
            &["token of Secret tax"],
        ),
        (
            "an application that declares nothing",
            Some(Declared::default()),
            &["EXPLICIT=1"],
            &["X_A of ConfigMap settings", "X_B of ConfigMap settings", "other of Secret tax", "token of Secret tax"],
        ),
    ] {
        let spec = resource(&service(&lists)).spec;
        let desired = from_spec(&spec, &contents(&[TAX, SETTINGS]), declared.as_ref()).expect(case);
        let expected: Vec<_> = expected.iter().map(|line| format!("service: {line}")).collect();
        assert_eq!(shown(&desired), expected, "{case}");
        assert_eq!(desired.undeclared, undeclared, "{case}");
    }
}

#[test]
fn unusable_values_are_named_without_showing_them() {
    let broken: Object<'_> = (Named::Secret, "raw", &[("token", b"\xff\xfehidden")]);
    let value = |key: &str| json!({"key": key, "value": "1"});
    for (case, lists, named) in [
        (
            "not UTF-8",
            json!({"securedConfiguration": [secret_value("T", "raw", "token")]}),
            &["key token of Secret raw is not UTF-8"][..],
        ),
        (
            "not UTF-8 in a whole Secret",
            json!({"securedConfigurationFrom": [{"secretRef": {"name": "raw"}}]}),
            &["key token of Secret raw is not UTF-8"],
        ),
        (
            "plain and secured",
            json!({"standardConfiguration": [value("T")], "securedConfiguration": [secret_value("T", "tax", "token")]}),
            &["application service: T is both plain and secured"],
        ),
        ("no value at all", json!({"standardConfiguration": [{"key": "A"}]}), &["application service: A has neither"]),
        (
            "all at once",
            json!({"standardConfiguration": [{"key": "A"}, value("T")],
                "securedConfiguration": [secret_value("T", "tax", "token"), secret_value("U", "raw", "token")]}),
            &["A has neither", "T is both", "Secret raw is not UTF-8"],
        ),
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
