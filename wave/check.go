package wave

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Check plays the sync of a plan, phase by phase and wave by wave, and returns
// a finding for each object that could not be applied or become healthy with
// what is there by then. Those of severity Error stop a first sync for certain.
// Of an order that Assign computed alone it finds nothing but gates that the
// cluster may keep shut; the rest comes from waves that an author wrote, and
// from hooks that need what a later phase brings.
func (p *Plan) Check(base *knowledge.Base) []finding.Finding {
	s := &sync{Plan: p, base: base}
	s.schedule()
	s.readNeeds()
	for i, n := range p.Graph.Nodes {
		if n.Elsewhere {
			continue
		}
		s.hookTypes(i)
		s.play(i)
		s.claim(i)
		s.doubt(i)
		s.early(i)
	}
	s.idleGates()
	finding.Sort(s.found)
	return s.found
}

// sync is a sync as Argo CD runs it.
type sync struct {
	*Plan
	base  *knowledge.Base
	at    []moment
	needs [][]*graph.Reference // by node: what it needs to start or be accepted
	users [][]*graph.Reference
	// final is the last moment, and hooked whether there is a hook in it.
	final  moment
	hooked bool
	found  []finding.Finding
}

// moment is when an object is applied: a phase and a wave in it.
type moment struct {
	phase object.Phase
	wave  int
}

// never is the moment of what Argo CD does not apply in a sync.
var never = moment{object.PostDelete, math.MaxInt}

func (m moment) compare(o moment) int {
	return cmp.Or(cmp.Compare(m.phase.Order(), o.phase.Order()), cmp.Compare(m.wave, o.wave))
}

func (m moment) String() string {
	switch {
	case m == never:
		return "never in a sync"
	case m.phase == object.Sync:
		return fmt.Sprintf("in wave %d", m.wave)
	}
	return fmt.Sprintf("in phase %s, wave %d", m.phase, m.wave)
}

// schedule finds when each object is applied. Argo CD moves namespaces and
// definitions to the moment of their first user if that is earlier
// (gitops-engine pkg/sync/sync_tasks.go, adjustDeps).
func (s *sync) schedule() {
	nodes := s.Graph.Nodes
	s.at = make([]moment, len(nodes))
	for i := range nodes {
		s.at[i] = never
		if nodes[i].Elsewhere {
			s.at[i] = moment{object.PreSync, math.MinInt} // before all that comes here
			continue
		}
		if phases := nodes[i].Phases(); len(phases) > 0 && phases[0].Order() <= object.PostSync.Order() {
			s.at[i] = moment{phases[0], s.Places[i].Wave}
		}
	}
	for i := range s.Graph.References {
		r := &s.Graph.References[i]
		if s.pulledForward(r) && s.at[r.From].compare(s.at[r.To]) < 0 {
			s.at[r.To] = s.at[r.From]
		}
	}
	s.final = moment{object.PreSync, math.MinInt}
	for i := range nodes {
		if s.at[i] != never && s.at[i].compare(s.final) > 0 {
			s.final = s.at[i]
		}
	}
	for i, n := range nodes {
		s.hooked = s.hooked || s.at[i] == s.final && (n.IsHook() || s.opt.Jobs == AsHooks && changesFail(&s.Graph.Nodes[i]))
	}
}

// pulledForward reports whether Argo CD itself sees to it that the target of a
// reference is there first.
func (s *sync) pulledForward(r *graph.Reference) bool {
	to := s.Graph.Nodes[r.To]
	return s.base.Builtin(to.Key.Group) && len(to.Kind.Defines) > 0 && r.IsAboutKind() || to.Key.Kind == "Namespace" && to.Key.Group == "" && r.IsAboutNamespace()
}

// readNeeds collects the references without whose target an object cannot be
// accepted, or not become healthy. A webhook configuration is accepted whoever
// serves it.
func (s *sync) readNeeds() {
	s.needs = make([][]*graph.Reference, len(s.at))
	s.users = make([][]*graph.Reference, len(s.at))
	for i := range s.Graph.References {
		r := &s.Graph.References[i]
		if !s.needed(r) {
			continue
		}
		s.needs[r.From] = append(s.needs[r.From], r)
		s.users[r.To] = append(s.users[r.To], r)
	}
}

