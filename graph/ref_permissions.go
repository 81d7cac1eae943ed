package graph

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/object"
)

// permissions makes a workload need the bindings that grant permissions to its
// ServiceAccount, and objects of some kinds those of a ServiceAccount that they name. What a
// group of ServiceAccounts is allowed says nothing about what one of them needs. A Job fails
// without them, and so does a program that elects a leader.
func permissions(f *facts.Facts, _ Roles) (refs []Reference) {
	add := func(from int, serviceAccount object.ID, field string) {
		own, all := f.BindingsOf(serviceAccount), f.BindingsFor(serviceAccount)
		if f.UsesPermissions(from) {
			hooks := f.HookBindingsOf(serviceAccount)
			own, all = slices.Concat(own, hooks), slices.Concat(all, hooks)
		}
		for _, binding := range all {
			r := Reference{From: from, To: binding, Field: field, Fails: Lacks, Sign: Record, Why: "has the permissions of",
				Source: f.Nodes[binding].Kind.Source}
			switch {
			case !slices.Contains(own, binding):
				r.Need = MayNeed
			case f.UsesPermissions(from):
				r.Fails, r.Unless = Degrades, "it works without these permissions"
			}
			refs = append(refs, r)
		}
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		for _, tmpl := range n.Kind.Pod.Find(n.Root()) {
			if serviceAccount, ok := facts.ServiceAccountOf(n, tmpl.Value); ok {
				add(i, serviceAccount, facts.Join(tmpl.Field, "spec.serviceAccountName"))
			}
		}
		for at := range n.Kind.References {
			rec := &n.Kind.References[at]
			if !rec.Granted {
				continue
			}
			for _, v := range rec.At.Find(n.Root()) {
				if id, field, ok := f.Named(i, rec, v); ok {
					add(i, id, field)
				}
			}
		}
	}
	return refs
}

// deployerBindings makes objects that Argo CD may only create with permissions that the
// component grants need the bindings.
func deployerBindings(f *facts.Facts, _ Roles) (refs []Reference) {
	for serviceAccount, rules := range f.Grants() {
		if serviceAccount.Kind != "ServiceAccount" || !f.Base.IsDeployer(serviceAccount.Name) {
			continue
		}
		about := facts.ByGroup(rules)
		for _, kind := range f.Kinds() {
			if f.Base.Builtin(kind.Group) {
				continue
			}
			for _, r := range about[kind.Group] {
				if !r.Allows(kind.Group, kind.Plural, "create") {
					continue
				}
				for _, binding := range f.BindingsOf(serviceAccount) {
					for i := kind.From; i < kind.To; i++ {
						n, to := &f.Nodes[i], &f.Nodes[binding]
						if (r.In == "" || r.In == n.Key.Namespace) && to.Part == n.Part && to.Key.Namespace == r.In {
							ref := inferred(f, i, binding, kindField, Permission, Exists, "may be created by Argo CD with the permissions of")
							ref.Need, ref.Fails = Needs, Refused
							refs = append(refs, ref)
						}
					}
				}
			}
		}
	}
	return refs
}

// servedAPIs makes a workload with permissions on an API group that the component serves
// by an APIService need that API, which it usually uses at startup. The backend itself
// does not.
func servedAPIs(f *facts.Facts, _ Roles) (refs []Reference) {
	apis := map[string][]int{}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if group := n.Kind.Serves.Text(n.Root()); !n.Kind.Serves.IsZero() && group != "" && n.Get("spec", "service").Exists() && !n.IsHook() {
			apis[group] = append(apis[group], i)
		}
	}
	if len(apis) == 0 {
		return nil
	}
	serves := map[[2]int]bool{}
	for _, s := range f.Served() {
		serves[[2]int{s.By, s.Workload}] = true
	}
	for i := range f.Nodes {
		n := &f.Nodes[i]
		if n.Kind.Pod.IsZero() || n.Kind.Runs == "later" {
			continue
		}
		for _, serviceAccount := range f.ServiceAccounts(i) {
			for _, r := range f.GrantedTo(serviceAccount) {
				for _, group := range r.Groups {
					for _, api := range apis[group] {
						if !serves[[2]int{api, i}] {
							refs = append(refs, Reference{From: i, To: api, Field: "spec.template.spec.serviceAccountName",
								Sign: Permission, Why: "uses the API of",
								Source: f.Nodes[api].Kind.Source})
						}
					}
				}
			}
		}
	}
	return refs
}

// watcher is a controller with the CRDs of the kinds that it reconciles.
type watcher struct {
	node int
	defs []int
}

// watchedCRDs makes a controller wait for the CRDs of its kinds, without which it does not
// start. Within a component no reference is needed, because Argo CD applies CRDs before
// workloads of the same wave. Kinds that another controller owns are only watched if they
// exist, as Kueue does with job kinds.
func watchedCRDs(f *facts.Facts, roles Roles) (refs []Reference) {
	watchers := watchersIn(f, roles)
	parts := map[int][]int{} // the components that reconcile a kind, by its CRD
	for _, w := range watchers {
		for _, def := range w.defs {
			if part := f.Nodes[w.node].Part; !slices.Contains(parts[def], part) {
				parts[def] = append(parts[def], part)
			}
		}
	}
	for _, w := range watchers {
		part := f.Nodes[w.node].Part
		alone := slices.ContainsFunc(w.defs, func(def int) bool { return len(parts[def]) == 1 || f.Nodes[def].Part == part })
		for _, def := range w.defs {
			holder := f.Nodes[def].Part
			if holder == part || len(parts[def]) > 1 && (alone || slices.Contains(parts[def], holder)) {
				continue
			}
			refs = append(refs, Reference{From: w.node, To: def, Field: "spec.template.spec.serviceAccountName", Until: Healthy, Sign: Permission,
				Why: "watches the kind of", Source: "https://pkg.go.dev/sigs.k8s.io/controller-runtime/pkg/cache#Informers"})
		}
	}
	return refs
}

func watchersIn(f *facts.Facts, roles Roles) (all []watcher) {
	for _, c := range roles.Controllers() {
		w := watcher{node: c}
		for _, serviceAccount := range f.ServiceAccounts(c) {
			about := facts.ByGroup(f.GrantedTo(serviceAccount))
			for group := range about {
				for _, def := range f.DefinedIn(group) {
					own := f.Nodes[def.Node].Part == f.Nodes[c].Part
					if mayReconcile(about, group, def.Plural, own) && (own || updatesStatus(about[group], group, def.Plural)) {
						w.defs = append(w.defs, def.Node)
					}
				}
			}
		}
		slices.Sort(w.defs)
		w.defs = slices.Compact(w.defs)
		all = append(all, w)
	}
	return all
}

// updatesStatus reports whether rules are those of a controller. A console such as
// Kiali may patch a whole group on behalf of its users, but never updates anything.
func updatesStatus(rules []facts.Rule, group, resource string) bool {
	status := resource + "/status"
	return slices.ContainsFunc(rules, func(r facts.Rule) bool {
		return r.Allows(group, status, "update") || slices.Contains(r.Resources, status) && r.Allows(group, status, "patch")
	})
}
