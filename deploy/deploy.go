// Package deploy embeds the files that install the sidecar, as far as the program needs
// them.
package deploy

import _ "embed"

// Values adds the sidecar to the values for the argo-cd chart. The container and the
// settings of the kustomize component are the same; a test compares them.
//
//go:embed argocd-values.yaml
var Values string
