package lint

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// contents holds the objects of each Application.
type contents struct {
	fleet   *fleet.Fleet
	nodes   map[*fleet.Application][]graph.Node
	cluster map[knowledge.GroupKind]bool
}

func contentsOf(f *fleet.Fleet) contents {
	h := contents{f, map[*fleet.Application][]graph.Node{}, map[knowledge.GroupKind]bool{}}
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

// of returns the objects of an Application at a destination.
func (h contents) of(d fleet.Deployment) []object.ID {
	var all []object.ID
	moved, isRendered := h.fleet.Moved(d.Application, d.To.Name)
	for _, n := range h.nodes[d.Application] {
		if isRendered {
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
	a, b fleet.Deployment
	ids  []object.ID
	// environments are those of both.
	environments []string
}

// collisions finds objects that Applications of several environments of one cluster contain,
// if one of the given environments is among them. It ignores objects that are shared within
// one environment.
func collisions(f *fleet.Fleet, environments []string) []*collision {
	sets, err := fleet.Sets(f, "")
	if err != nil || !sets[0].HasNames() {
		return nil
	}
	type thing struct {
		server string
		id     object.ID
	}
	type pair struct{ a, b *fleet.Application }
	h := contentsOf(f)
	first := map[thing][]fleet.Deployment{}
	found := map[pair]*collision{}
	var all []*collision
	for _, s := range sets {
		for _, d := range s.Deployments(f.Enabled()) {
			for _, id := range h.of(d) {
				key := thing{f.Cluster(d.To.Server), id}
				for _, other := range first[key] {
					if facts.HasAny(other.To.In, d.To.In...) ||
						!facts.HasAny(environments, other.To.In...) && !facts.HasAny(environments, d.To.In...) {
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

func (c *collision) add(id object.ID, at ...fleet.Deployment) {
	if !slices.Contains(c.ids, id) {
		c.ids = append(c.ids, id)
	}
	for _, d := range at {
		for _, e := range d.To.In {
			if !slices.Contains(c.environments, e) {
				c.environments = append(c.environments, e)
			}
		}
	}
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
		who := fmt.Sprintf("%s and %s both contain %s", c.a.Application.Name, c.b.Application.Name, finding.Few(names))
		all := slices.Clone(c.environments)
		for _, e := range environments {
			if !slices.Contains(all, e) {
				all = append(all, e)
			}
		}
		switch {
		case environments == nil: // the part that is the same in all of them
		case c.a.Application == c.b.Application:
			who = fmt.Sprintf("%s contains %s in each of %s", c.a.Component.Name, finding.Few(names), strings.Join(all, ", "))
		default:
			who = fmt.Sprintf("%s in %s and %s in %s both contain %s", c.a.Application.Name, c.a.To.Name, c.b.Application.Name,
				c.b.To.Name, finding.Few(names))
		}
		return who + "; the environments share a cluster, in which only one Application can own an object: the other one is always OutOfSync, " +
			"and the rollout stops there"
	}
	found := c.b.Fault("object-shared", "name", message(c.environments), c.remedy())
	found.Object, found.Field = names[0], ""
	return fault{Finding: found, app: c.b.Application.Name, dependency: c.a.Application.Name, messageIn: message}
}

func (c *collision) remedy() string {
	inCluster := slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Namespace == "" })
	inNamespace := slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Namespace != "" })
	var all []string
	switch {
	case inNamespace && c.a.To.Suffix == c.b.To.Suffix:
		all = append(all, "set a namespaceSuffix for each environment in ladder.yaml")
	case inNamespace:
		all = append(all, "remove metadata.namespace, so that it is created in the namespace of its Application")
	}
	if slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Kind == "CustomResourceDefinition" }) {
		all = append(all, "set crds: split for its CRDs")
		inCluster = slices.ContainsFunc(c.ids, func(id object.ID) bool { return id.Namespace == "" && id.Kind != "CustomResourceDefinition" })
	}
	if inCluster {
		all = append(all, "move cluster-scoped objects into a component without environments, which is deployed once per cluster, "+
			"or make their names unique per environment, in a chart with {{ .Release.Namespace }}")
	}
	return strings.Join(all, "; ")
}

// Shared returns the objects that several environments of one cluster contain, unless the owners
// of the fleet accept that.
func Shared(f *fleet.Fleet, environment string) []finding.Finding {
	var all []finding.Finding
	for _, c := range collisions(f, f.Scope(environment)) {
		found, _ := accept(f, c.fault())
		all = append(all, found.Finding)
	}
	return all
}
