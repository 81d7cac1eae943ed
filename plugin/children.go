package plugin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/link"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// An app of apps renders to Applications, its children. What one of them needs of
// another stands in what they render to: so those that lie in the same repository
// are rendered, too, and of charts in registries knowledge tells. All of it
// becomes references between the Applications, from which waves follow as they do
// from all others.

// Bounds of that: how deep children of children are followed, and how many
// sources are rendered for one request.
const (
	maxDepth     = 4
	maxRendered  = 1000
	maxMentioned = 10
)

// followed is what came of following the children.
type followed struct {
	findings []finding.Finding
	// revision and repoURL are as in Result.
	revision, repoURL bool
}

// follower is the work of follow.
type follower struct {
	req   Request
	base  *knowledge.Base
	graph *graph.Graph
	// nodes are those of the Applications, children what they say.
	nodes    []int
	children []child
	// rendered are the sources, by their keys.
	rendered map[string]*renderedSource
	followed
}

// renderedSource is what a source of a child rendered to.
type renderedSource struct {
	source childSource
	objs   []object.Object
	// rung is what the source is for, and tells what says so.
	rung, tells string
	mode        crds.Mode
	// nested are the Applications in it.
	nested []child
	err    error
}

// contents are all that a child comes to, with its own children.
type contents struct {
	parts  []graph.Part
	charts []knowledge.Chart
	// halves are the directories of which it has only a part.
	halves map[string]crds.Mode
	// rung is what it is for, and tells what says so.
	rung, tells string
	// unknown are sources of which nothing is known, failed those that do not
	// render.
	unknown []string
	failed  []*renderedSource
}

// follow adds to the references of a component what its Applications need of each
// other and of the objects beside them. The error is that of the context: a child
// that cannot be rendered is a finding.
func (req Request) follow(ctx context.Context, g *graph.Graph, opt options, base *knowledge.Base) (followed, error) {
	f := &follower{req: req, base: base, graph: g, rendered: map[string]*renderedSource{}}
	var specs []object.Value
	for i, n := range g.Nodes {
		if n.Kind.Deploys.IsZero() || !n.InSync() || n.Elsewhere {
			continue
		}
		f.nodes = append(f.nodes, i)
		for _, spec := range n.Kind.Deploys.Find(n.Root()) {
			specs = append(specs, spec.Value)
		}
	}
	if len(f.nodes) == 0 {
		return followed{}, nil
	}
	f.repoURL = true
	f.req.App.RepoURL = cmp.Or(req.App.RepoURL, base.Fleet().RepoURL)
	if f.req.App.RepoURL == "" && req.Repo != nil {
		f.req.App.RepoURL = req.guessRepository(specs)
	}
	for _, i := range f.nodes {
		n := g.Nodes[i]
		f.children = append(f.children, f.req.readChild(n.Object, n.Kind.Deploys))
	}
	if err := f.renderAll(ctx); err != nil {
		return followed{}, err
	}
	all := make([]contents, len(f.children))
	for i, c := range f.children {
		all[i] = f.contents(c)
	}
	f.stand(all)
	if err := f.connect(all, opt); err != nil {
		return followed{}, err
	}
	f.report(all)
	return f.followed, nil
}

// renderAll renders the sources of the children, of theirs, and so on, each once.
// One after the other: a server has other requests for the other processors.
func (f *follower) renderAll(ctx context.Context) error {
	level := f.children
	for range maxDepth {
		var next []child
		for _, c := range level {
			for _, s := range c.sources {
				if s.key == "" || f.rendered[s.key] != nil {
					continue
				}
				r := &renderedSource{source: s, err: s.err}
				f.rendered[s.key] = r
				switch {
				case r.err != nil || f.isParent(c, s):
				case len(f.rendered) > maxRendered:
					r.err = fmt.Errorf("only %d sources are rendered for one component", maxRendered)
				default:
					if r.err = f.render(ctx, c, r); ctx.Err() != nil {
						return ctx.Err()
					}
				}
				next = append(next, r.nested...)
			}
		}
		level = next
	}
	return nil
}

// isParent reports whether a child is the very Application that is rendered:
// many manage themselves.
func (f *follower) isParent(c child, s childSource) bool {
	name := cmp.Or(f.req.App.Name, c.ID.Name)
	return s.request != nil && s.request.Dir == f.req.Dir && name == c.ID.Name
}

