//! `deploy/`, for installs without Helm: written from what the chart renders, so that the two stay equal.
//! `tests/apiserver/chart/` checks the output of kustomize.

use super::generated::compare_templates;
use crate::prelude::*;

/// Lines that only Helm uses.
const OF_HELM: [&str; 3] = ["# Source: ", "helm.sh/", "app.kubernetes.io/managed-by: Helm"];

/// Returns the selected manifests of a render, without Helm's lines; comments stay.
fn part(arguments: &[&str], wanted: impl Fn(&str, &str) -> bool) -> String {
    let render = helm::text(arguments).expect("the chart renders");
    let mut text = String::new();
    for document in render.split("---\n").filter(|document| !document.trim().is_empty()) {
        let read = helm::read(document).remove(0);
        let template = document.lines().find_map(|line| line.strip_prefix("# Source: ")).unwrap_or_default();
        if !wanted(read["kind"].as_str().unwrap(), template.rsplit('/').next().unwrap_or_default()) {
            continue;
        }
        text.push_str("---\n");
        let kept = document.lines().filter(|line| !OF_HELM.iter().any(|mark| line.trim_start().starts_with(mark)));
        kept.for_each(|line| {
            text.push_str(line);
            text.push('\n');
        });
    }
    text
}

fn is_right_in_what_is_watched(_: &str, template: &str) -> bool {
    template == "rbac-watched.yaml"
}

#[test]
fn deploy_is_what_the_chart_renders() {
    compare_templates();
    // Without `crds.keep` there are no annotations; with it, removing those of Helm would leave an empty map.
    let all = ["--set", "crds.keep=false"];
    let crds = part(&all, |kind, _| kind == "CustomResourceDefinition");
    let people = part(&all, |_, template| template == "rbac-people.yaml");
    let operator = part(&all, |kind, template| {
        kind != "CustomResourceDefinition" && !["rbac-people.yaml", "rbac-watched.yaml"].contains(&template)
    });
    let cluster = part(&all, is_right_in_what_is_watched);
    let namespace = part(&["--set", "watchNamespaces={shop}"], is_right_in_what_is_watched);
    let own = text_of("deploy/base/namespace.yaml");
    let install = format!("---\n{own}{crds}{people}{cluster}{operator}");
    for (file, text) in [
        ("base/crds.yaml", &crds),
        ("base/people.yaml", &people),
        ("base/operator.yaml", &operator),
        ("overlays/cluster/rights.yaml", &cluster),
        ("overlays/namespace/rights.yaml", &namespace),
        ("install.yaml", &install),
    ] {
        assert!(!text.contains("helm.sh"), "{file}");
        assert_golden(&format!("deploy/{file}"), text);
    }
}
