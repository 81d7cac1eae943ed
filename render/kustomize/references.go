package kustomize

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"io/fs"
	"path"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/ladder-cmp/ladder/render/input"
)

// ComponentKind is the kind of a kustomization that modifies others.
const ComponentKind = types.ComponentKind

// References returns the paths in the repository that a kustomization refers to as
// resources, charts and the like, and that may be directories. Problems of the
// kustomization are reported when it is rendered.
func References(fsys fs.FS, dir string) []string {
	var k types.Kustomization
	data, err := fs.ReadFile(fsys, path.Join(dir, File(fsys, dir)))
	if err != nil || k.Unmarshal(data) != nil {
		return nil
	}
	k.FixKustomization()
	var all []string
	refer := func(base, to string) {
		if p, ok := input.RepoPath(base, to); ok {
			all = append(all, p)
		}
	}
	for _, entries := range [][]string{k.Resources, k.Components, k.Generators, k.Transformers, k.Validators} {
		for _, entry := range entries {
			refer(dir, entry)
		}
	}
	home := types.HelmDefaultHome
	if k.HelmGlobals != nil && k.HelmGlobals.ChartHome != "" {
		home = k.HelmGlobals.ChartHome
	}
	for _, chart := range k.HelmCharts {
		if chart.Name != "" {
			refer(path.Join(dir, home), chart.Name)
		}
	}
	return all
}
