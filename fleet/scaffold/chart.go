package scaffold

import (
	"fmt"
	"io/fs"
	"path"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render"
)

// chartYAML reads a Chart.yaml, and returns a function to read a string of it.
func (b *Draft) chartYAML(dir string) (doc map[string]any, said func(key string) string) {
	text, err := fs.ReadFile(b.Repo, path.Join(dir, "Chart.yaml"))
	if err != nil || yaml.Unmarshal(text, &doc) != nil {
		doc = nil // reported by rendering
	}
	return doc, func(key string) string { return textAt(doc, key) }
}

func (b *Draft) library(dir string) bool {
	_, said := b.chartYAML(dir)
	return said("type") == "library"
}

// chart uses the description in a chart, and describes other kinds of components.
func (b *Draft) chart(f *undescribed) {
	f.summary = map[render.Kind]string{render.Kustomize: "a kustomization", render.Template: "templates",
		render.Plain: "manifests", render.Helm: "a chart"}[f.kind]
	if f.kind != render.Helm {
		f.draft.Facts = append(f.draft.Facts, map[render.Kind]string{render.Kustomize: "A kustomization.",
			render.Template: "Templated manifests.", render.Plain: "Plain manifests."}[f.kind])
		return
	}
	doc, said := b.chartYAML(f.dir)
	fact := strings.TrimSpace("Chart " + said("name") + " " + said("version"))
	if app := said("appVersion"); app != "" {
		fact += " (appVersion " + app + ")"
	}
	f.draft.Facts = append(f.draft.Facts, finding.Sanitize(fact)+".")
	var needs []string
	if list, ok := doc["dependencies"].([]any); ok {
		for _, d := range list {
			if m, ok := d.(map[string]any); ok {
				needs = append(needs, strings.TrimSpace(textAt(m, "name")+" "+textAt(m, "version")))
			}
		}
	}
	if len(needs) > 0 {
		f.draft.Facts = append(f.draft.Facts, finding.Sanitize("It brings the charts "+strings.Join(needs, ", "))+".")
	}
	f.draft.Name, f.draft.About = component.NameFrom(said("name")), finding.Sanitize(strings.Join(strings.Fields(said("description")), " "))
	entries, err := fs.ReadDir(b.Repo, f.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if ok, err := path.Match(`values[.\-]*.y*ml`, e.Name()); ok && err == nil && !e.IsDir() && e.Name() != "values.yaml" &&
			e.Name() != "values.yml" {
			f.draft.Values = append(f.draft.Values, e.Name())
		}
	}
}

func textAt(m map[string]any, key string) string {
	if v, ok := m[key]; ok && v != nil {
		return fmt.Sprint(v)
	}
	return ""
}
