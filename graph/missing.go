package graph

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// reportMissing reports objects that a component names but does not contain, where a
// mistake is more likely than that another Application contains them.
func (b *builder) reportMissing() {
	if b.joined {
		return // one component may contain what another names
	}
	b.reported = map[reportKey]bool{}
	b.missingObjects()
	b.missingKeys()
	b.missingRoutes()
	b.missingServers()
	b.missingRoles()
	b.missingNamespaces()
	b.unknownKinds()
	b.reported = nil
}

// Rules that other packages use.
const (
	MissingObject = "missing-object"
	UnknownKind   = "unknown-kind"
	OLMRetry      = "olm-retry"
)

// reportKey identifies a finding by its object and target.
type reportKey struct {
	node         int
	rule, target string
}

// reportOnce reports a finding unless it was reported for the same object and target.
func (b *builder) reportOnce(i int, severity finding.Severity, rule, target, field, message, remedy string) {
	b.addOnce(i, target, finding.Finding{Severity: severity, Rule: rule, Field: field, Message: message, Remedy: remedy, Missing: target})
}

// addOnce adds a finding about an object, once for each target.
func (b *builder) addOnce(i int, target string, f finding.Finding) {
	s := reportKey{i, f.Rule, target}
	if b.reported[s] {
		return
	}
	b.reported[s] = true
	n := &b.Nodes[i]
	f.File, f.Line, f.Object = n.File, n.Line, n.Key.String()
	b.Findings = append(b.Findings, f)
}

// missingObjects reports objects that Pods need to start, or another object needs to
// be healthy, and that the component does not create. Secrets and ConfigMaps are often
// created by hand; ServiceAccounts and PVCs are not.
func (b *builder) missingObjects() {
	for _, a := range b.Absent {
		severity, effect := finding.Warning, "the Pods of this object do not start until the "+a.ID.Kind+" exists"
		if isData(a.ID) {
			severity = finding.Note
		}
		if !a.Starts {
			effect = "this object does not become healthy until the " + a.ID.Kind + " exists"
		}
		message := a.Why + " " + a.ID.String() + ", but no object in the component creates it: " + effect
		if !a.OtherNamespace.IsZero() {
			message += "; " + a.OtherNamespace.String() + " is in another namespace"
		}
		b.reportOnce(a.From, severity, MissingObject, a.ID.String(), a.Field, message, "correct the name, add the "+a.ID.Kind+" to the component, or make sure that something else creates it before the sync")
	}
}

// missingKeys reports Pods that read a key of a Secret that its writer does not
// include.
func (b *builder) missingKeys() {
	limited := func(def definition) bool { return !def.by.Keys.IsZero() }
	if !slices.ContainsFunc(slices.Collect(maps.Values(b.defined)), limited) {
		return
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, list := range []string{"initContainers", "containers"} {
				for _, c := range tmpl.Value.Get("spec", list).Items() {
					for _, e := range c.Get("env").Items() {
						b.missingKey(i, e.Get("valueFrom", "secretKeyRef"), join(tmpl.Field, "spec."+list+".env."+e.Get("name").Text()))
					}
				}
			}
		}
	}
}

func (b *builder) missingKey(i int, ref object.Value, field string) {
	id := object.ID{Kind: "Secret", Namespace: b.Nodes[i].Key.Namespace, Name: ref.Get("name").Text()}
	key := ref.Get("key").Text()
	if ref.Get("optional").True() || len(b.byKey[id]) > 0 {
		return
	}
	for _, p := range b.producers[id] {
		by := b.Nodes[p].ID
		def, ok := b.defined[knowledge.GroupKind{Group: by.Group, Kind: by.Kind}]
		if !ok {
			continue
		}
		keys := def.by.Keys.Find(b.Nodes[def.node].Root())
		for _, k := range keys {
			if k.Value.IsList() && len(k.Value.Items()) > 0 && !slices.Contains(texts(k.Value), key) {
				b.reportOnce(i, finding.Warning, "missing-key", id.String()+" "+key, field,
					fmt.Sprintf("it reads key %s of %s, but %s writes the Secret without that key, because %s allows only %s; its Pods do not start", key, id, b.Nodes[p].Key, b.Nodes[def.node].Key, strings.Join(texts(k.Value), ", ")),
					"correct the key, or add it to "+def.by.Keys.String())
			}
		}
	}
}

// missingRoutes reports a route to a Service that is not in the component, although
// other Services of its namespace are, and no custom resource there has a similar
// name.
func (b *builder) missingRoutes() {
	hasServices := map[string]bool{} // namespaces with Services
	custom := map[string][]string{}  // names of custom resources, by namespace
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if !n.Kind.Selects.IsZero() {
			hasServices[n.Key.Namespace] = true
		}
		if !b.base.Builtin(n.ID.Group) && n.Kind.Rung != exposure {
			custom[n.Key.Namespace] = append(custom[n.Key.Namespace], n.ID.Name)
		}
	}
	for _, r := range b.reads {
		n := &b.Nodes[r.From]
		k, _ := b.base.Kind(r.id.Group, r.id.Kind)
		if n.Kind.Rung != exposure || k.Selects.IsZero() || r.id.Namespace != n.Key.Namespace || !hasServices[r.id.Namespace] ||
			len(b.byKey[r.id]) > 0 || len(b.producers[r.id]) > 0 {
			continue
		}
		// The AWS Load Balancer Controller uses names of actions as Service names.
		if _, action := n.Annotation("alb.ingress.kubernetes.io/actions." + r.id.Name); action ||
			slices.ContainsFunc(custom[r.id.Namespace], func(name string) bool { return strings.HasPrefix(r.id.Name, name) }) {
			continue
		}
		b.reportOnce(r.From, finding.Note, "missing-service", r.id.String(), r.Field,
			"it "+r.Why+" "+r.id.String()+", which is not in the component: requests fail until it exists", "correct the name, or add the Service")
	}
}

