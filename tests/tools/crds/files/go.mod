// Modules that carry CustomResourceDefinitions as files. Tests download these versions, check them against go.sum, and read
// the files; nothing is built. Not for `go mod tidy`, which would take them out. See tests/apiserver/gitops/foreign.rs.
module connect-operator.io/tests/crds/files

go 1.26.0

require (
	github.com/argoproj/argo-cd/v3 v3.5.7
	github.com/bitnami-labs/sealed-secrets v0.40.0
	github.com/external-secrets/external-secrets v1.3.2
	github.com/fluxcd/kustomize-controller v1.9.5
	github.com/fluxcd/source-controller v1.9.5
)
