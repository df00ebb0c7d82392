//! Manifests for kinds of other projects (Argo CD, Flux, External Secrets, Sealed Secrets) against the CRDs that these
//! projects publish, on the real API server: unknown fields, wrong types and violated rules are refused. What
//! controllers do with them is tested in `flux/` and `argocd/`.

use std::process::Command;

use crate::prelude::*;

/// CRDs that a Go module contains as files: the module, and the file in it.
const FILES: [(&str, &str); 5] = [
    ("github.com/argoproj/argo-cd/v3", "manifests/crds/application-crd.yaml"),
    ("github.com/bitnami-labs/sealed-secrets", "helm/sealed-secrets/crds/bitnami.com_sealedsecrets.yaml"),
    ("github.com/external-secrets/external-secrets", "config/crds/bases/external-secrets.io_externalsecrets.yaml"),
    ("github.com/fluxcd/kustomize-controller", "config/crd/bases/kustomize.toolkit.fluxcd.io_kustomizations.yaml"),
    ("github.com/fluxcd/source-controller", "config/crd/bases/source.toolkit.fluxcd.io_gitrepositories.yaml"),
];

/// The generator of CRDs from Go types, and the module with the types of `HelmRelease`, whose CRD no module contains.
const GENERATOR: &str = "sigs.k8s.io/controller-tools/cmd/controller-gen";
const HELM_RELEASE: &str = "github.com/fluxcd/helm-controller/api/v2";

/// Folders with manifests for kinds of other projects.
const FOLDERS: [&str; 3] = ["examples/argocd", "examples/flux", "examples/secrets"];

#[tokio::test]
async fn manifests_for_flux_argo_cd_and_secrets_are_valid_for_their_crds() {
    let sandbox = Sandbox::new().await;
    install(&sandbox).await;
    let mut kinds = Vec::new();
    for file in files(&FOLDERS, &["yaml"]) {
        for manifest in documents(&text_of(&file)) {
            kinds.push(manifest["kind"].as_str().unwrap().to_owned());
            let mut misspelt = manifest.clone();
            let answer = sandbox.dry_run(manifest).await;
            assert!(answer.is_ok(), "{}: {answer:?}", file.display());
            misspelt["spec"]["misspelt"] = Value::from("x");
            let refused = misspelt["metadata"]["name"].is_string() && sandbox.dry_run(misspelt).await.is_err();
            assert!(refused, "{}: an unknown field is refused", file.display());
        }
    }
    for kind in ["Application", "HelmRelease", "Kustomization", "GitRepository", "ExternalSecret", "SealedSecret"] {
        assert!(kinds.iter().any(|it| it == kind), "{kind} is shown");
    }
}

/// The values in these manifests must exist in the chart, whose schema refuses others.
#[test]
fn chart_values_in_the_examples_exist_in_the_chart() {
    let [schema, defaults] =
        ["values.schema.json", "values.yaml"].map(|name| yaml_of(format!("charts/connect-operator/{name}")));
    let mut checked = 0;
    for file in ["examples/argocd/operator.yaml", "examples/flux/operator.yaml"] {
        for manifest in documents(&text_of(file)) {
            let places = ["/spec/source/helm/valuesObject", "/spec/values"];
            for values in places.iter().filter_map(|place| manifest.pointer(place)) {
                let merged = with_spec(json!({"spec": defaults}), values)["spec"].take();
                jsonschema::validate(&schema, &merged).unwrap_or_else(|error| panic!("{file}: {error}"));
                let mut misspelt = merged.clone();
                misspelt["watchNamespace"] = Value::from("x");
                assert!(jsonschema::validate(&schema, &misspelt).is_err(), "{file}");
                checked += 1;
            }
        }
    }
    assert_eq!(checked, 2);
}

/// Installs the CRDs into the cluster that all tests share, once; no other test uses these kinds.
pub(crate) async fn install(sandbox: &Sandbox) {
    static INSTALLED: OnceCell<()> = OnceCell::const_new();
    let install = async || {
        let definitions = tokio::task::spawn_blocking(definitions).await.unwrap();
        sandbox.succeed(&["apply", "--server-side", "--filename", "-"], &definitions).await;
        sandbox.succeed(&["wait", "crd", "--all", "--for=condition=Established", &timeout_option()], "").await;
    };
    INSTALLED.get_or_init(install).await;
}

fn definitions() -> String {
    let mut definitions = Vec::new();
    for (module, file) in FILES {
        let path = downloaded(module).join(file);
        definitions.push(std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display())));
    }
    let generator = go_tools::built("crds/generated", GENERATOR);
    let mut command = Command::new(generator);
    command.current_dir(go_tools::module("crds/generated")).env("GOWORK", "off").env_remove("GOFLAGS");
    command.args(["crd", &format!("paths={HELM_RELEASE}"), "output:crd:stdout"]);
    definitions.push(String::from_utf8(go_tools::succeed(&mut command)).unwrap());
    definitions.join("\n---\n")
}

/// Path of the files of a module, in the version of go.mod.
fn downloaded(module: &str) -> PathBuf {
    let folder = go_tools::module("crds/files");
    let text = std::fs::read_to_string(folder.join("go.mod")).unwrap();
    let wanted = text.lines().find_map(|line| line.trim().strip_prefix(module)?.strip_prefix(' '));
    let version = wanted.unwrap_or_else(|| panic!("{module} is in go.mod"));
    let mut command = go_tools::go(&folder);
    command.args(["mod", "download", "-json", &format!("{module}@{version}")]);
    let answer: Value = serde_json::from_slice(&go_tools::succeed(&mut command)).unwrap();
    answer["Dir"].as_str().expect("a folder").into()
}
