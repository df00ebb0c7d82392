use super::specification::Specification;
use crate::dev_server::connector::ConnectorDefinition;

fn declared(text: &str) -> ConnectorDefinition {
    let mut connector = ConnectorDefinition::default();
    Specification::parse(text).expect(text).put_into(&mut connector);
    connector
}

#[test]
fn a_connect_yaml_as_makers_write_it_is_read() {
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
          default: null
      securedConfiguration:
        - {key: TOKEN, description: Opens it, required: true}
  - name: nightly
    applicationType: job
    endpoint: /job
    properties: {schedule: "*/5 * * * *"}
  - name: events
    applicationType: event
    endpoint: a/b
    healthCheck: {path: /health}
    retryPolicy: {strategy: immediate}
  - name: assets
    applicationType: assets
    configuration:
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
    assert_eq!(connector.schedules["nightly"], "*/5 * * * *");
    let global = connector.global_configuration.expect("it is inherited");
    assert_eq!((global.standard_configuration.len(), global.secured_configuration[0].key.as_str()), (0, "SHARED"));
    assert_eq!(connector.api_client.expect("it is inherited").scopes, ["manage_orders", "view_products"]);
}

#[test]
fn what_is_wrong_in_a_connect_yaml_is_told_with_its_place() {
    for (case, text, expected) in [
        ("empty", "", "end of input"),
        ("not YAML", "deployAs: [", ""),
        ("a list", "[a, b]", ""),
        ("no applications", "deployAs: []", "deployAs: at least one application is required"),
        ("no deployAs", "inheritAs: {}", "deployAs"),
        ("no name", "deployAs: [{applicationType: service}]", "name"),
        ("no type", "deployAs: [{name: service}]", "applicationType"),
        ("unknown member", "deployAs: []\nsomethingNew: 1", "somethingNew"),
        (
            "unknown member of an application",
            "deployAs: [{name: aa, applicationType: assets, endPoint: a}]",
            "endPoint",
        ),
        ("a number as name", "deployAs: [{name: 77, applicationType: assets}]", "quot"),
        (
            "unknown type",
            "deployAs: [{name: aa, applicationType: lambda}]",
            "deployAs[0].applicationType: `lambda` must be one of service, event",
        ),
        ("short name", "deployAs: [{name: a, applicationType: assets}]", "deployAs[0].name: `a` must be 2 to 256"),
        ("bad name", "deployAs: [{name: a b, applicationType: assets}]", "deployAs[0].name"),
        (
            "name twice",
            "deployAs: [{name: aa, applicationType: assets}, {name: aa, applicationType: assets}]",
            "deployAs[1].name: `aa` is there twice",
        ),
        ("no endpoint", "deployAs: [{name: aa, applicationType: event}]", "deployAs[0].endpoint: is required"),
        (
            "endpoint",
            "deployAs: [{name: aa, applicationType: service, endpoint: //a}]",
            "deployAs[0].endpoint: must be",
        ),
        ("endpoint of assets", "deployAs: [{name: aa, applicationType: assets, endpoint: /a}]", "type assets has none"),
        (
            "schedule of a service",
            "deployAs: [{name: aa, applicationType: service, endpoint: /a, properties: {schedule: '* * * * *'}}]",
            "deployAs[0].properties: only an application of the type job",
        ),
        ("no schedule", "deployAs: [{name: aa, applicationType: job, endpoint: /a}]", "deployAs[0].properties: needs"),
        (
            "schedule",
            "deployAs: [{name: aa, applicationType: job, endpoint: /a, properties: {schedule: daily}}]",
            "deployAs[0].properties.schedule: must be a cron expression",
        ),
        ("a list of numbers", "deployAs: [{name: aa, applicationType: assets, configuration: [7]}]", "line 1"),
    ] {
        let what = Specification::parse(text).expect_err(case);
        assert!(!what.is_empty() && !what.contains('\n') && what.contains(expected), "{case}: {what}");
    }
}

#[test]
fn what_is_wrong_with_a_variable_is_told_with_its_place() {
    let place = "deployAs[0].configuration.standardConfiguration[0]";
    for (case, standard, secured, expected) in [
        ("short key", "{key: A, description: d}", "", format!("{place}.key: `A` must be 2 to 256")),
        ("bad key", "{key: A-B, description: d}", "", format!("{place}.key: `A-B` must be")),
        ("reserved", "{key: port, description: d}", "", format!("{place}.key: `port` is set by the platform")),
        ("no description", "{key: AA}", "", "description".to_owned()),
        ("blank description", "{key: AA, description: ' '}", "", format!("{place}.description: must not be empty")),
        ("empty default", "{key: AA, description: d, default: ''}", "", format!("{place}.default: must not be empty")),
        ("a number as default", "{key: AA, description: d, default: 7}", "", "quot".to_owned()),
        ("required is a text", "{key: AA, description: d, required: yes}", "", "line".to_owned()),
        ("a secret with a default", "", "{key: AA, description: d, default: x}", "default".to_owned()),
        (
            "twice",
            "{key: AA, description: d}",
            "{key: BB, description: d}, {key: AA, description: d}",
            "deployAs[0].configuration.securedConfiguration[1].key: `AA` is there twice".to_owned(),
        ),
    ] {
        let configuration = format!("{{standardConfiguration: [{standard}], securedConfiguration: [{secured}]}}");
        let text = format!("deployAs: [{{name: aa, applicationType: assets, configuration: {configuration}}}]");
        let what = Specification::parse(&text).expect_err(case);
        assert!(what.contains(&expected), "{case}: {what}");
    }
    let one = "deployAs: [{name: aa, applicationType: assets, configuration: {standardConfiguration: [{key: AA, description: d}]}}]";
    for (inherited, expected) in [
        (
            "{configuration: {securedConfiguration: [{key: AA, description: d}]}}",
            "inheritAs.configuration: `AA` is a key",
        ),
        (
            "{configuration: {securedConfiguration: [{key: B, description: d}]}}",
            "inheritAs.configuration.securedConfiguration[0].key",
        ),
        ("{apiClient: {scopes: []}}", "inheritAs.apiClient.scopes"),
        ("{apiClient: {}}", "scopes"),
    ] {
        let what = Specification::parse(&format!("{one}\ninheritAs: {inherited}")).expect_err(inherited);
        assert!(what.contains(expected), "{inherited}: {what}");
    }
}
