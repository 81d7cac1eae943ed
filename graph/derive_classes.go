package graph

import "github.com/ladder-cmp/ladder/graph/facts"

// classUsers relates the users of a class to its provider, which they may need: a volume is
// not bound before.
func classUsers(f *facts.Facts, _ Roles, s Set) (_ []Claim, refs []Reference) {
	for _, p := range f.Providers() {
		class := &f.Nodes[p.Class]
		for _, user := range s.Referrers(p.Class) {
			refs = append(refs, inferred(f, user, p.Workload, class.Kind.Provider.String(), Class, Exists,
				"uses "+class.Key.String()+", which is provided by"))
		}
	}
	return nil, refs
}
