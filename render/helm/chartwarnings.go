package helm

import (
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/ignore"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/input"
)

// hiddenBy returns the line of a chart's .helmignore that hides a file or directory of it,
// "" if none does. It asks each line alone, as Helm does: the first match decides.
func (s source) hiddenBy(dir, name string) string {
	file := path.Join(dir, ignore.HelmIgnore)
	data, err := fs.ReadFile(s.FS, file)
	if err != nil {
		return ""
	}
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		rule, err := ignore.Parse(strings.NewReader(line))
		if err != nil {
			continue
		}
		for at := name; at != "."; at = path.Dir(at) {
			if info, err := fs.Stat(s.FS, path.Join(dir, at)); err == nil && rule.Ignore(at, info) {
				return fmt.Sprintf("%s:%d (%s)", s.Show(file), number, strings.TrimSpace(line))
			}
		}
	}
	return ""
}

// hiddenDependency says which directory or archive in charts/ .helmignore hides, if it may be
// the dependency; empty if there is none.
func (s source) hiddenDependency(dir, name string) string {
	for _, pattern := range []string{name + "*", "*.tgz"} {
		found, _ := fs.Glob(s.FS, path.Join(dir, "charts", pattern)) // only a bad pattern is an error
		for _, p := range found {
			rel := strings.TrimPrefix(p, input.Prefix(dir))
			if by := s.hiddenBy(dir, rel); by != "" {
				return rel + " is excluded by " + by
			}
		}
	}
	return ""
}

// chartWarnings reports what Helm ignores of a chart and its dependencies without saying so, and
// what only Helm 4 refuses, which renders for Argo CD 3.5.
func (s source) chartWarnings(ch *chart.Chart) (found []finding.Finding) {
	warn := func(file string, line int, field, message, remedy string) {
		found = append(found, finding.Finding{Severity: finding.Warning, Rule: finding.BadChart, File: s.chartFile(ch, file), Line: line,
			Field: field, Message: message, Remedy: remedy})
	}
	if v := ch.Metadata.APIVersion; v != chart.APIVersionV1 && v != chart.APIVersionV2 {
		warn("Chart.yaml", 0, "apiVersion", "Helm 4 refuses charts of this version, unlike Helm 3", "write v2")
	}
	for _, dep := range ch.Metadata.Dependencies {
		sub := find(ch, func(c *chart.Chart) bool { return c.Name() == dep.Name })
		if sub != nil && dep.Alias != "" && !slices.ContainsFunc(ch.Dependencies(), func(c *chart.Chart) bool {
			return c.Name() == dep.Name && chartutil.IsCompatibleRange(dep.Version, c.Metadata.Version)
		}) {
			warn(dependencyFile(ch), lineOfDependency(ch, dep), "dependencies."+dep.Name,
				fmt.Sprintf("charts/ has version %s of this chart, not %s, so Helm ignores the alias %s, with its values and condition",
					sub.Metadata.Version, dep.Version, dep.Alias),
				"run helm dependency update, and commit charts/")
		}
	}
	for _, sub := range ch.Dependencies() {
		found = append(found, s.chartWarnings(sub)...)
	}
	return found
}

// valuesWarnings reports what Helm does with values without saying so: values files with
// mistakes, and nulls of a parent chart that have no effect.
func (s source) valuesWarnings(ch *chart.Chart, nulls, overrides map[string]any, effective common.Values) []finding.Finding {
	var found []finding.Finding
	for _, v := range s.opt.Values {
		found = append(found, v.FileWarnings(s.opt.Memory)...)
	}
	at := slices.IndexFunc(ch.Raw, func(f *common.File) bool { return f.Name == "values.yaml" })
	if at < 0 {
		return found
	}
	data, file := ch.Raw[at].Data, s.chartFile(ch, "values.yaml")
	found = append(found, s.opt.Memory.FileWarnings(file, data)...)
	for _, sub := range ch.Dependencies() {
		ignoredNulls(nulls[sub.Name()], effective[sub.Name()], overrides[sub.Name()], []string{sub.Name()}, func(key []string) {
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: finding.BadChart, File: file,
				Line: input.LineOf(data, key), Field: input.FieldPath(key),
				Message: "Helm 4 ignores null here, unlike Helm 3, so the default of the subchart applies",
				Remedy:  "write the null into a values file that you pass to the chart"})
		})
	}
	return found
}

// onlyNulls returns the nulls of values, and the mappings with nulls.
func onlyNulls(values map[string]any) map[string]any {
	nulls := map[string]any{}
	for key, value := range values {
		below, isMap := asMap(value)
		if value == nil {
			nulls[key] = nil
		} else if inner := onlyNulls(below); isMap && len(inner) > 0 {
			nulls[key] = inner
		}
	}
	return nulls
}

// ignoredNulls reports the keys that own sets to null, but that have an effective value that
// no override sets.
func ignoredNulls(own, effective, overrides any, at []string, report func(key []string)) {
	mine, _ := asMap(own)
	now, _ := asMap(effective)
	above, _ := asMap(overrides)
	for _, key := range slices.Sorted(maps.Keys(mine)) {
		full := append(slices.Clone(at), key)
		_, isOverridden := above[key]
		if mine[key] == nil && now[key] != nil && !isOverridden {
			report(full)
		}
		ignoredNulls(mine[key], now[key], above[key], full, report)
	}
}
