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

// Passwords are derived from the template that generates them, among other things
// (package random), but Helm's engine does not pass the template to functions. It
// runs templates in reverse order of their names. A marker is a template with the
// name of another one followed by a zero byte, so it runs immediately before that
// one and announces it.
const (
	markerEnd = "\x00"
	// enter is the function that markers call.
	enter  = "ladderEnter"
	marker = "{{" + enter + " .Template.Name}}"
)

// random returns the functions that replace Helm's random functions, and adds
// markers to the chart. The Chart then lists the calls; it is nil if no template
// uses such a function. Calls of lookup are recorded in the rendering.
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
			fmt.Fprint(sum, "values that are no JSON") // for example values that contain themselves
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
		rendering.NoteLookup(random.Lookup{File: file, Of: lookupTarget(kind, namespace, name)})
		return map[string]any{}, nil // as in Helm without a cluster
	}
	return funcs, c
}

// lookupTarget describes the arguments of lookup: one object, or a list.
func lookupTarget(kind, namespace, name string) string {
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
	mentions := func(f *common.File) bool { return random.MentionsRandom(string(f.Data)) }
	return slices.ContainsFunc(ch.Templates, mentions) ||
		slices.ContainsFunc(ch.Raw, func(f *common.File) bool { return f.Name == "values.yaml" && mentions(f) }) ||
		slices.ContainsFunc(ch.Dependencies(), mentionsRandom)
}

func mark(ch *chart.Chart) {
	withMarkers := slices.Clone(ch.Templates) // charts with two names share one list
	for _, t := range ch.Templates {
		if strings.HasPrefix(path.Base(t.Name), "_") {
			continue // partials do not run
		}
		withMarkers = append(withMarkers, &common.File{Name: t.Name + markerEnd, Data: []byte(marker)})
	}
	ch.Templates = withMarkers
	for _, sub := range ch.Dependencies() {
		mark(sub)
	}
}

// withoutMarkers removes the output of markers.
func withoutMarkers(files map[string]string) map[string]string {
	maps.DeleteFunc(files, func(name, _ string) bool { return strings.HasSuffix(name, markerEnd) })
	return files
}

// addFiles hashes the files of a chart, each with its length.
func addFiles(sum hash.Hash, ch *chart.Chart) {
	for _, f := range slices.SortedFunc(slices.Values(ch.Raw), func(a, b *common.File) int { return strings.Compare(a.Name, b.Name) }) {
		fmt.Fprintf(sum, "%q %d\n", f.Name, len(f.Data))
		sum.Write(f.Data)
	}
	for _, sub := range slices.SortedFunc(slices.Values(ch.Dependencies()),
		func(a, b *chart.Chart) int { return strings.Compare(a.Name(), b.Name()) }) {
		fmt.Fprintf(sum, "chart %q\n", sub.Name())
		addFiles(sum, sub)
	}
}

// Random is the rule of the note about output that differs between renderings.
const Random finding.Rule = "random"

// nonDeterministic names the objects whose templates called random functions without a
// seed. If a template renders several objects, some of them may not contain a generated value; only
// another rendering could tell, which would double the time of each request.
func (s source) nonDeterministic(docs []Document, c *random.Chart) []finding.Finding {
	if c == nil || s.opt.Random.Derived() {
		return nil
	}
	const maxShown = 4
	var objects, functions []string
	for _, u := range c.Uses() {
		if !slices.Contains(functions, u.Function) {
			functions = append(functions, u.Function)
		}
	}
	perTemplate, most := map[string]int{}, 0
	for _, d := range docs {
		if !slices.ContainsFunc(c.Uses(), func(u random.Use) bool { return u.Template == d.Source }) {
			continue
		}
		s.opt.Random.NoteDrawn(d.File)
		found, err := s.opt.Memory.Parse(d.File, d.Line, d.Text)
		if err != nil {
			continue // reported where the objects are created
		}
		perTemplate[d.Source] += len(found)
		most = max(most, perTemplate[d.Source])
		for _, o := range found {
			objects = append(objects, o.ID.String())
		}
	}
	if len(objects) == 0 {
		return nil
	}
	named := strings.Join(objects[:min(maxShown, len(objects))], ", ")
	if more := len(objects) - maxShown; more > 0 {
		named = fmt.Sprintf("%s and %d more", named, more)
	}
	message := "%s differs on every render, because its template calls %s"
	switch {
	case most > 1:
		message = "some of %s differ on every render, because their templates call %s; cmp check --deterministic shows which"
	case len(objects) > 1:
		message = "%s differ on every render, because their templates call %s"
	}
	f := s.Fault(Random, "", fmt.Sprintf(message, named, strings.Join(functions, ", ")),
		s.opt.Random.WhyRandom().Remedy()+", or set values that replace the generated ones")
	f.Severity = finding.Note
	return []finding.Finding{f}
}
