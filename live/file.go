package live

import (
	"fmt"
	"slices"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// times are the fields that say when something was last seen. A file has no time of its own.
var times = []string{"lastTimestamp", "lastObservedTime", "eventTime", "startedAt", "finishedAt", "reconciledAt", "observedAt",
	"lastTransitionTime", "lastUpdateTime", "lastHeartbeatTime", "startTime", "creationTimestamp"}

// FromObjects makes a snapshot of exported objects. Its time is the last that they mention. app
// needs no name if there is only one Application.
func FromObjects(all []object.Object, app object.ID) (Snapshot, error) {
	snap := Snapshot{Application: app, Objects: all, IsExport: true}
	var apps []object.ID
	for _, o := range all {
		snap.Now = max(snap.Now, latest(o.Root()))
		if argo.IsApplication(o.ID) {
			apps = append(apps, o.ID)
		}
	}
	anywhere := app
	anywhere.Namespace = ""
	switch {
	case len(apps) == 0:
		return snap, finding.Fault("the file has no Application", "export it, too: kubectl get applications -n "+app.Namespace+" -o yaml")
	case app.Name == "" && len(apps) == 1:
		snap.Application = apps[0]
	case app.Name == "":
		return snap, finding.Fault(fmt.Sprintf("the file has %d Applications", len(apps)), "name one of them")
	case slices.Contains(apps, app):
	case slices.Contains(apps, anywhere): // an export without namespaces
		snap.Application = anywhere
	default:
		return snap, NoApplication(fmt.Sprintf("Application %s in namespace %s is not in the file", app.Name, app.Namespace), app, all)
	}
	return snap, nil
}

// latest returns the last time in a value.
func latest(v object.Value) (last int64) {
	for _, f := range v.Fields() {
		if slices.Contains(times, f.Key) {
			last = max(last, Time(f.Value.Text()))
		}
		last = max(last, latest(f.Value))
	}
	for _, item := range v.Items() {
		last = max(last, latest(item))
	}
	return last
}

// NoApplication is the error about a name that no Application has.
func NoApplication(message string, app object.ID, all []object.Object) error {
	var names, elsewhere []string
	for _, o := range all {
		switch {
		case !argo.IsApplication(o.ID):
		case o.ID.Name == app.Name:
			elsewhere = append(elsewhere, o.ID.Namespace)
		case o.ID.Namespace == app.Namespace:
			names = append(names, o.ID.Name)
		}
	}
	if len(elsewhere) > 0 {
		return finding.Fault(message, "pass --namespace "+elsewhere[0])
	}
	return finding.Fault(message, "correct the name, or pass --namespace").Asking(finding.Suggest(app.Name, names))
}