// hookTypes reports types of hooks that nobody knows.
func (s *sync) hookTypes(i int) {
	for _, name := range s.Graph.Nodes[i].UnknownHooks() {
		effect := "which Argo CD ignores"
		if len(s.Graph.Nodes[i].Phases()) == 0 {
			effect = "so that Argo CD never applies it"
		}
		s.report(i, finding.Warning, "unknown-hook", object.ShownHook(name)+" is not a hook type, "+effect,
			"use PreSync, Sync, PostSync or SyncFail, or a hook type of Helm such as pre-install")
	}
}

// needed reports whether the object of a reference cannot be accepted, or not
// become healthy, without the target.
func (s *sync) needed(r *graph.Reference) bool {
	from, to := &s.Graph.Nodes[r.From], &s.Graph.Nodes[r.To]
	switch {
	case r.Optional, r.Explicit, runsLater(from, r):
		return false
	case r.Sign == graph.Registration:
		return false // it saves an attempt, and is not needed
	case !from.Kind.Admits.IsZero():
		return r.Hard
	case to.Kind.Rights == "binding" && from.Role != knowledge.Controllers:
		return false // most Pods have rights that they do not need to start
	}
	switch r.Meaning {
	case knowledge.Healthy:
		return true
	case knowledge.Exists:
		return !r.Inferred
	case knowledge.With:
		return from.HasHealth
	}
	return false
}

// play reports what stops an object at the moment it is applied.
func (s *sync) play(i int) {
	n, at := s.Graph.Nodes[i], s.at[i]
	if at == never {
		return
	}
	for _, r := range s.needs[i] {
		to := s.at[r.To]
		switch {
		case s.pulledForward(r) && to != never:
		case to.compare(at) > 0:
			s.late(i, r, nil)
		case to == at && r.Meaning == knowledge.Healthy && (r.Hard && !r.Inferred || r.Refused) && s.yielded[*r] == "":
			s.report(i, finding.Warning, "unawaited", fmt.Sprintf("%s it %s %s, which is in the same wave, so Argo CD does not wait for it", at, r.Why, s.name(r.To)),
				"give it a later wave, or let Ladder compute both")
		}
	}
	if !n.HasHealth || !s.awaited(at) {
		return
	}
	// What it needs may itself have no health that anybody waits for, but wait
	// for something later all the same.
	seen := map[int]bool{i: true}
	var through func(j int, chain []*graph.Reference)
	through = func(j int, chain []*graph.Reference) {
		for _, r := range s.needs[j] {
			if seen[r.To] || r.Inferred {
				continue
			}
			seen[r.To] = true
			if s.at[r.To].compare(at) > 0 {
				if j != i && !s.pulledForward(r) {
					s.late(i, r, chain)
				}
				continue
			}
			if r.Meaning == knowledge.Healthy && !s.Graph.Nodes[r.To].HasHealth {
				through(r.To, append(slices.Clone(chain), r))
			}
		}
	}
	through(i, nil)
}

// Late is the rule of what needs something that comes later.
const Late = "late"

// late reports that a node needs what comes later, over a chain of others.
func (s *sync) late(i int, r *graph.Reference, chain []*graph.Reference) {
	n, at, to := s.Graph.Nodes[i], s.at[i], s.at[r.To]
	path := ""
	for _, c := range append(chain, r) {
		if path != "" {
			path += ", which "
		}
		path += c.Why + " " + s.name(c.To)
		if c.Because != "" {
			path += " (" + c.Because + ")"
		}
	}
	when := "which comes " + to.String()
	if to.phase != at.phase && to.phase == object.Sync {
		when += " of phase " + string(to.phase)
	}
	severity := finding.Error
	waits := ", only after this is healthy"
	switch {
	case to == never:
		when, waits = "which Argo CD never applies in a sync", ""
	case r.Hard && r.Unless != "":
		severity, waits = finding.Warning, ", so that the API server refuses it unless "+r.Unless
	case r.Hard:
		waits = ", so that the API server refuses it or its Pods"
	case r.Refused && !r.Inferred && (r.IsAboutKind() || r.IsAboutNamespace()): // of this object itself, not of what it deploys
		waits = ", so that the API server refuses it"
	case !n.HasHealth || !s.awaited(at):
		severity, waits = finding.Warning, ""
	}
	if r.Inferred { // a sign, and no proof
		severity = finding.Warning
	}
	rule, remedy := Late, "correct the sync-wave of one of the two, or let Ladder compute both"
	if to.phase != at.phase || to == never {
		rule = "other-phase"
		remedy = fmt.Sprintf("make this one a Sync hook (%s: Sync)", object.Hook)
		if s.Graph.Nodes[r.To].Kind.Waited() {
			remedy += ", or deploy the other from an earlier Application"
		} else {
			remedy += ", or the other a hook of the same phase"
		}
	}
	s.report(i, severity, rule, fmt.Sprintf("%s it %s, %s%s", at, path, when, waits), remedy)
}

