//! A typical `connect.yaml`, and a small file for each rule of contract section 16.

use super::specification::Specification;
use crate::connector::{ConnectorDefinition, Scripts};

fn declared(text: &str) -> ConnectorDefinition {
    let mut connector = ConnectorDefinition::default();
    Specification::parse(text).expect(text).put_into(&mut connector);
    connector
}

#[test]
fn a_typical_connect_yaml_is_parsed() {
    let connector = declared(
        r#"
deployAs:
  - name: service
    applicationType: service
    endpoint: /service
    scripts: {postDeploy: npm run connector:post-deploy, preUndeploy: npm run connector:pre-undeploy}
    configuration:
      standardConfiguration:
        - {key: REGION, description: Where it runs, required: true, default: "europe-west1.gcp"}
        - {key: DEBUG, description: Says more, default: "0"}
        - key: NOTHING
          description: 'yes'
      securedConfiguration:
        - {key: TOKEN, description: Opens it, required: true}
  - name: nightly
    applicationType: job
    endpoint: /job
    properties: {schedule: "*/5 * * * *"}
  - name: events
    applicationType: event
    endpoint: a/b
    healthCheck: {path: /health, intervalSeconds: 20}
    retryPolicy: {strategy: exponential-backoff, minBackoffSeconds: 1, maxBackoffSeconds: 600, maxAttempts: 5}
  - name: assets
    applicationType: assets
inheritAs:
  configuration:
    securedConfiguration: [{key: SHARED, description: For all}]
  apiClient: {scopes: [manage_orders, view_products]}
"#,
    );
    let names: Vec<_> = connector.configurations.iter().map(|declared| declared.application_name.as_str()).collect();
    assert_eq!(names, ["service", "nightly", "events", "assets"]);
    let service = &connector.configurations[0];
    let defaults: Vec<_> = service.standard_configuration.iter().map(|key| key.default.as_deref()).collect();
    assert_eq!(defaults, [Some("europe-west1.gcp"), Some("0"), None]);
    assert!(service.secured_configuration[0].required);
    assert_eq!(
        (connector.schedules["nightly"].as_str(), connector.endpoints["events"].as_str()),
        ("*/5 * * * *", "a/b")
    );
    assert_eq!(connector.retry_policies["events"].max_attempts, Some(5));
    assert_eq!(connector.scripts, Scripts::Succeed);
    let global = connector.global_configuration.expect("it is inherited");
    assert_eq!((global.standard_configuration.len(), global.secured_configuration[0].key.as_str()), (0, "SHARED"));
    assert_eq!(connector.api_client.expect("it is inherited").scopes, ["manage_orders", "view_products"]);
}

/// Parses each file and compares the error: it must contain the expected text; an empty text means a valid file.
fn check(rows: &[(&str, &str, &str)]) {
    for (case, text, expected) in rows {
        match (Specification::parse(text), expected) {
            (Ok(_), &"") => {}
            (Ok(_), expected) => panic!("{case}: the error must contain {expected}"),
            (Err(what), expected) => {
                assert!(!expected.is_empty() && what.contains(expected), "{case}: {what}");
                assert!(!what.contains('\n'), "{case}: {what}");
            }
        }
    }
}

