package crds

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Upgrader is a Job of a component that writes CRDs to the cluster when it runs,
// and so conflicts with an Application that contains the CRDs.
type Upgrader struct {
	object.Object
	// DisabledBy is the value that disables it if false; nil if unknown.
	DisabledBy Path
}

// Upgraders finds Jobs that write CRDs. They contain the word "crd" in their name
// or arguments, or in their image if they have no arguments. Jobs that only run
// when the Application is deleted, and tests, do not count.
func Upgraders(objs []object.Object, base *knowledge.Base) []Upgrader {
	var all []Upgrader
	for _, o := range objs {
		k := base.Of(o)
		runs := slices.ContainsFunc(o.Phases(), func(p object.Phase) bool { return p.Order() <= object.PostSync.Order() })
		if k.Runs == "once" && runs && !o.IsTest() && writesCRDs(o, k) {
			all = append(all, Upgrader{Object: o})
		}
	}
	return all
}

func writesCRDs(o object.Object, k knowledge.Kind) bool {
	if hasCRDWord(o.ID.Name) {
		return true
	}
	for _, pod := range k.Pod.Find(o.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for _, c := range pod.Value.Get("spec", list).Items() {
				texts := append(c.Get("command").Items(), c.Get("args").Items()...)
				if len(texts) == 0 { // otherwise the image may only provide kubectl
					texts = []object.Value{c.Get("image")}
				}
				if slices.ContainsFunc(texts, func(v object.Value) bool { return hasCRDWord(v.Text()) }) {
					return true
				}
			}
		}
	}
	return false
}

// hasCRDWord reports whether a text contains "crd" or "crds" as a word.
func hasCRDWord(text string) bool {
	words := strings.FieldsFunc(strings.ToLower(text), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	return slices.ContainsFunc(words, func(w string) bool {
		return w == "crd" || w == "crds" || w == kindWord || w == kindWord+"s"
	})
}

var kindWord = strings.ToLower(kind)

// Upgraders finds Jobs that write CRDs, each with the value that disables it: a
// known one, or one with "crd" in its path that the template of the Job depends on.
func (s *Survey) Upgraders(objs []object.Object) []Upgrader {
	all := Upgraders(objs, s.base)
	for i, u := range all {
		for _, p := range s.gates[u.File] {
			does, known := s.switchKind(p)
			switch {
			case !s.values.isTrue(p):
			case known && does == knowledge.Upgrades:
				all[i].DisabledBy = p
			case !known && all[i].DisabledBy == nil && slices.ContainsFunc(p, namesCRDs):
				all[i].DisabledBy = p
			}
		}
		if all[i].DisabledBy == nil {
			all[i].DisabledBy = s.upgradeSwitch(u)
		}
	}
	return all
}

// upgradeSwitch returns the known value that disables the upgrader of a chart, if
// its template does not show one.
func (s *Survey) upgradeSwitch(u Upgrader) Path {
	var found Path
	s.chart.each(func(c *Chart) {
		if !slices.ContainsFunc(c.Templates, func(f File) bool { return f.Shown == u.File }) {
			return
		}
		for _, sw := range s.base.Switches(c.Name) {
			if p := c.below(strings.Split(sw.Path, ".")); sw.Does == knowledge.Upgrades && s.values.isTrue(p) {
				found = p
			}
		}
	})
	return found
}

// Conflict reports that an upgrader and an Application with the CRDs overwrite each
// other.
func (u Upgrader) Conflict() finding.Finding {
	remedy := "remove it from the chart"
	if u.DisabledBy != nil {
		remedy = fmt.Sprintf("set %s=false, or crds-upgraders: off", u.DisabledBy)
	}
	return finding.Finding{Severity: finding.Warning, Rule: "crd-upgrader", File: u.File, Line: u.Line, Object: u.ID.String(),
		Message: "it writes CRDs to the cluster when it runs, and so does the Application that contains them", Remedy: remedy}
}
