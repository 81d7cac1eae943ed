package helm

import (
	"path"
	"text/template"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// TemplateText is a template that a rendering runs, or a file of values, which may
// hold templates, too.
type TemplateText struct {
	// Source is how Helm names it, as in the comment that an object begins with; File
	// is how messages do.
	Source, File string
	Text         string
}

// probed hands the templates of a chart to Options.Probe, and returns the functions
// that they call instead of Helm's.
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
