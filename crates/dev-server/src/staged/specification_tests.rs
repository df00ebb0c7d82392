//! A typical `connect.yaml`, and a small file for each rule of contract section 16.

use super::specification::Specification;
use crate::connector::{ConnectorDefinition, Scripts};
use crate::testing::rows;

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
    assert_eq!(connector.schedules["nightly"].as_str(), "*/5 * * * *");
    assert_eq!(connector.endpoints["events"].as_str(), "a/b");
    assert_eq!(connector.retry_policies["events"].max_attempts, Some(5));
    assert_eq!(connector.scripts, Scripts::Succeed);
    let global = connector.global_configuration.expect("it is inherited");
    assert_eq!((global.standard_configuration.len(), global.secured_configuration[0].key.as_str()), (0, "SHARED"));
    assert_eq!(connector.api_client.expect("it is inherited").scopes, ["manage_orders", "view_products"]);
}

/// Parses each file, with the text of the row in place of `<>`, and compares the error: it must contain the expected
/// text, behind `place` if it begins with `.` or `]`; none is expected if there is no text.
fn check(file: &str, place: &str, table: &str) {
    for [case, text, expected] in rows(table) {
        let expected = if expected.starts_with(['.', ']']) { format!("[{place}{expected}") } else { expected };
        let what = Specification::parse(&file.replace("<>", &text)).err().unwrap_or_default();
        assert_eq!(what.is_empty(), expected.is_empty(), "{case}: {what}");
        assert!(what.contains(&expected) && !what.contains('\n'), "{case}: {what}");
    }
}

#[test]
fn shapes_of_the_file() {
    let table = r#"
        no applications | deployAs: [] |
        JSON | {"deployAs": [{"name": "aa", "applicationType": "assets"}]} |
        not YAML | deployAs: [ | line 1
        nothing | ---\n | is empty
        a member twice | deployAs: []\ndeployAs: [] | `deployAs` appears twice in the same object: keep one
        a second document | deployAs: []\n---\ndeployAs: [] | a line `---` begins a second document: remove it
        a list | [a, b] | [file content]: must be an object (line 1)
        null | null | [file content]: must be an object with the member deployAs, and is empty (line 1)
        no deployAs | inheritAs: {} | [deployAs]: is required
        null deployAs | deployAs: null | [deployAs]: must not be null; leave it out (line 1)
        null inheritAs | deployAs: []\ninheritAs: | [inheritAs]: must not be null
        deployAs is an object | deployAs: {} | [deployAs]: must be a list
        unknown member | deployAs: []\nnew: 1 | [new]: is not allowed here; allowed are inheritAs, deployAs (line 2)
    "#;
    check("<>", "", table);
}

#[test]
fn shapes_of_an_application() {
    let table = "
        a text | aa | ]: must be an object
        no name | {applicationType: assets} | .name]: is required
        a number as name | {name: 77, applicationType: assets} | .name]: must be a string; put it in quotes
        short name | {name: a, applicationType: assets} | .name]: `a` must be 2 to 256 characters of a-z A-Z 0-9 _ - (
        bad name | {name: a b, applicationType: assets} | .name]: `a b` must be
        no type | {name: service} | .applicationType]: is required
        no endpoint | {name: aa, applicationType: event} | .endpoint]: is required
    ";
    check("deployAs:\n- <>", "deployAs.0", table);
    let twice = "name twice | {name: aa, applicationType: assets} | [deployAs.1.name]: `aa` appears twice (line 3)";
    check("deployAs:\n- <>\n- <>", "", twice);
    let table = "
        unknown type | lambda, endpoint: /a | .applicationType]: `lambda` must be one of service, event
        endpoint without a slash | service, endpoint: a/b |
        doubled slash | service, endpoint: //a | .endpoint]: must be a path
        empty endpoint | service, endpoint: '' | .endpoint]: must be a path
        endpoint of assets | assets, endpoint: /a | .endpoint]: is not allowed here; allowed are name, applicationType
        configuration of assets | assets, configuration: {} | .configuration]: is not allowed here
        scripts of assets | assets, scripts: {} | .scripts]: is not allowed here
    ";
    check("deployAs: [{name: aa, applicationType: <>}]", "deployAs.0", table);
}

