package crds

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Survey lists the CRDs that a chart can install, and the values that they depend on.
type Survey struct {
	chart  *Chart
	values Values
	base   *knowledge.Base
	crds   []ChartCRD
	gates  map[string][]Path
}

// Examine finds the CRDs in the templates of a chart, and the values that control
// them. It searches the text, and does not see computed content.
func Examine(c *Chart, v Values, base *knowledge.Base) *Survey {
	r := &reader{defined: map[string]definedTemplate{}, gates: map[string][]Path{}}
	r.define(c)
	r.readChart(c, nil)
	return &Survey{chart: c, values: v, base: base, crds: r.crds, gates: r.gates}
}

// Switch is a value to turn on because it enables CRDs.
type Switch struct {
	Path Path
	// Known means that it is known to be a switch; otherwise it must be tried.
	Known bool
}

// disabledCRD is a CRD that is not in the output, with the values it needs.
type disabledCRD struct {
	ChartCRD
	required []RequiredValue
}

// disabledCRDs returns the CRDs that are not in the output. Of several ways to enable one
// the shortest is used; switches alone are preferred.
func (s *Survey) disabledCRDs(have map[string]bool) []disabledCRD {
	var all []disabledCRD
	at := map[string]int{}
	for _, d := range s.crds {
		if have[d.Name] {
			continue
		}
		h := disabledCRD{d, missingValues(d.when, s.values, s.isSwitches)}
		i, seen := at[d.Name]
		if !seen || d.Name == "" {
			at[d.Name] = len(all)
			all = append(all, h)
			continue
		}
		if cmp.Or(cmp.Compare(s.rank(h), s.rank(all[i])), cmp.Compare(len(h.required), len(all[i].required))) < 0 {
			all[i] = h
		}
	}
	return all
}

// rank orders the ways to enable a CRD: by switches alone, by other values, and
// last without needs, which evidently does not work.
func (s *Survey) rank(h disabledCRD) int {
	switch {
	case h.required == nil:
		return 2
	case s.isSwitches(h.required):
		return 0
	}
	return 1
}

// DisabledSwitches returns the switches that disable CRDs, sorted. rendered is the output of the
// chart.
func (s *Survey) DisabledSwitches(rendered []object.Object) []Switch {
	var all []Switch
	for _, h := range s.disabledCRDs(names(rendered)) {
		if !s.isSwitches(h.required) {
			continue // switches alone do not enable it
		}
		for _, n := range h.required {
			if !slices.ContainsFunc(all, func(o Switch) bool { return slices.Equal(o.Path, n.Path) }) {
				switchKind, _ := s.switchKind(n.Path)
				all = append(all, Switch{Path: n.Path, Known: switchKind == knowledge.Ships})
			}
		}
	}
	slices.SortFunc(all, func(a, b Switch) int { return strings.Compare(a.Path.String(), b.Path.String()) })
	return all
}

// isSwitch reports whether a need may be met automatically.
func (s *Survey) isSwitch(n RequiredValue) bool {
	if n.Value != "true" {
		return false
	}
	if switchKind, known := s.switchKind(n.Path); known {
		return switchKind == knowledge.Ships
	}
	return slices.ContainsFunc(n.Path, namesCRDs) || namesCRDs(n.Chart)
}

func (s *Survey) isSwitches(all []RequiredValue) bool {
	return !slices.ContainsFunc(all, func(n RequiredValue) bool { return !s.isSwitch(n) })
}

// namesCRDs reports whether a name refers to CRDs.
func namesCRDs(name string) bool {
	name = strings.ToLower(name)
	return strings.Contains(name, "crd") || strings.Contains(name, "customresource")
}

// switchKind returns what is known of a value: in its own chart, or in a parent chart.
// Records about a chart take precedence over general ones.
func (s *Survey) switchKind(p Path) (knowledge.SwitchKind, bool) {
	var found knowledge.SwitchKind
	known, own := false, false
	for c, rest := s.chart, p; c != nil; {
		for _, sw := range s.base.Switches(c.Name) {
			if sw.Path == rest.String() && !own {
				found, known, own = sw.Does, true, len(sw.Charts) > 0
			}
		}
		var next *Chart
		for _, sub := range c.Charts {
			step := sub.Key[len(c.Key):]
			if len(step) > 0 && len(rest) > len(step) && slices.Equal(rest[:len(step)], step) {
				next, rest = sub, rest[len(step):]
				break
			}
		}
		c = next
	}
	return found, known
}

