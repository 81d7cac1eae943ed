package helm

import (
	"path"
	"strings"
	"text/template"

	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
)

// TemplateText is a template of a rendering, or a values file, which may also
// contain templates.
type TemplateText struct {
	// Source is Helm's name of the file, as in the comment before each object. File
	// is its name in messages.
	Source, File string
	Text         string
}

var valueText = lazyregexp.New(`\.Values(?:\)?\.[A-Za-z_]\w*)+`)

// ValuesIn returns the values that a template or a part of one names, such as ".Values.a.b"
// for ((.Values.a).b).
func ValuesIn(template string) []string {
	all := valueText.FindAllString(template, -1)
	for i, value := range all {
		all[i] = strings.ReplaceAll(value, ")", "")
	}
	return all
}

// probed passes the templates of a chart to Options.Probe, and returns the
// functions that replace Helm's.
func (s source) probed(ch *chart.Chart) template.FuncMap {
	if s.opt.Probe == nil || ch == nil {
		return nil
	}
	var all []TemplateText
	var add func(ch *chart.Chart)
	add = func(ch *chart.Chart) {
		for _, t := range ch.Templates {
			all = append(all, TemplateText{path.Join(ch.ChartFullPath(), t.Name), s.chartFile(ch, t.Name), string(t.Data)})
		}
		for _, f := range ch.Raw {
			if f.Name == "values.yaml" {
				all = append(all, TemplateText{path.Join(ch.ChartFullPath(), f.Name), s.chartFile(ch, f.Name), string(f.Data)})
			}
		}
		for _, sub := range ch.Dependencies() {
			add(sub)
		}
	}
	add(ch)
	return s.opt.Probe(all)
}
