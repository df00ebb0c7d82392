//! Tables of [`super`].

use serde_json::json;

use super::super::observe;
use super::*;

/// What the connector of these tests declares.
fn offering(change: &serde_json::Value) -> RegistryConnector {
    let mut record = json!({
        "id": "1", "key": "tax", "version": 3,
        "supportedRegions": ["europe-west1.gcp", "us-east-2.aws"],
        "configurations": [
            {
                "applicationName": "service", "applicationType": "service",
                "standardConfiguration": [
                    {"key": "LOG_LEVEL", "description": "", "required": true, "default": "info"},
                    {"key": "REGION", "description": "", "required": true},
                    {"key": "MODE", "description": ""},
                ],
                "securedConfiguration": [
                    {"key": "API_TOKEN", "description": "", "required": true},
                    {"key": "SPARE_TOKEN", "description": ""},
                ],
            },
            {"applicationName": "cleanup", "applicationType": "job", "standardConfiguration": [], "securedConfiguration": []},
            {"applicationName": "orders", "applicationType": "event", "standardConfiguration": [], "securedConfiguration": []},
            {"applicationName": "orbit", "applicationType": "satellite", "standardConfiguration": [], "securedConfiguration": []},
        ],
        "globalConfiguration": {"standardConfiguration": [{"key": "CURRENCY", "description": "", "required": true}]},
    });
    for (name, value) in change.as_object().expect("members") {
        record[name] = value.clone();
    }
    RegistryConnector::from(serde_json::from_value::<connect_api::model::Connector>(record).expect("a connector"))
}

/// Returns what is wrong with the values, for that connector in that region.
fn found(values: &Values, region: &str, offering: &RegistryConnector) -> Vec<String> {
    let declared = observe::declared(offering.applications.as_ref(), offering.global.as_ref());
    let problems = declared.map(|declared| of_values(values, &[], &declared)).unwrap_or_default();
    of_offering(region, offering).into_iter().chain(problems).collect()
}

fn good() -> Values {
    let mut values = Values::default();
    values.applications.insert("service".into());
    give(&mut values, &Item::standard("service", "REGION"), "eu");
    give(&mut values, &Item::secured("service", "API_TOKEN"), "secret");
    give(&mut values, &Item::standard(GLOBAL, "CURRENCY"), "EUR");
    values
}

fn give(values: &mut Values, item: &Item, text: &str) {
    match item.kind {
        Kind::Secured => drop(values.secured.insert(item.clone(), text.into())),
        _ => drop(values.visible.insert(item.clone(), text.into())),
    }
}

fn take(values: &mut Values, item: &Item) {
    values.visible.remove(item);
    values.secured.remove(item);
}

fn plain(key: &str) -> Item {
    Item::standard("service", key)
}

fn secured(key: &str) -> Item {
    Item::secured("service", key)
}

