// Package deploy embeds the files that install the sidecar and the extension of Argo CD's
// user interface, as far as the program needs them.
package deploy

import _ "embed"

// Values adds the sidecar to the values for the argo-cd chart. The container and the
// settings of the kustomize component are the same; a test compares them.
//
//go:embed argocd-values.yaml
var Values string

// UIValues adds the volume with the extension to the values for the argo-cd chart. The
// kustomize component has the same; a test compares them.
//
//go:embed ui-extension/values.yaml
var UIValues string

// UIFile is the name of the extension, which Argo CD's server looks for
// (^extension(.*)\.js$, server/server.go).
const UIFile = "extension-ladder.js"

// UIScript is the extension. It contains no "{{", because the chart reads extra objects as
// templates.
//
//go:embed ui-extension/extension-ladder.js
var UIScript string
