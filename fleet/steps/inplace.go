package steps

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/fleet/order"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// InPlace is the order of Applications that exist already.
type InPlace struct {
	Fleet  *fleet.Fleet
	Scopes []order.Scope
	// Findings are cycles of dependencies, and RollingSyncs with too few steps.
	Findings []finding.Finding
	// Notes say what the order rests on, and what Argo CD needs for it.
	Notes []string
}

// ComputeInPlace computes the order of a fleet that was read from Applications: that of its owners,
// with as few changes as possible.
func ComputeInPlace(f *fleet.Fleet) *InPlace {
	all := Dependencies(f)
	for i, n := range all {
		all[i].Later = n.Later && !acceptsSameStep(f, n)
	}
	chosen := Order(f, all)
	in := order.Input{Tree: *f.Tree, Unknown: map[int]bool{}, Beside: map[int][]int{}}
	for _, n := range slices.Concat(chosen.Kept, networkDependencies(f, chosen.Kept)) {
		in.Needs = append(in.Needs, order.Need{From: f.Applications[n.From].Node, To: f.Applications[n.To].Node, Later: n.Later,
			IsCertain: n.IsCertain, Count: n.reasonCount, Because: n.Because(), Removal: removalRemedy(f, n)})
	}
	for _, app := range f.Applications {
		if whyUnknown(app) != "" {
			in.Unknown[app.Node] = true
		}
		for _, o := range app.Objects {
			if !argocd.IsApplication(o.ID) && !argocd.IsSet(o.ID) {
				in.Beside[app.Node] = append(in.Beside[app.Node], inplace.WaveOf(o).Number)
			}
		}
	}
	p := &InPlace{Fleet: f, Scopes: order.Compute(in), Findings: chosen.faults}
	for _, s := range p.Scopes {
		p.report(s)
	}
	p.noteUnknown()
	p.noteWaiting(in.Needs)
	finding.Sort(p.Findings)
	return p
}

// whyUnknown says why the content of an Application is not known; empty if it is, also by records
// of charts.
func whyUnknown(app *fleet.Application) string {
	for _, c := range app.MissingSources {
		switch {
		case c.Known != nil && !c.Known.Inferred:
		case c.Plugin != "":
			return "what plugin " + c.Plugin + " renders is not known"
		case c.Ref.Chart != "":
			return "chart " + c.Name() + " is not available and has no record"
		default:
			return "source " + c.Name() + " is not available"
		}
	}
	if app.Failed {
		return "Application " + app.Name + " does not render (cmp fleet lint says why)"
	}
	return ""
}

// Name returns the name of a node.
func (p *InPlace) Name(node int) string {
	if node == inplace.None {
		return ""
	}
	return p.Fleet.Tree.Nodes[node].Object.ID.Name
}

func (p *InPlace) names(nodes []int) string {
	var all []string
	for _, i := range nodes {
		all = append(all, p.Name(i))
	}
	slices.Sort(all)
	return finding.Several(all)
}

// report adds the findings about the order of some siblings, and what Argo CD needs for it.
func (p *InPlace) report(s order.Scope) {
	var nodes []int
	for _, r := range s.Rows {
		nodes = append(nodes, r.Node)
	}
	first := p.Fleet.Tree.Nodes[nodes[0]]
	if s.Parent != inplace.None {
		first = p.Fleet.Tree.Nodes[s.Parent]
	}
	for _, c := range s.Cycles {
		var parts []string
		for i, n := range c.Needs {
			a, b := p.Fleet.Tree.Siblings(n.From, n.To)
			text := p.Name(c.Siblings[i]) + " after " + p.Name(b)
			if a != n.From || b != n.To {
				text += fmt.Sprintf(" (%s after %s)", p.Name(n.From), p.Name(n.To))
			}
			parts = append(parts, text+", because "+n.Because)
		}
		p.Findings = append(p.Findings, finding.Finding{Severity: finding.Error, Rule: "cycle", File: first.Place.File,
			Line: first.Place.Line, Object: p.Name(c.Siblings[0]), Message: "no order satisfies all dependencies: " + strings.Join(parts, "; "),
			Remedy: p.removal(c.Removed) + "; the computed order assumes this change"})
	}
	moves := slices.ContainsFunc(s.Rows, func(r order.Row) bool { return r.Computed != r.Now })
	switch {
	case s.Kind == order.Waves && s.Parent == inplace.None && moves:
		p.Notes = append(p.Notes, fmt.Sprintf("No Application that was read creates %s: their waves have an effect only if one Application "+
			"applies all of them.", p.names(nodes)))
	case s.Kind == order.Proposed && s.Count > 0:
		p.Notes = append(p.Notes, fmt.Sprintf("ApplicationSet %s gets %s. A RollingSync disables automated syncs of its Applications, so "+
			`they do not self-heal, and needs applicationsetcontroller.enable.progressive.syncs: "true" in argocd-cmd-params-cm.`,
			p.Name(s.Parent), finding.Counted(s.Count, "step")))
	}
}

