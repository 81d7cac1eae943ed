package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// missing collects findings about what is missing, each once for an object and a target.
type missing struct {
	report
	reported map[reportKey]bool
	found    []finding.Finding
}

// missingObjects reports objects that a component names but does not contain, where a
// mistake is more likely than that another Application contains them.
func missingObjects(in report) []finding.Finding {
	if in.Joined {
		return nil // one component may contain what another names
	}
	r := missing{report: in, reported: map[reportKey]bool{}}
	r.absentObjects()
	r.missingKeys()
	r.missingRoutes()
	r.missingServers()
	r.missingSiblings()
	r.missingRoles()
	r.missingNamespaces()
	r.unknownKinds()
	finding.Sort(r.found)
	return finding.Together(r.found)
}

// Rules that other packages use.
const (
	MissingObject finding.Rule = "missing-object"
	UnknownKind   finding.Rule = "unknown-kind"
	OLMRetry      finding.Rule = "olm-retry"
)

// reportKey identifies a finding by its object and target.
type reportKey struct {
	node   int
	rule   finding.Rule
	target string
}

// reportOnce reports a finding unless it was reported for the same object and target.
func (r *missing) reportOnce(i int, severity finding.Severity, rule finding.Rule, target, field, message, remedy string) {
	r.addOnce(i, target, finding.Finding{Severity: severity, Rule: rule, Field: field, Message: message, Remedy: remedy, Missing: target})
}

// addOnce adds a finding about an object, once for each target.
func (r *missing) addOnce(i int, target string, found finding.Finding) {
	key := reportKey{i, found.Rule, target}
	if r.reported[key] {
		return
	}
	r.reported[key] = true
	n := &r.Nodes[i]
	found.File, found.Line, found.Object = n.File, n.Line, n.Key.String()
	r.found = append(r.found, found)
}

// absentObjects reports objects that Pods need to start, or another object needs to
// be healthy, and that the component does not create. Secrets and ConfigMaps are often
// created by hand; ServiceAccounts and PVCs are not.
func (r *missing) absentObjects() {
	for _, a := range r.Absent {
		if len(a.Later) > 0 {
			continue // package wave reports who creates it too late
		}
		severity, effect := finding.Warning, "the Pods of this object do not start until the "+a.ID.Kind+" exists"
		if facts.IsData(a.ID) {
			severity = finding.Note
		}
		if !a.Starts {
			effect = "this object does not become healthy until the " + a.ID.Kind + " exists"
		}
		message := a.Why + " " + a.ID.String() + ", but no object in the component creates it: " + effect
		if !a.OtherNamespace.IsZero() {
			message += "; " + a.OtherNamespace.String() + " is in another namespace"
		}
		r.reportOnce(a.From, severity, MissingObject, a.ID.String(), a.Field, message,
			expecting("correct the name, add the "+a.ID.Kind+" to the component", a.Entry))
	}
}

// expecting adds to the remedy for a missing object what to do if it exists.
func expecting(remedy, entry string) string {
	return remedy + " or, if it exists outside, write expects: [" + entry + "] into component.yaml"
}

// missingKeys reports Pods that read a key of a Secret that its writer does not
// include.
func (r *missing) missingKeys() {
	if !r.LimitsKeys() {
		return
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			for _, list := range []string{"initContainers", "containers"} {
				for _, c := range tmpl.Value.Get("spec", list).Items() {
					for _, e := range c.Get("env").Items() {
						r.missingKey(i, e.Get("valueFrom", "secretKeyRef"), facts.Join(tmpl.Field, "spec."+list+".env."+e.Get("name").Text()))
					}
				}
			}
		}
	}
}

func (r *missing) missingKey(i int, ref object.Value, field string) {
	id := object.ID{Kind: "Secret", Namespace: r.Nodes[i].Key.Namespace, Name: ref.Get("name").Text()}
	key := ref.Get("key").Text()
	if ref.Get("optional").True() || len(r.ByKey(id)) > 0 {
		return
	}
	for _, p := range r.Producers(id) {
		by := r.Nodes[p].ID
		def, ok := r.Defined(knowledge.GroupKind{Group: by.Group, Kind: by.Kind})
		if !ok {
			continue
		}
		keys := def.By.Keys.Find(r.Nodes[def.Node].Root())
		for _, k := range keys {
			if k.Value.IsList() && len(k.Value.Items()) > 0 && !slices.Contains(facts.Texts(k.Value), key) {
				r.reportOnce(i, finding.Warning, "missing-key", id.String()+" "+key, field,
					fmt.Sprintf("it reads key %s of %s, but %s writes the Secret without that key, because %s allows only %s; its Pods do not start",
						key, id, r.Nodes[p].Key, r.Nodes[def.Node].Key, strings.Join(facts.Texts(k.Value), ", ")),
					"correct the key, or add it to "+def.By.Keys.String())
			}
		}
	}
}

