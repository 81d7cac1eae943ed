package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
)

// secretWriters makes a Job that only writes Secrets share the wave of the controllers of
// its chart or directory, where they cannot block each other. At startup a controller may
// wait for a Secret that it reads from the API server, so no manifest names it. In a later
// wave the Job would never run, because the sync waits for the controller.
func secretWriters(f *facts.Facts, roles Roles, s Set) (claims []Claim, refs []Reference) {
	users, order := usersOfResources(roles, s), newJobOrder(f, roles, s)
	taken := map[int]bool{}
	for _, c := range roles.Controllers() {
		n := &f.Nodes[c]
		if !mayReadSecrets(f, c) {
			continue
		}
		for _, j := range f.JobsOf(n.Part) {
			job := &f.Nodes[j]
			if job.InSync() && !users[j] && !taken[j] && roles.Of(j) == "" && job.Key.Namespace == n.Key.Namespace &&
				origin(*job) == origin(*n) && onlyWritesSecrets(f, j) && len(order.needsOf(j)) == 0 {
				taken[j] = true
				claims = append(claims, Claim{Node: j, By: Nearby, Rung: knowledge.Controllers, Companion: true,
					Why: "writes Secrets, for which " + n.Key.String() + " may wait when it starts"})
				refs = append(refs, inferred(f, c, j, "spec.template", Companion, Exists, "may wait for what is written by"))
			}
		}
	}
	return claims, refs
}

// dataResources are the resources that a program may read at startup and that a Job
// can create before.
var dataResources = []string{"secrets", "configmaps"}

// mayReadSecrets reports whether a workload may read all Secrets or ConfigMaps of
// its namespace.
func mayReadSecrets(f *facts.Facts, i int) bool {
	namespace := f.Nodes[i].Key.Namespace
	return slices.ContainsFunc(f.RulesOfNode(i), func(r facts.Rule) bool {
		return (r.In == "" || r.In == namespace) &&
			slices.ContainsFunc(dataResources, func(kind string) bool { return r.Allows("", kind, "get", "list") })
	})
}

// onlyWritesSecrets reports whether a Job may write Secrets or ConfigMaps, and has
// no permission by which it could check whether something else exists.
func onlyWritesSecrets(f *facts.Facts, j int) bool {
	writes := false
	for _, r := range f.RulesOfNode(j) {
		if slices.ContainsFunc(r.Resources, func(resource string) bool { return !slices.Contains(dataResources, resource) }) {
			return false
		}
		writes = writes || slices.ContainsFunc(dataResources, func(kind string) bool { return r.Allows("", kind, "create", "update", "patch") })
	}
	return writes
}
