package hooks

import (
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/graph/facts"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// helmSource describes the order of hooks.
const helmSource = "https://helm.sh/docs/topics/charts_hooks/"

// Order returns the graph of the taken objects with what remains of Helm's order: what moved
// comes before or after the chart as its events say, and after hooks of a lower weight. Each
// such reference yields to every need, and says no more than that.
func (t Taken) Order(g *graph.Graph) *graph.Graph {
	o := t.newOrdering(g)
	o.setAsideCalls()
	refs := slices.Concat(o.byWeight(), o.beforeChart(), o.afterChart())
	ordered := g.Without(o.aside).With(refs, o.earlyJobs())
	ordered.Findings = append(t.without(ordered.Findings), t.findings()...)
	for n, d := range o.hooks {
		ordered.Nodes[n].Was = d.Was()
	}
	return ordered
}

// ordering finds the references.
type ordering struct {
	g *graph.Graph
	// hooks are the decisions about hooks that moved, by node; nodes are these nodes, in
	// order.
	hooks map[int]*Decision
	nodes []int
	aside []graph.SetAside
	// leads returns the nodes that a node needs or may need, also through others.
	leads func(int) map[int]bool
	// leadsSurely is the same without the weak references of a Job itself.
	leadsSurely func(int) map[int]bool
}

func (t Taken) newOrdering(g *graph.Graph) *ordering {
	o := &ordering{g: g, hooks: map[int]*Decision{}}
	byObject := map[object.Object]*Decision{}
	for i := range t.Decisions {
		if d := &t.Decisions[i]; d.moves() {
			byObject[d.After] = d
		}
	}
	for n := range g.Nodes {
		if d := byObject[g.Nodes[n].Object]; d != nil {
			o.hooks[n], o.nodes = d, append(o.nodes, n)
		}
	}
	o.leads = o.reach(func(*graph.Reference) bool { return false })
	o.leadsSurely = o.reach(o.isWeak)
	return o
}

// reach returns a function for the nodes to which a node leads, without some of its own
// references.
func (o *ordering) reach(leavesOut func(*graph.Reference) bool) func(int) map[int]bool {
	needs := map[int][]*graph.Reference{}
	for at := range o.g.References {
		// That a Job merely stands beside a program says less than its event.
		if r := &o.g.References[at]; r.Need != graph.NeedsNot && (r.Sign != graph.Beside || o.g.Nodes[r.To].Kind.Runs != "once") {
			needs[r.From] = append(needs[r.From], r)
		}
	}
	known := map[int]map[int]bool{}
	return func(n int) map[int]bool {
		if known[n] == nil {
			known[n] = digraph.Reachable([]int{n}, func(from int) (all []int) {
				for _, r := range needs[from] {
					if from != n || !o.isIdleCall(r) && !leavesOut(r) {
						all = append(all, r.To)
					}
				}
				return all
			})
		}
		return known[n]
	}
}

// isWeak reports whether a reference only shows that a Job may need another one, or a word that may
// name something: it says less than the weights of hooks. A store beside it says more.
func (o *ordering) isWeak(r *graph.Reference) bool {
	return r.Need == graph.MayNeed && r.Until == graph.Together && r.Sign <= graph.Image &&
		o.g.Nodes[r.From].Kind.Runs == "once" && (o.g.Nodes[r.To].Kind.Runs == "once" || r.Sign == graph.Word)
}

// isIdleCall reports whether a reference only seems to say that a hook, which Helm runs before
// it installs the chart, needs a program of the chart.
func (o *ordering) isIdleCall(r *graph.Reference) bool {
	to := &o.g.Nodes[r.To]
	if !o.isFirst(r.From) || o.hooks[r.To] != nil || !to.Serves() {
		return false
	}
	return !to.Store && r.Inferred() && r.Sign != graph.Try || r.Sign == graph.Beside && o.preparesVolume(r.From, r.To)
}

// setAsideCalls collects the calls that Helm shows to be none.
func (o *ordering) setAsideCalls() {
	for at := range o.g.References {
		if r := &o.g.References[at]; o.isIdleCall(r) {
			o.aside = append(o.aside, graph.SetAside{Reference: *r, By: o.after(r.To, r.From)})
		}
	}
}

// acts reports whether the order of a hook among others may matter: it is more than
// configuration.
func (o *ordering) acts(n int) bool {
	node := &o.g.Nodes[n]
	return !node.Kind.Pod.IsZero() && node.Kind.Runs != "later" || node.HasHealth && node.Kind.Placement == "" || !node.Kind.Admits.IsZero()
}

// isWorkload reports whether Pods run for an object that is no Job.
func (o *ordering) isWorkload(n int) bool {
	node := &o.g.Nodes[n]
	return node.Serves() || node.Kind.Pod.IsZero() && node.Kind.Rung == knowledge.Workloads && node.HasHealth &&
		node.Kind.Placement == "" && node.Kind.Selects.IsZero()
}

// after returns the reference by which Helm applies one object after another. It waits for
// Jobs and Pods, and for nothing else.
func (o *ordering) after(from, to int) graph.Reference {
	r := graph.Reference{From: from, To: to, Field: facts.AnnotationField(object.HelmHook), Need: graph.MayNeed,
		Sign: graph.HelmOrder, Why: "is applied by Helm after", Source: helmSource}
	if o.g.Nodes[to].Kind.Runs == "once" {
		r.Need, r.Until, r.Fails = graph.Needs, graph.Healthy, graph.WrongData
	}
	return r
}

// isFirst reports whether a node is a Job that Helm runs before it installs the chart. It
// neither configures nor tests the chart, whatever its name and its variables say.
func (o *ordering) isFirst(n int) bool {
	d := o.hooks[n]
	return d != nil && d.runsOnce() && d.Events.IsBefore() && !d.Events.IsUpgradeOnly()
}

// earlyJobs takes the roles of later Jobs from those that Helm runs first.
func (o *ordering) earlyJobs() map[int]graph.Role {
	roles := map[int]graph.Role{}
	for _, n := range o.nodes {
		if o.isFirst(n) && slices.Contains([]string{knowledge.Bootstraps, knowledge.Smokes}, o.g.Nodes[n].Role) {
			roles[n] = graph.Role{}
		}
	}
	return roles
}

// isInstalledBy reports whether one Job, which Helm runs only when it installs the chart, makes
// what another Job of the same program changes at every upgrade, whose side comes first: without
// it, the other one has nothing to upgrade.
func (o *ordering) isInstalledBy(first, then int) bool {
	x, y := o.hooks[first], o.hooks[then]
	if !x.runsOnce() || !y.runsOnce() || !x.Events.IsInstallOnly() || !y.Events.IsUpgradeOnly() || !o.isAwaited(first) {
		return false
	}
	return slices.ContainsFunc(o.imagesOf(first), func(image string) bool {
		return slices.ContainsFunc(o.imagesOf(then), func(other string) bool { return knowledge.SameRepository(image, other) })
	})
}

// imagesOf returns the images of a Job's containers.
func (o *ordering) imagesOf(job int) (images []string) {
	for _, c := range o.g.Nodes[job].Get("spec", "template", "spec", "containers").Items() {
		images = append(images, c.Get("image").Text())
	}
	return images
}

// byWeight orders the hooks of one side of the chart: those of a lower weight come first. A
// hook on both sides counts as one after the chart, as at the first sync.
func (o *ordering) byWeight() (refs []graph.Reference) {
	for _, first := range o.nodes {
		for _, then := range o.nodes {
			x, y := o.hooks[first], o.hooks[then]
			sameSide := x.Events.IsBefore() == y.Events.IsBefore()
			isEarlier := (sameSide && x.Weight < y.Weight || x.Events.IsBefore() && !y.Events.IsBefore()) &&
				!o.isInstalledBy(then, first) || o.isInstalledBy(first, then)
			if isEarlier && o.acts(first) && o.acts(then) && !o.leadsSurely(first)[then] {
				refs = append(refs, o.after(then, first))
				o.setAsideWeak(first, then)
			}
		}
	}
	return refs
}

// setAsideWeak collects what only seems to say that a hook needs one of a higher weight, or that
// any Job needs one that comes after the migration of a program.
func (o *ordering) setAsideWeak(first, then int) {
	for at := range o.g.References {
		r := &o.g.References[at]
		leadsBack := r.From == first && (r.To == then || o.g.Nodes[r.To].Kind.Runs != "once" && o.leads(r.To)[then])
		isKnown := func(a graph.SetAside) bool { return a.Reference == *r }
		if o.isWeak(r) && (leadsBack || r.To == then && o.hooks[r.From] != nil && o.isAwaited(first)) && !slices.ContainsFunc(o.aside, isKnown) {
			o.aside = append(o.aside, graph.SetAside{Reference: *r, By: o.after(then, first)})
		}
	}
}

// beforeChart puts the Jobs that Helm runs before the chart before its workloads, except those
// that they need. A test before an upgrade tests what runs, and comes last.
func (o *ordering) beforeChart() (refs []graph.Reference) {
	for _, job := range o.nodes {
		d := o.hooks[job]
		isTest := o.g.Nodes[job].Role == knowledge.Smokes && !o.isFirst(job)
		if !d.runsOnce() || !d.Events.IsBefore() || isTest {
			continue
		}
		for n := range o.g.Nodes {
			if node := &o.g.Nodes[n]; o.hooks[n] == nil && o.isWorkload(n) && node.InSync() && !node.External && !o.leads(job)[n] {
				refs = append(refs, o.after(n, job))
			}
		}
	}
	return refs
}

// preparesVolume reports whether a Job writes into a volume of a workload before that starts: both
// use one PVC, and only that they stand side by side says that the Job may need the workload.
func (o *ordering) preparesVolume(job, workload int) bool {
	uses := map[[2]int]bool{}
	shared := false
	for at := range o.g.References {
		switch r := &o.g.References[at]; {
		case r.From == job && r.To == workload && r.Sign != graph.Beside:
			return false
		case o.g.Nodes[r.To].Kind.Placement != knowledge.WithConsumer:
		case r.From == job || r.From == workload:
			uses[[2]int{r.From, r.To}] = true
			shared = shared || uses[[2]int{job + workload - r.From, r.To}]
		}
	}
	return shared
}

// isAwaited reports whether something waits for a Job.
func (o *ordering) isAwaited(job int) bool {
	return slices.ContainsFunc(o.g.References, func(r graph.Reference) bool {
		return r.To == job && r.Need == graph.Needs && r.Until == graph.Healthy && o.hooks[r.From] == nil
	})
}

// afterChart puts the Jobs that Helm runs after the chart after its workloads or beside them,
// except before those that need the Job: Helm waits for none of them.
func (o *ordering) afterChart() (refs []graph.Reference) {
	for _, job := range o.nodes {
		if d := o.hooks[job]; !d.runsOnce() || d.Events.IsBefore() || o.isAwaited(job) {
			continue
		}
		for n := range o.g.Nodes {
			if node := &o.g.Nodes[n]; o.hooks[n] == nil && o.isWorkload(n) && node.InSync() && !node.External &&
				!o.leads(n)[job] && !o.leads(job)[n] {
				refs = append(refs, o.after(job, n))
			}
		}
	}
	return refs
}
