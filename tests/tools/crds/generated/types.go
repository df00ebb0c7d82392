// Package crds names the types from which controller-gen makes definitions that no module carries as a file.
package crds

import _ "github.com/fluxcd/helm-controller/api/v2"
