package facts

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/graph/text"
	"github.com/ladder-cmp/ladder/knowledge"
)

// OutsideStores returns a word of a workload without what its program sends to a store, which
// names no object; empty if the word is an argument of a client of a store.
func (f *Facts) OutsideStores(i int, w Word) text.Word {
	if slices.Contains(f.clientArguments(i), w.Field) {
		return text.Word{}
	}
	w.Value = text.OutsideStores(f.Base, w.Word)
	return w.Word
}

// RunsClient reports whether a command of a workload is the client of a store.
func (f *Facts) RunsClient(i int) bool {
	isClient := func(word string) bool { return text.IsStoreClient(f.Base, word) }
	return slices.ContainsFunc(f.CommandLines(i), func(line string) bool { return slices.ContainsFunc(strings.Fields(line), isClient) })
}

// clientArguments returns the fields of the arguments of containers that run the client of a
// store.
func (f *Facts) clientArguments(i int) (all []string) {
	n := &f.Nodes[i]
	for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
		for _, list := range []string{"initContainers", "containers"} {
			for at, c := range tmpl.Value.Get("spec", list).Items() {
				command := commandOf(c)
				isClient := len(command) > 0 && text.IsStoreClient(f.Base, command[0]) ||
					!c.Get("command").Exists() && text.IsStoreClient(f.Base, path.Base(knowledge.Repository(c.Get("image").Text())))
				if isClient {
					all = append(all, Join(tmpl.Field, "spec."+list+"["+strconv.Itoa(at)+"].args"))
				}
			}
		}
	}
	return all
}
