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
        - {key: DEBUG, description: Says more, default: 0}
        - key: NOTHING
          default: null
      securedConfiguration:
        - {key: TOKEN, description: Opens it, required: true}
  - name: nightly
    applicationType: job
    endpoint: /job
    properties: {schedule: "*/5 * * * *"}
  - name: assets
    applicationType: assets
    configuration:
inheritAs:
  configuration:
    securedConfiguration: [{key: SHARED, description: For all}]
  apiClient: {scopes: [manage_orders, view_products]}
somethingNew: {that: passes}
"#,
    );
    let names: Vec<_> = connector.configurations.iter().map(|declared| declared.application_name.as_str()).collect();
    assert_eq!(names, ["service", "nightly", "assets"]);
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
        (
            "unknown type",
            "deployAs: [{name: aa, applicationType: lambda}]",
            "deployAs[0].applicationType: `lambda` must be",
        ),
        ("short name", "deployAs: [{name: a, applicationType: service}]", "deployAs[0].name: `a` must be 2 to 256"),
        ("bad name", "deployAs: [{name: a b, applicationType: service}]", "deployAs[0].name"),
        (
            "name twice",
            "deployAs: [{name: aa, applicationType: service}, {name: aa, applicationType: job}]",
            "deployAs[1].name: `aa` is there twice",
        ),
        ("endpoint", "deployAs: [{name: aa, applicationType: service, endpoint: svc}]", "deployAs[0].endpoint"),
        (
            "schedule of a service",
            "deployAs: [{name: aa, applicationType: service, properties: {schedule: '* * * * *'}}]",
            "only an application of the type job",
        ),
        (
            "schedule",
            "deployAs: [{name: aa, applicationType: job, properties: {schedule: daily}}]",
            "deployAs[0].properties.schedule: must have five fields",
        ),
        (
            "key twice",
            "deployAs: [{name: aa, applicationType: job, configuration: {standardConfiguration: [{key: A}], \
             securedConfiguration: [{key: B}, {key: A}]}}]",
            "deployAs[0].configuration.securedConfiguration[1].key: `A` is there twice",
        ),
        (
            "empty key",
            "deployAs: [{name: aa, applicationType: job}]\ninheritAs: {configuration: {standardConfiguration: [{key: ''}]}}",
            "inheritAs.configuration.standardConfiguration[0].key: must not be empty",
        ),
        ("a secret as a list", "deployAs: [{name: aa, applicationType: job, configuration: [7]}]", "line 1"),
    ] {
        let what = Specification::parse(text).expect_err(case);
        assert!(!what.is_empty() && !what.contains('\n') && what.contains(expected), "{case}: {what}");
    }
}
