package live

import (
	"slices"

	"github.com/ladder-cmp/ladder/object"
)

// rule finds the causes that one object shows. Rules see the scene and never each other's causes.
type rule struct {
	// kinds are the kinds in kubectl's form, such as "Deployment.apps"; empty for all.
	kinds []string
	find  func(s *scene, o object.Object) []Cause
}

// rules are about objects that exist.
var rules = []rule{
	{[]string{"Pod"}, podScheduling},
	{[]string{"Pod"}, podContainers},
	{[]string{"Pod"}, podEvents},
	{[]string{"Pod"}, podReadiness},
	{[]string{"Pod"}, podEnd},
	{[]string{"Pod"}, podNode},
	{[]string{"Pod"}, keptAlive},
	{[]string{"ReplicaSet.apps", "StatefulSet.apps", "DaemonSet.apps", "Job.batch", "Deployment.apps"}, podsRefused},
	{[]string{"Deployment.apps", "StatefulSet.apps", "DaemonSet.apps", "ReplicaSet.apps"}, unobserved},
	{[]string{"StatefulSet.apps"}, oldRevision},
	{[]string{"Job.batch"}, job},
	{[]string{"PersistentVolumeClaim"}, volumeClaim},
	{[]string{"Service"}, loadBalancer},
	{[]string{"Ingress.networking.k8s.io"}, ingress},
	{[]string{"Application.argoproj.io"}, application},
	{[]string{"Application.argoproj.io"}, rollingSync},
	{nil, deletion},
	{nil, customResource},
	{nil, withoutController},
	{nil, claimsHealthy},
}

// appRules are about an Application as a whole, and what it says about its objects.
var appRules = []func(s *scene, app object.Object, op operation) []Cause{
	endedOrStuck, syncWindow, awaitsDeletion, awaitsConfirmation, hookGone, failedEntries, conditions,
}

// causesOf returns what all rules say about an object.
func (s *scene) causesOf(id object.ID) (all []Cause) {
	o, ok := s.objects[id]
	if !ok {
		return s.absence(id)
	}
	for _, r := range rules {
		if len(r.kinds) > 0 && !slices.Contains(r.kinds, id.GroupKind()) {
			continue
		}
		for _, c := range r.find(s, o) {
			if c.Object.IsZero() {
				c.Object = id
			}
			all = append(all, c)
		}
	}
	return all
}
