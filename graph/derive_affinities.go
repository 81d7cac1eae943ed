package graph

import (
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
)

// affinities makes a workload need the one beside whose Pods its own must be scheduled. Where
// several are selected, any of them is enough, so that it needs those that do not refer to it.
func affinities(f *facts.Facts, _ Roles, s Set) (_ []Claim, refs []Reference) {
	const required = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution"
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for _, pods := range n.Kind.Pod.Find(n.Root()) {
			terms := pods.Value.Get(strings.Split(required, ".")...)
			for at, term := range terms.Items() {
				all := f.SelectedBeside(i, pods.Value, term)
				others := slices.DeleteFunc(slices.Clone(all), func(to int) bool { return s.Refers(to, i) })
				if len(others) == 0 {
					others = all
				}
				for _, to := range others {
					r := Reference{From: i, To: to, Field: facts.Join(pods.Field, required+"["+strconv.Itoa(at)+"]"),
						Until: Exists, Fails: Waits, Sign: Record, Why: "is scheduled only beside Pods of",
						Source: "https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#inter-pod-affinity-and-anti-affinity"}
					if len(all) > 1 {
						r.Sign, r.Because = Convention, "or of another workload with the same labels"
					}
					refs = append(refs, r)
				}
			}
		}
	}
	return nil, refs
}
