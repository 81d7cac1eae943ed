// Package health generates health checks for Argo CD from the knowledge about
// status fields.
//
// Argo CD waits only for objects whose kinds have a health check. Others can be
// configured: a Lua script gets the object as obj and returns a status and a
// message. All scripts are generated from one template (check.lua.tmpl), so that
// one set of tests covers all of them. They use only features of Argo CD's
// interpreter: no string library, no os, no io.
//
// The package is pure: records in, text out.
package health

import (
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/ladder-cmp/ladder/knowledge"
)

//go:embed check.lua.tmpl
var source string

var script = template.Must(template.New("check.lua").Parse(source))

// Check is a health check for Argo CD's configuration.
type Check struct {
	// Key is the key in the ConfigMap argocd-cm.
	Key string
	// Script is the check, in Lua.
	Script string
}

// validKey matches valid keys of a ConfigMap.
var validKey = regexp.MustCompile(`^[-._a-zA-Z0-9]+$`)

// Checks returns a check for each kind, sorted by key. Kinds without known status
// fields have none, nor have invalid names, which a record for all kinds of a group
// would otherwise allow.
func Checks(kinds []knowledge.Kind) []Check {
	var all []Check
	for _, k := range kinds {
		if key := Key(k.Group, k.Kind); k.Sees != nil && validKey.MatchString(key) {
			all = append(all, Check{key, Script(*k.Sees)})
		}
	}
	slices.SortFunc(all, func(a, b Check) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b Check) bool { return a.Key == b.Key })
}

// Key returns the key of a kind's health check in Argo CD's configuration.
func Key(group, kind string) string {
	return "resource.customizations.health." + group + "_" + kind
}

// Script generates a health check from the parts of the template that the record
// needs.
func Script(s knowledge.Sees) string {
	d := draft{Comment: comment(s), Generation: s.Generation != "", Own: s.Generation == knowledge.OfCondition, Healthy: signs(s.Healthy)}
	if d.Generation && !d.Own {
		d.Observed = value(s.Generation)
	}
	if s.Under != "" {
		d.Under = value(s.Under)
	}
	for _, sign := range s.Signs() {
		d.Values = d.Values || sign.At != ""
		d.Conditions = d.Conditions || sign.Condition != ""
		d.Reasons = d.Reasons || len(sign.Reason) > 0
	}
	for _, t := range []try{{"Progressing", signs(s.Progressing)}, {"Degraded", signs(s.Degraded)}, {"Suspended", signs(s.Suspended)}} {
		if t.Signs != "" {
			d.Tries = append(d.Tries, t)
		}
	}
	var b strings.Builder
	if err := script.Execute(&b, d); err != nil {
		panic(err) // the template only uses fields of draft, and writing to memory succeeds
	}
	return b.String()
}

// draft is the data of the template; paths and signs are Lua code.
type draft struct {
	Comment []string
	// Generation means that generations are checked, Own those of each condition;
	// otherwise Observed is the path of the generation.
	Generation, Own bool
	Observed, Under string
	// Values, Conditions and Reasons are the kinds of signs in use.
	Values, Conditions, Reasons bool
	Tries                       []try
	Healthy                     string
}

// try is a status with the signs for it.
type try struct{ Status, Signs string }

// comment describes the check, for users who find it in Argo CD's configuration.
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

// signs formats signs as the entries of a table.
func signs(all []knowledge.Sign) string {
	var b strings.Builder
	for _, s := range all {
		what := fmt.Sprintf("name = %q, value = %s", s.At, value(s.At))
		if s.Condition != "" {
			what = fmt.Sprintf("name = %q, condition = %q", "condition "+s.Condition, s.Condition)
		}
		fmt.Fprintf(&b, "  {%s, is = %s", what, set(s.Values()))
		if len(s.Reason) > 0 {
			fmt.Fprintf(&b, ", reason = %s", set(s.Reason))
		}
		b.WriteString("},\n")
	}
	return b.String()
}

// value formats a path below the existing status as Lua that tolerates missing
// fields: "(obj.status.health or {}).status".
func value(path string) string {
	below, _ := strings.CutPrefix(path, "status.")
	text := "obj.status"
	for i, key := range strings.Split(below, ".") {
		if i > 0 {
			text = "(" + text + " or {})"
		}
		text += "." + key
	}
	return text
}

// set formats values as a table for lookups.
func set(values []string) string {
	var entries []string
	for _, v := range values {
		entries = append(entries, fmt.Sprintf("[%q] = true", v))
	}
	return "{" + strings.Join(entries, ", ") + "}"
}

// ConfigMap formats checks as a manifest to merge into the ConfigMap argocd-cm, by
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
