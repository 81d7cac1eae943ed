// Package health makes health checks for Argo CD of what is known about the
// status of objects.
//
// Argo CD waits only for objects of kinds that it has a health check for. For
// other kinds one can be put into its configuration: a script in Lua that is
// given the object as obj and returns a status and a message. All scripts made
// here are the same code (body.lua) behind a head that says what to look at, so
// that one set of tests is about all of them. They use nothing that Argo CD's
// interpreter lacks: no string library, no os, no io.
//
// The package is pure: records in, text out.
package health

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
)

//go:embed body.lua
var body string

// Check is a health check in the form that Argo CD's configuration has it.
type Check struct {
	// Key is the key in the ConfigMap argocd-cm.
	Key string
	// Script is the check, in Lua.
	Script string
}

// Checks returns a check for each kind, sorted by key. Kinds of which nothing
// is known by their status have none.
func Checks(kinds []knowledge.Kind) []Check {
	var all []Check
	for _, k := range kinds {
		if k.Sees != nil {
			all = append(all, Check{Key(k.Group, k.Kind), Script(*k.Sees)})
		}
	}
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b Check) bool { return a.Key == b.Key })
}

// Key is the key of a kind's health check in Argo CD's configuration.
func Key(group, kind string) string {
	return "resource.customizations.health." + group + "_" + kind
}

// Script writes a health check.
func Script(s knowledge.Sees) string {
	var b strings.Builder
	for _, line := range comment(s) {
		fmt.Fprintf(&b, "-- %s\n", line)
	}
	if s.Generation == knowledge.OfCondition {
		b.WriteString("local observed, own_generations = nil, true\n")
	} else {
		fmt.Fprintf(&b, "local observed, own_generations = %s, false\n", keys(s.Generation))
	}
	fmt.Fprintf(&b, "local under = %s\n", keys(s.Under))
	b.WriteString("local tries = {\n")
	for _, try := range []struct {
		status string
		signs  []knowledge.Sign
	}{{"Progressing", s.Progressing}, {"Degraded", s.Degraded}, {"Suspended", s.Suspended}} {
		if len(try.signs) > 0 {
			fmt.Fprintf(&b, "  {status = %q, signs = {\n%s  }},\n", try.status, signs(try.signs, "    "))
		}
	}
	fmt.Fprintf(&b, "}\nlocal healthy = {\n%s}\n", signs(s.Healthy, "  "))
	b.WriteString(body)
	return b.String()
}

// comment says at the head of a check what it does, for whoever finds it in
// the configuration of Argo CD.
func comment(s knowledge.Sees) []string {
	var lines []string
	if s.Note != "" {
		lines = wrap(s.Note, 72)
	}
	return append(lines, "Source: "+s.Source)
}

func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	return append(lines, line)
}

// signs writes signs as the entries of a table.
func signs(all []knowledge.Sign, indent string) string {
	var b strings.Builder
	for _, s := range all {
		what := fmt.Sprintf("name = %q, at = %s", s.At, keys(s.At))
		if s.Condition != "" {
			what = fmt.Sprintf("name = %q, condition = %q", "condition "+s.Condition, s.Condition)
		}
		fmt.Fprintf(&b, "%s{%s, is = %s", indent, what, set(s.Values()))
		if len(s.Reason) > 0 {
			fmt.Fprintf(&b, ", reason = %s", set(s.Reason))
		}
		b.WriteString("},\n")
	}
	return b.String()
}

// keys writes a path as a list of keys; nil for none.
func keys(path string) string {
	if path == "" {
		return "nil"
	}
	var quoted []string
	for _, key := range strings.Split(path, ".") {
		quoted = append(quoted, fmt.Sprintf("%q", key))
	}
	return "{" + strings.Join(quoted, ", ") + "}"
}

// set writes values as a table that tells whether a value is among them.
func set(values []string) string {
	var entries []string
	for _, v := range values {
		entries = append(entries, fmt.Sprintf("[%q] = true", v))
	}
	return "{" + strings.Join(entries, ", ") + "}"
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
