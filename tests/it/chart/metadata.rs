//! What `Chart.yaml` tells Helm and Artifact Hub.

use crate::prelude::*;

const REPOSITORY: &str = "https://github.com/connect-operator/connect-operator";

fn chart() -> Value {
    yaml_of(format!("{CHART}/Chart.yaml"))
}

/// Returns an annotation of Artifact Hub that is YAML in a text.
fn annotation(name: &str) -> Value {
    let chart = chart();
    let text = chart["annotations"][format!("artifacthub.io/{name}")].as_str().expect(name);
    serde_saphyr::from_str(text).unwrap()
}

#[test]
fn artifact_hub_lists_the_crds_that_the_code_generates() {
    let mut list = "  artifacthub.io/crds: |\n".to_owned();
    for crd in crd::all() {
        let version = &crd.spec.versions[0];
        let schema = version.schema.as_ref().and_then(|it| it.open_api_v3_schema.as_ref()).expect("a schema");
        let description = schema.description.as_deref().expect("a description");
        let summary = description.lines().next().unwrap_or_default();
        for (before, name, value) in [
            ("- ", "kind", crd.spec.names.kind.as_str()),
            ("  ", "version", &version.name),
            ("  ", "name", crd.metadata.name.as_deref().expect("a name")),
            ("  ", "displayName", &crd.spec.names.kind),
            ("  ", "description", summary),
        ] {
            writeln!(list, "    {before}{name}: {}", Value::from(value)).unwrap();
        }
    }
    assert_golden_parts(&format!("{CHART}/Chart.yaml"), &[("crds", list)]);
    assert_eq!(annotation("crds").as_array().map(Vec::len), Some(crd::all().len()));
}

#[test]
fn links_of_the_chart_lead_to_files_of_the_project() {
    let chart = chart();
    let icon = chart["icon"].as_str().expect("an icon");
    let raw = REPOSITORY.replace("github.com", "raw.githubusercontent.com");
    let changes = annotation("changes");
    let links = changes.as_array().into_iter().flatten().filter_map(|change| change["links"].as_array().cloned());
    let links: Vec<_> = links.chain(annotation("links").as_array().cloned()).flatten().collect();
    assert!(links.len() > 1);
    let mut paths: Vec<_> = links.iter().map(|link| link["url"].as_str().expect("an address").to_owned()).collect();
    paths.push(icon.replace(&raw, &format!("{REPOSITORY}/blob")));
    for address in paths {
        let path = ["blob", "tree"].iter().find_map(|kind| address.strip_prefix(&format!("{REPOSITORY}/{kind}/main/")));
        let path = path.unwrap_or_else(|| panic!("{address} is elsewhere"));
        assert!(in_checkout(path).exists(), "{path}");
    }
}