type Row = (&'static str, fn(&mut Values), &'static [&'static str]);

#[test]
fn required_values_that_are_empty_are_found() {
    let rows: [Row; 6] = [
        ("none", |_| {}, &[]),
        ("a plain one", |values| give(values, &plain("REGION"), ""), &["service/REGION"]),
        ("a secured one", |values| give(values, &secured("API_TOKEN"), ""), &["service/API_TOKEN (secured)"]),
        (
            "a global one",
            |values| give(values, &Item::standard(GLOBAL, "CURRENCY"), ""),
            &["globalConfiguration/CURRENCY"],
        ),
        (
            "those that need not have a value",
            |values| {
                give(values, &plain("MODE"), "");
                give(values, &plain("LOG_LEVEL"), "");
                give(values, &secured("SPARE_TOKEN"), "");
            },
            &[],
        ),
        ("one that is not given is another problem", |values| take(values, &plain("REGION")), &[]),
    ];
    let offering = offering(&json!({}));
    for (case, change, expected) in rows {
        let mut values = good();
        change(&mut values);
        let declared =
            observe::declared(offering.applications.as_ref(), offering.global.as_ref()).expect("they are known");
        let empty: Vec<String> = declared.empty_required(&values).iter().map(Item::to_string).collect();
        assert_eq!(empty, expected, "{case}");
    }
}

/// Mistakes in names.
fn misnamed() -> Vec<Row> {
    vec![
        ("good", |_| {}, &[]),
        (
            "unknown application",
            |values| {
                values.applications.insert("servce".into());
            },
            &[
                "the connector has no application servce: did you mean service? (it has cleanup, orbit, orders, service)",
            ],
        ),
        (
            "unknown and unlike any",
            |values| {
                values.applications.insert("zzz".into());
            },
            &["the connector has no application zzz (it has cleanup, orbit, orders, service)"],
        ),
        (
            "unknown key, and so a required one is missing",
            |values| {
                take(values, &secured("API_TOKEN"));
                give(values, &secured("API_TOKN"), "secret");
            },
            &[
                "application service has no key API_TOKN: did you mean API_TOKEN? (it has API_TOKEN, LOG_LEVEL, MODE, REGION, SPARE_TOKEN)",
                "application service requires a value for the secured API_TOKEN",
            ],
        ),
        (
            "another case",
            |values| {
                give(values, &plain("log_level"), "debug");
            },
            &[
                "application service has no key log_level: did you mean LOG_LEVEL? (it has API_TOKEN, LOG_LEVEL, MODE, REGION, SPARE_TOKEN)",
            ],
        ),
        (
            "secured, given as plain",
            |values| {
                give(values, &plain("SPARE_TOKEN"), "x");
            },
            &["application service declares SPARE_TOKEN as secured, not as plain: move it to the other list"],
        ),
        (
            "plain, given as a secret",
            |values| {
                give(values, &secured("MODE"), "x");
            },
            &["application service declares MODE as plain, not as secured: move it to the other list"],
        ),
        (
            "retry policies, also of an event application and of one whose type is not known",
            |values| {
                for name in ["cleanup", "orbit", "orders"] {
                    give(values, &Item::retry_policy(name, RETRY_STRATEGY), "immediate");
                }
            },
            &["application cleanup takes no retryPolicy: it is of type job, and only type event takes one"],
        ),
        (
            "no key is declared",
            |values| {
                give(values, &Item::standard("cleanup", "A"), "1");
            },
            &["application cleanup has no key A; it has none"],
        ),
    ]
}

/// Values that are not given.
fn missing() -> Vec<Row> {
    vec![
        (
            "required and without default",
            |values| {
                take(values, &plain("REGION"));
            },
            &["application service requires a value for the plain REGION"],
        ),
        (
            "an application without any value",
            |values| values.leave_out(&["service".to_owned()].into()),
            &[
                "application service requires a value for the plain REGION",
                "application service requires a value for the secured API_TOKEN",
            ],
        ),
        (
            "global ones",
            |values| {
                take(values, &Item::standard(GLOBAL, "CURRENCY"));
                give(values, &Item::secured(GLOBAL, "KEY"), "x");
            },
            &[
                "globalConfiguration has no key KEY (it has CURRENCY)",
                "globalConfiguration requires a value for the plain CURRENCY",
            ],
        ),
        (
            "all at once",
            |values| {
                values.leave_out(&["service".to_owned()].into());
                take(values, &Item::standard(GLOBAL, "CURRENCY"));
            },
            &[
                "application service requires a value for the plain REGION",
                "application service requires a value for the secured API_TOKEN",
                "globalConfiguration requires a value for the plain CURRENCY",
            ],
        ),
    ]
}

#[test]
fn each_problem_is_reported_with_the_names_that_exist() {
    for (case, change, expected) in misnamed().into_iter().chain(missing()) {
        let mut values = good();
        change(&mut values);
        assert_eq!(found(&values, "europe-west1.gcp", &offering(&json!({}))), expected, "{case}");
    }
}

#[test]
fn what_is_not_known_is_not_a_problem() {
    let mut values = good();
    values.applications.insert("anything".into());
    let unknown = offering(&json!({"configurations": null, "supportedRegions": null}));
    assert_eq!(found(&values, "europe-west1.gcp", &unknown), Vec::<String>::new());
}
