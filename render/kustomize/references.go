package kustomize

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"io/fs"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/render/input"
)

// ComponentKind is the kind of a kustomization that modifies others.
const ComponentKind = types.ComponentKind

// read reads a kustomization; false if it cannot be read.
func read(fsys fs.FS, dir string) (k types.Kustomization, ok bool) {
	data, err := fs.ReadFile(fsys, path.Join(dir, File(fsys, dir)))
	if err != nil || k.Unmarshal(data) != nil {
		return k, false
	}
	k.FixKustomization()
	return k, true
}

// References returns the paths in the repository that a kustomization refers to as
// resources, charts and the like, and that may be directories. Problems of the
// kustomization are reported when it is rendered.
func References(fsys fs.FS, dir string) []string {
	k, ok := read(fsys, dir)
	if !ok {
		return nil
	}
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

// Resources returns the resources of a kustomization that renders nothing but these,
// and whether it changes them; ok is false for any other kustomization.
func Resources(fsys fs.FS, dir string) (entries []string, changes, ok bool) {
	k, ok := read(fsys, dir)
	if !ok || k.Kind == ComponentKind {
		return nil, false, false
	}
	renders := len(k.HelmCharts) + len(k.Generators) + len(k.Components) + len(k.ConfigMapGenerator) + len(k.SecretGenerator)
	if renders > 0 || len(k.Resources) == 0 {
		return nil, false, false
	}
	rest := k
	rest.TypeMeta, rest.MetaData, rest.Resources = types.TypeMeta{}, nil, nil
	rest.GeneratorOptions, rest.SortOptions, rest.BuildMetadata = nil, nil, nil
	text, err := yaml.Marshal(rest)
	return k.Resources, err != nil || strings.TrimSpace(string(text)) != "{}", true
}
