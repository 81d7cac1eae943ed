package helm

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	chart "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// crdContent is what the CRDs of a chart depend on, including disabled subcharts.
type crdContent struct {
	chart    *crds.Chart
	values   crds.Values
	findings []finding.Finding
}

// describeCRDs describes a chart before its dependencies are processed, to find its CRDs.
// The error joins findings about the files of crds/.
func (s source) describeCRDs(ch *chart.Chart, vals map[string]any) (crdContent, error) {
	res := crdContent{chart: s.describeChart(ch, nil), values: loader.MergeMaps(ownValues(ch), vals)}
	s.reportCRDSymlink(ch, &res.findings)
	var faults []error
	var visit func(c *crds.Chart)
	visit = func(c *crds.Chart) {
		for _, f := range c.CRDFiles {
			if line := templateLine(f.Text); line > 0 {
				faults = append(faults, crdTemplate(f.Shown, line))
			}
		}
		for _, sub := range c.Charts {
			visit(sub)
		}
	}
	visit(res.chart)
	return res, errors.Join(faults...)
}

// crdTemplate reports that a file of crds/ is a template.
func crdTemplate(file string, line int) finding.Finding {
	return finding.Finding{Severity: finding.Error, Rule: "crd-file", File: file, Line: line,
		Message: "this is a template, but Helm does not evaluate templates in crds/",
		Remedy:  "move the file to templates/, or remove the template actions"}
}

// crdFiles returns the files of crds/, which Helm prints without evaluating them. It
// reports templates among them that are not valid YAML: the YAML error alone would look
// like a mistake in the template.
func (s source) crdFiles(ch *chart.Chart) (docs []Document, err error) {
	var faults []error
	for _, crd := range ch.CRDObjects() {
		text := string(crd.File.Data)
		doc := Document{Source: crd.Filename, File: s.crdFile(crd), Line: 1, Text: text}
		if line := templateLine(text); line > 0 {
			if _, err := object.Parse(doc.File, doc.Line, text); err != nil {
				faults = append(faults, crdTemplate(doc.File, line))
			}
		}
		docs = append(docs, doc)
	}
	return docs, errors.Join(faults...)
}

// describeChart converts a chart. key is the path of its values.
func (s source) describeChart(ch *chart.Chart, key crds.Path) *crds.Chart {
	c := &crds.Chart{Name: ch.Name(), Key: key, ValuesFile: s.chartFile(ch, "values.yaml")}
	file := func(name string, data []byte) crds.File {
		return crds.File{Name: name, Shown: s.chartFile(ch, name), Text: string(data)}
	}
	for _, t := range ch.Templates {
		c.Templates = append(c.Templates, file(t.Name, t.Data))
	}
	crdFiles := map[string]bool{}
	for _, d := range ch.CRDObjects() {
		// This also lists files of subcharts, with their full paths.
		if name, own := strings.CutPrefix(d.Filename, ch.ChartFullPath()+"/"); own && !strings.HasPrefix(name, "charts/") {
			crdFiles[name] = true
			c.CRDFiles = append(c.CRDFiles, file(name, d.File.Data))
		}
	}
	for _, f := range ch.Files {
		if !crdFiles[f.Name] && bytes.Contains(f.Data, []byte("CustomResourceDefinition")) {
			c.Files = append(c.Files, file(f.Name, f.Data))
		}
	}
	for _, raw := range ch.Raw {
		if raw.Name == "values.yaml" {
			c.Declared = func(p crds.Path) int { return input.LineOf(raw.Data, p) }
		}
	}
	eachDependency(ch, func(dep *chart.Dependency, sub *chart.Chart) {
		below := crds.Path{sub.Name()}
		if dep != nil && dep.Alias != "" {
			below = crds.Path{dep.Alias}
		}
		converted := s.describeChart(sub, join(key, below))
		if dep != nil {
			for _, condition := range object.SplitList(dep.Condition) {
				converted.Conditions = append(converted.Conditions, join(key, strings.Split(condition, ".")))
			}
			converted.Tags = dep.Tags
		}
		c.Charts = append(c.Charts, converted)
	})
	return c
}

func join(a, b crds.Path) crds.Path { return append(append(crds.Path{}, a...), b...) }

// eachDependency visits the subcharts of a chart: listed ones as often as they are
// listed, and others once, like Helm.
func eachDependency(ch *chart.Chart, visit func(dep *chart.Dependency, sub *chart.Chart)) {
	listed := map[*chart.Chart]bool{}
	for _, dep := range ch.Metadata.Dependencies {
		for _, sub := range ch.Dependencies() {
			if sub.Name() == dep.Name && satisfies(dep.Version, sub.Metadata.Version) {
				listed[sub] = true
				visit(dep, sub)
				break
			}
		}
	}
	for _, sub := range ch.Dependencies() {
		if !listed[sub] {
			visit(nil, sub)
		}
	}
}

// ownValues returns the values of a chart and all its subcharts.
func ownValues(ch *chart.Chart) map[string]any {
	all := map[string]any{}
	eachDependency(ch, func(dep *chart.Dependency, sub *chart.Chart) {
		key := sub.Name()
		if dep != nil && dep.Alias != "" {
			key = dep.Alias
		}
		all[key] = ownValues(sub)
	})
	return loader.MergeMaps(all, ch.Values)
}

// reportCRDSymlink reports that crds/ of a chart is a symlink. It is followed, but
// some tools do not follow it, and Argo CD may send only a part of the repository.
func (s source) reportCRDSymlink(ch *chart.Chart, found *[]finding.Finding) {
	dir := strings.TrimPrefix(strings.TrimPrefix(ch.ChartFullPath(), ch.Root().Name()), "/")
	if target, linked := s.link(path.Join(s.Dir, dir, "crds")); linked {
		f := s.Fault("crd-file", path.Join(dir, "crds"),
			"crds/ is a symlink to "+target+": Ladder follows it, but not every tool does", "replace the symlink with a directory")
		f.Severity = finding.Note
		*found = append(*found, f)
	}
	for _, sub := range ch.Dependencies() {
		s.reportCRDSymlink(sub, found)
	}
}

// link returns the target of a symlink, and whether it is one.
func (s source) link(name string) (string, bool) {
	links, ok := s.FS.(fs.ReadLinkFS)
	if !ok {
		return "", false
	}
	if info, err := links.Lstat(name); err != nil || info.Mode()&fs.ModeSymlink == 0 {
		return "", false
	}
	target, err := links.ReadLink(name)
	return target, err == nil
}

// Patterns for lines that are template code. Descriptions in CRDs may also contain "{{", but
// not the inputs of a chart, such as .Values.
var (
	actionLine = lazyregexp.New(`^\s*\{\{(?:-|\s*(?:if|with|range|end|else|include|template|toYaml)\b)`)
	actionIn   = lazyregexp.New(`\{\{-? *(?:\$?\.(?:Values|Release|Chart|Capabilities)\b|include "|template ")`)
)

// templateLine returns the line that shows that a text is a template; 0 if there is
// none.
func templateLine(text string) int {
	if !strings.Contains(text, "{{") {
		return 0
	}
	n := 0
	for line := range strings.Lines(text) {
		n++
		at := strings.Index(line, "{{")
		if at >= 0 && (actionLine.MatchString(line) || actionIn.MatchString(line) && !strings.Contains(line[:at], "description")) {
			return n
		}
	}
	return 0
}