// exposure is the rung for incoming traffic.
const exposure = "exposure"

// missingServers reports a webhook or API whose Service is not in the component,
// although it should be in the destination namespace.
func (b *builder) missingServers() {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if n.Kind.Defines != nil {
			continue // an Application may consist of CRDs only
		}
		for _, rec := range n.Kind.References {
			if !rec.ToBackends || rec.Address || n.destination == "" || n.IsHook() {
				continue
			}
			for _, f := range rec.At.Find(n.Root()) {
				m, ok := readMention(rec, f)
				if !ok {
					continue
				}
				id := b.identify(i, m)
				if id.Namespace == n.destination && len(b.byKey[id]) == 0 && len(b.producers[id]) == 0 {
					b.reportOnce(i, finding.Warning, "missing-service", id.String(), m.field,
						"it "+rec.Why+" "+id.String()+", which is not in the component: the API server cannot reach it until it exists", "correct the name or the namespace, or add the Service")
				}
			}
		}
	}
}

// missingRoles reports a binding that grants a Role that is neither in the component
// nor built-in. Another Application may contain a ClusterRole.
func (b *builder) missingRoles() {
	for i := range b.Nodes {
		n := &b.Nodes[i]
		ref := n.Get("roleRef")
		name, kind := ref.Get("name").Text(), ref.Get("kind").Text()
		if n.Kind.Permissions != "binding" || name == "" || len(b.roles(i)) > 0 || b.base.Everywhere(kind, name) {
			continue
		}
		severity, of := finding.Note, kind+" "+name
		if !b.clusterScoped(knowledge.GroupKind{Group: n.ID.Group, Kind: kind}) {
			severity, of = finding.Warning, object.ID{Kind: kind, Namespace: n.Key.Namespace, Name: name}.String()
		}
		b.reportOnce(i, severity, "missing-role", of, "roleRef",
			"it grants "+of+", which is not in the component: its subjects lack these permissions until it exists", "correct roleRef, or add the role")
	}
}

// missingNamespaces reports objects in a namespace that is neither the destination nor
// created by the component. Without a known destination it reports nothing.
func (b *builder) missingNamespaces() {
	knownNamespaces := map[string]bool{"": true, "default": true}
	for i := range b.Nodes {
		if n := &b.Nodes[i]; n.Kind.AlwaysInstalled && !b.base.Builtin(n.ID.Group) {
			knownNamespaces[n.Key.Namespace] = true // where Argo CD is
		}
		if n := &b.Nodes[i]; !n.Kind.Deploys.IsZero() {
			knownNamespaces[n.Get("spec", "destination", "namespace").Text()] = true // where it deploys to
		}
	}
	for i := range b.Nodes {
		n := &b.Nodes[i]
		namespace := n.Key.Namespace
		if n.External || n.destination == "" || n.destination == "default" || namespace == n.destination || knownNamespaces[namespace] || b.base.Everywhere("Namespace", namespace) {
			continue
		}
		knownNamespaces[namespace] = true
		if len(b.byName[object.ID{Kind: "Namespace", Name: namespace}])+len(b.producers[object.ID{Kind: "Namespace", Name: namespace}])+len(b.byKindName["project/"+namespace]) > 0 {
			continue
		}
		b.reportOnce(i, finding.Note, "missing-namespace", "Namespace "+namespace, "metadata.namespace",
			"it is in namespace "+namespace+", which is neither the destination of the Application nor in the component: the API server rejects it until the namespace exists",
			"add the Namespace, or correct metadata.namespace")
	}
}

// unknownKinds reports unknown kinds of built-in groups, which the API server refuses.
func (b *builder) unknownKinds() {
	for _, kind := range b.kindRanges {
		gk := knowledge.GroupKind{Group: kind.group, Kind: b.Nodes[kind.from].ID.Kind}
		if _, defined := b.defined[gk]; defined {
			continue
		}
		names, wrong := b.base.CheckBuiltin(gk.Group, gk.Kind)
		for i := kind.from; wrong && i < kind.to; i++ {
			version := b.Nodes[i].Get("apiVersion").Text()
			b.addOnce(i, gk.String(), finding.Finding{Severity: finding.Error, Rule: UnknownKind, Field: "kind",
				Message: "unknown kind in " + version + ": the API server rejects it", Remedy: "correct apiVersion or kind"}.Asking(nearest.Suggest(gk.Kind, names)))
		}
	}
}
