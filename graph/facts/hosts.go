package facts

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
)

// What leads traffic from outside to programs, and programs that go the same way.

// exposures are the objects that lead traffic to programs under host names, by component and
// name.
type exposures map[exposedHost][]int

type exposedHost struct {
	part int
	host string
}

// Exposed returns the objects, such as Ingresses, under whose host names texts of a program
// call them, each with the field of the program. They do not lead to the program itself, which
// often knows its own address, nor hand on the address.
func (f *Facts) Exposed(i int) map[int]string {
	all := map[int]string{}
	known := f.exposed.get(f.findExposures)
	if len(known) == 0 {
		return all
	}
	for _, w := range slices.Concat(f.Words(i), f.Hints(i)) {
		for at, end := range text.Hosts(w.Value) {
			for _, to := range known[exposedHost{f.Nodes[i].Part, strings.Trim(w.Value[at:end], "-.")}] {
				if _, seen := all[to]; !seen && !text.IsRegistered(f.Base, w.Word, w.Value[:at]) && !slices.Contains(f.Behind(to), i) {
					all[to] = w.Field
				}
			}
		}
	}
	return all
}

// Behind returns the workloads to which an object that exposes Services leads.
func (f *Facts) Behind(exposure int) (all []int) {
	for _, m := range f.Mentions() {
		if m.From == exposure && f.IsService(m.ID) {
			all = append(all, f.Servers(m.ID)...)
		}
	}
	return all
}

func (f *Facts) findExposures() exposures {
	all := exposures{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Rung != knowledge.Exposure || !n.InSync() {
			continue
		}
		eachText(n.Get("spec"), "", "", func(_, key, value string) {
			at := exposedHost{n.Part, value}
			if (key == "host" || key == "hosts" || key == "hostnames") && strings.Contains(value, ".") && !slices.Contains(all[at], i) {
				all[at] = append(all[at], i)
			}
		})
	}
	return all
}
