package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/wave"
)

// dropBrought drops what is missing in an Application where another one of the
// fleet brings it, or, of a namespace, is deployed to it, and what the Applications
// that are generated have. Of waits that buy nothing each Application keeps one.
func (f *Fleet) dropBrought() {
	brought, binding := map[string][]*Application{}, map[string][]*Application{}
	for _, app := range f.Applications {
		for _, o := range app.Objects {
			if o.ID.GroupKind() == "StorageClass.storage.k8s.io" && wave.BindsImmediately(o) {
				binding[o.ID.String()] = append(binding[o.ID.String()], app)
			}
			// A graph of the Application alone may take another namespace for an object
			// without one, which is the destination.
			id := o.ID
			brought[id.String()] = append(brought[id.String()], app)
			if id.Namespace == "" {
				id.Namespace = app.Namespace
				brought[id.String()] = append(brought[id.String()], app)
			}
		}
		brought["Namespace "+app.Namespace] = append(brought["Namespace "+app.Namespace], app)
	}
	for _, app := range f.Applications {
		gates := 0
		app.Findings = slices.DeleteFunc(app.Findings, func(found finding.Finding) bool {
			switch {
			case found.Rule == graph.OLMRetry: // the retry is generated
				return true
			case found.Rule == wave.GateWithoutDependent:
				gates++
				return gates > 1
			case found.Rule == graph.MissingObject && found.Severity == finding.Note: // stores and people bring it, too
				return true
			}
			bringers := brought[found.Missing]
			if found.Rule == wave.Late { // a class is of use to a claim that does not wait
				bringers = binding[found.Missing]
			}
			return slices.ContainsFunc(bringers, func(other *Application) bool { return other != app && f.meet(app, other) })
		})
	}
}

// meet reports whether an Application finds another one in some environment.
func (f *Fleet) meet(a, b *Application) bool {
	return slices.ContainsFunc(f.environments(""), func(e string) bool { return a.IsIn(e) && Deployed(b, e) })
}
