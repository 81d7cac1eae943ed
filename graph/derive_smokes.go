package graph

import (
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
)

// smokes puts Jobs and bare Pods that test the rest of the component on the last rung. A
// CronJob that finds an error has more runs, so it needs no wait. A Job that runs before
// the custom resources of an operator is not a test, whatever its name.
func smokes(f *facts.Facts, _ Roles, s Set) (claims []Claim, _ []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Runs != "once" || !n.InSync() || checksKinds(s, i) {
			continue
		}
		why := f.Base.Smoke(n.Object, f.CallsProgram(i) && len(f.GuardedBy(i)) == 0)
		if f.IsGuard(i) {
			why = ""
		}
		if n.IsTest() {
			why = "is a test of the chart"
		}
		if why != "" {
			claims = append(claims, Claim{Node: i, By: Purpose, Rung: knowledge.Smokes, Why: why})
		}
	}
	return claims, nil
}

// checksKinds reports whether custom resources need a Job because it checks that their
// kinds are installed.
func checksKinds(s Set, job int) bool {
	for r := range s.To(job) {
		if r.IsAboutKind() && r.Sign == Try {
			return true
		}
	}
	return false
}
