package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// fields returns what the fields of kinds and of Pods refer to, according to records.
func fields(f *facts.Facts, _ Roles) []Reference {
	return toTargets(f.Mentions())
}

// toTargets returns a reference to each target of mentions.
func toTargets(mentions []facts.Mention) (refs []Reference) {
	for i := range mentions {
		for _, to := range mentions[i].Targets {
			r := ofRecord(&mentions[i])
			r.To = to
			refs = append(refs, r)
		}
	}
	return refs
}

// manifests makes an object that later creates another object need the CRD of the other
// object, or what may install it.
func manifests(f *facts.Facts, _ Roles) (refs []Reference) {
	for _, m := range f.Manifests() {
		if m.Definition < 0 {
			continue
		}
		r := Reference{From: m.From, To: m.Definition, Field: m.Field, Fails: failsSoftly(m.Record), Sign: Record,
			Why: m.Record.Why + " " + m.Kind.String() + ", which is defined by", Source: m.Record.Source}
		r.Need, r.Until = meaningOf(m.Record.Meaning)
		refs = append(refs, r)
		if m.Record.Completes {
			refs = append(refs, completions(f, m)...)
		}
	}
	for _, c := range creations(f) {
		for _, by := range f.Installers() {
			if by.Node != c.From && by.InstallsGroup(c.Kind.Group) && !f.Nodes[by.Node].Kind.Operator.Installs() {
				refs = append(refs, Reference{From: c.From, To: by.Node, Field: c.Field, Until: c.Until, Sign: Installation,
					Why: c.Why + " " + c.Kind.String() + ", which may come with", Source: by.Source})
			}
		}
	}
	return refs
}

// completions makes objects of the kinds that a node defines need the object that says how
// to create them.
func completions(f *facts.Facts, m facts.Manifest) (refs []Reference) {
	for _, kind := range f.Kinds() {
		if def, ok := f.Defined(f.KindOf(kind)); !ok || f.Nodes[def.Node].Key != f.Nodes[m.Definition].Key {
			continue
		}
		for i := kind.From; i < kind.To; i++ {
			refs = append(refs, Reference{From: i, To: m.From, Field: m.Field, Need: MayNeed, Sign: Convention,
				Why: "may be created as described by", Source: m.Record.Source})
		}
	}
	return refs
}

// conventions returns what the fields of custom resources refer to by convention.
func conventions(f *facts.Facts, _ Roles) []Reference {
	return toTargets(f.Conventions())
}

// products makes an object that reads what another one writes at run time wait for the
// writer, unless its own component has a Job that also writes it and runs first.
func products(f *facts.Facts, _ Roles) (refs []Reference) {
	reads := f.Reads()
	for i := range reads {
		m := &reads[i]
		producers := f.Producers(m.ID)
		if len(producers) == 0 && m.Anywhere() {
			producers = f.ProducerAnywhere(m.ID)
		}
		programs := programsWriting(f, m, producers)
		for _, p := range producers {
			runs := isWrittenWhileRunning(f, p, m.ID)
			if f.Nodes[p].Part != f.Nodes[m.From].Part && f.HasOwnWriter(*m) || runs && !slices.Contains(programs, p) {
				continue
			}
			r := ofRecord(m)
			r.To, r.Need, r.Until, r.Product = p, Needs, Healthy, m.ID
			if f.WritesUnready(p, m.ID) {
				r.Until = Exists
			}
			r.Fails, r.Unless = failsSoftly(m.Record), ""
			if runs && len(programs) > 1 {
				r.Need, r.Until = MayNeed, Exists // the Pods of any of them suffice
			}
			if f.Nodes[m.From].Kind.Rung == knowledge.Exposure && f.IsService(m.ID) {
				r.Need, r.Until = MayNeed, Exists // a route is there before what it leads to
			}
			r.Why += " " + m.ID.String() + ", which is written by"
			refs = append(refs, r)
		}
		if len(producers) > 0 || len(f.ByKey(m.ID)) > 0 {
			continue
		}
		for _, p := range f.LikelyProducers(m.ID) {
			r := inferred(f, m.From, p, m.Field, Convention, Healthy, m.Record.Why+" "+m.ID.String()+", which may be written by")
			r.Product = m.ID
			refs = append(refs, r)
		}
	}
	return refs
}

// programsWriting returns the producers of a target that write it while their Pods run, and keep
// running. The reader needs none of them if its own Pods do, too.
func programsWriting(f *facts.Facts, m *facts.Mention, producers []int) (all []int) {
	for _, p := range producers {
		switch n := &f.Nodes[p]; {
		case !isWrittenWhileRunning(f, p, m.ID):
		case p == m.From:
			return nil
		case n.Serves() && n.InSync():
			all = append(all, p)
		}
	}
	return all
}

// isWrittenWhileRunning reports whether an object exists as soon as, and as long as, Pods of its
// producer run.
func isWrittenWhileRunning(f *facts.Facts, producer int, id object.ID) bool {
	return !f.Nodes[producer].Kind.Pod.IsZero() && f.WritesUnready(producer, id)
}

// namespaceMakers makes objects in a namespace that an operator creates wait for the
// operator: the API server refuses them until the namespace exists. It leaves out the
// destination of the Application, which exists.
func namespaceMakers(f *facts.Facts, _ Roles) (refs []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		id := object.ID{Kind: "Namespace", Name: n.Key.Namespace}
		if id.Name == "" || id.Name == n.Destination || len(f.ByKey(id)) > 0 {
			continue
		}
		for _, maker := range f.Producers(id) {
			if f.Nodes[maker].Part == n.Part {
				refs = append(refs, Reference{From: i, To: maker, Field: namespaceField, Until: Healthy, Fails: Refused, Sign: Record, Product: id,
					Why: "is in " + id.String() + ", which is created by", Source: f.Nodes[maker].Kind.Source})
			}
		}
	}
	return refs
}

// backends makes webhook configurations, APIServices and CRDs with conversions need the
// workloads behind their Services. A configuration waits for its backend if one of its
// fail-closed webhooks must admit the Pods of that backend: it refuses them until they run.
func backends(f *facts.Facts, _ Roles) (refs []Reference) {
	own := map[[2]int]bool{}
	for _, p := range ownPodsOf(f) {
		own[[2]int{p.webhook.Config, p.server}] = true
	}
	for _, s := range f.Served() {
		r := Reference{From: s.By, To: s.Workload, Field: s.Field, Sign: Record, Why: s.Record.Why, Source: s.Record.Source}
		r.Need, r.Until = meaningOf(s.Record.Meaning)
		if r.Until == Together && r.Need == Needs && own[[2]int{s.By, s.Workload}] {
			r.Until, r.Fails, r.Why = Healthy, Stops, "must admit the Pods of"
		}
		refs = append(refs, r)
	}
	return refs
}

// ownPodsPair is a fail-closed webhook that must admit the Pods of its own server.
type ownPodsPair struct {
	webhook *facts.Webhook
	server  int
}

func ownPodsOf(f *facts.Facts) (all []ownPodsPair) {
	webhooks := f.Webhooks()
	for i := range webhooks {
		h := &webhooks[i]
		if h.FailsOpen {
			continue
		}
		for _, server := range h.Servers {
			if f.AdmitsPods(h, server) {
				all = append(all, ownPodsPair{h, server})
			}
		}
	}
	return all
}
