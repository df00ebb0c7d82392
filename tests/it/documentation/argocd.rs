//! `examples/argocd/argocd-cm-patch.yaml`: the health check for each kind, copied from its one source file.

use crate::prelude::*;

const SCRIPT: &str = include_str!("../../../examples/argocd/health.lua");

#[test]
fn the_patch_for_argo_cd_has_the_health_check_for_every_kind() {
    let mut patch = String::from(
        "# How Argo CD shows the kinds of connect-operator.io, merged into its ConfigMap. Made from health.lua, which is the same \
         for each:\n# `UPDATE_GOLDEN=1 cargo test --test it` rewrites this file.\n#\n\
         #   kubectl patch configmap argocd-cm --namespace argocd --patch-file examples/argocd/argocd-cm-patch.yaml\n\
         apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: argocd-cm\n  namespace: argocd\n  labels: {app.kubernetes.io/part-of: argocd}\ndata:\n",
    );
    for crd in crd::all() {
        writeln!(patch, "  resource.customizations.health.{}_{}: |", names::GROUP, crd.spec.names.kind).unwrap();
        for line in SCRIPT.lines() {
            writeln!(patch, "{}", format!("    {line}").trim_end()).unwrap();
        }
    }
    assert_golden("examples/argocd/argocd-cm-patch.yaml", &patch);
}
