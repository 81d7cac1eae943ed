package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// installation is the set of objects of one kind in a namespace that install
// operators.
type installation struct {
	part  int
	nodes []int
}

// installations returns the objects that install operators, by component, kind and
// namespace.
func installations(f *facts.Facts) []installation {
	type place struct {
		part int
		id   object.ID
	}
	var all []installation
	at := map[place]int{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if !n.Kind.Operator.Installs() || !n.InSync() {
			continue
		}
		id := place{n.Part, object.ID{Group: n.Key.Group, Kind: n.Key.Kind, Namespace: n.Key.Namespace}}
		if _, known := at[id]; !known {
			at[id] = len(all)
			all = append(all, installation{part: n.Part})
		}
		all[at[id]].nodes = append(all[at[id]].nodes, i)
	}
	return all
}

// operators makes the installation of an operator need the OperatorGroup of its namespace
// and its approver. Jobs that check its progress run before the custom resources of the
// kinds that it installs.
func operators(f *facts.Facts, _ Roles, s Set) (claims []Claim, refs []Reference) {
	for _, in := range installations(f) {
		kind := f.Nodes[in.nodes[0]].Kind
		for _, gk := range kind.Operator.Group {
			for _, g := range in.groups(f, gk) {
				for _, i := range in.nodes {
					refs = append(refs, Reference{From: i, To: g, Field: namespaceField, Sign: Record,
						Why: "is installed for the namespaces of", Source: kind.Source})
				}
			}
		}
		approval, approved := in.approvals(f)
		claims, refs = append(claims, approval...), append(refs, approved...)
	}
	return claims, append(refs, progressJobs(f, s)...)
}

// groups returns the OperatorGroups, of the given kind, in the namespace of an
// installation.
func (in installation) groups(f *facts.Facts, gk knowledge.GroupKind) (groups []int) {
	for _, g := range f.NodesOf(gk) {
		if f.Nodes[g].Key.Namespace == f.Nodes[in.nodes[0]].Key.Namespace {
			groups = append(groups, g)
		}
	}
	return groups
}

// manual returns an object of the installation that waits for an approval; -1 if there is
// none.
func (in installation) manual(f *facts.Facts) int {
	at := slices.IndexFunc(in.nodes, func(i int) bool { return f.Nodes[i].Kind.Operator.IsManual(f.Nodes[i].Object) })
	if at < 0 {
		return -1
	}
	return in.nodes[at]
}

// approvals makes installations that wait for an approval share the wave of the workload
// that approves them. One that waits blocks all others in its namespace. Without an
// approver no object may wait for them.
func (in installation) approvals(f *facts.Facts) (claims []Claim, refs []Reference) {
	by := in.manual(f)
	if by < 0 {
		return nil, nil
	}
	approvers := approversOf(f, in.part, by)
	for _, i := range in.nodes {
		n := &f.Nodes[i]
		if len(approvers) == 0 && n.HasHealth {
			claims = append(claims, Claim{Node: i, By: Purpose,
				Never: "nothing in the component approves the installation that " + f.Nodes[by].Key.String() + " makes manual"})
		}
		for _, a := range approvers {
			r := inferred(f, i, a, "spec", Permission, Healthy, "is approved by")
			r.Fails, r.Source = Waits, n.Kind.Source
			refs = append(refs, r)
			if f.Nodes[a].InSync() {
				r = inferred(f, a, i, "spec", Permission, Exists, "approves")
				r.Source = n.Kind.Source
				refs = append(refs, r)
			}
		}
	}
	return claims, refs
}

// approversOf returns the workloads of a component that approve installations: by a
// permission to change them that names their group, or by a general or unknown
// permission and the words of a script. Hooks before the Sync phase run too early.
func approversOf(f *facts.Facts, part, node int) []int {
	n := &f.Nodes[node]
	op := n.Kind.Operator
	var all []int
	for _, i := range f.PodsOf(part) {
		p := &f.Nodes[i]
		if !p.InSync() && !slices.Contains(p.Phases(), object.PostSync) {
			continue
		}
		changes := slices.ContainsFunc(f.RulesOfNode(i), func(r facts.Rule) bool {
			return (r.In == "" || r.In == n.Key.Namespace) && slices.Contains(r.Groups, n.Key.Group) &&
				r.Allows(n.Key.Group, op.Approved, "update", "patch")
		})
		if changes || f.Says(i, op.Approved) && f.Says(i, "approved") {
			all = append(all, i)
		}
	}
	return all
}

// progressJobs makes a Job that polls an installation need it, and the custom resources of
// the kinds that the operator installs need the Job.
func progressJobs(f *facts.Facts, s Set) (refs []Reference) {
	var pollers []int
	for _, by := range f.Installers() {
		n := &f.Nodes[by.Node]
		for _, j := range f.JobsOf(n.Part) {
			if !n.Kind.Operator.Installs() || !n.InSync() || !f.Nodes[j].InSync() || s.Refers(j, by.Node) || s.Refers(by.Node, j) ||
				!slices.ContainsFunc(n.Kind.Operator.Progress, func(word string) bool { return f.Says(j, word) }) {
				continue
			}
			refs = append(refs, inferred(f, j, by.Node, "spec.template", Try, Exists, "checks the progress of"))
			pollers = append(pollers, j)
		}
	}
	slices.Sort(pollers)
	for _, j := range slices.Compact(pollers) {
		for i := range f.Nodes {
			n := &f.Nodes[i]
			if n.CRDMissing && n.InSync() && n.Part == f.Nodes[j].Part && isInstalled(f, s, i) && !s.Refers(j, i) {
				refs = append(refs, inferred(f, i, j, kindField, Try, Exists, "has a kind that is checked by"))
			}
		}
	}
	return refs
}

// isInstalled reports whether an operator of the component installs the kind of a
// node.
func isInstalled(f *facts.Facts, s Set, i int) bool {
	for r := range s.Of(i) {
		if r.IsAboutKind() && f.Nodes[r.To].Kind.Operator.Installs() {
			return true
		}
	}
	return false
}
