package fleet

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/plugin"
	"github.com/ladder-cmp/ladder/render/input"
)

// Environments that share a cluster share cluster-scoped objects, and objects with a fixed
// namespace. Argo CD lets only one Application have an object: the other one stays out of
// sync, and its step never completes.

// movedTo is an Application in an environment with a namespace suffix.
type movedTo struct {
	component   *Component
	part        crds.Mode
	environment string
}

// serverOf returns the cluster of an environment: the cluster that runs Argo CD has three
// names.
func (f *Fleet) serverOf(e profile.Environment) string {
	server := cmp.Or(e.Server, f.Settings.Server, inCluster)
	if server == "in-cluster" {
		return inCluster
	}
	return server
}

// suffixed returns the environments with a namespace suffix that share a cluster.
func (f *Fleet) suffixed() []profile.Environment {
	var all []profile.Environment
	for i, e := range f.Settings.Environments {
		if e.NamespaceSuffix == "" {
			continue
		}
		if slices.ContainsFunc(slices.Concat(f.Settings.Environments[:i], f.Settings.Environments[i+1:]), func(other profile.Environment) bool { return f.serverOf(e) == f.serverOf(other) }) {
			all = append(all, e)
		}
	}
	return all
}

// renderMoved renders again the Applications that may contain the same objects in several
// environments of a cluster. Only this shows whether a name, or a written namespace, follows
// the namespace of the release.
func (f *Fleet) renderMoved(ctx context.Context, src Source) error {
	suffixed := f.suffixed()
	if len(suffixed) == 0 {
		return nil
	}
	f.moved = map[movedTo][]object.Object{}
	memory := input.NewMemory(renderMemory)
	room := make(chan struct{}, cmp.Or(src.Parallel, runtime.GOMAXPROCS(0)))
	var wg sync.WaitGroup
	var mu sync.Mutex
	for i, app := range f.Applications {
		if !app.IsEnabled() || f.forCluster(app) || !app.differs() && !f.mayStay(i) {
			continue
		}
		for _, e := range suffixed {
			if !app.IsIn(e.Name) {
				continue
			}
			room <- struct{}{}
			if ctx.Err() != nil {
				break
			}
			wg.Go(func() {
				defer func() { <-room }()
				there := *app
				there.Namespace += e.NamespaceSuffix
				if app.differs() {
					there.environment = e.Name
				}
				req := there.request(src, memory)
				res, err := plugin.Generate(ctx, req, f.base)
				mu.Lock()
				defer mu.Unlock()
				to := movedTo{app.Component, app.Part, e.Name}
				if f.moved[to] = []object.Object{}; err == nil { // what does not render there says nothing
					f.moved[to] = res.Objects
				}
			})
		}
	}
	wg.Wait()
	return ctx.Err()
}

// mayStay reports whether an Application contains objects that may not follow its namespace.
func (f *Fleet) mayStay(i int) bool {
	return slices.ContainsFunc(f.Objects.Nodes, func(n graph.Node) bool { return n.Part == i && (n.Key.Namespace == "" || n.ID.Namespace != "") })
}

// onlyForCluster reports whether an Application contains only cluster-scoped objects.
func (f *Fleet) onlyForCluster(app *Application) bool {
	if f.Objects == nil || app.Absent != nil || len(app.Objects) == 0 {
		return false
	}
	i := slices.Index(f.Applications, app)
	return !slices.ContainsFunc(f.Objects.Nodes, func(n graph.Node) bool { return n.Part == i && n.Key.Namespace != "" })
}

// held maps identities to the objects that Applications contain at their destinations.
type held struct {
	fleet   *Fleet
	nodes   map[*Application][]graph.Node
	cluster map[knowledge.GroupKind]bool
}

func (f *Fleet) held() held {
	h := held{f, map[*Application][]graph.Node{}, map[knowledge.GroupKind]bool{}}
	for _, n := range f.Objects.Nodes {
		app := f.Applications[n.Part]
		if !n.Stub && !n.IsHook() && !n.Generated {
			h.nodes[app] = append(h.nodes[app], n)
		}
		if n.Key.Namespace == "" {
			h.cluster[knowledge.GroupKind{Group: n.ID.Group, Kind: n.ID.Kind}] = true
		}
	}
	return h
}

