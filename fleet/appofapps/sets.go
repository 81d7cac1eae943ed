package appofapps

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Set is an ApplicationSet of a plan, with the Applications that it generates.
type Set struct {
	Node         int
	Applications []object.Object
	// Steps are the steps of the Applications in a RollingSync, counted from 1, and 0 for
	// those that no step selects; nil without one.
	Steps []int
}

// unit is one end of a dependency that CheckSets looks at.
type unit struct {
	node int
	// child is a generated Application; empty for an object of the parent.
	child object.ID
	step  int
	// unselected means that no step of its set selects it, so that nothing syncs it.
	unselected bool
}

func (u unit) generated() bool { return u.child != (object.ID{}) }

// setChecker is the state of CheckSets.
type setChecker struct {
	*follower
	plan *wave.Plan
	// units describes each child.
	units []unit
	found []conflict
}

// conflict is a dependency that the order does not respect, with the number of others
// like it.
type conflict struct {
	kind     conflictKind
	from, to unit
	reason   string
	more     int
}

type conflictKind int

const (
	// laterStep: a step waits for a later one.
	laterStep conflictKind = iota
	// together: Applications of a set are synced at the same time.
	together
	// laterWave: something needs what comes in a later wave.
	laterWave
)

// CheckSets looks at the Applications of ApplicationSets like Follow does at children.
// The order stays as it is, because Argo CD renders the parent without their contents;
// the findings say where it does not respect a dependency.
func CheckSets(ctx context.Context, plan *wave.Plan, sets []Set, base *knowledge.Base, opt Options) ([]finding.Finding, error) {
	g := plan.Graph
	c := setChecker{follower: &follower{opt: opt, base: base, graph: g, nodes: applications(g), repoURL: opt.RepoURL}, plan: plan}
	specs := specsOf(g, c.nodes)
	for _, set := range sets {
		for _, app := range set.Applications {
			specs = append(specs, app.Get("spec"))
		}
	}
	c.locate(specs)
	for _, i := range c.nodes {
		c.children = append(c.children, c.readChild(g.Nodes[i].Object, g.Nodes[i].Kind.Deploys))
		c.units = append(c.units, unit{node: i})
	}
	for _, set := range sets {
		for k, app := range set.Applications {
			kind, _ := base.Kind(app.ID.Group, app.ID.Kind)
			u := unit{node: set.Node, child: app.ID}
			if set.Steps != nil {
				u.step, u.unselected = set.Steps[k], set.Steps[k] == 0
			}
			c.children = append(c.children, c.readChild(app, kind.Deploys))
			c.nodes, c.units = append(c.nodes, set.Node), append(c.units, u)
		}
	}
	var err error
	if c.rendered, err = c.renderAll(ctx); err != nil {
		return nil, err
	}
	all := make([]contents, len(c.children))
	for i, child := range c.children {
		all[i] = c.contents(child)
	}
	clusters, found := c.clusters(all)
	for _, cluster := range clusters {
		for _, l := range cluster.links {
			c.check(cluster, l)
		}
	}
	for _, conflict := range c.found {
		found = append(found, c.report(conflict))
	}
	found = append(found, c.stuckGenerated()...)
	found = append(found, c.unseen(all)...)
	finding.Sort(found)
	return found, nil
}

// check records a dependency if the order does not respect it.
func (c *setChecker) check(in cluster, l link.Link) {
	for _, r := range l.Reasons {
		if kind, _ := c.base.Kind(r.From.Group, r.From.Kind); kind.AlwaysInstalled || !r.Strength.NeedsEarlierStep() || r.Inferred {
			continue
		}
		from, known := c.unit(in, l.From, r.From)
		to, there := c.unit(in, l.To, r.To)
		if !known || !there || from.unselected || to.unselected || !from.generated() && !to.generated() {
			continue
		}
		order := c.plan.Compare(from.node, to.node)
		switch {
		case from.node == to.node && from.step > to.step: // as it must be
		case from.node == to.node && from.step < to.step:
			c.add(conflict{kind: laterStep, from: from, to: to, reason: r.String()})
		case from.node == to.node:
			c.add(conflict{kind: together, from: from, to: to, reason: r.String()})
		case order < 0:
			c.add(conflict{kind: laterWave, from: from, to: to, reason: r.String()})
		default:
			continue
		}
		return
	}
}

