package plugin

import (
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/hooks"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/wave"
)

// takesHooks reports whether Helm hooks become part of the order. Without waves there is none.
func (opt options) takesHooks() bool {
	return opt.hooks == hooks.Order && opt.waves.Waves != wave.Off
}

// takeHooks returns the graph of objects with their Helm hooks in the order.
func (opt options) takeHooks(rendered render.Result, objs []object.Object, base *knowledge.Base, g graph.Options) (*graph.Graph, error) {
	in := hooks.Options{Graph: g, Drawn: rendered.Drawn}
	for _, l := range rendered.Lookups {
		in.Looked = append(in.Looked, l.File)
	}
	taken, err := hooks.Take(objs, base, in)
	if err != nil {
		return nil, err
	}
	refs, err := graph.Build(taken.Objects, base, g)
	if err != nil {
		return nil, err
	}
	return taken.Order(refs), nil
}

// withHelp returns the findings of a plan. Where a Helm hook causes one, and none of it is left
// with hooks: order, that is the remedy.
func (opt options) withHelp(rendered render.Result, plan *wave.Plan, base *knowledge.Base) []finding.Finding {
	if opt.takesHooks() {
		return plan.Findings
	}
	involved := opt.aboutHooks(plan)
	if len(involved) == 0 {
		return plan.Findings
	}
	opt.hooks = hooks.Order
	if opt.waves.Waves == wave.Off {
		opt.waves.Waves, opt.waves.Author = wave.Rungs, wave.Refine
	}
	refs, err := opt.refer(rendered, base)
	if err != nil {
		return plan.Findings
	}
	ordered, err := wave.Assign(refs, base, opt.waves)
	if err != nil {
		return plan.Findings
	}
	found := slices.Clone(plan.Findings)
	for _, i := range involved {
		if remains := func(f finding.Finding) bool {
			return f.Rule == found[i].Rule && f.Object == found[i].Object && f.Severity == found[i].Severity
		}; !slices.ContainsFunc(ordered.Findings, remains) {
			found[i].Remedy = helpOf(ordered, found[i]) + "; or " + found[i].Remedy
		}
	}
	return found
}

// aboutHooks returns the problems of a plan, by their index, that are about a Helm hook.
func (opt options) aboutHooks(plan *wave.Plan) (all []int) {
	isHook := map[string]bool{}
	for i := range plan.Graph.Nodes {
		n := &plan.Graph.Nodes[i]
		if _, ok := n.HelmEvents(); ok {
			isHook[n.Key.String()] = true
		}
	}
	for i, f := range plan.Findings {
		isAbout := func(name string) bool { return isHook[name] }
		runsAgain := f.Rule == graph.OneOperation // wherever it stands
		isProblem := f.Severity != finding.Note || f.Rule == wave.Recreated
		if isProblem && !runsAgain && (isHook[f.Object] || slices.ContainsFunc(strings.Split(f.About, ", "), isAbout)) {
			all = append(all, i)
		}
	}
	return all
}

// helpOf says what hooks: order changes about the objects of a finding.
func helpOf(ordered *wave.Plan, f finding.Finding) string {
	var changes []string
	named := append([]string{f.Object}, strings.Split(f.About, ", ")...)
	for i := range ordered.Graph.Nodes {
		n := &ordered.Graph.Nodes[i]
		if n.Was == "" || !slices.Contains(named, n.Key.String()) {
			continue
		}
		becomes := "an ordinary object, which Argo CD compares and heals"
		if n.IsHook() {
			becomes = "a Sync hook, which runs before the sync ends"
		}
		changes = append(changes, n.Key.String()+" becomes "+becomes)
	}
	if len(changes) == 0 {
		return "set hooks: order"
	}
	return "set hooks: order, with which " + strings.Join(changes, ", and ")
}
