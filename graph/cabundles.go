package graph

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// referToLaterCAWriters makes an object with a CA bundle that contains no certificate depend
// on the PostSync Job that writes its CA. The Job is never applied, because
// Argo CD waits before it until the API server trusts what the object registers.
func (b *builder) referToLaterCAWriters() {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if n.Kind.CA.IsZero() || !n.InSync() || !n.HasHealth || !lacksCA(n) || isInjected(n) {
			continue
		}
		names := append(b.secretsOfServers(i), n.Key.Name)
		for _, j := range b.jobsOf(n.Part) {
			if b.isLaterWriter(j, i, names) && !b.hasEarlierWriter(i) {
				r := b.inferredReference(i, j, n.Kind.CA.String(), knowledge.Healthy, "is available only after")
				r.Because = "its " + n.Kind.CA.String() + " contains no certificate"
				b.refer(r)
			}
		}
	}
}

// lacksCA reports whether the CA bundle of an object is a placeholder.
func lacksCA(n *Node) bool {
	text, err := base64.StdEncoding.DecodeString(n.Kind.CA.Text(n.Root()))
	return err == nil && len(text) > 0 && !strings.Contains(string(text), "-----BEGIN")
}

// isInjected reports whether a program that is already running writes the CA into an
// object.
func isInjected(n *Node) bool {
	return slices.ContainsFunc(n.Kind.Injected, func(p knowledge.Path) bool { return len(p.Find(n.Root())) > 0 })
}

// secretsOfServers returns the names of the Secrets that the backends of an object read,
// among them that of their certificate.
func (b *builder) secretsOfServers(i int) []string {
	var names []string
	for r := range b.referencesOf(i) {
		for _, read := range b.reads {
			if read.From == r.To && serves(b.Nodes[r.To]) && read.starts && read.id.GroupKind() == "Secret" {
				names = append(names, read.id.Name)
			}
		}
	}
	return names
}

// isLaterWriter reports whether a Job of the PostSync phase may write an object, and
// contains one of some names.
func (b *builder) isLaterWriter(j, i int, names []string) bool {
	return slices.Equal(b.Nodes[j].phases, []object.Phase{object.PostSync}) && b.mayUpdate(j, i) &&
		slices.ContainsFunc(names, func(name string) bool { return b.tokens(j)[name] })
}

// hasEarlierWriter reports whether a workload that runs before the PostSync phase may
// write an object, and names it.
func (b *builder) hasEarlierWriter(i int) bool {
	return slices.ContainsFunc(b.podsOf(b.Nodes[i].Part), func(w int) bool {
		n := &b.Nodes[w]
		return (n.InSync() || slices.Contains(n.phases, object.PreSync)) && b.mayUpdate(w, i) && b.tokens(w)[b.Nodes[i].Key.Name]
	})
}

// mayUpdate reports whether a workload has the permission to change an object.
func (b *builder) mayUpdate(workload, i int) bool {
	n := &b.Nodes[i]
	return slices.ContainsFunc(b.rulesOfNode(workload), func(r rule) bool {
		return (r.in == "" || r.in == n.Key.Namespace) && r.allows(n.Key.Group, b.plural(*n), "update", "patch") && (len(r.names) == 0 || slices.Contains(r.names, n.Key.Name))
	})
}
