// Package kustomize builds kustomizations, as "kustomize build" and "kustomize edit" do.
//
// kustomize runs inside the process, on a file system that holds the repository and
// what was fetched for it: a kustomization is looked through before the library sees it
// (look), so that all that is wrong is found at once, and nothing is left to fetch or to
// run. No other package that renders may import the library.
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
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
)

// lock serves one kustomization at a time: a kustomization may set
// the OpenAPI schema, which kyaml keeps in a global.
var lock sync.Mutex

// Options are the inputs of a kustomization besides its files.
type Options struct {
	// First is a text that is to be the first resource; empty means none.
	First string
	// Edits are made to the kustomization before it is built.
	Edits Edits
	// Unrestricted lets it read files of all the repository.
	Unrestricted bool
	// Empty accepts that nothing comes out.
	Empty bool
	// KubeVersion, APIVersions, Memory and Probe are for the charts that
	// kustomizations name (see helm.Options).
	KubeVersion string
	APIVersions []string
	Memory      *input.Memory
	Probe       func([]helm.TemplateText) template.FuncMap
	// Remote fetches what the kustomization names and the repository does not hold;
	// nil means that nothing is fetched.
	Remote remote.Fetcher
}

// Result is what a kustomization was built to.
type Result struct {
	Objects []object.Object
	// Findings are faults that did not stop the build.
	Findings []finding.Finding
	// Inflated reports whether charts were rendered; their templates see
	// Options.KubeVersion and Options.APIVersions.
	Inflated bool
}

// source is a kustomization with the inputs besides it.
type source struct {
	input.Source
	opt Options
}

// Render builds a kustomization as "kustomize build --enable-helm" does with
// its default options otherwise. What it would fetch or run is put in place before
// the library sees it (see assembly); plugins that are programs are refused.
func Render(ctx context.Context, of input.Source, opt Options) (res Result, err error) {
	s := source{of, opt}
	if s, err = s.edited(ctx); err != nil {
		return Result{}, err
	}
	a, t := s.assemble(ctx)
	t.first = s.opt.First
	t, dir, err := a.visit(t, s.Dir, "")
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", s.Dir, err)
	}
	if err != nil {
		return Result{}, finding.Err(sortedOnce(append(finding.Of(err), a.refused()...)))
	}
	lock.Lock()
	defer lock.Unlock()
	defer openapi.ResetOpenAPI()
	built, err := a.run(path.Join(t.at, dir))
	if err != nil {
		// What it cannot read again because of a key given twice, it says without a line.
		if twice := new(yamlv3.TypeError); errors.As(err, &twice) && len(a.doubled) > 0 {
			return Result{}, finding.Err(sortedOnce(a.refused()))
		}
		return Result{}, a.fault(t, dir, err)
	}
	res.Findings, res.Inflated = sortedOnce(append(a.findings, a.built()...)), a.inflated
	var faults []error
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil && len(a.doubled) > 0 {
			return Result{}, finding.Err(sortedOnce(a.refused()))
		}
		if err != nil {
			return Result{}, s.Fault("kustomize", File(s.FS, s.Dir), a.shown(withoutValues(readable(err.Error()), a.read)), "correct the resource "+r.CurId().String())
		}
		objs, err := object.Parse(s.Show(path.Join(s.Dir, File(s.FS, s.Dir))), 0, string(text))
		res.Objects = append(res.Objects, objs...)
		faults = append(faults, err)
	}
	if len(built.Resources()) == 0 && !s.opt.Empty {
		faults = append(faults, s.aloneIfComponent())
	}
	return res, errors.Join(faults...)
}

// aloneIfComponent is the fault of a Component that was rendered without a
// kustomization that includes it, and nil for other kustomizations.
func (s source) aloneIfComponent() error {
	file := File(s.FS, s.Dir)
	var k types.Kustomization
	data, err := fs.ReadFile(s.FS, path.Join(s.Dir, file))
	if err != nil || k.Unmarshal(data) != nil || k.Kind != types.ComponentKind {
		return nil
	}
	return s.Fault(input.Empty, file, "nothing was rendered: a kustomization of kind Component changes what others hold, and has no resources itself",
		"name it under components: in a kustomization, and render that one")
}

// names are those under which kustomize looks for its file.
var names = []string{"kustomization.yaml", "kustomization.yml", "Kustomization"}

// IsFile reports whether a file of this name is a kustomization.
func IsFile(name string) bool { return slices.Contains(names, name) }

// File returns the name of the kustomization in a directory, or the name that one
// should have.
func File(fsys fs.FS, dir string) string {
	for _, name := range names {
		if input.FileExists(fsys, path.Join(dir, name)) {
			return name
		}
	}
	return names[0]
}
