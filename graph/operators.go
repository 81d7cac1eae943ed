package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// installation is the set of objects of one kind in a namespace that install
// operators.
type installation struct {
	part  int
	nodes []int
}

// referToOperators makes the installation of an operator depend on the OperatorGroup
// of its namespace and on its approver. Jobs that check its progress run before the
// custom resources of the kinds that it installs.
func (b *builder) referToOperators() {
	isNoted := map[int]bool{}
	for _, in := range b.installations() {
		first := in.nodes[0]
		if retry := b.Nodes[first].Kind.Operator.Retry; !isNoted[in.part] && retry != "" && !b.joined {
			isNoted[in.part] = true
			b.report(first, finding.Note, OLMRetry, "Argo CD retries a sync five times within 155 seconds, which may be too short: "+b.Nodes[first].Kind.Operator.RetryWhy,
				"set syncPolicy.retry of the Application to "+retry)
		}
		b.referToOperatorGroup(in)
		b.referToApprovers(in)
	}
	b.referToProgressJobs()
}

// installations returns the objects that install operators, by component, kind and
// namespace.
func (b *builder) installations() []installation {
	var all []installation
	at := map[partID]int{}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if !n.Kind.Operator.Installs() || !n.InSync() {
			continue
		}
		id := partID{n.Part, object.ID{Group: n.Key.Group, Kind: n.Key.Kind, Namespace: n.Key.Namespace}}
		if _, known := at[id]; !known {
			at[id] = len(all)
			all = append(all, installation{part: n.Part})
		}
		all[at[id]].nodes = append(all[at[id]].nodes, i)
	}
	return all
}

func (b *builder) report(i int, severity finding.Severity, rule, message, remedy string) {
	n := &b.Nodes[i]
	b.Findings = append(b.Findings, finding.Finding{Severity: severity, Rule: rule, File: n.File, Line: n.Line, Object: n.Key.String(), Message: message, Remedy: remedy})
}

// referToOperatorGroup adds references to the OperatorGroup of a namespace, and
// reports a namespace without one or with several, where OLM installs nothing.
func (b *builder) referToOperatorGroup(in installation) {
	first := &b.Nodes[in.nodes[0]]
	for _, gk := range first.Kind.Operator.Group {
		var groups []int
		for _, g := range b.nodesOf(gk) {
			if b.Nodes[g].Key.Namespace == first.Key.Namespace {
				groups = append(groups, g)
			}
		}
		for _, g := range groups {
			for _, i := range in.nodes {
				b.refer(Reference{From: i, To: g, Field: namespaceField, Meaning: knowledge.Exists, Why: "is installed for the namespaces of", Source: first.Kind.Source})
			}
		}
		if b.joined {
			continue
		}
		isCreated := len(b.byKey[object.ID{Kind: "Namespace", Name: first.Key.Namespace}]) > 0
		switch {
		case len(groups) == 0 && isCreated:
			b.report(in.nodes[0], finding.Warning, "no-operator-group", fmt.Sprintf("the component creates namespace %s without an %s: OLM installs nothing there, which only the log of the catalog operator shows (\"found 0 operatorGroups, expected 1\")", first.Key.Namespace, gk.Kind),
				"add one "+gk.Kind+" to the namespace")
		case len(groups) > 1:
			b.report(groups[1], finding.Warning, "no-operator-group", fmt.Sprintf("%s is in the same namespace: OLM installs nothing there, which only the log of the catalog operator shows (\"found %d operatorGroups, expected 1\")", b.Nodes[groups[0]].Key, len(groups)),
				"keep one "+gk.Kind+" per namespace")
		}
	}
}

// referToApprovers makes installations that wait for an approval share the wave of the
// workload that approves them. One that waits blocks all others in its namespace.
// Without an approver no object may wait for them.
func (b *builder) referToApprovers(in installation) {
	manual := slices.IndexFunc(in.nodes, func(i int) bool { return b.Nodes[i].Kind.Operator.IsManual(b.Nodes[i].Object) })
	if manual < 0 {
		return
	}
	by := in.nodes[manual]
	others := slices.DeleteFunc(slices.Clone(in.nodes), func(i int) bool { return b.Nodes[i].Kind.Operator.IsManual(b.Nodes[i].Object) })
	if len(others) > 0 && !b.joined {
		b.report(by, finding.Warning, "manual-approval", fmt.Sprintf("manual approval applies to the whole namespace: %s waits for an approval, too", b.Nodes[others[0]].Key),
			"move it to a separate namespace, or use the same approval everywhere")
	}
	approvers := b.approvers(in.part, by)
	for _, i := range in.nodes {
		n := &b.Nodes[i]
		if len(approvers) == 0 && n.HasHealth {
			n.Health.Never = "nothing in the component approves the installation that " + b.Nodes[by].Key.String() + " makes manual"
		}
		for _, a := range approvers {
			r := b.inferredReference(i, a, "spec", knowledge.Healthy, "is approved by")
			r.StaysProgressing, r.Source = true, n.Kind.Source
			b.refer(r)
			if b.Nodes[a].InSync() {
				r = b.inferredReference(a, i, "spec", knowledge.Exists, "approves")
				r.Source = n.Kind.Source
				b.refer(r)
			}
		}
	}
}

// approvers returns the workloads of a component that approve installations: by a
// permission to change them that names their group, or by a general or unknown
// permission and the words of a script. Hooks before the Sync phase run too early.
func (b *builder) approvers(part, node int) []int {
	n := &b.Nodes[node]
	op := n.Kind.Operator
	var all []int
	for _, i := range b.podsOf(part) {
		p := &b.Nodes[i]
		if !p.InSync() && !slices.Contains(p.phases, object.PostSync) {
			continue
		}
		changes := slices.ContainsFunc(b.rulesOfNode(i), func(r rule) bool {
			return (r.in == "" || r.in == n.Key.Namespace) && slices.Contains(r.groups, n.Key.Group) && r.allows(n.Key.Group, op.Approved, "update", "patch")
		})
		if changes || b.mentions(i, op.Approved) && b.mentions(i, "approved") {
			all = append(all, i)
		}
	}
	return all
}