// render renders a source of a child.
func (f *follower) render(ctx context.Context, c child, r *renderedSource) error {
	req, opt, base, err := r.source.request.prepare(ctx, f.base)
	if err != nil {
		return err
	}
	r.mode = opt.crds.mode
	rendered, err := req.render(ctx, opt, base)
	if err != nil {
		return err
	}
	f.revision = f.revision || rendered.Revision
	g, err := opt.refer(rendered, base)
	if err != nil {
		return err
	}
	for _, n := range g.Nodes {
		if n.Elsewhere {
			continue
		}
		r.objs = append(r.objs, n.Object)
		if !n.Kind.Deploys.IsZero() {
			r.nested = append(r.nested, f.req.readChild(n.Object, n.Kind.Deploys))
		}
	}
	// What it is for tells its own order. One that has none is no fault of the
	// parent's.
	if plan, err := wave.Assign(g, base, opt.waves); err == nil {
		rung, at := plan.Purpose()
		r.rung = rung
		if n := g.Nodes[at]; rung != "" {
			r.tells = "holds " + n.Key.String()
			if n.Role != "" && n.RoleWhy != "" {
				r.tells += ", which " + n.RoleWhy
			}
		}
	}
	return nil
}

// contents collects what a child comes to.
func (f *follower) contents(c child) contents {
	all := contents{halves: map[string]crds.Mode{}}
	f.collect(&all, c, c.cluster, map[string]bool{}, maxDepth)
	return all
}

// collect adds a child, and its own children that go to the same cluster.
func (f *follower) collect(all *contents, c child, cluster string, seen map[string]bool, depth int) {
	if depth == 0 || c.cluster != cluster {
		return
	}
	for _, s := range c.sources {
		if chart, known := f.base.Chart(s.registry, s.chart); s.chart != "" && known {
			all.charts = append(all.charts, chart)
			all.isFor(chart.Rung, "holds the chart "+chart.Name)
			continue
		}
		r := f.rendered[s.key]
		switch {
		case s.key == "":
			all.unknown = append(all.unknown, s.place)
			continue
		case r == nil || seen[s.key]:
			continue
		case r.err != nil:
			all.failed = append(all.failed, r)
			continue
		}
		seen[s.key] = true
		all.parts = append(all.parts, c.part(r.objs))
		all.isFor(r.rung, r.tells)
		if s.request != nil {
			all.halves[s.request.Dir] = r.mode
		}
		for _, nested := range r.nested {
			f.collect(all, nested, cluster, seen, depth-1)
		}
	}
}

// isFor notes what a source is for, if that says more than the others.
func (all *contents) isFor(rung, tells string) {
	if rung != "" && (all.rung == "" || wave.Tells(rung, all.rung) < 0) {
		all.rung, all.tells = rung, tells
	}
}

// stand puts every child on the rung of what it holds, unless somebody put it
// elsewhere.
func (f *follower) stand(all []contents) {
	for i, at := range f.nodes {
		if n := &f.graph.Nodes[at]; n.Role == "" && !n.Kind.Moved {
			if _, known := f.base.Rung(all[i].rung); known {
				n.Role, n.RoleWhy = all[i].rung, all[i].tells
			}
		}
	}
}

// connect makes references of what the children of each cluster need of each
// other. Those in Argo CD's own have the parent's other objects beside them.
func (f *follower) connect(all []contents, opt options) error {
	byCluster := map[string][]int{}
	for i, c := range f.children {
		byCluster[c.cluster] = append(byCluster[c.cluster], i)
	}
	var refs []graph.Reference
	for cluster, members := range byCluster {
		apps := make([]link.Application, len(members))
		for k, i := range members {
			apps[k] = link.Application{Parts: all[i].parts, Charts: all[i].charts, File: f.children[i].File}
		}
		beside := map[object.ID]int{}
		if cluster == ownCluster {
			var objs []object.Object
			for i, n := range f.graph.Nodes {
				// What is there wherever Argo CD runs needs no child.
				if n.InSync() && !n.Elsewhere && !n.Kind.Assured {
					beside[n.Key] = i
					objs = append(objs, n.Object)
				}
			}
			apps = append(apps, link.Application{Parts: []graph.Part{{Objects: objs, Namespace: opt.render.Namespace}}})
		}
		_, links, err := link.Find(apps, f.base, f.halves(members, all)...)
		if err != nil {
			// Two objects that contradict each other, or an annotation of ours
			// that is wrong: the child's own rendering says so.
			f.findings = append(f.findings, finding.Finding{Severity: finding.Warning, Rule: "children-not-compared", Object: f.name(members[0]),
				Message: "what the children need of each other cannot be found, so they keep their author's order: " + finding.Of(err)[0].Error()})
			continue
		}
		refs = append(refs, f.references(links, members, beside)...)
	}
	f.graph.Add(refs...)
	return nil
}