#[test]
fn scripts_jobs_health_checks_and_retry_policies() {
    let table = "
        properties of a service | service, properties: {schedule: '* * * * *'} | .properties]: is not allowed here
        a script of blanks | service, scripts: {postDeploy: ' '} | .scripts.postDeploy]: must not be blank
        an unknown script | service, scripts: {preDeploy: x} | .scripts.preDeploy]: is not allowed here
        job | job, properties: {schedule: 0 5 * * *} |
        no properties | job | .properties]: is required
        no schedule | job, properties: {} | .properties.schedule]: is required
        schedule | job, properties: {schedule: daily} | .properties.schedule]: must be a cron expression
        names of days | job, properties: {schedule: 0 5 * * MON} | .properties.schedule]: must be
        a number as schedule | job, properties: {schedule: 12345} | .properties.schedule]: must be a string
        health check | service, healthCheck: {path: health, unhealthyThreshold: 20} |
        no path | service, healthCheck: {} | .healthCheck.path]: is required
        interval | event, healthCheck: {path: /a, intervalSeconds: 21} | intervalSeconds]: must be a whole number from 1
        fraction | event, healthCheck: {path: /a, timeoutSeconds: 1.5} | timeoutSeconds]: must be a whole number
        of a job | job, properties: {schedule: '@daily'}, healthCheck: {path: /a} | .healthCheck]: is not allowed here
        retry policy of a service | service, retryPolicy: {strategy: immediate} | .retryPolicy]: is not allowed here
    ";
    let file = "deployAs: [{name: aa, endpoint: /a, applicationType: <>}]";
    check(file, "deployAs.0", table);
    let table = "
        immediate | strategy: immediate |
        no strategy | | .strategy]: is required
        unknown strategy | strategy: never | .strategy]: must be immediate or exponential-backoff
        no pauses | strategy: BACKOFF | .minBackoffSeconds]: must be a whole number from 1 to 600
        min above max | strategy: BACKOFF, minBackoffSeconds: 2, LEAST | .minBackoffSeconds]: must not be above
        attempts | strategy: BACKOFF, minBackoffSeconds: 1, LEAST, maxAttempts: 4 | .maxAttempts]: must be a whole
        attempts at once | strategy: immediate, maxAttempts: 5 | .maxAttempts]: belongs to the strategy exponential-b
    ";
    let table = table.replace("BACKOFF", "exponential-backoff").replace("LEAST", "maxBackoffSeconds: 1");
    check(&file.replace("<>", "event, retryPolicy: {<>}"), "deployAs.0.retryPolicy", &table);
}

