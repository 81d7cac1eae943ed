// Package health generates health checks for Argo CD from the knowledge about
// status fields.
//
// Argo CD waits only for objects whose kinds have a health check. Others can be
// configured: a Lua script gets the object as obj and returns a status and a
// message. The scripts are written like Argo CD's own, and use only features of its
// interpreter: no string library, no os, no io.
// Run runs a script to test it.
package health

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Check is a health check for Argo CD's configuration.
type Check struct {
	// Key is the key in the argocd-cm ConfigMap.
	Key string
	// Script is the check, in Lua.
	Script string
}

// validKey matches valid keys of a ConfigMap.
var validKey = lazyregexp.New(`^[-._a-zA-Z0-9]+$`)

// Checks returns a check for each kind, sorted by key. Kinds without known status
// fields have none, nor have invalid names, which a record for all kinds of a group
// would otherwise allow.
func Checks(kinds []knowledge.Kind) []Check {
	var all []Check
	for _, k := range kinds {
		if key := Key(k.Group, k.Kind); k.Status != nil && validKey.MatchString(key) {
			all = append(all, Check{key, Script(*k.Status)})
		}
	}
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b Check) bool { return a.Key == b.Key })
}

// Key returns the key of a kind's health check in Argo CD's configuration.
func Key(group, kind string) string {
	return "resource.customizations.health." + group + "_" + kind
}

// ConfigMap formats checks as a manifest to merge into the argocd-cm ConfigMap, by
// kubectl or as a kustomize patch. Argo CD requires the label.
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

// Values formats checks as values of the community's Argo CD Helm chart.
func Values(checks []Check) string {
	return "configs:\n  cm:\n" + entries(checks, "    ")
}

// entries formats checks as the entries of a YAML mapping.
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
