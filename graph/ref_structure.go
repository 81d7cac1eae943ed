package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// requests returns what users wrote in annotations, which takes precedence over all else.
func requests(f *facts.Facts, _ Roles) (refs []Reference) {
	for _, o := range f.Requests().Orders {
		until := Healthy
		if o.Exists {
			until = Exists
		}
		refs = append(refs, Reference{From: o.From, To: o.To, Field: facts.AnnotationField(o.Key), Until: until, Sign: Annotation,
			Why: "has the " + o.Key + " annotation, so it must come after"})
	}
	return refs
}

// namespaces makes an object need its namespace.
func namespaces(f *facts.Facts, _ Roles) (refs []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Key.Namespace == "" {
			continue
		}
		for _, to := range f.ByKey(object.ID{Kind: "Namespace", Name: n.Key.Namespace}) {
			refs = append(refs, Reference{From: i, To: to, Field: namespaceField, Fails: Refused, Sign: Schema, Why: "is in",
				Source: "https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/"})
		}
	}
	return refs
}

// crds makes a custom resource need its CRD, which must be established.
func crds(f *facts.Facts, _ Roles) (refs []Reference) {
	for i := range f.Nodes {
		n := &f.Nodes[i]
		def, ok := f.Defined(knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind})
		if !ok {
			continue
		}
		// Several components may contain the CRD, of which not all are deployed.
		for _, to := range f.ByKey(f.Nodes[def.Node].Key) {
			refs = append(refs, Reference{From: i, To: to, Field: kindField, Until: Healthy, Fails: Refused, Sign: Schema, Why: "is defined by",
				Source: f.Nodes[to].Kind.Source})
		}
	}
	return refs
}

// serversOfKinds makes a custom resource wait for the API that serves its kind.
func serversOfKinds(f *facts.Facts, _ Roles) (refs []Reference) {
	for to := range f.Nodes {
		n := &f.Nodes[to]
		group := n.Kind.Serves.Text(n.Root())
		if n.Kind.Serves.IsZero() || group == "" {
			continue
		}
		for _, kind := range f.Kinds() {
			for i := kind.From; i < kind.To && kind.Group == group; i++ {
				if f.Nodes[i].CRDMissing {
					refs = append(refs, Reference{From: i, To: to, Field: kindField, Until: Healthy, Fails: Refused, Sign: Schema,
						Why: "has a kind that is served by", Source: n.Kind.Source})
				}
			}
		}
	}
	return refs
}

// installers makes a custom resource whose kind is installed at run time wait for the
// installer.
func installers(f *facts.Facts, _ Roles) (refs []Reference) {
	for _, by := range f.Installers() {
		n := &f.Nodes[by.Node]
		for _, kind := range f.Kinds() {
			// The kind of an installer exists before it.
			other := &f.Nodes[kind.From]
			if !other.CRDMissing || other.ID.Group == n.ID.Group && other.ID.Kind == n.ID.Kind || !by.InstallsGroup(kind.Group) {
				continue
			}
			installs := map[int]bool{} // by component
			for i := kind.From; i < kind.To; i++ {
				part := f.Nodes[i].Part
				if _, known := installs[part]; !known {
					installs[part] = f.InstallsKind(by, kind, part)
				}
				if !installs[part] {
					continue
				}
				r := Reference{From: i, To: by.Node, Field: kindField, Until: Healthy, Fails: Refused, Sign: Installation,
					Why: "uses a CRD that may be installed by", Source: by.Source}
				if part == n.Part && f.IsOnlySource(by, kind) {
					r.Sign, r.Why = Package, "uses a CRD installed by"
				}
				refs = append(refs, r)
			}
		}
	}
	return refs
}

// discoveredCRDs makes a program that discovers kinds once at startup need their CRDs.
func discoveredCRDs(f *facts.Facts, _ Roles) (refs []Reference) {
	for i := range f.Nodes {
		for _, image := range f.Images(i) {
			p, ok := f.Base.Discoverer(image)
			if !ok {
				continue
			}
			flag := slices.IndexFunc(f.Words(i), func(w facts.Word) bool { return p.IsEnabledBy(w.Name, w.Value) })
			if flag < 0 {
				continue
			}
			for _, group := range p.Seeks {
				for _, def := range f.DefinedIn(group) {
					refs = append(refs, Reference{From: i, To: def.Node, Field: f.Words(i)[flag].Field, Until: Healthy,
						Sign: Record, Why: p.Why, Source: p.Source})
				}
			}
		}
	}
	return refs
}

// providers relates a class to the workload that provides it. The class may need it, if
// only that makes it healthy.
func providers(f *facts.Facts, _ Roles) (refs []Reference) {
	for _, p := range f.Providers() {
		class := &f.Nodes[p.Class]
		r := inferred(f, p.Class, p.Workload, class.Kind.Provider.String(), Class, Exists, "is provided by")
		if !class.HasHealth {
			r.Need, r.Until = MayNeed, Together
		}
		refs = append(refs, r)
	}
	return refs
}
