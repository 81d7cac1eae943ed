// Package kustomize builds kustomizations, like "kustomize build" and "kustomize
// edit".
//
// kustomize runs inside the process, on a file system with the repository and the
// content fetched for it. Each kustomization is checked before the library sees it
// (see assembly.prepare), so that all problems are found at once and nothing is left to fetch or to
// run. No other rendering package may import the library.
package kustomize

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"sync"
	"text/template"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

// lock serializes kustomizations: they may set the OpenAPI schema, which kyaml
// keeps in a global.
var lock sync.Mutex

// Options are the inputs of a kustomization, apart from its files.
type Options struct {
	// First is the text of an additional first resource; empty means none.
	First string
	// Edits are applied to the kustomization before it is built.
	Edits Edits
	// Unrestricted allows it to read any file of the repository.
	Unrestricted bool
	// AllowEmpty allows an empty result.
	AllowEmpty bool
	// KubeVersion, APIVersions, Memory, Probe and Random are for the charts of
	// kustomizations (see helm.Options).
	KubeVersion string
	APIVersions []string
	Memory      *input.Memory
	Probe       func([]helm.TemplateText) template.FuncMap
	Random      *random.Rendering
	// Remote fetches sources that are not in the repository, such as a
	// remote.Recorder, which fetches each once; nil disables fetching.
	Remote remote.Fetcher
}

// Result is the result of building a kustomization.
type Result struct {
	Objects []object.Object
	// Findings are problems that did not stop the build.
	Findings []finding.Finding
	// Inflated reports whether charts were rendered; their templates see
	// Options.KubeVersion and Options.APIVersions.
	Inflated bool
}

// source is a kustomization with its other inputs.
type source struct {
	input.Source
	opt Options
}

// Render builds a kustomization like "kustomize build --enable-helm" with otherwise
// default options. What that would fetch or run is prepared before the library sees
// it (see assembly). Plugins that are programs are refused. With an error, the result has the
// findings up to it.
func Render(ctx context.Context, of input.Source, opt Options) (res Result, err error) {
	s := source{of, opt}
	if s, err = s.withEdits(); err != nil {
		return Result{}, err
	}
	a, t := s.assemble(ctx)
	t.first = s.opt.First
	t, dir, err := a.visit(t, s.Dir, "")
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", s.Dir, err)
	}
	if err != nil {
		return Result{Findings: sortedOnce(a.findings)}, finding.Err(sortedOnce(append(finding.Of(err), a.refusedDuplicates()...)))
	}
	lock.Lock()
	defer lock.Unlock()
	defer openapi.ResetOpenAPI()
	built, err := a.run(path.Join(t.at, dir))
	if err != nil {
		res.Findings = sortedOnce(a.findings)
		// For duplicate keys, its error has no line.
		if typeErr := new(yamlv3.TypeError); errors.As(err, &typeErr) && len(a.duplicateKeys) > 0 {
			return res, finding.Err(sortedOnce(a.refusedDuplicates()))
		}
		return res, a.fault(t, dir, err)
	}
	res.Findings, res.Inflated = sortedOnce(slices.Concat(a.findings, a.acceptedDuplicates(), a.unmatchedPatches(built))), a.inflated
	var faults []error
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil && len(a.duplicateKeys) > 0 {
			return Result{Findings: sortedOnce(a.findings)}, finding.Err(sortedOnce(a.refusedDuplicates()))
		}
		if err != nil {
			return Result{Findings: res.Findings}, s.Fault(finding.BadKustomization, File(s.FS, s.Dir),
				a.userPaths(readable(a.hidden().From(err.Error()))), "correct the resource "+r.CurId().String())
		}
		objs, err := object.Parse(s.Show(path.Join(s.Dir, File(s.FS, s.Dir))), 0, string(text))
		res.Objects = append(res.Objects, objs...)
		faults = append(faults, err)
	}
	if len(built.Resources()) == 0 && !s.opt.AllowEmpty {
		faults = append(faults, s.checkComponent())
	}
	return res, errors.Join(faults...)
}

// checkComponent returns a finding if a Component is rendered without a
// kustomization that includes it; nil for other kustomizations.
func (s source) checkComponent() error {
	if k, ok := read(s.FS, s.Dir); !ok || k.Kind != ComponentKind {
		return nil
	}
	return s.Fault(input.Empty, File(s.FS, s.Dir),
		"nothing was rendered: this kustomization of kind Component has no resources of its own, "+
			"and only changes those of the kustomization that includes it",
		`list its directory under "components" in a kustomization, and render that kustomization`)
}

// names are the file names of kustomizations.
var names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// IsFile reports whether a file of this name is a kustomization.
func IsFile(name string) bool { return slices.Contains(names, name) }

// File returns the name of the kustomization in a directory, or the default name.
func File(fsys fs.FS, dir string) string {
	for _, name := range names {
		if input.FileExists(fsys, path.Join(dir, name)) {
			return name
		}
	}
	return names[0]
}
