package importer

import (
	"context"
	"fmt"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// ExistingApplication is an existing Application with the objects that it deploys without the
// fleet.
type ExistingApplication struct {
	Name string
	// Components are the names of the components that Import creates from it.
	Components []string
	// Objects are the rendered objects of its sources in the repository. Unrendered says why
	// some are missing; it is empty if none are.
	Objects    []object.Object
	Unrendered string
	// Recorded are the objects in its status, except hooks and objects that Argo CD would
	// delete. It is empty unless the Application was read from a cluster.
	Recorded []object.ID
}

// ExistingApplications returns the Applications of an input, with the objects that they deploy.
// It fails if there are none.
func ExistingApplications(ctx context.Context, in Input) ([]ExistingApplication, []finding.Finding, error) {
	w, all, err := readApplications(ctx, in)
	if err != nil {
		return nil, w.findings(), err
	}
	result := make([]ExistingApplication, len(all))
	for i, app := range all {
		existing := ExistingApplication{Name: app.name, Recorded: recordedObjects(app.text)}
		for _, m := range app.components {
			existing.Components = append(existing.Components, m.name)
			if !m.local {
				existing.Unrendered = m.chart.String() + " is not in the repository"
				continue
			}
			if m.missing != "" {
				existing.Unrendered = m.missing
				continue
			}
			res, err := w.generate(ctx, m, wave.Options{})
			if err != nil {
				existing.Unrendered = fmt.Sprintf("%s does not render: %s", m.dir, finding.Of(err)[0].Error())
				continue
			}
			existing.Objects = append(existing.Objects, res.Objects...)
		}
		result[i] = existing
	}
	return result, w.findings(), nil
}

// recordedObjects returns the objects in the status of an Application.
func recordedObjects(text string) []object.ID {
	objs, err := object.Parse("", 1, text)
	if err != nil || len(objs) == 0 {
		return nil
	}
	var all []object.ID
	for _, r := range objs[0].Get("status", "resources").Items() {
		if !r.Get("hook").True() && !r.Get("requiresPruning").True() {
			all = append(all, object.ID{Group: r.Get("group").Text(), Kind: r.Get("kind").Text(), Namespace: r.Get("namespace").Text(), Name: r.Get("name").Text()})
		}
	}
	return all
}