// removal says how to remove a dependency: what to move.
func (p *InPlace) removal(n order.Need) string {
	a, b := p.Fleet.Tree.Siblings(n.From, n.To)
	if a == n.From {
		return n.Removal
	}
	return fmt.Sprintf("move %s out of %s, to a place after %s", p.Name(n.From), p.Name(a), p.Name(b))
}

// noteUnknown adds a line for each reason why content is not known, with what rests on it.
func (p *InPlace) noteUnknown() {
	var whys []string
	apps := map[string][]int{}
	for _, app := range p.Fleet.Applications {
		if why := whyUnknown(app); why != "" {
			if apps[why] == nil {
				whys = append(whys, why)
			}
			apps[why] = append(apps[why], app.Node)
		}
	}
	for _, why := range whys {
		before, after := 0, 0
		var lost []string
		for _, s := range p.Scopes {
			for _, node := range apps[why] {
				at := p.ancestor(node, s.Parent)
				for _, k := range s.Kept {
					if k.Node == at {
						before, after = before+k.Before, after+k.After
					}
				}
				for _, c := range s.Crossed {
					if c[0] == at || c[1] == at {
						lost = append(lost, p.Name(c[0])+" before "+p.Name(c[1]))
					}
				}
			}
		}
		text := fmt.Sprintf("%s, so %s may need anything, or be needed by anything", why, p.names(apps[why]))
		switch {
		case before+after == 0:
			text += "; nothing is placed before or after it"
		default:
			text += fmt.Sprintf("; %d stay before it and %d after it", before, after)
		}
		if len(lost) > 0 {
			slices.Sort(lost)
			text += ", but dependencies contradict " + finding.Several(slices.Compact(lost))
		}
		p.Notes = append(p.Notes, strings.ToUpper(text[:1])+text[1:]+".")
	}
}

// ancestor returns the child of a node that contains another one, or is it; None if there is none.
func (p *InPlace) ancestor(node, below int) int {
	for ; node != inplace.None; node = p.Fleet.Tree.Nodes[node].Parent {
		if p.Fleet.Tree.Nodes[node].Parent == below {
			return node
		}
	}
	return inplace.None
}

// noteWaiting says where Argo CD does not wait: an ApplicationSet without steps is healthy as soon
// as its Applications exist.
func (p *InPlace) noteWaiting(needs []order.Need) {
	var sets []int
	example := map[int]order.Need{}
	for _, n := range needs {
		_, before := p.Fleet.Tree.Siblings(n.From, n.To)
		if !n.Later || !n.IsCertain {
			continue
		}
		for at := n.To; at != before && at != inplace.None; at = p.Fleet.Tree.Nodes[at].Parent {
			set := p.Fleet.Tree.Nodes[at].Parent
			if !p.Fleet.Tree.Nodes[set].IsSet || p.steps(set) > 0 {
				continue
			}
			if _, known := example[set]; !known {
				sets, example[set] = append(sets, set), n
			}
		}
	}
	for _, set := range sets {
		n := example[set]
		p.Notes = append(p.Notes, fmt.Sprintf("Argo CD does not wait for the Applications of ApplicationSet %s, which has no steps, "+
			"but %s needs %s: %s.", p.Name(set), p.Name(n.From), p.Name(n.To), n.Because))
	}
}

// steps returns the number of steps that an ApplicationSet has or gets.
func (p *InPlace) steps(set int) int {
	i := slices.IndexFunc(p.Scopes, func(s order.Scope) bool { return s.Parent == set })
	if i < 0 {
		return p.Fleet.Tree.Nodes[set].Steps
	}
	return p.Scopes[i].Count
}

// Changes returns what to write, and what has to be changed by hand. read returns the content of a
// file that a generator reads.
func (p *InPlace) Changes(read func(file string) ([]byte, error)) ([]order.Change, []order.Unwritten) {
	changes, byHand := order.Changes(*p.Fleet.Tree, p.Scopes, read)
	slices.SortStableFunc(changes, func(x, y order.Change) int {
		return cmp.Or(strings.Compare(x.File, y.File), cmp.Compare(x.Line, y.Line))
	})
	return changes, byHand
}