#[test]
fn variables_and_what_is_inherited() {
    let service = "deployAs: [{name: aa, applicationType: service, endpoint: /a, configuration: {<>}}]";
    let place = "deployAs.0.configuration.standardConfiguration.0";
    let table = "
        lower case | key: my_key, description: d |
        short key | key: A, description: d | .key]: `A` must be 2 to 256
        bad key | key: A-B, description: d | .key]: `A-B` must be
        reserved | key: port, description: d | .key]: `port` is set by the platform
        no description | key: AA | .description]: is required
        blank description | key: AA, description: ' ' | .description]: must not be blank
        blank default | key: AA, description: d, default: ' ' | .default]: must not be blank
        null default | key: AA, description: d, default: null | .default]: must not be null
        a number as default | key: AA, description: d, default: 7 | .default]: must be a string; put it in quotes
        required is a text | key: AA, description: d, required: 'true' | .required]: must be true or false, without
        a word of YAML 1.1 | key: AA, description: d, required: yes | .required]: must be true or false (line
        unknown member | key: AA, description: d, secret: true | .secret]: is not allowed here
        own credentials | key: CTP_CLIENT_ID, description: d |
        of the service | key: CONNECT_SERVICE_URL, description: d | .key]: `CONNECT_SERVICE_URL` is set by the service
    ";
    check(&service.replace("<>", "standardConfiguration: [{<>}]"), place, table);
    let one = service.replace("<>", "standardConfiguration: [{key: AA, description: d}]<>");
    let table = "
        twice | , securedConfiguration: [{key: AA, description: d}] | .0.key]: `AA` appears twice
        a secret with a default | , securedConfiguration: [{key: BB, description: d, default: x}] | .0.default]: is not
    ";
    check(&one, "deployAs.0.configuration.securedConfiguration", table);
    let inheriting = |file: &str| format!("{}\ninheritAs: {{<>}}", file.replace("<>", ""));
    let table = "
        too | configuration: {securedConfiguration: [{key: AA, description: d}]} | .key]: `AA` is a key of inheritAs.
        no scopes | apiClient: {} | [inheritAs.apiClient.scopes]: is required
        empty scopes | apiClient: {scopes: []} | [inheritAs.apiClient.scopes]: must hold at least one
        an empty scope | apiClient: {scopes: ['']} | [inheritAs.apiClient.scopes.0]: must not be blank
        bad key | configuration: {securedConfiguration: [{key: B, description: d}]} | securedConfiguration.0.key]: `B`
    ";
    check(&inheriting(&one), place, table);
    let row = "of the API client | apiClient: {scopes: [manage_orders]} | .key]: `CTP_CLIENT_ID` is set by the service";
    check(&inheriting(&one.replace("AA", "CTP_CLIENT_ID")), place, row);
}

#[test]
fn applications_of_the_merchant_center() {
    let variables = "deployAs: [{name: aa, applicationType: merchant-center-custom-<>}]";
    let named = |table: &str| {
        let table = table.replace("$ID", "{key: CUSTOM_APPLICATION_ID, description: d, required: true}");
        let table = table.replace("$PATH", "{key: ENTRY_POINT_URI_PATH, description: d, required: true}");
        let table = table.replace("$VIEW", "{key: CUSTOM_VIEW_ID, description: d, required: true}");
        let table = table.replace("$CLOUD", "{key: CLOUD_IDENTIFIER, description: d, default: gcp-eu}");
        table.replace("[[", "configuration: {standardConfiguration: [").replace("]]", "]}")
    };
    let table = "
        application | application, [[$ID, $PATH, $CLOUD]] |
        view | view, [[$VIEW, $CLOUD]] |
        no id | application, [[$PATH, $CLOUD]] | must declare the plain variable CUSTOM_APPLICATION_ID, required
        no path | application, [[$ID, $CLOUD]] | must declare the plain variable ENTRY_POINT_URI_PATH
        no view id | view, [[$CLOUD]] | must declare the plain variable CUSTOM_VIEW_ID
        id not required | view, [[{key: CUSTOM_VIEW_ID, description: d}, $CLOUD]] | CUSTOM_VIEW_ID, required
        no cloud | view, [[$VIEW]] | .configuration]: the type merchant-center-custom-view needs the variable CLOUD_
    ";
    check(variables, "deployAs.0", &named(table));
    let inherits = "deployAs: [{name: aa, applicationType: merchant-center-custom-view, [[$VIEW]]}]\n\
                    inheritAs: {[[{key: CLOUD_IDENTIFIER, description: d<>}]]}";
    let table = "
        cloud inherited | , required: true |
        cloud inherited, not required | | needs the variable CLOUD_IDENTIFIER
    ";
    check(&named(inherits), "", table);
    let secured = variables.replace("<>", "view, configuration: {standardConfiguration: [$VIEW, $CLOUD], <>}");
    let row = "secured | securedConfiguration: [{key: AA, description: d}] | .securedConfiguration]: the type";
    check(&named(&secured), "deployAs.0.configuration", row);
    let former = named("deployAs: [{name: aa, applicationType: mc-app, [[$ID, $PATH, $CLOUD]]}]");
    let kind = declared(&former).configurations[0].application_type.as_str().to_owned();
    assert_eq!(kind, "merchant-center-custom-application");
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
