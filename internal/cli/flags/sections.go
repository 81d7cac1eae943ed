package flags

import (
	"slices"

	"github.com/ladder-cmp/ladder/internal/cli"
	"github.com/ladder-cmp/ladder/plugin"
)

// Ordering are the parameters for the order of manifests, including manifests that Ladder
// did not render.
var Ordering = []string{"namespace", "waves", "author-waves", "explain", "jobs", "hooks", "tests", "crds", "crds-prune",
	"expects", "argocd-version"}

// sectionOf returns the section of the help that lists the flag of a parameter.
func sectionOf(p plugin.Parameter) cli.Section {
	if p.Name != "namespace" && slices.Contains(Ordering, p.Name) {
		return cli.WaveFlags
	}
	return cli.RenderingFlags
}