// claim reports a claim in a wave before its first consumer: a volume of a
// class that waits for the first consumer is bound only then.
func (s *sync) claim(i int) {
	if s.Graph.Nodes[i].Kind.Place != knowledge.WithConsumer || s.at[i] == never || !s.awaited(s.at[i]) || len(s.users[i]) == 0 || s.boundAtOnce(i) {
		return
	}
	first := s.users[i][0].From
	for _, r := range s.users[i] {
		if s.at[r.From].compare(s.at[first]) < 0 {
			first = r.From
		}
	}
	if s.at[first].compare(s.at[i]) <= 0 {
		return
	}
	severity, unless, remedy := finding.Error, "", "put it into the wave of "+s.name(first)+", or let Ladder compute both"
	class := s.foreignClass(i)
	if class != (object.ID{}) {
		severity, unless = finding.Warning, fmt.Sprintf(", unless %s binds immediately", class)
	}
	s.report(i, severity, Late, fmt.Sprintf("%s it waits for a Pod of %s, which Argo CD applies %s, only after this is healthy%s", s.at[i], s.name(first), s.at[first], unless), remedy)
	if class != (object.ID{}) {
		s.found[len(s.found)-1].Missing = class.String()
	}
}

// classField is where a claim names its class.
const classField = "spec.storageClassName"

// foreignClass is the class that a claim names and that is not in the component; zero if
// there is none.
func (s *sync) foreignClass(i int) object.ID {
	n := &s.Graph.Nodes[i]
	name := n.Get("spec", "storageClassName").Text()
	for _, r := range n.Kind.References {
		if r.At.String() == classField && name != "" && len(s.classes(i)) == 0 {
			return object.ID{Group: r.To[0].Group, Kind: r.To[0].Kind, Name: name}
		}
	}
	return object.ID{}
}

// boundAtOnce reports whether a claim does not wait for a consumer: it names its
// volume, wants one without a class, or its class is in the component and binds
// immediately.
func (s *sync) boundAtOnce(i int) bool {
	spec := s.Graph.Nodes[i].Get("spec")
	if class := spec.Get("storageClassName"); spec.Get("volumeName").Text() != "" || class.IsText() && class.Text() == "" {
		return true
	}
	return slices.ContainsFunc(s.classes(i), func(class int) bool { return BindsAtOnce(s.Graph.Nodes[class].Object) })
}

// classes are those of a claim that are in the component: the one it names, or the
// cluster's default.
func (s *sync) classes(i int) []int {
	var all []int
	for _, r := range s.Graph.References {
		if r.From == i && !s.Graph.Nodes[r.To].Kind.Provider.IsZero() {
			all = append(all, r.To)
		}
	}
	if s.Graph.Nodes[i].Get("spec", "storageClassName").Exists() {
		return all
	}
	for class := range s.Graph.Nodes {
		if n := &s.Graph.Nodes[class]; !n.Kind.Provider.IsZero() && n.Get("metadata", "annotations", "storageclass.kubernetes.io/is-default-class").Text() == "true" {
			all = append(all, class)
		}
	}
	return all
}

// BindsAtOnce reports whether claims of a StorageClass wait for no Pod that uses them.
func BindsAtOnce(class object.Object) bool {
	mode := class.Get("volumeBindingMode").Text()
	return mode == "" || mode == "Immediate"
}

// doubt reports an object that others wait for although it may never be
// healthy, or fail the sync on its way there.
func (s *sync) doubt(i int) {
	n := s.Graph.Nodes[i]
	doubt := cmp.Or(n.Waits.Uncertain(), n.Passes)
	if !n.HasHealth || doubt == "" || s.at[i].phase != object.Sync || !s.awaited(s.at[i]) {
		return
	}
	if n.Kind.Place == knowledge.WithConsumer && (len(s.users[i]) > 0 || s.boundAtOnce(i)) {
		return // claim sees to it
	}
	s.report(i, finding.Warning, "doubtful-gate", fmt.Sprintf("the sync waits for wave %d and so for it, but %s", s.at[i].wave, doubt),
		"set a retry in the Application's syncPolicy, or a health override for "+n.Key.GroupKind())
}

