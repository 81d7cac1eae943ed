package render

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/kustomize"
)

// skipMarker anywhere in a file excludes it, as in Argo CD's directory sources
// (docs/user-guide/directory.md). It is usually in a comment.
const skipMarker = "+argocd:skip-file-rendering"

// plain reads every manifest file that the options include.
func (s source) plain() (Result, error) {
	names, found, err := s.directoryFiles()
	if err != nil {
		return Result{}, err
	}
	res := Result{Findings: found}
	if err := s.libraries(); err != nil {
		return Result{}, err
	}
	var faults []error
	for _, name := range names {
		if path.Ext(name) != ".jsonnet" {
			faults = append(faults, s.manifestFile(&res, name))
			continue
		}
		objs, err := s.jsonnetFile(name)
		res.Objects = append(res.Objects, objs...)
		faults = append(faults, err)
	}
	return res, errors.Join(faults...)
}

// manifestFiles adds the objects in those files of the component for which include returns
// true.
func (s source) manifestFiles(res *Result, include func(name string) bool) error {
	var faults []error
	err := input.Walk(s.FS, s.Dir, func(name string) error {
		if !include(name) {
			return nil
		}
		faults = append(faults, s.manifestFile(res, name))
		return nil
	})
	if err != nil {
		faults = append(faults, s.Unreadable(err))
	}
	return errors.Join(faults...)
}

// manifestFile adds the objects in a file of the component, and what is to be said of it.
func (s source) manifestFile(res *Result, name string) error {
	if base := path.Base(name); !hidden(name) && (base == "Chart.yaml" || kustomize.IsFile(base)) {
		return s.Fault(finding.NotRendered, name, "this chart or kustomization cannot be rendered together with the plain YAML around it",
			"make the directory "+s.Show(path.Join(s.Dir, path.Dir(name)))+" a separate component, or set renderer: tree to render both")
	}
	text, skip, err := s.readUnlessSkipped(name)
	if skip || err != nil {
		return err
	}
	file := s.Show(path.Join(s.Dir, name))
	objs, err := s.opt.Memory.Parse(file, 1, text)
	if err != nil && hidden(name) && !looksLikeManifest(text) {
		return nil
	}
	res.Objects = append(res.Objects, objs...)
	res.Findings = append(res.Findings, object.NullLists(file, text)...)
	if err == nil {
		return nil
	}
	faults := finding.Of(err)
	for i := range faults {
		switch {
		case strings.Contains(text, "{{") && s.opt.Kind == Tree:
			faults[i].Remedy = "if this is a template, move it to the templates/ directory of a chart, or to a component outside this directory: " +
				"a tree renders only the templates of charts"
		case strings.Contains(text, "{{") && path.Base(s.Dir) == "templates" && input.FileExists(s.FS, path.Join(s.Dir, "../Chart.yaml")):
			faults[i].Remedy = "if this is a template of the chart " + s.Show(path.Dir(s.Dir)) + ", name that directory instead"
		case strings.Contains(text, "{{"):
			faults[i].Remedy = "if this is a template, rename it to " + path.Base(name) + ".tmpl"
		case faults[i].Rule == object.Incomplete && faults[i].Remedy != object.AddFields: // names the mistake
		case faults[i].Rule == object.Incomplete && strings.EqualFold(strings.TrimSuffix(name, path.Ext(name)), "chart"):
			faults[i].Remedy = "if this is a chart, rename the file to Chart.yaml"
		case faults[i].Rule == object.Incomplete && path.Ext(name) == ".json": // JSON has no comments
			faults[i].Remedy = "add the missing fields, or leave the file out (exclude: " + name + ") if it contains no manifests"
		case faults[i].Rule == object.Incomplete:
			faults[i].Remedy = "add the missing fields, or begin the file with \"# " + skipMarker + "\" if it contains no manifests"
		}
	}
	return finding.Err(faults)
}

// readUnlessSkipped reads a file of the component, and reports whether it contains the skip
// marker.
func (s source) readUnlessSkipped(name string) (text string, skip bool, err error) {
	data, err := fs.ReadFile(s.FS, path.Join(s.Dir, name))
	if err != nil {
		return "", false, s.Unreadable(err)
	}
	return string(data), bytes.Contains(data, []byte(skipMarker)), nil
}
