package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
)

// Jobs that run the image of a server: as its client, or as another task of its program.

// passedNames returns a function for the nodes that the command line or a script of a workload
// names.
func passedNames(f *facts.Facts, named func() targets) func(int) []int {
	known := map[int][]int{}
	return func(i int) []int {
		all, ok := known[i]
		if ok {
			return all
		}
		for _, w := range f.Arguments(i) {
			all = append(all, named().in(f, w, &f.Nodes[i])...)
		}
		known[i] = all
		return all
	}
}

// isClientOf reports whether a Job with the image of a workload is a client of it, and no task
// of its program: the workload certainly is a store, or the command line names it, and the
// workload may be a store or the image only is that of an interpreter or of tools.
func (o jobOrder) isClientOf(job, workload int) bool {
	if o.IsKnownStore(workload) {
		return true
	}
	return slices.Contains(o.passed(job), workload) && (o.MayBeStore(workload) || o.RunsAnyProgram(workload))
}

// addServersOfClient makes a Job with the image of a store need the store that its command line
// names, whatever the form of the argument.
func (o jobOrder) addServersOfClient(j int, sharers, initialized []int, needs map[int]Reference) {
	if len(o.WaitTargets(j)) > 0 && o.Nodes[j].InSync() {
		return
	}
	for _, server := range sharers {
		if r, ok := needs[server]; ok && r.Until == Healthy || !o.IsStore(server) || slices.Contains(initialized, server) ||
			!slices.Contains(o.passed(j), server) || o.WaitTargets(server)[j] || o.writesInputOf(j, server) {
			continue
		}
		needs[server] = callTo(o.Facts, j, server, "spec.template", Healthy)
	}
}
