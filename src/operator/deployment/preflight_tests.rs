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

/// The values of a deployment, and what they are compared with.
impl Values {
    fn give(mut self, item: Item, text: &str) -> Self {
        match item.kind {
            Kind::Secured => drop(self.secured.insert(item, text.into())),
            _ => drop(self.visible.insert(item, text.into())),
        }
        self
    }

    fn take(mut self, item: &Item) -> Self {
        self.visible.remove(item);
        self.secured.remove(item);
        self
    }

    fn application(mut self, name: &str) -> Self {
        self.applications.insert(name.into());
        self
    }

    fn without_service(mut self) -> Self {
        self.leave_out(&["service".to_owned()].into());
        self
    }
}

fn good() -> Values {
    let values = Values::default().application("service").give(plain("REGION"), "eu");
    values.give(secured("API_TOKEN"), "secret").give(currency(), "EUR")
}

fn plain(key: &str) -> Item {
    Item::standard("service", key)
}

fn secured(key: &str) -> Item {
    Item::secured("service", key)
}

fn currency() -> Item {
    Item::standard(GLOBAL, "CURRENCY")
}

fn declared(offering: &RegistryConnector) -> Option<Declared> {
    observe::declared(offering.applications.as_ref(), offering.global.as_ref())
}

/// Returns what is wrong with the values, for that connector.
fn found(values: &Values, offering: &RegistryConnector) -> Vec<String> {
    let problems = declared(offering).map(|declared| of_values(values, &[], &declared)).unwrap_or_default();
    of_offering("europe-west1.gcp", offering).into_iter().chain(problems).collect()
}

#[test]
fn required_values_that_are_empty_are_found() {
    let optional = good().give(plain("MODE"), "").give(plain("LOG_LEVEL"), "").give(secured("SPARE_TOKEN"), "");
    let declared = declared(&offering(&json!({}))).expect("they are known");
    for (case, values, expected) in [
        ("none", good(), &[][..]),
        ("a plain one", good().give(plain("REGION"), ""), &["service/REGION"]),
        ("a secured one", good().give(secured("API_TOKEN"), ""), &["service/API_TOKEN (secured)"]),
        ("a global one", good().give(currency(), ""), &["globalConfiguration/CURRENCY"]),
        ("those that need not have a value", optional, &[]),
        ("one that is not given is another problem", good().take(&plain("REGION")), &[]),
    ] {
        let empty: Vec<String> = declared.empty_required(&values).iter().map(Item::to_string).collect();
        assert_eq!(empty, expected, "{case}");
    }
}

#[test]
fn each_problem_is_reported_with_the_names_that_exist() {
    const KEYS: &str = "it has API_TOKEN, LOG_LEVEL, MODE, REGION, SPARE_TOKEN";
    const REGION: &str = "application service requires a value for the plain REGION";
    const TOKEN: &str = "application service requires a value for the secured API_TOKEN";
    const CURRENCY: &str = "globalConfiguration requires a value for the plain CURRENCY";
    let misspelled = good().take(&secured("API_TOKEN")).give(secured("API_TOKN"), "secret");
    let global = good().take(&currency()).give(Item::secured(GLOBAL, "KEY"), "x");
    for (case, values, expected) in [
        ("good", good(), String::new()),
        (
            "unknown application",
            good().application("servce"),
            "the connector has no application servce (it has cleanup, orbit, orders, service)".into(),
        ),
        (
            "unknown key, and so a required one is missing",
            misspelled,
            format!("application service has no key API_TOKN ({KEYS}); {TOKEN}"),
        ),
        (
            "another case",
            good().give(plain("log_level"), "debug"),
            format!("application service has no key log_level ({KEYS})"),
        ),
        (
            "secured, given as plain",
            good().give(plain("SPARE_TOKEN"), "x"),
            "application service declares SPARE_TOKEN as secured, not as plain: move it to the other list".into(),
        ),
        (
            "plain, given as a secret",
            good().give(secured("MODE"), "x"),
            "application service declares MODE as plain, not as secured: move it to the other list".into(),
        ),
        (
            "no key is declared",
            good().give(Item::standard("cleanup", "A"), "1"),
            "application cleanup has no key A; it has none".into(),
        ),
        ("required and without default", good().take(&plain("REGION")), REGION.into()),
        ("an application without any value", good().without_service(), format!("{REGION}; {TOKEN}")),
        ("global ones", global, format!("globalConfiguration has no key KEY (it has CURRENCY); {CURRENCY}")),
        ("all at once", good().without_service().take(&currency()), format!("{REGION}; {TOKEN}; {CURRENCY}")),
    ] {
        assert_eq!(found(&values, &offering(&json!({}))).join("; "), expected, "{case}");
    }
}

#[test]
fn what_is_not_known_is_not_a_problem() {
    let unknown = offering(&json!({"configurations": null, "supportedRegions": null}));
    assert_eq!(found(&good().application("anything"), &unknown), Vec::<String>::new());
}
