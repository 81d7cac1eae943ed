package generate

import (
	"cmp"
	"path"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/render"
)

// noManifests are the files of Ladder in a component, which Argo CD would try to apply.
const noManifests = "{component.yaml,ladder.yaml}"

// nativeSource returns the source of a component that Argo CD renders itself, without its repository
// and revision.
func nativeSource(app *fleet.Application, environment string) argocd.Source {
	c := app.Component.Chart
	s := argocd.Source{Path: app.Dir}
	switch {
	case strings.HasPrefix(c.Path, "./") || strings.HasPrefix(c.Path, "../"):
		s.Path = path.Join(app.Dir, c.Path)
	case c.Path != "":
		s.Path = path.Clean(c.Path)
	}
	switch app.Kind {
	case render.Helm:
		values := remoteValues(app.Component, environment)
		s.Helm = &argocd.HelmSource{ReleaseName: cmp.Or(c.ReleaseName, app.Component.Name), SkipCRDs: c.SkipCRDs,
			IgnoreMissing: c.IgnoreMissing, Parameters: values.Parameters}
		for _, file := range append(append([]string{}, c.ValueFiles...), values.ValueFiles...) {
			if strings.HasPrefix(file, "$") { // the repository of the component is that of the source
				_, below, _ := strings.Cut(file, "/")
				file = "/" + below
			}
			s.Helm.ValueFiles = append(s.Helm.ValueFiles, file)
		}
	case render.Plain:
		s.Directory = &argocd.Directory{Recurse: true}
		if s.Path == app.Dir {
			s.Directory.Exclude = noManifests
		}
	}
	return s
}

// nativeSources are the sources of the components that Argo CD renders itself, by directory and
// environment, as patches of a template with a plugin. They are fixed when the ApplicationSet is
// written; that of the environment "" is for those that set no values.
func (w writer) nativeSources() []chosenFields {
	var all []chosenFields
	for _, app := range w.Applications {
		if app.Render != component.Native || app.Component.Chart.Remote() {
			continue
		}
		patches := map[string]any{"": nativePatch(nativeSource(app, ""))}
		for e := range app.Component.Values {
			patches[e] = nativePatch(nativeSource(app, e))
		}
		all = append(all, chosenFields{app.Dir, asJSON(patches)})
	}
	return all
}

func nativePatch(s argocd.Source) map[string]any {
	patch := map[string]any{"path": s.Path, "plugin": nil}
	if s.Helm != nil {
		patch["helm"] = s.Helm
	}
	if s.Directory != nil {
		patch["directory"] = s.Directory
	}
	return patch
}