#[test]
fn shapes_of_the_file_and_its_applications() {
    check(&[
        ("no applications", "deployAs: []", ""),
        ("JSON", r#"{"deployAs": [{"name": "aa", "applicationType": "assets"}]}"#, ""),
        ("not YAML", "deployAs: [", "line 1"),
        ("nothing", "---\n", "is empty"),
        (
            "a member twice",
            "deployAs: []\ndeployAs: []",
            "[file content]: `deployAs` appears twice in the same object: keep one, with the content of both (line 2, column 1)",
        ),
        (
            "a second document",
            "deployAs: []\n---\ndeployAs: []",
            "[file content]: a line `---` begins a second document: remove it, and write everything into one (line 3, column 1)",
        ),
        ("a list", "[a, b]", "[file content]: must be an object (line 1)"),
        ("null", "null", "[file content]: must be an object with the member deployAs, and is empty (line 1)"),
        ("no deployAs", "inheritAs: {}", "[deployAs]: is required"),
        ("null deployAs", "deployAs: null", "[deployAs]: must not be null; leave it out (line 1)"),
        ("null inheritAs", "deployAs: []\ninheritAs:", "[inheritAs]: must not be null"),
        ("deployAs is an object", "deployAs: {}", "[deployAs]: must be a list"),
        (
            "unknown member",
            "deployAs: []\nsomethingNew: 1",
            "[somethingNew]: is not allowed here; allowed are inheritAs, deployAs (line 2)",
        ),
        ("an application that is a text", "deployAs: [aa]", "[deployAs.0]: must be an object"),
        ("no name", "deployAs: [{applicationType: assets}]", "[deployAs.0.name]: is required"),
        (
            "a number as name",
            "deployAs: [{name: 77, applicationType: assets}]",
            "[deployAs.0.name]: must be a string; put it in quotes",
        ),
        (
            "short name",
            "deployAs:\n- {name: a, applicationType: assets}",
            "[deployAs.0.name]: `a` must be 2 to 256 characters of a-z A-Z 0-9 _ - (line 2)",
        ),
        ("bad name", "deployAs: [{name: a b, applicationType: assets}]", "[deployAs.0.name]: `a b` must be"),
        (
            "name twice",
            "deployAs:\n- {name: aa, applicationType: assets}\n- {name: aa, applicationType: assets}",
            "[deployAs.1.name]: `aa` appears twice (line 3)",
        ),
        ("no type", "deployAs: [{name: service}]", "[deployAs.0.applicationType]: is required"),
        (
            "unknown type",
            "deployAs: [{name: aa, applicationType: lambda, endpoint: /a}]",
            "[deployAs.0.applicationType]: `lambda` must be one of service, event",
        ),
        ("no endpoint", "deployAs: [{name: aa, applicationType: event}]", "[deployAs.0.endpoint]: is required"),
        ("endpoint without a slash", "deployAs: [{name: aa, applicationType: service, endpoint: a/b}]", ""),
        (
            "doubled slash",
            "deployAs: [{name: aa, applicationType: service, endpoint: //a}]",
            "[deployAs.0.endpoint]: must be a path",
        ),
        (
            "empty endpoint",
            "deployAs: [{name: aa, applicationType: service, endpoint: ''}]",
            "[deployAs.0.endpoint]: must be a path",
        ),
        (
            "endpoint of assets",
            "deployAs: [{name: aa, applicationType: assets, endpoint: /a}]",
            "[deployAs.0.endpoint]: is not allowed here; allowed are name, applicationType",
        ),
        (
            "configuration of assets",
            "deployAs: [{name: aa, applicationType: assets, configuration: {}}]",
            "[deployAs.0.configuration]: is not allowed here",
        ),
        (
            "scripts of assets",
            "deployAs: [{name: aa, applicationType: assets, scripts: {}}]",
            "[deployAs.0.scripts]: is not allowed here",
        ),
        (
            "properties of a service",
            "deployAs: [{name: aa, applicationType: service, endpoint: /a, properties: {schedule: '* * * * *'}}]",
            "[deployAs.0.properties]: is not allowed here",
        ),
        (
            "a script of blanks",
            "deployAs: [{name: aa, applicationType: service, endpoint: /a, scripts: {postDeploy: ' '}}]",
            "[deployAs.0.scripts.postDeploy]: must not be blank",
        ),
        (
            "an unknown script",
            "deployAs: [{name: aa, applicationType: service, endpoint: /a, scripts: {preDeploy: x}}]",
            "[deployAs.0.scripts.preDeploy]: is not allowed here",
        ),
    ]);
}

#[test]
fn jobs_health_checks_and_retry_policies() {
    let job = |properties: &str| format!("deployAs: [{{name: aa, applicationType: job, endpoint: /a{properties}}}]");
    let of =
        |kind: &str, more: &str| format!("deployAs: [{{name: aa, applicationType: {kind}, endpoint: /a, {more}}}]");
    for (case, text, expected) in [
        ("job", job(", properties: {schedule: 0 5 * * *}"), ""),
        ("no properties", job(""), "[deployAs.0.properties]: is required"),
        ("no schedule", job(", properties: {}"), "[deployAs.0.properties.schedule]: is required"),
        (
            "schedule",
            job(", properties: {schedule: daily}"),
            "[deployAs.0.properties.schedule]: must be a cron expression",
        ),
        ("names of days", job(", properties: {schedule: 0 5 * * MON}"), "[deployAs.0.properties.schedule]: must be"),
        (
            "a number as schedule",
            job(", properties: {schedule: 12345}"),
            "[deployAs.0.properties.schedule]: must be a string",
        ),
        ("health check", of("service", "healthCheck: {path: health, unhealthyThreshold: 20}"), ""),
        ("no path", of("service", "healthCheck: {}"), "[deployAs.0.healthCheck.path]: is required"),
        (
            "interval",
            of("event", "healthCheck: {path: /a, intervalSeconds: 21}"),
            "[deployAs.0.healthCheck.intervalSeconds]: must be a whole number from 1 to 20",
        ),
        (
            "fraction",
            of("event", "healthCheck: {path: /a, timeoutSeconds: 1.5}"),
            "[deployAs.0.healthCheck.timeoutSeconds]: must be a whole number",
        ),
        (
            "health check of a job",
            of("job", "properties: {schedule: '@daily'}, healthCheck: {path: /a}"),
            "[deployAs.0.healthCheck]: is not allowed here",
        ),
        ("immediate", of("event", "retryPolicy: {strategy: immediate}"), ""),
        (
            "retry policy of a service",
            of("service", "retryPolicy: {strategy: immediate}"),
            "[deployAs.0.retryPolicy]: is not allowed here",
        ),
        ("no strategy", of("event", "retryPolicy: {}"), "[deployAs.0.retryPolicy.strategy]: is required"),
        (
            "unknown strategy",
            of("event", "retryPolicy: {strategy: never}"),
            "[deployAs.0.retryPolicy.strategy]: must be immediate or exponential-backoff",
        ),
        (
            "no pauses",
            of("event", "retryPolicy: {strategy: exponential-backoff}"),
            "[deployAs.0.retryPolicy.minBackoffSeconds]: must be a whole number from 1 to 600",
        ),
        (
            "min above max",
            of("event", "retryPolicy: {strategy: exponential-backoff, minBackoffSeconds: 2, maxBackoffSeconds: 1}"),
            "[deployAs.0.retryPolicy.minBackoffSeconds]: must not be above",
        ),
        (
            "attempts",
            of(
                "event",
                "retryPolicy: {strategy: exponential-backoff, minBackoffSeconds: 1, maxBackoffSeconds: 1, maxAttempts: 4}",
            ),
            "[deployAs.0.retryPolicy.maxAttempts]: must be a whole number from 5 to 100",
        ),
        (
            "attempts at once",
            of("event", "retryPolicy: {strategy: immediate, maxAttempts: 5}"),
            "[deployAs.0.retryPolicy.maxAttempts]: belongs to the strategy exponential-backoff",
        ),
    ] {
        check(&[(case, &text, expected)]);
    }
}

#[test]
#[allow(clippy::too_many_lines, reason = "one table")]
fn variables_and_what_is_inherited() {
    let place = "[deployAs.0.configuration.standardConfiguration.0";
    for (case, standard, secured, inherited, expected) in [
        ("lower case", "{key: my_key, description: d}", "", "{}", String::new()),
        ("short key", "{key: A, description: d}", "", "{}", format!("{place}.key]: `A` must be 2 to 256")),
        ("bad key", "{key: A-B, description: d}", "", "{}", format!("{place}.key]: `A-B` must be")),
        ("reserved", "{key: port, description: d}", "", "{}", format!("{place}.key]: `port` is set by the platform")),
        ("no description", "{key: AA}", "", "{}", format!("{place}.description]: is required")),
        (
            "blank description",
            "{key: AA, description: ' '}",
            "",
            "{}",
            format!("{place}.description]: must not be blank"),
        ),
        (
            "blank default",
            "{key: AA, description: d, default: ' '}",
            "",
            "{}",
            format!("{place}.default]: must not be blank"),
        ),
        (
            "null default",
            "{key: AA, description: d, default: null}",
            "",
            "{}",
            format!("{place}.default]: must not be null"),
        ),
        (
            "a number as default",
            "{key: AA, description: d, default: 7}",
            "",
            "{}",
            format!("{place}.default]: must be a string; put it in quotes"),
        ),
        (
            "required is a text",
            "{key: AA, description: d, required: 'true'}",
            "",
            "{}",
            format!("{place}.required]: must be true or false, without quotes"),
        ),
        (
            "a word of YAML 1.1",
            "{key: AA, description: d, required: yes}",
            "",
            "{}",
            format!("{place}.required]: must be true or false (line"),
        ),
        (
            "unknown member",
            "{key: AA, description: d, secret: true}",
            "",
            "{}",
            format!("{place}.secret]: is not allowed here"),
        ),
        (
            "a secret with a default",
            "",
            "{key: AA, description: d, default: x}",
            "{}",
            "[deployAs.0.configuration.securedConfiguration.0.default]: is not allowed here".to_owned(),
        ),
        (
            "twice",
            "{key: AA, description: d}",
            "{key: AA, description: d}",
            "{}",
            "[deployAs.0.configuration.securedConfiguration.0.key]: `AA` appears twice".to_owned(),
        ),
        (
            "inherited too",
            "{key: AA, description: d}",
            "",
            "{configuration: {securedConfiguration: [{key: AA, description: d}]}}",
            format!("{place}.key]: `AA` is a key of inheritAs.configuration too"),
        ),
        (
            "bad inherited key",
            "",
            "",
            "{configuration: {securedConfiguration: [{key: B, description: d}]}}",
            "[inheritAs.configuration.securedConfiguration.0.key]: `B`".to_owned(),
        ),
        ("no scopes", "", "", "{apiClient: {}}", "[inheritAs.apiClient.scopes]: is required".to_owned()),
        (
            "empty scopes",
            "",
            "",
            "{apiClient: {scopes: []}}",
            "[inheritAs.apiClient.scopes]: must hold at least one".to_owned(),
        ),
        (
            "an empty scope",
            "",
            "",
            "{apiClient: {scopes: ['']}}",
            "[inheritAs.apiClient.scopes.0]: must not be blank".to_owned(),
        ),
        ("own credentials", "{key: CTP_CLIENT_ID, description: d}", "", "{}", String::new()),
        (
            "credentials of the API client",
            "{key: CTP_CLIENT_ID, description: d}",
            "",
            "{apiClient: {scopes: [manage_orders]}}",
            format!("{place}.key]: `CTP_CLIENT_ID` is set by the service"),
        ),
        (
            "address of the service",
            "{key: CONNECT_SERVICE_URL, description: d}",
            "",
            "{}",
            format!("{place}.key]: `CONNECT_SERVICE_URL` is set by the service"),
        ),
    ] {
        let configuration = format!("{{standardConfiguration: [{standard}], securedConfiguration: [{secured}]}}");
        let text = format!(
            "deployAs: [{{name: aa, applicationType: service, endpoint: /a, configuration: {configuration}}}]\ninheritAs: {inherited}"
        );
        check(&[(case, &text, &expected)]);
    }
}

#[test]
fn applications_of_the_merchant_center() {
    let id = "{key: CUSTOM_APPLICATION_ID, description: d, required: true}";
    let path = "{key: ENTRY_POINT_URI_PATH, description: d, required: true}";
    let view = "{key: CUSTOM_VIEW_ID, description: d, required: true}";
    let cloud = "{key: CLOUD_IDENTIFIER, description: d, default: gcp-eu}";
    let (application, of_view) = ("merchant-center-custom-application", "merchant-center-custom-view");
    for (case, kind, variables, more, expected) in [
        ("application", application, format!("{id}, {path}, {cloud}"), "", ""),
        ("its former name", "mc-app", format!("{id}, {path}, {cloud}"), "", ""),
        ("view", of_view, format!("{view}, {cloud}"), "", ""),
        (
            "cloud inherited",
            of_view,
            view.to_owned(),
            "inheritAs: {configuration: {standardConfiguration: [{key: CLOUD_IDENTIFIER, description: d, required: true}]}}",
            "",
        ),
        (
            "cloud inherited, not required",
            of_view,
            view.to_owned(),
            "inheritAs: {configuration: {standardConfiguration: [{key: CLOUD_IDENTIFIER, description: d}]}}",
            "needs the variable CLOUD_IDENTIFIER",
        ),
        (
            "no id",
            application,
            format!("{path}, {cloud}"),
            "",
            "must declare the plain variable CUSTOM_APPLICATION_ID, required",
        ),
        ("no path", application, format!("{id}, {cloud}"), "", "must declare the plain variable ENTRY_POINT_URI_PATH"),
        ("no view id", of_view, cloud.to_owned(), "", "must declare the plain variable CUSTOM_VIEW_ID"),
        (
            "id not required",
            of_view,
            format!("{{key: CUSTOM_VIEW_ID, description: d}}, {cloud}"),
            "",
            "CUSTOM_VIEW_ID, required",
        ),
        (
            "no cloud",
            of_view,
            view.to_owned(),
            "",
            "[deployAs.0.configuration]: the type merchant-center-custom-view needs the variable CLOUD_IDENTIFIER",
        ),
    ] {
        let text = format!(
            "deployAs: [{{name: aa, applicationType: {kind}, configuration: {{standardConfiguration: [{variables}], securedConfiguration: []}}}}]\n{more}"
        );
        check(&[(case, &text, expected)]);
    }
    let secured = format!(
        "deployAs: [{{name: aa, applicationType: {of_view}, configuration: {{standardConfiguration: [{view}, {cloud}], securedConfiguration: [{{key: AA, description: d}}]}}}}]"
    );
    check(&[("secured", &secured, "[deployAs.0.configuration.securedConfiguration]: the type")]);
    let former = format!(
        "deployAs: [{{name: aa, applicationType: mc-app, configuration: {{standardConfiguration: [{id}, {path}, {cloud}]}}}}]"
    );
    assert_eq!(declared(&former).configurations[0].application_type.as_str(), application);
}

#[test]
fn all_mistakes_are_reported_at_once_up_to_the_maximum_length() {
    let what =
        Specification::parse("deployAs:\n- {name: a, applicationType: assets}\n- {name: bb, applicationType: job}")
            .expect_err("three mistakes");
    assert_eq!(
        what,
        "[deployAs.0.name]: `a` must be 2 to 256 characters of a-z A-Z 0-9 _ - (line 2); [deployAs.1.endpoint]: is \
         required (line 3); [deployAs.1.properties]: is required (line 3)"
    );
    let many = format!("deployAs: [{}]", vec!["{}"; 500].join(", "));
    let what = Specification::parse(&many).expect_err("a thousand mistakes");
    assert!(what.len() < 4_096 && what.contains("; and "), "{what}");
}