// missingRoutes reports a route to a Service that is not in the component, although
// other Services of its namespace are, and no custom resource there has a similar
// name.
func (r *missing) missingRoutes() {
	hasServices := map[string]bool{} // namespaces with Services
	custom := map[string][]string{}  // names of custom resources, by namespace
	for i := range r.Nodes {
		n := &r.Nodes[i]
		if !n.Kind.Selects.IsZero() {
			hasServices[n.Key.Namespace] = true
		}
		if !r.Base.Builtin(n.ID.Group) && n.Kind.Rung != knowledge.Exposure {
			custom[n.Key.Namespace] = append(custom[n.Key.Namespace], n.ID.Name)
		}
	}
	reads := r.Reads()
	for at := range reads {
		m := &reads[at]
		n, id := &r.Nodes[m.From], m.ID
		if n.Kind.Rung != knowledge.Exposure || !r.IsService(id) || id.Namespace != n.Key.Namespace ||
			!hasServices[id.Namespace] || len(r.ByKey(id)) > 0 ||
			r.MayBeMade(id) || r.Expects(m.From, id) {
			continue
		}
		// The AWS Load Balancer Controller uses names of actions as Service names.
		if _, action := n.Annotation("alb.ingress.kubernetes.io/actions." + id.Name); action ||
			slices.ContainsFunc(custom[id.Namespace], func(name string) bool { return strings.HasPrefix(id.Name, name) }) {
			continue
		}
		r.reportOnce(m.From, finding.Note, "missing-service", id.String(), m.Field,
			"it "+m.Record.Why+" "+id.String()+", which is not in the component: requests fail until it exists",
			"correct the name, or add the Service")
	}
}

// missingServers reports a webhook, a conversion or an API whose Service is not in the component,
// although it should be in the destination namespace, or is a placeholder.
func (r *missing) missingServers() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for at := range n.Kind.References {
			rec := &n.Kind.References[at]
			if !rec.ToBackends || rec.Address || n.IsHook() {
				continue
			}
			for _, v := range rec.At.Find(n.Root()) {
				id, field, ok := r.Named(i, rec, v)
				if !ok || len(r.ByKey(id)) > 0 || r.MayBeMade(id) || r.Expects(i, id) || r.ExpectsServer(i) ||
					r.Base.Everywhere(id.Kind, id.Name) {
					continue
				}
				switch message := "it " + rec.Why + " " + id.String(); {
				case r.Base.IsScaffold(id):
					r.reportOnce(i, finding.Warning, "missing-service", id.String(), field,
						message+", a placeholder that is not in the component: the API server never reaches it",
						"replace the name and the namespace by those of the Service, as the kustomization of the scaffold does")
				case n.Destination == "" || id.Namespace != n.Destination, n.Kind.Defines != nil && !r.servesConversions(n.Part, id):
				default:
					r.reportOnce(i, finding.Warning, "missing-service", id.String(), field,
						message+", which is not in the component: the API server cannot reach it until it exists",
						"correct the name or the namespace, or add the Service")
				}
			}
		}
	}
}

// servesConversions reports whether a component should contain the Service behind a conversion: an
// Application may consist of CRDs only, and an operator may create the Service.
func (r *missing) servesConversions(part int, service object.ID) bool {
	return len(r.PodsOf(part)) > 0 && !r.HasCreator(part, service)
}

// missingSiblings reports objects that are not in the component, although others of their
// kind and namespace are. The name is certainly wrong if it is that of an object which
// one of these others writes, such as the Secret of a Certificate.
func (r *missing) missingSiblings() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		for at := range n.Kind.References {
			rec := &n.Kind.References[at]
			if rec.Expected == "" || !n.InSync() {
				continue
			}
			for _, v := range rec.At.Find(n.Root()) {
				id, field, ok := r.Named(i, rec, v)
				siblings := r.siblings(id)
				if !ok || len(siblings) == 0 || len(r.InAnyNamespace(id)) > 0 || len(r.Producers(id)) > 0 || r.Expects(i, id) {
					continue
				}
				var names []string
				for _, s := range siblings {
					names = append(names, r.Nodes[s].Key.Name)
				}
				report := finding.Finding{Severity: finding.Note, Rule: MissingObject, Field: field, Missing: id.String(),
					Message: fmt.Sprintf("it %s %s, which is not in the component: %s", rec.Why, id, rec.Expected),
					Remedy:  "correct the name, or add the " + id.Kind}
				if writer, product := r.writerNamed(id.Name, siblings); !product.IsZero() {
					report.Severity, report.Remedy = finding.Warning, "name "+r.Nodes[writer].Key.String()
					report.Message += fmt.Sprintf("; the name is that of %s, which %s writes", product, r.Nodes[writer].Key)
				} else {
					report = report.Asking(finding.Suggest(id.Name, names))
				}
				r.addOnce(i, id.String(), report)
			}
		}
	}
}

// siblings returns the objects of the kind and namespace of another one.
func (r *missing) siblings(id object.ID) []int {
	return slices.DeleteFunc(r.NodesOf(knowledge.GroupKind{Group: id.Group, Kind: id.Kind}), func(i int) bool {
		return r.Nodes[i].Key.Namespace != id.Namespace || r.Nodes[i].Key == id
	})
}