// early reports an object that is healthy before what it deploys is, where a later wave
// seems to wait for that.
func (s *sync) early(i int) {
	n := s.Graph.Nodes[i]
	if n.Waits.Early == "" || s.at[i].phase != object.Sync || !s.awaited(s.at[i]) {
		return
	}
	s.report(i, finding.Warning, "early-health", fmt.Sprintf("the sync continues after wave %d as soon as %s", s.at[i].wave, n.Waits.Early), n.Waits.EarlyFix)
}

// GateWithoutCustomer is the rule of waits that buy nothing.
const GateWithoutCustomer = "gate-without-customer"

// idleGates reports waves that Argo CD waits for although nothing later needs all
// of it healthy: each object in them that needs more than its manifest shows can
// stop the sync, and nothing is won by the wait.
func (s *sync) idleGates() {
	justified := s.justified()
	stopped := map[string]bool{} // objects with findings that say more
	for _, f := range s.found {
		stopped[f.Object] = stopped[f.Object] || f.Severity == finding.Error || f.Missing != ""
	}
	idle := map[moment][]int{}
	hooks := map[moment]bool{}
	last := never
	for i := range s.at {
		if s.at[i].phase == object.Sync && (last == never || s.at[i].compare(last) > 0) {
			last = s.at[i] // what comes behind it, Argo CD waits for in any order
		}
	}
	for i, n := range s.Graph.Nodes {
		hooks[s.at[i]] = hooks[s.at[i]] || n.IsHook() || s.opt.Jobs == AsHooks && changesFail(&s.Graph.Nodes[i])
		if m := s.at[i]; n.HasHealth && n.Waits.Early == "" && !n.Elsewhere && m.phase == object.Sync && m != last && !justified[i] && !isDefinition(&n, s.base) && !stopped[n.Key.String()] {
			idle[m] = append(idle[m], i)
		}
	}
	for m, nodes := range idle {
		if hooks[m] {
			continue // Argo CD waits for the hook in any order
		}
		what := s.name(nodes[0])
		if len(nodes) > 1 {
			what = fmt.Sprintf("%s and %d more", what, len(nodes)-1)
		}
		s.report(nodes[0], finding.Note, GateWithoutCustomer, fmt.Sprintf("Argo CD waits for %s in wave %d, although no later object depends on that; the sync hangs if one of them depends on a later object in a way that no manifest shows", what, m.wave),
			"move it to the last wave, or let Ladder compute the waves")
	}
}

// justified are the nodes that a later object needs healthy, and what these need.
func (s *sync) justified() []bool {
	needs := make([][]int, len(s.at))
	behind := s.beforeSmokes()
	for _, c := range s.byDefault(s.base) {
		needs[c.from] = append(needs[c.from], c.to)
		if c.ref.Meaning == knowledge.With {
			needs[c.to] = append(needs[c.to], c.from) // the two stand together
		}
		if c.gap > 0 && s.at[c.from].compare(s.at[c.to]) > 0 {
			behind = append(behind, c.to)
		}
	}
	for i := range s.Graph.Nodes {
		if s.Places[i].Rung.Gates {
			behind = append(behind, i)
		}
	}
	return withNeeds(behind, needs)
}

// beforeSmokes are the nodes of the last wave with health before each smoke.
func (s *sync) beforeSmokes() []int {
	waves := map[moment][]int{}
	smokes := map[moment]bool{}
	for i, n := range s.Graph.Nodes {
		if m := s.at[i]; m.phase == object.Sync && n.HasHealth {
			waves[m] = append(waves[m], i)
			smokes[m] = smokes[m] || n.Role == knowledge.Smokes
		}
	}
	order := slices.SortedFunc(maps.Keys(waves), moment.compare)
	var all []int
	for at := 1; at < len(order); at++ {
		if smokes[order[at]] {
			all = append(all, waves[order[at-1]]...)
		}
	}
	return all
}

// awaited reports whether Argo CD waits for what was applied at a moment:
// because something comes after it, or a hook was among it (gitops-engine
// pkg/sync/sync_context.go).
func (s *sync) awaited(m moment) bool { return s.final.compare(m) > 0 || m == s.final && s.hooked }

func (s *sync) report(i int, severity finding.Severity, rule, message, remedy string) {
	n := s.Graph.Nodes[i]
	s.found = append(s.found, finding.Finding{Severity: severity, Rule: rule, File: n.File, Line: n.Line, Object: n.Key.String(), Message: message, Remedy: remedy})
}
