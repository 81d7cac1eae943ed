package graph

import (
	"slices"
	"testing"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// TestIndexStays: no fact, rule or derivation changes the index, not even through a list that
// it returns.
func TestIndexStays(t *testing.T) {
	eachComponent(t, func(t *testing.T, objs []object.Object) {
		f, _ := facts.New([]Part{{Objects: objs, Namespace: "ns"}}, knowledge.Default(), facts.Options{})
		before := make([][]int, len(f.Nodes))
		for i := range f.Nodes {
			before[i] = slices.Clone(f.ByKey(f.Nodes[i].Key))
		}
		roles, set := newRoles(len(f.Nodes)), newSet(len(f.Nodes))
		for _, rule := range roleRules {
			roles = roles.With(f, rule(f))
		}
		for _, rule := range referenceRules {
			set = set.With(rule(f, roles))
		}
		for _, derive := range derivations {
			claims, more := derive(f, roles, set)
			roles, set = roles.With(f, claims), set.With(more)
		}
		for _, find := range reports {
			find(report{Facts: f, Roles: roles, Set: set})
		}
		for i := range f.Nodes {
			if after := f.ByKey(f.Nodes[i].Key); !slices.Equal(before[i], after) {
				t.Errorf("the nodes of %s were %v and are %v", f.Nodes[i].Key, before[i], after)
			}
		}
	})
}
