package wave

import (
	"cmp"
	"fmt"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/digraph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// doubtfulGate reports an awaited object that may never become healthy, or may fail the
// sync.
func (s *simulation) doubtfulGate(i int) []finding.Finding {
	n := s.Graph.Nodes[i]
	doubt := cmp.Or(n.Health.Uncertain(), n.TemporarilyDegraded)
	isPossible, severity := doubt == "" && n.NeverFix != "", finding.Warning
	if isPossible {
		doubt, severity = n.Doubt, finding.Note
	}
	if (n.Idle || n.NeverFix != "") && n.IsHook() && n.HasHealth && n.Kind.Runs == "once" && s.at[i].phase != object.Sync && s.at[i] != never {
		effect, remedy := ", so the sync waits until somebody resumes it", "set spec.suspend to false, or remove its hook annotations"
		if !n.Idle {
			effect, remedy = ", and then the sync hangs", n.NeverFix
		}
		return []finding.Finding{s.finding(i, severity, "doubtful-gate",
			fmt.Sprintf("Argo CD waits for this hook %s, but %s%s", s.at[i], doubt, effect), remedy)}
	}
	if !n.HasHealth || doubt == "" || s.at[i].phase != object.Sync || !s.awaited(s.at[i]) || !s.awaits(i) && n.Health.Never != "" {
		return nil
	}
	if n.Kind.Placement == knowledge.WithConsumer && (len(s.users[i]) > 0 || s.isConsumed(i)) {
		return nil // latePVC reports consumers that are later
	}
	effect, remedy := "", "set a retry in the Application's syncPolicy, or a custom health check for "+n.Key.GroupKind()
	if n.Health.Never != "" { // a retry starts only after a sync that failed, and this one does not end
		effect, remedy = ", and then the sync hangs", "set a custom health check for "+n.Key.GroupKind()
		if s.final.phase == object.Sync { // hooks of later phases wait for every wave
			remedy = s.notAwaited(i) + ", or " + remedy
		}
		if n.NeverFix != "" {
			effect, remedy = ", and then the sync hangs or fails", n.NeverFix
		}
	}
	if n.Kind.Status != nil && n.Health.TemporarilyDegraded != "" {
		remedy = "apply the health check that cmp health prints, or set a retry in the Application's syncPolicy"
	}
	message := fmt.Sprintf("Argo CD waits for this object in wave %d, but %s%s", s.at[i].wave, doubt, effect)
	if !s.awaits(i) {
		message = fmt.Sprintf("while Argo CD waits for the hooks in wave %d, the sync fails if this object is Degraded: %s", s.at[i].wave, doubt)
	}
	if isPossible {
		remedy = n.NeverFix
	}
	if s.final.phase != object.Sync && (n.Kind.Rung == knowledge.Exposure || !n.Kind.Selects.IsZero()) {
		severity = finding.Note // a hook after any order waits for it, and most clusters give it an address
	}
	return []finding.Finding{s.finding(i, severity, "doubtful-gate", message, remedy)}
}

// earlyHealth reports an object that is healthy before the objects it deploys, where a
// later wave seems to wait for those.
func (s *simulation) earlyHealth(i int) []finding.Finding {
	n := s.Graph.Nodes[i]
	if n.Health.Early == "" || s.at[i].phase != object.Sync || !s.awaits(i) {
		return nil
	}
	return []finding.Finding{s.finding(i, finding.Warning, "blind-gate",
		fmt.Sprintf("the sync continues after wave %d as soon as %s", s.at[i].wave, n.Health.Early), n.Health.EarlyFix)}
}

// GateWithoutDependent is the rule for waits without an effect.
const GateWithoutDependent finding.Rule = "gate-without-dependent"

// unneededGates reports waves that Argo CD waits for although no later object needs any
// of their objects healthy. Such a wait can only stop the sync. It skips objects for which
// more specific findings exist.
func (s *simulation) unneededGates(specific []finding.Finding) []finding.Finding {
	justified := s.justified()
	reported := map[string]bool{} // objects with more specific findings
	for _, f := range specific {
		for _, name := range append(f.AlsoObjects(), f.Object) {
			reported[name] = reported[name] || f.Severity == finding.Error || f.Rule == Late || f.Missing != ""
		}
	}
	unneeded := map[moment][]int{}
	hooks, needed := map[moment]bool{}, map[moment]bool{}
	last := never
	for i := range s.at {
		if s.at[i].phase == object.Sync && (last == never || s.at[i].compare(last) > 0) {
			last = s.at[i] // Argo CD waits for this wave if anything follows it, in any order
		}
	}
	for i, n := range s.Graph.Nodes {
		hooks[s.at[i]] = hooks[s.at[i]] || s.opt.runsAsHook(&s.Graph.Nodes[i])
		needed[s.at[i]] = needed[s.at[i]] || n.HasHealth && justified[i]
		if m := s.at[i]; n.HasHealth && n.Health.Early == "" && !n.External && m.phase == object.Sync && m != last &&
			!justified[i] && n.NeverFix == "" && !isCRD(&n, s.base) && !reported[n.Key.String()] {
			unneeded[m] = append(unneeded[m], i)
		}
	}
	var found []finding.Finding
	for m, nodes := range unneeded {
		if hooks[m] || needed[m] {
			continue // Argo CD waits for the hook in any order, or for another object's sake
		}
		remedy := "move the object to the last wave"
		if _, set := s.Graph.Nodes[nodes[0]].Wave(); set {
			remedy += fmt.Sprintf(", or delete its %s annotation, so that Ladder computes the wave", object.SyncWave)
		}
		message := fmt.Sprintf("Argo CD waits for this object in wave %d, but no object in a later wave needs this wait; "+
			"if the object depends on a later one in a way that the manifests do not show, the sync hangs", m.wave)
		if len(nodes) > 1 {
			message = fmt.Sprintf("Argo CD waits for this object and %d more in wave %d, but no object in a later wave needs this wait; "+
				"if one of them depends on a later object in a way that the manifests do not show, the sync hangs", len(nodes)-1, m.wave)
		}
		found = append(found, s.finding(nodes[0], finding.Note, GateWithoutDependent, message, remedy))
	}
	return found
}

// justified marks the nodes that a later object needs healthy, and their
// dependencies.
func (s *simulation) justified() map[int]bool {
	dependencies := make([][]int, len(s.at))
	roots := s.beforeSmokes()
	for _, c := range s.defaultConstraints(s.base) {
		dependencies[c.dependent] = append(dependencies[c.dependent], c.dependency)
		if c.together() {
			dependencies[c.dependency] = append(dependencies[c.dependency], c.dependent) // the two share a wave
		}
		if c.gap > 0 && s.at[c.dependent].compare(s.at[c.dependency]) > 0 {
			roots = append(roots, c.dependency)
		}
	}
	for i := range s.Graph.Nodes {
		if s.Places[i].Rung.Gates {
			roots = append(roots, i)
		}
	}
	return digraph.Reachable(roots, func(i int) []int { return dependencies[i] })
}

// blindGates reports, once for each kind, that Argo CD does not wait for an object that a later one
// depends on.
func (s *simulation) blindGates() []finding.Finding {
	var found []finding.Finding
	noted := map[string]bool{}
	for i, n := range s.Graph.Nodes {
		kind, later := n.Key.GroupKind(), s.laterDependents(i)
		if n.External || noted[kind] || !s.IsBlind(i) {
			continue
		}
		noted[kind] = true
		lacks, remedy := "it has no health check for "+kind, "add the health check that cmp health prints"
		switch {
		case n.Kind.Later != "":
			lacks = fmt.Sprintf("Argo CD %s has no health check for %s", s.base.ArgoCD(), kind)
			remedy = UpgradeOrCopy(&n)
		case n.Kind.Status == nil:
			remedy = "describe the status of " + kind + " in a ladder.yaml, and add the health check that cmp health prints"
		}
		found = append(found, s.finding(i, finding.Warning, "blind-gate",
			fmt.Sprintf("Argo CD does not wait for this object, on which %s in wave %s depends, because %s",
				s.name(later[0].Node), s.waveText(later[0].Node), lacks), remedy))
	}
	return found
}

// UpgradeOrCopy says how to get the health check of a later Argo CD for the kind of a node.
func UpgradeOrCopy(n *graph.Node) string {
	return fmt.Sprintf("upgrade Argo CD to %s, or copy its check, which is below resource_customizations in its sources, "+
		"into argocd-cm as resource.customizations.health.%s_%s", n.Kind.Later, n.Key.Group, n.Key.Kind)
}

// OmittedGate is the rule for gates that are left out because of a doubt.
const OmittedGate finding.Rule = "omitted-gate"

// omittedGates reports the gates that are left out because of doubts: each pair of objects
// once, and all of one missing object together.
func (p *Plan) omittedGates() (found []finding.Finding) {
	reported, missing := map[[2]int]bool{}, map[string]int{}
	for _, o := range p.omitted {
		if reported[[2]int{o.From, o.To}] {
			continue
		}
		reported[[2]int{o.From, o.To}] = true
		n := &p.Graph.Nodes[o.From]
		remedy := fmt.Sprintf("if it becomes healthy on your cluster, annotate this object with %s: %s/%s", graph.After,
			p.Graph.Nodes[o.To].Key.Kind, p.Graph.Nodes[o.To].Key.Name)
		remedy = cmp.Or(p.Graph.Nodes[o.doubt.root].NeverFix, remedy)
		if o.doubt.entry != "" {
			if at, known := missing[o.doubt.entry]; known {
				found[at] = found[at].WithAlso(n.Key.String())
				continue
			}
			missing[o.doubt.entry] = len(found)
			remedy = fmt.Sprintf("add what is missing to the component or, if it exists outside, write expects: [%s] into component.yaml",
				o.doubt.entry)
		}
		found = append(found, finding.Finding{Severity: finding.Note, Rule: OmittedGate, File: n.File, Line: n.Line,
			Object: n.Key.String(), Field: o.Field, About: p.name(o.To),
			Message: fmt.Sprintf("%s %s, but Ladder adds no wait for it: %s", o.Why, p.name(o.To), o.doubt.describe(p.Graph, o.To)), Remedy: remedy})
	}
	return found
}