// CRDsOfFeatures reports the CRDs that the chart ships only with values other than CRD
// switches: one finding for all CRDs with the same values. rendered is the output
// with the switches on.
func (s *Survey) CRDsOfFeatures(rendered []object.Object) []finding.Finding {
	var all []finding.Finding
	brings := map[string][]string{} // CRDs by values
	for _, h := range s.disabledCRDs(names(rendered)) {
		if h.Name == "" && s.isSwitches(h.required) {
			continue // whether it was rendered is unknown
		}
		var words []string
		for _, n := range h.required {
			words = append(words, n.String())
		}
		slices.Sort(words)
		needs := strings.Join(words, " and ")
		if brings[needs] == nil {
			all = append(all, finding.Finding{Severity: finding.Note, Rule: "crd-switch", File: h.File, Line: h.Line, Field: needs})
		}
		brings[needs] = append(brings[needs], cmp.Or(h.Name, fmt.Sprintf("the one in %s:%d", h.File, h.Line)))
	}
	for i := range all {
		f := &all[i]
		slices.Sort(brings[f.Field])
		names := strings.Join(slices.Compact(brings[f.Field]), ", ")
		f.Message, f.Remedy = "the chart renders "+names+" only with this setting",
			"if you use the feature, set this in the Application of the CRDs and in that of the other objects"
		if f.Field == "" {
			f.Message, f.Remedy = "the chart contains "+names+", but does not render it, and no value explains why", "check the template of the CRD"
		}
	}
	finding.Sort(all)
	return all
}

// IneffectiveSwitches reports switches that are on although their chart renders no CRD.
func (s *Survey) IneffectiveSwitches(rendered []object.Object) []finding.Finding {
	crds, _ := Split(rendered)
	var all []finding.Finding
	s.chart.each(func(c *Chart) {
		if missingValues(c.enabledBy(), s.values, s.isSwitches) != nil || s.rendersAny(c, crds) {
			return
		}
		for _, sw := range s.base.Switches(c.Name) {
			path := c.below(strings.Split(sw.Path, "."))
			if switchKind, _ := s.switchKind(path); switchKind != knowledge.Ships || !s.values.isTrue(path) ||
				!s.dependsOn(c, path) && c.declared(sw.Path) == 0 {
				continue
			}
			all = append(all, finding.Finding{Severity: finding.Warning, Rule: "crd-switch", File: c.ValuesFile,
				Line: c.declared(sw.Path), Field: path.String(),
				Message: fmt.Sprintf("this value enables CRDs, but the chart %q renders none", c.Name),
				Remedy:  "check that the repository contains the files that the chart's templates read; some charts contain them only when packaged"})
		}
	})
	finding.Sort(all)
	return all
}

// enabledBy returns the conditions that enable a chart.
func (c *Chart) enabledBy() []condition {
	if c.Conditions == nil && c.Tags == nil {
		return nil
	}
	return []condition{{op: enables, paths: c.Conditions, tags: c.Tags, text: c.Name}}
}

func (c *Chart) declared(path string) int {
	if c.Declared == nil {
		return 0
	}
	return c.Declared(strings.Split(path, "."))
}

// rendersAny reports whether any of the CRDs is from a chart or its subcharts.
func (s *Survey) rendersAny(c *Chart, crds []object.Object) bool {
	files, ships := map[string]bool{}, map[string]bool{}
	c.each(func(c *Chart) {
		for _, list := range [][]File{c.Templates, c.CRDFiles, c.Files} {
			for _, f := range list {
				files[f.Shown] = true
			}
		}
	})
	for _, d := range s.crds {
		ships[d.Name] = ships[d.Name] || files[d.File]
	}
	return slices.ContainsFunc(crds, func(o object.Object) bool { return files[o.File] || ships[o.ID.Name] })
}

// dependsOn reports whether a template of a chart depends on a value.
func (s *Survey) dependsOn(c *Chart, p Path) bool {
	found := false
	c.each(func(c *Chart) {
		for _, f := range c.Templates {
			found = found || slices.ContainsFunc(s.gates[f.Shown], func(o Path) bool { return o.String() == p.String() })
		}
		found = found || slices.ContainsFunc(c.Conditions, func(o Path) bool { return o.String() == p.String() })
	})
	return found
}

func (c *Chart) each(visit func(*Chart)) {
	visit(c)
	for _, sub := range c.Charts {
		sub.each(visit)
	}
}
