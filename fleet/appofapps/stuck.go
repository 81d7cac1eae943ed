package appofapps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// markStuck notes why children never become healthy by themselves.
func (f *follower) markStuck(g *graph.Graph) {
	around := f.surroundings()
	for i, at := range f.nodes {
		all := f.obstacles(around, f.children[i], maxDepth, map[string]bool{})
		g.Nodes[at].Stuck = stuck(all)
	}
}

// stuck joins obstacles.
func stuck(all []argocd.Obstacle) (s graph.Stuck) {
	var why, fixes []string
	for _, o := range all {
		why, fixes = append(why, o.Why), append(fixes, o.Remedy)
		s.Refused = s.Refused || o.Kind == argocd.Refused
	}
	s.Why, s.Fix = strings.Join(why, ", and "), strings.Join(fixes, "; ")
	return s
}

// surroundings are the AppProjects and clusters that the parent and its children contain.
func (f *follower) surroundings() argocd.Surroundings {
	var objs []object.Object
	for _, n := range f.graph.Nodes {
		if !n.External {
			objs = append(objs, n.Object)
		}
	}
	for _, r := range f.rendered {
		objs = append(objs, r.objs...)
	}
	return argocd.NewSurroundings(objs)
}

// obstacles returns why a child never becomes healthy by itself. The children of a child count
// toward its health.
func (f *follower) obstacles(around argocd.Surroundings, c Child, depth int, seen map[string]bool) []argocd.Obstacle {
	if depth == 0 || slices.ContainsFunc(c.Sources, func(s Source) bool { return f.isParent(c, s) }) {
		return nil
	}
	contents, nested := f.deployed(c, seen)
	all := around.Obstacles(c.Object, contents, false)
	for _, n := range nested {
		if len(all) > 0 { // one reason is enough
			break
		}
		if below := f.obstacles(around, n, depth-1, seen); len(below) > 0 {
			o := below[0]
			o.Why = fmt.Sprintf("%s in it does not become healthy: %s", n.ID, o.Why)
			all = append(all, o)
		}
	}
	return all
}

// stuckGenerated reports generated Applications that Argo CD does not sync: one finding for each
// set and reason. The steps of a set replace automated syncs; without them, nothing waits for its
// Applications, and it is up to their owners when they sync them.
func (c *setChecker) stuckGenerated() []finding.Finding {
	var found []finding.Finding
	around := c.surroundings()
	names := map[int][]string{} // by finding
	for i, u := range c.units {
		if !u.generated() {
			continue
		}
		contents, _ := c.deployed(c.children[i], map[string]bool{})
		all := slices.DeleteFunc(around.Obstacles(c.children[i].Object, contents, true), func(o argocd.Obstacle) bool {
			return u.step == 0 && o.Kind != argocd.Refused
		})
		if len(all) == 0 {
			continue
		}
		s, node := stuck(all), c.graph.Nodes[u.node]
		at := slices.IndexFunc(found, func(f finding.Finding) bool { return f.Object == node.Key.String() && f.About == s.Why })
		if at < 0 {
			at = len(found)
			found = append(found, finding.Finding{Severity: finding.Warning, Rule: "doubtful-gate", File: node.File, Line: node.Line,
				Object: node.Key.String(), About: s.Why, Message: ": " + s.Why, Remedy: s.Fix})
		}
		names[at] = append(names[at], u.child.String())
	}
	for at := range found {
		found[at].Message = "Argo CD does not sync " + finding.Few(names[at]) + found[at].Message
	}
	return found
}

// deployed returns what a child deploys, and the Applications in it.
func (f *follower) deployed(c Child, seen map[string]bool) (contents []argocd.Content, nested []Child) {
	for _, s := range c.Sources {
		r := f.rendered[s.key]
		if r == nil || s.key == "" || seen[s.key] {
			continue
		}
		seen[s.key] = true
		contents = append(contents, r.contents...)
		for _, n := range r.nested {
			if argocd.IsApplication(n.ID) && !n.generated {
				nested = append(nested, n)
			}
		}
	}
	return contents, nested
}

// Contents returns the chosen objects of a graph whose scope is known.
func Contents(g *graph.Graph, base *knowledge.Base, isChosen func(*graph.Node) bool) []argocd.Content {
	var all []argocd.Content
	for i := range g.Nodes {
		n := &g.Nodes[i]
		_, known := base.Kind(n.Key.Group, n.Key.Kind)
		if !n.External && isChosen(n) && (known || base.Builtin(n.Key.Group) || !n.CRDMissing) {
			all = append(all, argocd.Content{ID: n.Object.ID, Namespaced: n.Key.Namespace != ""})
		}
	}
	return all
}
