package scaffold

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// workloads are kinds that are always in the namespace of the component.
var workloads = []string{"Deployment", "StatefulSet", "DaemonSet", "Job", "CronJob", "Pod"}

// namespaceOf returns the namespace in manifests: that of all workloads, or of all
// objects if there are none. why says why there is none.
func namespaceOf(objs []object.Object) (namespace, why string) {
	at := func(o object.Object) string {
		if o.ID.Namespace == placeholderNamespace {
			return ""
		}
		return o.ID.Namespace
	}
	var theirs, all, made []string
	for _, o := range objs {
		if slices.Contains(workloads, o.ID.Kind) {
			theirs = append(theirs, at(o))
		}
		if at(o) != "" {
			all = append(all, at(o))
		}
		if o.ID.GroupKind() == "Namespace" {
			made = append(made, o.ID.Name)
		}
	}
	one := func(names []string) []string { slices.Sort(names); return slices.Compact(names) }
	theirs, all, made = one(theirs), one(all), one(made)
	if len(theirs) == 0 {
		theirs = one(append(all, made...))
	}
	switch {
	case len(theirs) == 1 && theirs[0] != "":
		return theirs[0], ""
	case len(theirs) == 1 && len(made) == 1:
		return made[0], ""
	case len(theirs) > 1:
		return "", finding.Sanitize("the manifests name " + strings.Join(slices.DeleteFunc(theirs,
			func(n string) bool { return n == "" }), ", ") + ", and this is where all else goes")
	}
	return "", "target namespace; not set in the manifests"
}
