package inputs

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/help"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render"
)

// Ordering are the parameters for the order of manifests, including manifests that Ladder
// did not render.
var Ordering = []string{"namespace", "waves", "author-waves", "explain", "jobs", "hooks", "tests", "crds", "crds-prune"}

// commonParameters are the parameters that most people need on the command line.
var commonParameters = []string{"name", "namespace", "renderer", "values", "set", "set-string", "set-file", "kube-version", "api-versions"}

// sectionOf returns the section of the help that lists the flag of a parameter.
func sectionOf(p plugin.Parameter) help.Section {
	switch {
	case slices.Contains(commonParameters, p.Name):
		return help.Rendering
	case slices.Contains(Ordering, p.Name) || p.Name == "crds-upgraders":
		return help.Waves
	case slices.Equal(p.Kinds, []render.Kind{render.Kustomize}):
		return help.Kustomize
	case slices.Contains(p.Kinds, render.Plain):
		return help.Directory
	}
	return help.Helm
}
