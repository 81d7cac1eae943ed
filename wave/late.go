package wave

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
)

// latePath is how an object depends on one that is applied later: directly or, if Argo CD waits
// for the object, through others.
type latePath struct {
	node int
	path []*graph.Reference
}

// last returns the reference to the later object.
func (l latePath) last() *graph.Reference { return l.path[len(l.path)-1] }

// latePaths returns how objects depend on later ones, in the order of the objects.
func (s *simulation) latePaths() (all []latePath) {
	for i := range s.Graph.Nodes {
		at := s.at[i]
		if at == never || s.Graph.Nodes[i].External {
			continue
		}
		first := map[int]int{} // of all, by the later object
		for _, r := range s.dependencies[i] {
			if s.at[r.To].compare(at) <= 0 || s.isIdle(i, r) || s.isPermission(r) || s.isAlsoLateInHelm(r) || s.startsLater(r) {
				continue
			}
			l := latePath{i, []*graph.Reference{r}}
			known, is := first[r.To]
			switch {
			case !is:
				first[r.To] = len(all)
				all = append(all, l)
			case s.isCertain(i, r) && !s.isCertain(i, all[known].last()):
				all[known] = l // one reason is enough, the best one
			}
		}
		all = append(all, s.latePermissions(i)...)
		if s.isAwaited(i) {
			all = append(all, s.throughOthers(i)...)
		}
	}
	return all
}

// startsLater reports whether a reference is only inferred, and of an object whose Pods start by
// themselves at some later time, such as a CronJob.
func (s *simulation) startsLater(r *graph.Reference) bool {
	return r.Inferred() && s.Graph.Nodes[r.From].Kind.Runs == "later"
}

// isPermission reports whether a reference is to a binding with the permissions of an object
// other than an operator.
func (s *simulation) isPermission(r *graph.Reference) bool {
	return s.Graph.Nodes[r.To].Kind.Permissions == "binding" && s.Graph.Nodes[r.From].Role != knowledge.Controllers
}

// latePermissions returns how an object depends on later bindings, or on later roles through
// them. Which of its permissions it uses is unknown, so that one binding in time is enough.
func (s *simulation) latePermissions(i int) (all []latePath) {
	for _, r := range s.dependencies[i] {
		if !s.isPermission(r) {
			continue
		}
		path := []*graph.Reference{r}
		if s.at[r.To].compare(s.at[i]) <= 0 {
			later := slices.IndexFunc(s.dependencies[r.To], func(role *graph.Reference) bool {
				return s.Graph.Nodes[role.To].Kind.Permissions == "role" && s.at[role.To].compare(s.at[i]) > 0
			})
			if later < 0 {
				return nil
			}
			path = append(path, s.dependencies[r.To][later])
		}
		all = append(all, latePath{i, path})
	}
	return all
}

// throughOthers returns how an object depends on later ones through others without health
// of their own.
func (s *simulation) throughOthers(i int) (all []latePath) {
	seen := map[int]bool{i: true}
	var through func(j int, path []*graph.Reference)
	through = func(j int, path []*graph.Reference) {
		for _, r := range s.dependencies[j] {
			if seen[r.To] || !r.IsCertain() {
				continue
			}
			seen[r.To] = true
			if s.at[r.To].compare(s.at[i]) > 0 {
				if j != i && !appliedFirst(s.Graph, s.base, r) {
					all = append(all, latePath{i, append(slices.Clone(path), r)})
				}
				continue
			}
			if r.Until == graph.Healthy && !s.Graph.Nodes[r.To].HasHealth {
				through(r.To, append(slices.Clone(path), r))
			}
		}
	}
	through(i, nil)
	return all
}
