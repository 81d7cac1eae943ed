// Package health makes health checks for Argo CD of what is known about the
// status of objects.
//
// Argo CD waits only for objects of kinds that it has a health check for. For
// other kinds one can be put into its configuration: a script in Lua that is
// given the object as obj and returns a status and a message. The scripts are
// written like Argo CD's own, and use nothing that its interpreter lacks: no string
// library, no os, no io.
//
// The package is pure: records in, text out.
package health

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

// Check is a health check in the form that Argo CD's configuration has it.
type Check struct {
	// Key is the key in the ConfigMap argocd-cm.
	Key string
	// Script is the check, in Lua.
	Script string
}

// keyed is what the key of a ConfigMap may hold.
var keyed = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// Checks returns a check for each kind, sorted by key. Kinds of which nothing
// is known by their status have none; nor have names that no kind can have,
// which a record about all kinds of a group would otherwise let through.
func Checks(kinds []knowledge.Kind) []Check {
	var all []Check
	for _, k := range kinds {
		if key := Key(k.Group, k.Kind); k.Sees != nil && keyed.MatchString(key) {
			all = append(all, Check{key, Script(*k.Sees)})
		}
	}
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b Check) bool { return a.Key == b.Key })
}

// Key is the key of a kind's health check in Argo CD's configuration.
func Key(group, kind string) string {
	return "resource.customizations.health." + group + "_" + kind
}

// ConfigMap writes checks as a manifest to be merged into the ConfigMap
// argocd-cm, by kubectl or as a patch of kustomize. The label makes Argo CD
// take notice of it.
func ConfigMap(checks []Check) string {
	return `apiVersion: v1
kind: ConfigMap
metadata:
  name: argocd-cm
  labels:
    app.kubernetes.io/name: argocd-cm
    app.kubernetes.io/part-of: argocd
data:
` + entries(checks, "  ")
}

// Values writes checks as values of the community's Argo CD Helm chart.
func Values(checks []Check) string {
	return "configs:\n  cm:\n" + entries(checks, "    ")
}

// entries writes checks as the entries of a mapping in YAML.
func entries(checks []Check, indent string) string {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%s%s: |\n", indent, c.Key)
		for line := range strings.Lines(c.Script) {
			b.WriteString(indent + "  " + line)
		}
	}
	return b.String()
}
