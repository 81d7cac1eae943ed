package helm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"hash"
	"maps"
	"path"
	"slices"
	"strings"
	"text/template"

	"helm.sh/helm/v4/pkg/chart/common"
	chart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/random"
)

// What a template is for is part of what its passwords are derived from (package random),
// but Helm's engine does not tell functions which template calls them. It runs templates
// in the reverse order of their names. A marker is a template whose name is that of
// another with a zero byte behind it, so that it runs right before that one, and says so.
const (
	markerEnd = "\x00"
	// enter is the function that markers call.
	enter  = "ladderEnter"
	marker = "{{" + enter + " .Template.Name}}"
)

// random returns what templates call instead of Helm's random functions, and puts markers
// into the chart. The Chart says afterwards what was called; it is nil if no template
// names such a function. Calls of lookup are noted in the rendering.
func (s source) random(ch *chart.Chart, values func() any) (template.FuncMap, *random.Chart) {
	rendering := s.opt.Random
	if rendering == nil {
		rendering = random.New(random.Source{})
	}
	if !rendering.Derived() && !mentionsRandom(ch) {
		return template.FuncMap{}, nil
	}
	mark(ch)
	c := rendering.Chart(random.Release{Chart: ch.Name(), Name: s.opt.Name, Namespace: s.opt.Namespace, Content: func() []byte {
		sum := sha256.New()
		addFiles(sum, ch)
		if err := json.NewEncoder(sum).Encode(values()); err != nil {
			fmt.Fprint(sum, "values that are no JSON") // such as those that hold themselves
		}
		return sum.Sum(nil)
	}})
	funcs := c.Functions()
	template := ""
	funcs[enter] = func(name string) string {
		template = strings.TrimSuffix(name, markerEnd)
		return c.Enter(template)
	}
	funcs[random.LookupFunction] = func(_, kind, namespace, name string) (map[string]any, error) {
		file, _ := s.templateFile(ch, template)
		rendering.NoteLookup(random.Lookup{File: file, Of: lookedFor(kind, namespace, name)})
		return map[string]any{}, nil // as in Helm without a cluster
	}
	return funcs, c
}

// lookedFor names what the arguments of lookup ask for: one object, or a list.
func lookedFor(kind, namespace, name string) string {
	switch {
	case name != "" && namespace != "":
		return fmt.Sprintf("%s %s/%s", kind, namespace, name)
	case name != "":
		return fmt.Sprintf("%s %s", kind, name)
	case namespace != "":
		return fmt.Sprintf("all of kind %s in the namespace %s", kind, namespace)
	}
	return fmt.Sprintf("all of kind %s", kind)
}

func mentionsRandom(ch *chart.Chart) bool {
	mentions := func(f *common.File) bool { return random.Mentioned(string(f.Data)) }
	return slices.ContainsFunc(ch.Templates, mentions) || slices.ContainsFunc(ch.Raw, func(f *common.File) bool { return f.Name == "values.yaml" && mentions(f) }) ||
		slices.ContainsFunc(ch.Dependencies(), mentionsRandom)
}

func mark(ch *chart.Chart) {
	marked := slices.Clone(ch.Templates) // of which a chart with two names has one list
	for _, t := range ch.Templates {
		if strings.HasPrefix(path.Base(t.Name), "_") {
			continue // does not run
		}
		marked = append(marked, &common.File{Name: t.Name + markerEnd, Data: []byte(marker)})
	}
	ch.Templates = marked
	for _, sub := range ch.Dependencies() {
		mark(sub)
	}
}

// withoutMarkers leaves out what markers rendered to.
func withoutMarkers(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, markerEnd) })
	return files
}

// addFiles adds the files of a chart to a sum, each with its length.
func addFiles(sum hash.Hash, ch *chart.Chart) {
	for _, f := range slices.SortedFunc(slices.Values(ch.Raw), func(a, b *common.File) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(sum, "%q %d\n", f.Name, len(f.Data))
		sum.Write(f.Data)
	}
	for _, sub := range slices.SortedFunc(slices.Values(ch.Dependencies()), func(a, b *chart.Chart) int { return strings.Compare(a.Name(), b.Name()) }) {
		fmt.Fprintf(sum, "chart %q\n", sub.Name())
		addFiles(sum, sub)
	}
}

// Random marks the note of a rendering whose output is another one each time.
const Random = "random"

// changing names the objects of templates that called random functions without a seed.
func (s source) changing(docs []Document, c *random.Chart) []finding.Finding {
	if c == nil || s.opt.Random.Derived() {
		return nil
	}
	const most = 4
	var objects, functions []string
	for _, u := range c.Uses() {
		if !slices.Contains(functions, u.Function) {
			functions = append(functions, u.Function)
		}
	}
	for _, d := range docs {
		if !slices.ContainsFunc(c.Uses(), func(u random.Use) bool { return u.Template == d.Source }) {
			continue
		}
		found, err := s.opt.Memory.Parse(d.File, d.Line, d.Text)
		if err != nil {
			continue // which is reported where the objects are made
		}
		for _, o := range found {
			objects = append(objects, o.ID.String())
		}
	}
	if len(objects) == 0 {
		return nil
	}
	named := strings.Join(objects[:min(most, len(objects))], ", ")
	if more := len(objects) - most; more > 0 {
		named = fmt.Sprintf("%s and %d more", named, more)
	}
	f := s.Fault(Random, "", fmt.Sprintf("different on every render, because their templates call %s: %s", strings.Join(functions, ", "), named),
		s.opt.Random.Without().Remedy()+", or set values that replace what is generated")
	f.Severity = finding.Note
	return []finding.Finding{f}
}