// at returns the objects of an Application at a destination.
func (h held) at(d Deployment) []object.ID {
	var all []object.ID
	moved, again := h.fleet.moved[movedTo{d.Component, d.Part, d.place.Name}]
	for _, n := range h.nodes[d.Application] {
		if again {
			break
		}
		id := n.Key
		if n.ID.Namespace == "" && id.Namespace != "" {
			id.Namespace = d.Namespace
		}
		all = append(all, id)
	}
	for _, o := range moved {
		id := o.ID
		switch {
		case o.IsHook() || o.Generated:
			continue
		case h.cluster[knowledge.GroupKind{Group: id.Group, Kind: id.Kind}]:
			id.Namespace = ""
		case id.Namespace == "":
			id.Namespace = d.Namespace
		}
		all = append(all, id)
	}
	return all
}

// collision is an object in two Applications, or in one Application in two environments.
type collision struct {
	a, b Deployment
	ids  []object.ID
	// in lists the environments of both.
	in []string
}

// collisions finds objects that Applications of several environments of one cluster contain,
// if one of the given environments is among them. It ignores objects that are shared within
// one environment.
func (f *Fleet) collisions(environments []string) []*collision {
	sets, err := f.sets(Target{})
	if err != nil || !sets[0].named() {
		return nil
	}
	type thing struct {
		server string
		id     object.ID
	}
	type pair struct{ a, b *Application }
	h := f.held()
	first := map[thing][]Deployment{}
	found := map[pair]*collision{}
	var all []*collision
	for _, s := range sets {
		for _, d := range f.deployments(s) {
			for _, id := range h.at(d) {
				key := thing{f.serverOf(profile.Environment{Server: d.place.Server}), id}
				for _, other := range first[key] {
					if overlap(other.place.In, d.place.In) || !overlap(environments, other.place.In) && !overlap(environments, d.place.In) {
						continue
					}
					p := pair{other.Application, d.Application}
					if found[p] == nil {
						found[p] = &collision{a: other, b: d}
						all = append(all, found[p])
					}
					found[p].add(id, other, d)
				}
				first[key] = append(first[key], d)
			}
		}
	}
	return all
}

func (c *collision) add(id object.ID, at ...Deployment) {
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
	for _, d := range at {
		for _, e := range d.place.In {
			if !slices.Contains(c.in, e) {
				c.in = append(c.in, e)
			}
		}
	}
}

func overlap(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}

// fault reports the shared objects of two Applications, and what to do.
func (c *collision) fault() fault {
	slices.SortFunc(c.ids, func(x, y object.ID) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.String(), y.String()))
	})
	var names []string
	for _, id := range c.ids {
		names = append(names, id.String())
	}
	message := func(environments []string) string {
		who := fmt.Sprintf("%s and %s both contain %s", c.a.Application.Name, c.b.Application.Name, few(names))
		all := slices.Clone(c.in)
		for _, e := range environments {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
		switch {
		case environments == nil: // what is the same in all of them
		case c.a.Application == c.b.Application:
			who = fmt.Sprintf("%s contains %s in each of %s", c.a.Component.Name, few(names), strings.Join(all, ", "))
		default:
			who = fmt.Sprintf("%s in %s and %s in %s both contain %s", c.a.Application.Name, c.a.place.Name, c.b.Application.Name, c.b.place.Name, few(names))
		}
		return who + ", and these share a cluster: only one Application can own it, the other is always OutOfSync, and the rollout stops there"
	}
	found := c.b.fault("object-shared", "name", message(c.in), c.remedy())
	found.Object, found.Field = names[0], ""
	return fault{Finding: found, of: c.b.Application.Name, needs: c.a.Application.Name, in: message}
}

func (c *collision) remedy() string {
	inCluster := slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Namespace == "" })
	inNamespace := slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Namespace != "" })
	var all []string
	switch {
	case inNamespace && c.a.place.Suffix == c.b.place.Suffix:
		all = append(all, "set a namespaceSuffix for each environment in ladder.yaml")
	case inNamespace:
		all = append(all, "remove metadata.namespace, so that it is created in the namespace of its Application")
	}
	if slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Kind == "CustomResourceDefinition" }) {
		all = append(all, "set crds: split for its CRDs")
		inCluster = slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Namespace == "" && id.Kind != "CustomResourceDefinition" })
	}
	if inCluster {
		all = append(all, "move cluster-scoped objects into a component without environments, which is deployed once per cluster, or make their names unique per environment, in a chart with {{ .Release.Namespace }}")
	}
	return strings.Join(all, "; ")
}

// sharing returns the collisions that the owners of the fleet have not accepted.
func (f *Fleet) sharing(t Target) []finding.Finding {
	l := &lint{Fleet: f, accepted: make([]bool, len(f.Settings.Accepted))}
	var all []finding.Finding
	for _, c := range f.collisions(f.environments(t.Environment)) {
		all = append(all, l.accept(c.fault()).Finding)
	}
	return all
}
