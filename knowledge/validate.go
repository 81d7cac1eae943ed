package knowledge

import (
	"cmp"
	"fmt"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
)

// unknownRung reports a rung that does not exist.
func (r *reader) unknownRung(n *yaml.Node, field, name string) {
	var names []string
	for _, rung := range r.base.rungOrder {
		names = append(names, rung.Name)
	}
	remedy := "use a rung of docs/waves.md#rungs"
	if name == "" {
		r.fault(n, field, `missing key "name", the name of the rung`, remedy)
		return
	}
	r.faults = append(r.faults, r.Fault(n.Line, field, fmt.Sprintf("unknown rung %q", name), remedy).Asking(finding.Suggest(name, names)))
}

// checkIdentity checks the kind of a record.
func (r *reader) checkIdentity(n *yaml.Node, field string, k userKind) bool {
	before := len(r.faults)
	group, kind := settings.Value(n, "group"), settings.Value(n, "kind")
	switch {
	case group == nil:
		r.fault(n, field, `missing key "group"`, `set "group" to the part of apiVersion before the slash, or to "" for the core API group`)
	case strings.Contains(k.Group, "/"):
		r.fault(group, field+".group", fmt.Sprintf("%q is not a group", k.Group), "write only the part of apiVersion before the slash")
	case strings.Contains(strings.TrimPrefix(k.Group, anything+"."), anything):
		r.fault(group, field+".group", fmt.Sprintf("%q is not a group", k.Group), `write "*" only at the beginning, as in "*.example.com"`)
	}
	if kind == nil || k.Kind.Kind == "" {
		r.fault(n, field, `missing key "kind"`, `set "kind" to the kind as in manifests, or to "*" for every other kind of the group`)
	}
	return len(r.faults) == before
}

// checkRecord checks a record whose types are valid.
func (r *reader) checkRecord(n *yaml.Node, field string, k userKind, added map[string]map[string]addition) {
	if rung := settings.Value(n, "rung"); rung != nil && r.base.rungs[k.Rung].Name == "" {
		r.unknownRung(rung, field+".rung", k.Rung)
	}
	for i, n := range settings.Items(settings.Value(n, "health")) {
		h, field := k.Health[i], fmt.Sprintf("%s.health[%d]", field, i)
		if h.Waits == "" && !h.Healthy {
			r.fault(n, field, "the entry does not say what Argo CD waits for",
				`describe the condition in "waits", or write healthy: true if Argo CD does not wait`)
		}
		if h.Never != "" && h.TemporarilyDegraded != "" {
			r.fault(n, field, `"never" and "passes" are mutually exclusive, but both are set`,
				`keep "never" if the object may never become healthy, or "passes" if it is only Degraded for a while`)
		}
		if (h.Early == "") != (h.EarlyFix == "") {
			r.fault(n, field, `only one of "early" and "earlyFix" is set`, "set both, or remove both")
		}
		for j, n := range settings.Items(settings.Value(n, "when")) {
			if h.When[j].At.IsZero() {
				r.fault(n, fmt.Sprintf("%s.when[%d]", field, j), "the condition lacks a path",
					"write {at: PATH}, and in: [VALUE, ...] unless any value will do")
			}
		}
	}
	r.checkReferences(n, field, k.References, k.Group, added)
	for i, n := range settings.Items(settings.Value(n, "defines")) {
		o, field := settings.Value(n, "objects"), fmt.Sprintf("%s.defines[%d].objects", field, i)
		if rung := settings.Value(o, "rung"); rung != nil && r.base.rungs[k.Defines[i].Objects.Rung].Name == "" {
			r.unknownRung(rung, field+".rung", k.Defines[i].Objects.Rung)
		}
		if o != nil {
			r.checkReferences(o, field, k.Defines[i].Objects.References, k.Group, added)
		}
	}
}

// checkReferences checks references whose types are valid.
func (r *reader) checkReferences(n *yaml.Node, field string, all []Reference, group string, added map[string]map[string]addition) {
	for i, n := range settings.Items(settings.Value(n, "references")) {
		ref, field := all[i], fmt.Sprintf("%s.references[%d]", field, i)
		if !ref.hasOneTarget() {
			r.fault(n, field, `a reference needs exactly one of the keys "at", "named" and "every"`,
				`set "at" to the path of the name, "named" to a template such as "{name}-app", or "every" to true`)
		}
		if ref.Meaning == "" {
			r.fault(n, field, "missing key \"meaning\"", "set \"meaning\" to one of "+strings.Join(choices["meaning"], ", "))
		}
		if d := ref.Doubt; d.At.IsZero() != (d.Why == "") {
			r.fault(n, field+".doubt", `a doubt needs both of the keys "at" and "why"`,
				`set "at" to a path in the target, and "why" to the reason why a target with that path may never become healthy`)
		}
		if ref.Unless != "" && !ref.Hard {
			r.fault(n, field+".unless", `"unless" has no effect without hard: true`, `add hard: true, or remove "unless"`)
		}
		r.checkCommon(n, field, ref.Why, ref.To)
		for _, to := range ref.To {
			if _, own := added[group][to.Kind]; !own && !r.base.has(group, to.Kind) {
				r.checkTarget(n, field, to)
			}
		}
	}
}

// checkCommon checks what references and conventions have in common.
func (r *reader) checkCommon(n *yaml.Node, field, why string, to Targets) {
	if why == "" {
		r.fault(n, field, `missing key "why"`, `set "why" to a verb, such as "mounts", "reads" or "is signed by"`)
	}
	if len(to) == 0 {
		r.fault(n, field, `missing key "to", the kind of the target`, `set "to" to Kind or Kind.group`)
	}
}

// checkTarget reports a kind whose group is missing: the reference would never match,
// silently.
func (r *reader) checkTarget(n *yaml.Node, field string, to GroupKind) {
	if to.Group != "" || r.base.has("", to.Kind) {
		return
	}
	remedy := "write the kind with its group, as in " + to.Kind + ".example.com"
	if known := r.base.groupsOf(to.Kind); len(known) > 0 {
		remedy = "write the kind with its group, as in " + GroupKind{known[0], to.Kind}.String()
	}
	r.fault(cmp.Or(settings.Value(n, "to"), n), field+".to", to.Kind+" is neither in the record's group nor in the core API group", remedy)
}
