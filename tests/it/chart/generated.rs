//! The parts of the chart that are generated: the CustomResourceDefinitions, and the version.

use std::sync::Once;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use crate::prelude::*;

/// The folder of the templates.
const FOLDER: &str = "charts/connect-operator/templates/crds";

/// Returns the template of one CustomResourceDefinition: the committed text with its installation switches, and with
/// its braces escaped.
fn template(crd: &str) -> String {
    let escaped = crd.replace("{{", "{{ \"{{\" }}");
    let (begin, rest) = escaped.split_once("metadata:\n").expect("a CRD has metadata");
    let begin = begin.strip_prefix("---\n").unwrap_or(begin);
    let metadata = "metadata:\n  {{- include \"connect-operator.crdMetadata\" . | nindent 2 }}\n";
    format!("{{{{- if .Values.crds.enabled }}}}\n{begin}{metadata}{rest}{{{{- end }}}}\n")
}

/// Compares the templates with the code, or rewrites them, before anything is rendered from them.
pub(super) fn compare_templates() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for crd in crd::all() {
            let path = format!("{FOLDER}/{}.yaml", crd.metadata.name.clone().unwrap());
            assert_golden(&path, &template(&crd::generate::to_yaml(&crd)));
        }
    });
}

#[test]
fn the_chart_has_the_crds_that_the_code_generates_and_nothing_else() {
    compare_templates();
    let names = crd::all().into_iter().map(|crd| format!("{}.yaml", crd.metadata.name.unwrap()));
    assert_eq!(names_in(FOLDER), names.collect());
}

#[test]
fn what_helm_renders_is_each_crd_as_it_is() {
    compare_templates();
    let rendered = helm::manifests(&[]).into_iter().filter(|it| it["kind"] == "CustomResourceDefinition");
    let rendered: Vec<CustomResourceDefinition> = rendered.map(|it| serde_json::from_value(it).unwrap()).collect();
    assert_eq!(rendered.len(), crd::all().len());
    for needed in crd::all() {
        let name = needed.metadata.name.as_deref().unwrap();
        let found = rendered.iter().find(|it| it.metadata.name.as_deref() == Some(name)).expect(name);
        assert!(found.spec == needed.spec, "{name}");
        let annotations = found.metadata.annotations.clone().unwrap_or_default();
        assert_eq!(annotations.get("helm.sh/resource-policy").map(String::as_str), Some("keep"), "{name}");
    }
}

#[test]
fn braces_in_a_description_are_not_taken_for_a_template() {
    let template = template("---\nmetadata:\n  name: a\nspec: \"{{ .Values }}\"\n");
    assert!(template.ends_with("spec: \"{{ \"{{\" }} .Values }}\"\n{{- end }}\n"), "{template}");
}
