package graph

import (
	"github.com/ladder-cmp/ladder/graph/facts"
)

// creators makes objects need the long-running workloads that may create what they read.
// The derivation about Jobs handles Jobs.
func creators(f *facts.Facts, _ Roles, _ Set) (_ []Claim, refs []Reference) {
	for _, u := range f.Unresolved() {
		if !u.Created {
			continue
		}
		for _, m := range u.Makers {
			if maker := &f.Nodes[m]; maker.Kind.Runs == "" && maker.InSync() {
				refs = append(refs, inferred(f, u.From, m, u.Field, Permission, Exists, u.Record.Why+" "+u.ID.String()+", which may be written by"))
			}
		}
	}
	return nil, refs
}