// halves: what is left of a component that is split comes after its definitions.
func (f *follower) halves(members []int, all []contents) []link.Link {
	var found []link.Link
	for from, i := range members {
		for to, j := range members {
			for dir, mode := range all[i].halves {
				if mode == crds.Skip && all[j].halves[dir] == crds.Only {
					found = append(found, link.Link{From: from, To: to, Reasons: []link.Reason{{Strength: link.Applied, Why: "the definitions of " + f.req.show(dir) + " are there"}}})
				}
			}
		}
	}
	return found
}

// references turns links into references. Of the reasons for one, the first of
// each meaning is told.
func (f *follower) references(links []link.Link, members []int, beside map[object.ID]int) []graph.Reference {
	node := func(app int, id object.ID) (int, bool) {
		if app < len(members) {
			return f.nodes[members[app]], true
		}
		at, there := beside[id]
		return at, there
	}
	type told struct {
		from, to int
		meaning  knowledge.Meaning
		inferred bool
	}
	var refs []graph.Reference
	seen := map[told]bool{}
	for _, l := range links {
		for _, r := range l.Reasons {
			from, known := node(l.From, r.From)
			to, there := node(l.To, r.To)
			if kind, _ := f.base.Kind(r.From.Group, r.From.Kind); !known || !there || kind.Assured {
				continue
			}
			ref := graph.Reference{From: from, To: to, Field: "spec.source", Meaning: knowledge.Healthy, Inferred: r.Inferred, Why: "needs", Because: r.String(), Source: r.Source}
			if l.From >= len(members) {
				ref.Field = r.Field
			}
			switch r.Strength {
			case link.Applied:
				ref.Refused = true
			case link.Calls:
				ref.Meaning, ref.Why = knowledge.Known, "names"
			case link.Exists:
				ref.Meaning = knowledge.Exists
			}
			if key := (told{from, to, ref.Meaning, ref.Inferred}); !seen[key] {
				seen[key] = true
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

func (f *follower) name(i int) string { return f.graph.Nodes[f.nodes[i]].Key.String() }

// report says which children could not be ordered by what they hold, and what
// the order of all of them depends on.
func (f *follower) report(all []contents) {
	var unknown []string
	told := map[*renderedSource]bool{}
	for i, c := range all {
		node := f.graph.Nodes[f.nodes[i]]
		for _, r := range c.failed {
			if told[r] {
				continue
			}
			told[r] = true
			fault := finding.Of(r.err)[0]
			f.findings = append(f.findings, finding.Finding{Severity: finding.Warning, Rule: "child-not-rendered", File: node.File, Line: node.Line, Object: node.Key.String(),
				Message: r.source.place + " cannot be rendered, so its order does not follow from what it holds: " + withoutRemedy(fault),
				Remedy:  cmp.Or(fault.Remedy, "check it with cmp render "+r.source.place)})
		}
		if len(c.unknown) > 0 && len(c.parts)+len(c.charts) == 0 {
			unknown = append(unknown, fmt.Sprintf("%s (%s)", node.Key, strings.Join(c.unknown, ", ")))
		}
	}
	if n := len(unknown); n > 0 {
		if n > maxMentioned {
			unknown = append(unknown[:maxMentioned], fmt.Sprintf("and %d more", n-maxMentioned))
		}
		f.findings = append(f.findings, finding.Finding{Severity: finding.Note, Rule: "unknown-child", Object: f.graph.Nodes[f.nodes[0]].Kind.Kind,
			Message: "nothing is known of what these hold, so their author's order stands: " + strings.Join(unknown, ", "),
			Remedy:  "write " + graph.After + " on those that must come later"})
	}
	f.reportHealth()
	finding.Sort(f.findings)
}

func withoutRemedy(f finding.Finding) string {
	f.Remedy = ""
	return f.Error()
}

// reportHealth says, once, that Argo CD waits for children only with a check.
func (f *follower) reportHealth() {
	waits := 0
	for _, r := range f.graph.References {
		if to := f.graph.Nodes[r.To]; r.Meaning == knowledge.Healthy && slices.Contains(f.nodes, r.To) && !to.HasHealth {
			waits++
		}
	}
	if waits == 0 {
		return
	}
	kind := f.graph.Nodes[f.nodes[0]].Key.GroupKind()
	f.findings = append(f.findings, finding.Finding{Severity: finding.Note, Rule: "no-application-health", Object: kind,
		Message: "children wait for others to be healthy, but without a health check for " + kind + " Argo CD goes on as soon as those exist",
		Remedy:  "put the check that cmp health prints for this component into argocd-cm, if it is not there"})
}
