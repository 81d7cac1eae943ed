package graph

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
)

// danglingIn returns the references of several components to what none of them creates: Secrets
// and ConfigMaps that Pods need, and classes, issuers, stores and the like. A single component
// says less: others may create what it names.
func danglingIn(f *facts.Facts) []Absent {
	if !f.Joined {
		return nil
	}
	all := slices.DeleteFunc(absentIn(f), func(a Absent) bool { return !facts.IsData(a.ID) || len(a.Later) > 0 })
	for _, mentions := range [][]facts.Mention{f.Reads(), f.UnmetConventions()} {
		for i := range mentions {
			m := &mentions[i]
			if isShared(f, m) && !f.IsMet(m) {
				all = append(all, Absent{From: m.From, ID: m.ID, Field: m.Field, Why: m.Record.Why, Entry: f.ExpectedEntry(m.From, m.ID)})
			}
		}
	}
	slices.SortFunc(all, func(x, y Absent) int {
		return cmp.Or(facts.CompareIDs(x.ID, y.ID), cmp.Compare(x.From, y.From), cmp.Compare(x.Field, y.Field))
	})
	return all
}

// isShared reports whether the target of a reference is something that several components use: an
// object of the whole cluster, or a custom resource that configures others. Namespaces, roles
// and definitions have findings of their own.
func isShared(f *facts.Facts, m *facts.Mention) bool {
	kind, _ := f.Base.Kind(m.ID.Group, m.ID.Kind)
	switch {
	case m.ID.Name == "" || strings.ContainsAny(m.ID.Name, "*$({ "), m.Record.Soft, m.Record.Manifest:
		return false
	case kind.AlwaysInstalled || len(kind.Defines) > 0 || kind.Rung == knowledge.Workloads:
		return false
	case f.Base.Builtin(m.ID.Group):
		return kind.Scope == "cluster" && m.ID.Group != "" && !strings.HasPrefix(m.ID.Group, "rbac.")
	}
	return kind.Kind != "" && (m.Record.Meaning == knowledge.Healthy || kind.Scope == "cluster")
}
