// Package health makes health checks for Argo CD of what is known about the
// status of objects.
//
// Argo CD waits only for objects of kinds that it has a health check for. For
// other kinds one can be put into its configuration: a script in Lua that is
// given the object as obj and returns a status and a message. All scripts made
// here come from one template (check.lua.tmpl), so that one set of tests is about
// all of them. They use nothing that Argo CD's
// interpreter lacks: no string library, no os, no io.
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

// Script writes a health check: the template with what the record asks for, and
// without what it does not.
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
		panic(err) // the template names fields of draft only, and memory takes all
	}
	return b.String()
}

// draft is what the template is filled with; paths and signs are Lua already.
type draft struct {
	Comment []string
	// Generation is true if generations are looked at, Own if those of each
	// condition are; Observed is where the other one stands.
	Generation, Own bool
	Observed, Under string
	// Values, Conditions and Reasons tell which kinds of signs there are.
	Values, Conditions, Reasons bool
	Tries                       []try
	Healthy                     string
}

// try is a status that an object has if one of the signs shows.
type try struct{ Status, Signs string }

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

// value writes a path below the status, which is there, as Lua that does not
// stumble over what is missing on the way: "(obj.status.health or {}).status".
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
