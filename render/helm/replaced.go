package helm

import (
	"maps"
	"slices"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/input"
)

// replacedDefaults reports values that replace a default of the chart because only one of the
// two is a mapping: others are merged. Helm logs these, without a file or a fix.
func (s source) replacedDefaults(ch *chart.Chart, values map[string]any) []finding.Finding {
	var all []finding.Finding
	var compare func(values, defaults map[string]any, at []string)
	compare = func(values, defaults map[string]any, at []string) {
		for _, key := range slices.Sorted(maps.Keys(defaults)) {
			full := append(slices.Clone(at), key)
			value, standard := values[key], defaults[key]
			if value == nil || standard == nil {
				continue
			}
			inner, isMapping := asMap(value)
			below, wasMapping := asMap(standard)
			top := len(at) == len(chartPath(ch))
			f := finding.Finding{Severity: finding.Note, Rule: finding.BadValues, Field: input.FieldPath(full),
				Message: "this mapping replaces the chart's default, which is not a mapping",
				Remedy:  "use the type of the default, unless the chart allows both"}
			switch {
			case isMapping && wasMapping:
				compare(inner, below, full)
				continue
			case isMapping:
			case wasMapping && !top: // as Helm does, which expects a subchart to be switched off by its name
				f.Message = "this value replaces the chart's default, which is a mapping"
			default:
				continue
			}
			var flag string
			if flag, f.File, f.Line = s.valueOrigin(ch, full); flag != "" {
				f.Field = flag + " " + f.Field
			}
			all = append(all, f)
		}
	}
	compare(values, ch.Values, chartPath(ch))
	for _, sub := range ch.Dependencies() {
		if inner, ok := asMap(values[sub.Name()]); ok {
			all = append(all, s.replacedDefaults(sub, inner)...)
		}
	}
	return all
}
