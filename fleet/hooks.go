package fleet

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// onlyHooks: Argo CD compares the cluster only with objects that are not hooks. An Application
// that contains only hooks is therefore always in sync, so neither a step nor an automated
// sync ever syncs it, and its hooks never run. (Observed with the controllers of v3.5.7; e2e's
// TestRollout expects a sync of each.)
func (l *lint) onlyHooks() []fault {
	var all []fault
	for _, app := range l.Applications {
		if len(app.Objects) == 0 || !l.anywhere(app) || slices.ContainsFunc(app.Objects, func(o object.Object) bool { return !o.IsHook() }) {
			continue
		}
		f := l.at(finding.Warning, app, fmt.Sprintf("component %s contains only hooks, such as %s: Argo CD reports it as Synced before they have run, so automated sync never runs them", app.Name, app.Objects[0].ID),
			"add an object that is not a hook and changes with them, such as a ConfigMap with their script")
		f.Object = app.Objects[0].ID.String()
		all = append(all, f)
	}
	return all
}