// unit returns one end of a link.
func (c *setChecker) unit(in cluster, app int, id object.ID) (unit, bool) {
	if app < len(in.members) {
		return c.units[in.members[app]], true
	}
	at, there := in.beside[id]
	return unit{node: at}, there
}

// add records a conflict, or counts it if there is one like it.
func (c *setChecker) add(x conflict) {
	for i := range c.found {
		if y := &c.found[i]; x.kind == y.kind && x.from.node == y.from.node && x.to.node == y.to.node {
			y.more++
			return
		}
	}
	c.found = append(c.found, x)
}

// name returns the name of a unit for messages.
func (c *setChecker) name(u unit) string {
	node := c.graph.Nodes[u.node].Key.String()
	if u.generated() {
		return fmt.Sprintf("%s of %s", u.child, node)
	}
	return node
}

// report returns a conflict as a finding.
func (c *setChecker) report(x conflict) finding.Finding {
	node := c.graph.Nodes[x.from.node]
	f := finding.Finding{Severity: finding.Warning, File: node.File, Line: node.Line, Object: node.Key.String(),
		About: fmt.Sprintf("%s, %s", x.from.child, x.to.child)}
	switch x.kind {
	case laterStep:
		f.Rule, f.Message = "set-order",
			fmt.Sprintf("%s in step %d needs %s in step %d, which starts only after all Applications of step %d are healthy: %s",
				x.from.child, x.from.step, x.to.child, x.to.step, x.from.step, x.reason)
		f.Remedy = fmt.Sprintf("move %s to a later step", x.from.child)
	case together:
		f.Severity, f.Rule, f.Message = finding.Note, "set-order",
			fmt.Sprintf("Argo CD syncs %s at the same time as %s, which it needs, and depends on retries: %s", x.from.child, x.to.child, x.reason)
		f.Remedy = "use steps of spec.strategy.rollingSync if the retries are not enough"
	case laterWave:
		f.Rule, f.Message = "set-order",
			fmt.Sprintf("%s comes in an earlier wave than %s, which it needs: %s", c.name(x.from), c.name(x.to), x.reason)
		f.Remedy = "give this object a later sync wave"
		if x.from.generated() && x.from.step == 0 { // nothing waits for it
			f.Severity = finding.Note
		}
	}
	if x.more > 0 {
		f.Message += fmt.Sprintf(" (and %d more like it)", x.more)
	}
	return f
}

// unseen reports generated Applications whose content is unknown.
func (c *setChecker) unseen(all []contents) []finding.Finding {
	var found []finding.Finding
	var unknown []string
	kind := ""
	failed := map[int][]*renderedSource{}
	for i, content := range all {
		u := c.units[i]
		if !u.generated() {
			continue
		}
		for _, r := range content.failed {
			if !slices.Contains(failed[u.node], r) {
				failed[u.node] = append(failed[u.node], r)
			}
		}
		if len(content.unknown) > 0 && len(content.parts)+len(content.charts) == 0 {
			kind = c.graph.Nodes[u.node].Kind.Kind
			unknown = append(unknown, fmt.Sprintf("%s (%s)", u.child, strings.Join(content.unknown, ", ")))
		}
	}
	for _, node := range slices.Sorted(maps.Keys(failed)) {
		found = append(found, c.notRendered(c.graph.Nodes[node], failed[node]))
	}
	return append(found, unknownChildren(unknown, kind,
		"generated Applications, so it does not check their order", "check their order by hand")...)
}

// notRendered reports sources of a set that cannot be rendered, the first with its
// reason.
func (c *setChecker) notRendered(node graph.Node, sources []*renderedSource) finding.Finding {
	first := sources[0]
	fault := finding.Of(first.err)[0]
	f := finding.Finding{Severity: finding.Warning, Rule: "child-not-rendered", File: node.File, Line: node.Line,
		Object: node.Key.String(), About: string(fault.Rule),
		Message: fmt.Sprintf("%s cannot be rendered, so its dependencies are unknown: %s", first.source.Place, withoutRemedy(fault)),
		Remedy:  cmp.Or(fault.Remedy, "check it with cmp render "+first.source.Place), Question: fault.Question}
	if len(sources) > 1 {
		var others []string
		for _, r := range sources[1:min(len(sources), 1+maxMentioned)] {
			others = append(others, r.source.Place)
		}
		f.Message += fmt.Sprintf(" (and %d more: %s)", len(sources)-1, strings.Join(others, ", "))
	}
	return f
}
