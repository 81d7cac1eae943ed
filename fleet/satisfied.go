package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/wave"
)

// dropSatisfied removes findings about missing objects that another Application of the fleet
// contains, about namespaces to which an Application is deployed, and about settings that the
// generated Applications have. Of the findings about waits without an effect, each Application
// keeps one.
func (f *Fleet) dropSatisfied() {
	provided, binding := map[string][]*Application{}, map[string][]*Application{}
	for _, app := range f.Applications {
		for _, o := range app.Objects {
			if o.ID.GroupKind() == "StorageClass.storage.k8s.io" && wave.BindsImmediately(o) {
				binding[o.ID.String()] = append(binding[o.ID.String()], app)
			}
			// The graph of a single Application may use another namespace for an object without
			// one. Argo CD deploys such an object to the destination namespace.
			id := o.ID
			provided[id.String()] = append(provided[id.String()], app)
			if id.Namespace == "" {
				id.Namespace = app.Namespace
				provided[id.String()] = append(provided[id.String()], app)
			}
		}
		provided["Namespace "+app.Namespace] = append(provided["Namespace "+app.Namespace], app)
	}
	for _, app := range f.Applications {
		gates := 0
		app.Findings = slices.DeleteFunc(app.Findings, func(found finding.Finding) bool {
			switch {
			case found.Rule == graph.OLMRetry: // the generated Application has a retry
				return true
			case found.Rule == wave.GateWithoutDependent:
				gates++
				return gates > 1
			case found.Rule == graph.MissingObject && found.Severity == finding.Note: // an external store or a person may create it, too
				return true
			}
			providers, ofAnotherSource := provided[found.Missing], f.InPlace()
			if found.Rule == wave.Late { // the PVC only needs a class that binds immediately
				providers, ofAnotherSource = binding[found.Missing], false
			}
			return slices.ContainsFunc(providers,
				func(other *Application) bool {
					return (other != app || ofAnotherSource) && f.ShareEnvironment(app, other)
				})
		})
	}
}

// ShareEnvironment reports whether two Applications are deployed in the same environment.
func (f *Fleet) ShareEnvironment(a, b *Application) bool {
	return slices.ContainsFunc(f.Scope(""), func(e string) bool { return a.IsIn(e) && Deployed(b, e) })
}
