package hooks

import (
	"cmp"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// decider closes the decisions.
type decider struct {
	all []Decision
	// moved is the component with every hook in the Sync phase, where the rules of package
	// graph see all their needs, and own as the chart has it.
	moved, own *graph.Graph
	// of maps the nodes of moved to decisions, or to -1, and node the decisions to nodes.
	of, node []int
	unmoved  map[object.Object]int // nodes of moved that are no hooks
	from, to [][]*graph.Reference  // of moved, by node
	base     *knowledge.Base
}

// decide lets as many hooks stay as can, and then moves the others: a hook that moves takes
// along those of a phase before it that need it.
func decide(all []Decision, objs []object.Object, base *knowledge.Base, opt Options) (again []finding.Finding, err error) {
	moved, err := rewritten(objs, all)
	if err != nil {
		return nil, err
	}
	d := decider{all: all, base: base}
	if d.moved, err = graph.Build(moved, base, opt.Graph); err != nil {
		return nil, err
	}
	if d.own, err = graph.Build(objs, base, opt.Graph); err != nil {
		return nil, err
	}
	d.index()
	moves := make([]Form, len(all))
	for i := range all {
		moves[i] = all[i].Form
		if all[i].moves() && (all[i].isTask() || d.isSupport(d.node[i])) {
			all[i].Form, all[i].Cause = Stays, RightPhase
		}
	}
	for changed := true; changed; {
		changed = false
		for i := range all {
			if all[i].Form != Stays || all[i].Cause != RightPhase {
				continue
			}
			if cause, other := d.whyMove(i); cause != RightPhase {
				all[i].Form, all[i].Cause, all[i].Other, changed = moves[i], cause, other, true
			}
		}
	}
	d.goWithJobs()
	return d.stillRepeated(), nil
}

// stillRepeated returns the warnings about moved Jobs of one operation of Helm's: as Sync hooks
// they run at every sync, too. Those whose command says that it stops or removes something
// have a finding of their own.
func (d *decider) stillRepeated() []finding.Finding {
	return slices.DeleteFunc(slices.Clone(d.own.Findings), func(f finding.Finding) bool {
		return f.Rule != graph.OneOperation || f.Severity == finding.Note || !slices.ContainsFunc(d.all, func(h Decision) bool {
			return h.Form == SyncHook && h.risk == "" && (h.Key.String() == f.Object || h.Key.String() == f.About)
		})
	})
}

func (d *decider) index() {
	byObject := map[object.Object]int{}
	for i := range d.all {
		byObject[d.all[i].After] = i
	}
	nodes := d.moved.Nodes
	d.of, d.node, d.unmoved = make([]int, len(nodes)), make([]int, len(d.all)), map[object.Object]int{}
	for i := range d.node {
		d.node[i] = -1 // dropped
	}
	for n := range nodes {
		d.of[n] = -1
		if i, ok := byObject[nodes[n].Object]; ok && d.all[i].Form != Dropped {
			d.of[n], d.node[i] = i, n
		} else if !ok {
			d.unmoved[nodes[n].Object] = n
		}
	}
	d.from, d.to = make([][]*graph.Reference, len(nodes)), make([][]*graph.Reference, len(nodes))
	for at := range d.moved.References {
		if r := &d.moved.References[at]; r.Need != graph.NeedsNot {
			d.from[r.From], d.to[r.To] = append(d.from[r.From], r), append(d.to[r.To], r)
		}
	}
}

// phase returns the first phase of a node, as far as it is decided; PostDelete if a sync
// never applies it.
func (d *decider) phase(n int) object.Phase {
	phases := d.moved.Nodes[n].Phases()
	if i := d.of[n]; i >= 0 && d.all[i].Form == Stays {
		phases = d.all[i].Phases
	}
	if len(phases) == 0 {
		return object.PostDelete
	}
	return phases[0]
}

// isSupport reports whether an object is only there for others: configuration, RBAC, and
// other built-in objects that are complete once they exist and hold no data.
func (d *decider) isSupport(n int) bool {
	node := &d.moved.Nodes[n]
	k := node.Kind
	return d.base.Builtin(node.Key.Group) && !node.HasHealth && k.Pod.IsZero() && !k.Recreated.Kept && k.Admits.IsZero() &&
		k.Selects.IsZero() && k.CA.IsZero()
}

// whyMove returns why a hook cannot stay, with the other object; RightPhase if it can.
func (d *decider) whyMove(i int) (Cause, object.ID) {
	n, events := d.node[i], d.all[i].Events
	switch {
	case !d.all[i].isTask():
		return d.whySupportMoves(i)
	case !d.all[i].runsOnce():
		if cause, user := d.whySupportMoves(i); cause != RightPhase && user.Name != "" {
			return cause, user
		}
	}
	switch {
	case events.IsBefore():
		for _, r := range slices.Concat(d.from[n], d.ownNeeds(i)) {
			if d.phase(r.To).Order() > object.PreSync.Order() && d.counts(i, r) {
				return NeedsOther, d.moved.Nodes[r.To].Key
			}
		}
		return RightPhase, object.ID{}
	case events.IsAfter() && d.all[i].runsOnce():
		return d.whyEarlier(i)
	case events.IsAfter():
		return RightPhase, object.ID{}
	}
	return BothSides, object.ID{}
}

// ownNeeds returns what a hook needs of the Sync phase in the chart's own order, between nodes
// of moved. In the Sync phase, a Job waits for less, because what is beside it is in the way.
func (d *decider) ownNeeds(i int) (needs []*graph.Reference) {
	for at := range d.own.References {
		r := d.own.References[at]
		if to, ok := d.unmoved[d.own.Nodes[r.To].Object]; ok && r.Need == graph.Needs && d.own.Nodes[r.From].Object == d.all[i].before {
			r.From, r.To = d.node[i], to
			needs = append(needs, &r)
		}
	}
	return needs
}

// whyEarlier returns why a hook that Helm runs last must run earlier. Without one that runs only
// after an upgrade, Helm installs the chart, so that only a certain need says more than Helm.
func (d *decider) whyEarlier(i int) (Cause, object.ID) {
	isLater := d.all[i].Events.IsUpgradeOnly()
	for _, need := range []graph.Need{graph.Needs, graph.MayNeed} {
		for _, r := range d.to[d.node[i]] {
			if r.Need == need && (!isLater || r.IsCertain()) && d.phase(r.From).Order() < object.PostSync.Order() &&
				!d.moved.Nodes[r.From].External {
				return NeededByOther, d.moved.Nodes[r.From].Key
			}
		}
	}
	if n := d.stranger(d.node[i]); n >= 0 && !isLater {
		return NeededByOther, d.moved.Nodes[n].Key
	}
	for at := range d.own.References {
		r := &d.own.References[at]
		from, to := &d.own.Nodes[r.From], &d.own.Nodes[r.To]
		if to.Object == d.all[i].before && r.Need == graph.Needs && (!isLater || r.IsCertain()) && from.InSync() && !from.External {
			return NeededByOther, from.Key
		}
	}
	return RightPhase, object.ID{}
}

// stranger returns a program of a Job's namespace that may wait for the Job although nothing
// shows it, or -1: one that the Job does not need itself. A test is for what runs already, and a
// Job that never tries again must not start before what it needs.
func (d *decider) stranger(job int) int {
	j := &d.moved.Nodes[job]
	if j.Role == knowledge.Smokes || j.Get("spec", "backoffLimit").Text() == "0" {
		return -1
	}
	needed := digraph.Reachable([]int{job}, func(n int) (all []int) {
		for _, r := range d.from[n] {
			if r.Need == graph.Needs {
				all = append(all, r.To)
			}
		}
		return all
	})
	for n := range d.moved.Nodes {
		node := &d.moved.Nodes[n]
		if node.Serves() && !node.Store && !node.Kind.EveryNode && node.InSync() && !node.External &&
			node.Key.Namespace == j.Key.Namespace && !needed[n] {
			return n
		}
	}
	return -1
}

// counts reports whether a reference of a hook that runs before the chart is a need. Helm
// runs it before everything, so it works without the programs of the chart that texts seem
// to name; stores are different, because addresses of stores are there to be used. An
// upgrade finds programs running.
func (d *decider) counts(i int, r *graph.Reference) bool {
	to := &d.moved.Nodes[r.To]
	switch {
	case to.External, r.IsAboutNamespace(), len(to.Phases()) == 0:
		return false // it is there before, or Argo CD moves it
	case d.all[i].Events.IsUpgradeOnly() && r.Need == graph.Needs:
		return true
	case to.Store:
		return r.Need == graph.Needs || !d.hasPermissions(d.node[i]) && !d.all[i].looks
	}
	return r.Need == graph.Needs && (!r.Inferred() || r.Sign == graph.Try)
}

// hasPermissions reports whether a Job has permissions of its own: it works with the API
// server, and hardly with the stores beside it.
func (d *decider) hasPermissions(n int) bool {
	return slices.ContainsFunc(d.from[n], func(r *graph.Reference) bool {
		return r.Need == graph.Needs && d.moved.Nodes[r.To].Kind.Permissions == "binding"
	})
}

// whySupportMoves returns why an object that is there for others cannot stay: it is also for
// ordinary objects, or the first hook that uses it is one of the Sync phase.
func (d *decider) whySupportMoves(i int) (Cause, object.ID) {
	first := object.PostDelete
	for _, user := range d.usersOf(d.node[i]) {
		n := &d.moved.Nodes[user]
		if isTask := d.of[user] >= 0 && d.all[d.of[user]].isTask(); !isTask && (!n.IsHook() || n.Kind.Runs != "once") {
			return NotAJob, n.Key
		}
		if p := d.phase(user); p.Order() < first.Order() {
			first = p
		}
	}
	if first != object.Sync && first != object.PostDelete && d.all[i].Phases[0].Order() <= first.Order() {
		return RightPhase, object.ID{}
	}
	return NotAJob, object.ID{}
}

// usersOf returns the nodes for which an object is there, also through others of its sort.
func (d *decider) usersOf(n int) (users []int) {
	reached := digraph.Reachable([]int{n}, func(n int) (referrers []int) {
		if !d.isSupport(n) {
			return nil
		}
		for _, r := range d.to[n] {
			if r.Sign > graph.Companion && len(d.moved.Nodes[r.From].Phases()) > 0 {
				referrers = append(referrers, r.From)
			}
		}
		return referrers
	})
	for user := range reached {
		if !d.isSupport(user) {
			users = append(users, user)
		}
	}
	slices.Sort(users)
	return users
}

// goWithJobs makes Sync hooks of the objects that go when their Jobs have succeeded, so that
// what was granted for a while is not granted for ever.
func (d *decider) goWithJobs() {
	for i := range d.all {
		h := &d.all[i]
		if h.Form != Ordinary || !slices.Contains(h.before.DeletePolicies(), object.HookSucceeded) {
			continue
		}
		users := d.usersOf(d.node[i])
		isJob := func(user int) bool { return d.moved.Nodes[user].IsHook() && d.moved.Nodes[user].Kind.Runs == "once" }
		if d.isSupport(d.node[i]) && len(users) > 0 && !slices.ContainsFunc(users, func(u int) bool { return !isJob(u) }) {
			h.Form, h.Cause = SyncHook, OfJobs
			continue
		}
		h.outlives = true
	}
}

// decisions returns an open decision for each Helm hook of a sync: every one moves. Those
// whose name does not tell them apart stay, and repetitions of ordinary objects are dropped.
func decisions(objs []object.Object, base *knowledge.Base, opt Options) ([]Decision, error) {
	f, findings := facts.New([]facts.Part{{Objects: objs, Namespace: opt.Graph.Namespace}}, base,
		facts.Options{IsExternal: opt.Graph.IsExternal})
	if err := finding.Err(findings); err != nil {
		return nil, err
	}
	var all []Decision
	for i := range f.Nodes {
		n := &f.Nodes[i]
		events, ok := n.HelmEvents()
		if !ok || n.External {
			continue
		}
		d := Decision{Key: n.Key, Events: events, Phases: n.Phases(), before: n.Object, kind: n.Kind}
		d.Weight, _ = n.Wave()
		d.Form, d.Cause = Ordinary, NotAJob
		if d.runsOnce() || len(events.Delete) > 0 {
			d.Form = SyncHook
		}
		d.isHome = n.Key.Kind == "Namespace" && n.Key.Group == "" && slices.ContainsFunc(f.Nodes, func(in facts.Node) bool {
			return in.Key.Namespace == n.Key.Name && (in.Kind.Recreated.Kept || len(in.Get("spec", "volumeClaimTemplates").Items()) > 0)
		})
		if d.runsOnce() {
			commands := f.CommandLines(i)
			d.looks = f.OnlyLooks(i)
			for _, command := range commands {
				d.risk = cmp.Or(d.risk, base.Risk(command))
			}
		}
		switch named := f.ByKey(n.Key); {
		case slices.ContainsFunc(named, func(j int) bool { return j != i && !f.Nodes[j].IsHook() }):
			d.Form, d.Cause = Dropped, Repeats
		case len(named) > 1, n.Generated && !d.runsOnce():
			d.Form, d.Cause = Stays, Ambiguous
		case f.Incompletion(i).Why != "":
			d.Form, d.Cause = Stays, Endless
		case opt.varies(&d):
			d.Form, d.Cause = Stays, Varies
		}
		all = append(all, d)
	}
	return all, nil
}

// varies reports whether the content of a hook differs on every rendering, as far as its
// template shows.
func (opt Options) varies(d *Decision) bool {
	return slices.Contains(opt.Drawn, d.before.File) && d.holdsSecrets()
}

// holdsSecrets reports whether an object is of a kind for which templates draw values: keys,
// certificates and passwords are in Secrets, and certificates also in what trusts them.
func (d *Decision) holdsSecrets() bool {
	return d.Key.Kind == "Secret" && d.Key.Group == "" || !d.kind.Admits.IsZero() || !d.kind.CA.IsZero()
}
