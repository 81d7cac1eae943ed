package graph

import (
	"github.com/ladder-cmp/ladder/graph/facts"
)

// callTo returns a reference to the target of a call.
func callTo(f *facts.Facts, from, to int, field string, until State) Reference {
	r := inferred(f, from, to, field, Call, until, "calls")
	if until == Together {
		r.Need = MayNeed
	}
	return r
}

// calls returns what the configuration of workloads leads to, by addresses and names. The
// Service or object with that name should exist when the workload starts. The workload
// behind a Service need not run first, since two workloads may call each other.
func calls(f *facts.Facts, _ Roles) (refs []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Pod.IsZero() {
			continue
		}
		named := map[int]bool{}
		for _, w := range f.Words(i) {
			for _, service := range f.Addresses(w, n.Key.Namespace) {
				for _, s := range f.ByKey(service) {
					refs = append(refs, callTo(f, i, s, w.Field, Exists))
				}
				if n.Kind.Runs == "once" {
					continue // the derivation about Jobs handles them
				}
				for _, server := range f.Servers(service) {
					refs = append(refs, callTo(f, i, server, w.Field, Together))
				}
			}
			for _, to := range f.NamedBy(w, n.Key.Namespace) {
				if !named[to] { // the first field is enough
					named[to] = true
					refs = append(refs, inferred(f, i, to, w.Field, Name, Exists, "names"))
				}
			}
		}
	}
	return refs
}

// addresses makes a custom resource with the address of a Service of the component need the
// workload behind it.
func addresses(f *facts.Facts, _ Roles) (refs []Reference) {
	for i := range f.Nodes {
		called := map[int]bool{}
		for _, c := range f.CallsOf(i) {
			for _, service := range c.Services {
				for _, server := range f.Servers(service) {
					if called[server] { // the first field is enough
						continue
					}
					called[server] = true
					r := callTo(f, i, server, c.Field, Together)
					if r.Sign = Field; f.Nodes[i].HasHealth {
						r.Need, r.Until = Needs, Healthy
					}
					if f.Base.IsAddress(c.Key) && !f.Base.IsSetting(c.Field) && !f.IsAssumed(service) {
						r.Sign = Address
					}
					refs = append(refs, r)
				}
			}
		}
	}
	return refs
}

// waits makes workloads need the objects that their init containers wait for or, for Jobs,
// their containers: these retry until the object responds, so the workload must not be
// applied before it. Because they retry, the object need not be healthy first.
func waits(f *facts.Facts, _ Roles) (refs []Reference) {
	for _, w := range f.Waits() {
		r := inferred(f, w.From, w.To, w.Field, Try, Exists, "waits for")
		if w.IsSure {
			r.Sign, r.Fails = Wait, Waits
		}
		refs = append(refs, r)
	}
	return refs
}

// appliedKinds makes a Job that applies manifests need the CRDs of their kinds.
func appliedKinds(f *facts.Facts, _ Roles) (refs []Reference) {
	for j := range f.Nodes {
		if n := &f.Nodes[j]; n.Kind.Runs != "once" {
			continue
		}
		for _, applied := range f.AppliedKinds(j) {
			if def, ok := f.Defined(applied.Kind); ok {
				refs = append(refs, Reference{From: j, To: def.Node, Field: applied.Field, Fails: Lacks, Sign: Record,
					Why: "applies objects of kind " + applied.Kind.String() + ", which is defined by", Source: f.Nodes[def.Node].Kind.Source})
			}
		}
	}
	return refs
}