// mentions reports whether the words of a workload contain a name or its singular.
func (b *builder) mentions(i int, name string) bool {
	return slices.ContainsFunc(b.words(i), func(w word) bool {
		text := strings.ToLower(w.value)
		return knowledge.ContainsWord(text, name, isHostByte) || knowledge.ContainsWord(text, strings.TrimSuffix(name, "s"), isHostByte)
	})
}

// referToProgressJobs makes a Job that polls an installation depend on it, and the
// custom resources of the kinds that the operator installs depend on the Job.
func (b *builder) referToProgressJobs() {
	pollers := map[int]bool{}
	for _, by := range b.installers {
		n := &b.Nodes[by.node]
		for _, j := range b.jobsOf(n.Part) {
			job := &b.Nodes[j]
			if !n.Kind.Operator.Installs() || !n.InSync() || !job.InSync() || b.refersTo(j, by.node) || b.refersTo(by.node, j) ||
				!slices.ContainsFunc(n.Kind.Operator.Progress, func(word string) bool { return b.mentions(j, word) }) {
				continue
			}
			b.refer(b.inferredReference(j, by.node, "spec.template", knowledge.Exists, "checks the progress of"))
			pollers[j] = true
		}
	}
	for j := range b.Nodes {
		if !pollers[j] {
			continue
		}
		for i := range b.Nodes {
			n := &b.Nodes[i]
			if n.CRDMissing && n.InSync() && n.Part == b.Nodes[j].Part && b.isInstalled(i) && !b.refersTo(j, i) {
				b.refer(b.inferredReference(i, j, kindField, knowledge.Exists, "has a kind that is checked by"))
				b.isPrecondition[j] = true // not a test, whatever its name: it runs before a part of the component
			}
		}
	}
}

// isInstalled reports whether an operator of the component installs the kind of a
// node.
func (b *builder) isInstalled(i int) bool {
	for r := range b.referencesOf(i) {
		if r.IsAboutKind() && b.Nodes[r.To].Kind.Operator.Installs() {
			return true
		}
	}
	return false
}

// installsKind reports whether an installer installs a kind for a component. A package
// installs the kinds known for it. A kind without a known package comes from any
// installer of its component, unless the platform or another object there provides
// it.
func (b *builder) installsKind(by installer, kind kindRange, part int) bool {
	n := &b.Nodes[by.node]
	if !by.installsGroup(kind.group) {
		return false
	}
	if !n.Kind.Operator.Installs() {
		return true
	}
	if b.isPackaged(by, kind) {
		return true
	}
	gk := b.kindOf(kind)
	from := b.origin(gk)
	if _, defined := b.defined[gk]; defined || len(from.packages) > 0 || from.platform != "" || n.Part != part {
		return false
	}
	return !slices.ContainsFunc(b.otherInstallers(part), func(other installer) bool {
		o := &b.Nodes[other.node]
		return (o.ID.Group != gk.Group || o.ID.Kind != gk.Kind) && other.installsGroup(gk.Group)
	})
}

// isPackaged reports whether an installer installs a package that is known for a kind.
func (b *builder) isPackaged(by installer, kind kindRange) bool {
	n := &b.Nodes[by.node]
	return n.Kind.Operator.Installs() && slices.Contains(b.origin(b.kindOf(kind)).packages, n.Kind.Operator.Package.Text(n.Root()))
}

// isOnlySource reports whether a kind certainly belongs to the package of an installer: no
// other package that the component installs is known for it.
func (b *builder) isOnlySource(by installer, kind kindRange) bool {
	if !b.isPackaged(by, kind) {
		return false
	}
	known := 0
	for _, name := range b.origin(b.kindOf(kind)).packages {
		if b.packagesOf(b.Nodes[by.node].Part)[name] {
			known++
		}
	}
	return known == 1
}

// packagesOf returns the packages that a component installs.
func (b *builder) packagesOf(part int) map[string]bool {
	return b.packages.at(part, func(all index[int, map[string]bool]) {
		for _, by := range b.installers {
			n := &b.Nodes[by.node]
			if !n.Kind.Operator.Installs() {
				continue
			}
			if all[n.Part] == nil {
				all[n.Part] = map[string]bool{}
			}
			all[n.Part][n.Kind.Operator.Package.Text(n.Root())] = true
		}
	})
}

func (b *builder) kindOf(r kindRange) knowledge.GroupKind {
	return knowledge.GroupKind{Group: r.group, Kind: b.Nodes[r.from].ID.Kind}
}

// origins says how a kind gets into a cluster.
type origins struct {
	platform string
	packages []string
}

func (b *builder) origin(gk knowledge.GroupKind) origins {
	from, known := b.originsOf[gk]
	if !known {
		var packages []knowledge.Package
		from.platform, packages = b.base.Origin(gk.Group, gk.Kind)
		for _, p := range packages {
			from.packages = append(from.packages, p.Name)
		}
		b.originsOf[gk] = from
	}
	return from
}

// otherInstallers returns the installers of a component other than packages.
func (b *builder) otherInstallers(part int) []installer {
	return b.installersOf.at(part, func(all index[int, []installer]) {
		for _, by := range b.installers {
			if n := &b.Nodes[by.node]; !n.Kind.Operator.Installs() {
				all[n.Part] = append(all[n.Part], by)
			}
		}
	})
}