// writerNamed returns one of some nodes that writes an object of the given name, and that
// object.
func (r *missing) writerNamed(name string, nodes []int) (writer int, product object.ID) {
	for _, id := range r.Products() {
		for _, i := range nodes {
			if id.Name == name && id.Namespace == r.Nodes[i].Key.Namespace && slices.Contains(r.Producers(id), i) {
				return i, id
			}
		}
	}
	return 0, object.ID{}
}

// missingRoles reports a binding that grants a Role that is neither in the component
// nor built-in. Another Application may contain a ClusterRole.
func (r *missing) missingRoles() {
	for i := range r.Nodes {
		n := &r.Nodes[i]
		ref := n.Get("roleRef")
		name, kind := ref.Get("name").Text(), ref.Get("kind").Text()
		if n.Kind.Permissions != "binding" || name == "" || len(r.RolesOf(i)) > 0 || r.Base.Everywhere(kind, name) {
			continue
		}
		severity, id := finding.Note, object.ID{Group: n.ID.Group, Kind: kind, Name: name}
		if !r.ClusterScoped(knowledge.GroupKind{Group: n.ID.Group, Kind: kind}) {
			severity, id.Namespace = finding.Warning, n.Key.Namespace
		}
		if r.Expects(i, id) {
			continue
		}
		of := id.String()
		r.reportOnce(i, severity, "missing-role", of, "roleRef",
			"it grants "+of+", which is not in the component: its subjects lack these permissions until it exists",
			"correct roleRef, or add the role")
	}
}

// missingNamespaces reports objects in a namespace that is neither the destination nor
// created by the component. Without a known destination it reports nothing.
func (r *missing) missingNamespaces() {
	knownNamespaces := map[string]bool{"": true, "default": true}
	for i := range r.Nodes {
		if n := &r.Nodes[i]; n.Kind.AlwaysInstalled && !r.Base.Builtin(n.ID.Group) {
			knownNamespaces[n.Key.Namespace] = true // where Argo CD is
		}
		if n := &r.Nodes[i]; !n.Kind.Deploys.IsZero() {
			knownNamespaces[n.Get("spec", "destination", "namespace").Text()] = true // where it deploys to
		}
	}
	for i := range r.Nodes {
		n := &r.Nodes[i]
		namespace := n.Key.Namespace
		if n.External || n.Destination == "" || n.Destination == "default" || namespace == n.Destination ||
			knownNamespaces[namespace] || r.Base.Everywhere("Namespace", namespace) {
			continue
		}
		id := object.ID{Kind: "Namespace", Name: namespace}
		if len(r.InAnyNamespace(id))+len(r.Producers(id)) > 0 || r.HasNamed("project/"+namespace) || r.Expects(i, id) {
			continue
		}
		r.reportOnce(i, finding.Note, "missing-namespace", "Namespace "+namespace, "metadata.namespace",
			"it is in namespace "+namespace+
				", which is neither the destination of the Application nor in the component: the API server rejects it until the namespace exists",
			"add the Namespace, or correct metadata.namespace")
	}
}

// unknownKinds reports unknown kinds of built-in groups, and versions that a CRD of the component
// does not serve: the API server rejects them.
func (r *missing) unknownKinds() {
	for _, kind := range r.Kinds() {
		gk := r.KindOf(kind)
		if def, defined := r.Defined(gk); defined {
			r.unservedVersions(kind, r.Nodes[def.Node])
			continue
		}
		names, wrong := r.Base.CheckBuiltin(gk.Group, gk.Kind)
		if !wrong {
			continue
		}
		var others []string
		for i := kind.From + 1; i < kind.To; i++ {
			others = append(others, r.Nodes[i].Key.String())
		}
		version := r.Nodes[kind.From].Get("apiVersion").Text()
		r.addOnce(kind.From, gk.String(), finding.Finding{Severity: finding.Error, Rule: UnknownKind, Field: "kind",
			Object:  r.Nodes[kind.From].Key.String(),
			Message: "unknown kind in " + version + ": the API server rejects it",
			Remedy:  "correct apiVersion or kind"}.Asking(finding.Suggest(gk.Kind, names)).WithAlso(others...))
	}
}

// unservedVersions reports the objects of a kind in versions that its CRD does not serve.
func (r *missing) unservedVersions(kind facts.KindRange, crd facts.Node) {
	var served []string
	for _, v := range crd.Get("spec", "versions").Items() {
		if v.Get("served").Text() == "true" {
			served = append(served, v.Get("name").Text())
		}
	}
	if len(served) == 0 || crd.Key.GroupKind() != "CustomResourceDefinition.apiextensions.k8s.io" {
		return
	}
	for i := kind.From; i < kind.To; i++ {
		n := r.Nodes[i]
		group, version, _ := strings.Cut(n.Get("apiVersion").Text(), "/")
		if slices.Contains(served, version) || group == "" {
			continue
		}
		r.addOnce(i, version, finding.Finding{Severity: finding.Error, Rule: UnknownKind, Field: "apiVersion", Object: n.Key.String(),
			Message: fmt.Sprintf("%s serves %s, and not %s: the API server rejects it", crd.Key, strings.Join(served, ", "), version),
			Remedy:  "use a version that it serves"}.Asking(finding.Suggest(version, served)))
	}
}
