package wave

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// check simulates the sync of a plan by phase and wave. It returns a finding for
// each object that cannot be applied or become healthy at that point; severity
// Error means that the first sync certainly fails. If Assign computed all waves,
// the order itself causes no findings except for gates that may hang on the cluster.
// Other findings are caused by waves that an author set, by hooks that need an object
// of a later phase, and by hook types that Argo CD does not know.
func (s *simulation) check() []finding.Finding {
	var found []finding.Finding
	for i, n := range s.Graph.Nodes {
		if n.External {
			continue
		}
		found = append(found, s.unknownHooks(i)...)
		found = append(found, s.sharedWave(i)...)
		found = append(found, s.latePVC(i)...)
		found = append(found, s.doubtfulGate(i)...)
		found = append(found, s.earlyHealth(i)...)
	}
	found = finding.Together(found) // PVCs of one class
	for _, l := range s.late {
		found = append(found, s.lateFinding(l))
	}
	found = append(found, s.unneededGates(found)...)
	found = append(found, s.contradictedAnnotations()...)
	found = append(found, s.neverWorse()...)
	found = append(found, s.blindGates()...)
	found = append(found, s.stuckChildren()...)
	found = append(found, s.deletedTogether()...)
	found = append(found, s.lifeOfHooks()...)
	finding.Sort(found)
	return found
}

// unknownHooks reports unknown hook types.
func (s *simulation) unknownHooks(i int) []finding.Finding {
	var found []finding.Finding
	for _, hook := range s.Graph.Nodes[i].UnknownHooks() {
		effect := ", which Argo CD ignores"
		if len(s.Graph.Nodes[i].Phases()) == 0 {
			effect = ", so Argo CD never applies this object"
		}
		remedy, types := "use PreSync, Sync, PostSync or SyncFail", []string{"PreSync", "Sync", "PostSync", "SyncFail", "Skip"}
		if hook.Annotation == object.HelmHook {
			remedy, types = "use a hook type of Helm, such as pre-install or post-install",
				[]string{"pre-install", "pre-upgrade", "post-install", "post-upgrade", "pre-delete", "post-delete", "test"}
		}
		problem := "unknown hook type" + object.QuoteHook(hook.Type)
		if hook.Type == "" {
			problem = "no hook type"
		}
		f := s.finding(i, finding.Warning, "bad-annotation", problem+effect, remedy)
		f.Field, f.About = "metadata.annotations["+hook.Annotation+"]", hook.Type
		found = append(found, f.Asking(finding.Suggest(hook.Type, types)))
	}
	return found
}

// contradictedAnnotations reports objects that a user wants after another one, but whose
// hand-written waves say otherwise.
func (s *simulation) contradictedAnnotations() []finding.Finding {
	var found []finding.Finding
	for i := range s.Graph.References {
		r := &s.Graph.References[i]
		from, to := s.at[r.From], s.at[r.To]
		if r.Explicit() && from != never && to != never && from.phase == to.phase && to.compare(from) > 0 && s.yielded[*r] == "" {
			found = append(found, s.lateFinding(latePath{r.From, []*graph.Reference{r}}))
		}
	}
	return found
}

// sharedWave reports dependencies that should be there, or healthy, when an object is applied, and
// are applied together with it.
func (s *simulation) sharedWave(i int) []finding.Finding {
	at := s.at[i]
	if at == never {
		return nil
	}
	var found []finding.Finding
	for _, r := range s.dependencies[i] {
		if s.at[r.To] != at || s.isIdle(i, r) {
			continue
		}
		var f finding.Finding
		switch {
		case r.Until == graph.Healthy && (r.IsHard() || r.Fails == graph.Refused) && s.yielded[*r] == "":
			f = s.finding(i, finding.Warning, "unawaited",
				fmt.Sprintf("it %s %s, but both are %s, so Argo CD does not wait in between", r.Why, s.name(r.To), at),
				s.orCompute("give this object a later wave", i, r.To))
		case s.isAwaited(i) && r.Fails == graph.ReportsFailure && degradesInWaveOf(s.Graph, s.base, r):
			f = s.finding(i, finding.Warning, Late,
				fmt.Sprintf("%s, this object %s %s, which Argo CD applies after it: this object is Degraded at first, which fails the sync", at,
					r.Why, s.name(r.To)),
				s.orCompute("give the other object an earlier wave", i, r.To))
		default:
			continue
		}
		f.About = s.Graph.Nodes[r.To].Key.String()
		found = append(found, f)
	}
	return found
}

// isIdle reports whether a dependency demands nothing where its object is applied: Argo CD
// applies the target first, or no webhook of the target is registered yet.
func (s *simulation) isIdle(i int, r *graph.Reference) bool {
	some, _ := s.registered(r.To, i)
	return appliedFirst(s.Graph, s.base, r) && s.at[r.To] != never || r.IsAboutWebhook() && !some
}

// isAlsoLateInHelm reports whether a hook that Helm runs before all other objects only names the
// target of a reference: a chart that Helm installs does not need it then. Without a store
// that it is to fill or change, however, such a hook fails.
func (s *simulation) isAlsoLateInHelm(r *graph.Reference) bool {
	to := &s.Graph.Nodes[r.To]
	return r.Inferred() && r.Sign <= graph.Call && !to.Store && s.at[r.To].phase != object.PreSync &&
		slices.Contains(s.Graph.Nodes[r.From].HelmHooks(), "pre-install")
}

// isAwaited reports whether Argo CD waits until an object is healthy, and can see it.
func (s *simulation) isAwaited(i int) bool { return s.Graph.Nodes[i].HasHealth && s.awaits(i) }

// isCertain reports whether an object certainly fails because the target of its last
// reference on the way there is applied later: the object is refused, never gets what it
// needs, or is awaited in vain. Other references on the way are certain (throughOthers).
func (s *simulation) isCertain(i int, r *graph.Reference) bool {
	refused := r.IsHard() ||
		r.Fails == graph.Refused && (r.IsAboutKind() || r.IsAboutNamespace()) // of the object itself, not of one that it deploys
	if _, all := s.registered(r.To, i); r.IsAboutWebhook() && !all {
		return false // the webhook may be in the other configuration
	}
	return r.IsCertain() && !r.Explicit() && (refused || s.at[r.To] == never || s.isAwaited(i))
}

// sentences returns what references say, each as a sentence, and their targets.
func (s *simulation) sentences(path []*graph.Reference) (sentences, targets []string) {
	subject := "this object"
	for _, r := range path {
		sentence := subject + " " + r.Why + " " + s.name(r.To)
		if r.Because != "" {
			sentence += " (" + r.Because + ")"
		}
		sentences, subject, targets = append(sentences, sentence), s.name(r.To), append(targets, s.Graph.Nodes[r.To].Key.String())
	}
	return sentences, targets
}

// orCompute returns a remedy by hand, with what lets Ladder compute the waves of two nodes
// instead: which annotations to delete or, if it has computed none (Off), to run Ladder.
func (s *simulation) orCompute(byHand string, a, b int) string {
	_, ofA := s.Graph.Nodes[a].Wave()
	_, ofB := s.Graph.Nodes[b].Wave()
	ofA, ofB = ofA && s.Places[a].Computed, ofB && s.Places[b].Computed
	switch {
	case ofA && ofB:
		return byHand + fmt.Sprintf(", or delete the %s annotations of %s and of %s, so that Ladder computes both waves",
			object.SyncWave, s.name(a), s.name(b))
	case ofA:
		return byHand + fmt.Sprintf(", or delete the %s annotation of %s, so that Ladder computes both waves", object.SyncWave, s.name(a))
	case ofB:
		return byHand + fmt.Sprintf(", or delete the %s annotation of %s, so that Ladder computes both waves", object.SyncWave, s.name(b))
	case s.opt.Waves == Off && s.at[a].phase == object.Sync:
		return "let Ladder compute the waves, with the plugin or cmp render (--waves rungs checks them); without Ladder, " + byHand
	}
	return byHand
}

// Late is the rule for objects that depend on a later one.
const Late finding.Rule = "late"

// lateFinding reports that a node depends on a later object, possibly through others.
func (s *simulation) lateFinding(l latePath) finding.Finding {
	i, r := l.node, l.last()
	at, to := s.at[i], s.at[r.To]
	sentences, targets := s.sentences(l.path)
	timing := fmt.Sprintf("which Argo CD applies only %s", to)
	if to.phase != at.phase && to.phase == object.Sync {
		timing += " of phase " + string(to.phase)
	}
	verdict, effect := "", ", after this object is healthy"
	switch {
	case to == never:
		timing, effect = "which Argo CD never applies in a sync", ""
	case r.Explicit():
		effect = ""
	case len(l.path) == 1 && r.IsHard() && r.Unless != "":
		effect = ", so the API server rejects this object unless " + r.Unless
	case len(l.path) == 1 && r.IsHard():
		effect = ", so the API server rejects this object or its Pods"
	case r.Fails == graph.Refused && !r.Inferred() && (r.IsAboutKind() || r.IsAboutNamespace()):
		effect = ", so the API server rejects this object"
	case !s.isAwaited(i):
		effect = ""
	case r.IsCertain():
		verdict = "deadlock: "
	}
	severity := finding.Warning
	if s.isCertain(i, r) {
		severity = finding.Error
	}
	rule, remedy := Late, s.orCompute("correct the sync wave of one of the two objects", i, r.To)
	if to.phase != at.phase || to == never {
		rule, remedy = "other-phase", s.remedyOfPhases(i, r.To)
	}
	f := s.finding(i, severity, rule, fmt.Sprintf("%s%s, %s, %s%s", verdict, at, strings.Join(sentences, "; "), timing, effect), remedy)
	f.About = strings.Join(targets, ", ")
	return f
}

// remedyOfPhases says what to do about an object that needs another one of a later phase.
func (s *simulation) remedyOfPhases(i, later int) string {
	to := &s.Graph.Nodes[later]
	switch {
	case s.at[i].phase == object.Sync && s.at[later] != never && to.Kind.Pod.IsZero():
		return fmt.Sprintf("remove the hook annotation of %s, so that Argo CD applies it in the Sync phase", s.name(later))
	case s.at[i].phase == object.Sync && s.at[later] != never:
		return fmt.Sprintf("make %s a Sync hook (%s: Sync)", s.name(later), object.Hook)
	case to.Kind.IsAwaited():
		return fmt.Sprintf("make this object a Sync hook (%s: Sync), or deploy the other object from an earlier Application", object.Hook)
	}
	return fmt.Sprintf("make this object a Sync hook (%s: Sync), or the other object a hook of the same phase", object.Hook)
}

// notAwaited says how to keep Argo CD from waiting for an object. It waits for every hook,
// in whatever wave.
func (s *simulation) notAwaited(i int) string {
	later := "give it a later wave than all other objects, so that Argo CD does not wait for it"
	switch {
	case s.Graph.Nodes[i].IsHook():
		return "remove its hook annotations and " + later
	case s.opt.runsAsHook(&s.Graph.Nodes[i]):
		return "set jobs: keep and " + later
	}
	return later
}

// deletedTogether notes, once for each kind and controller, a custom resource that Argo CD
// deletes together with the controller that removes its finalizers, or after it.
func (s *simulation) deletedTogether() []finding.Finding {
	var found []finding.Finding
	noted := map[string]bool{}
	for at := range s.Graph.References {
		r := &s.Graph.References[at]
		from, to := &s.Graph.Nodes[r.From], &s.Graph.Nodes[r.To]
		finalizers, controller := from.Finalizers(), to.Key.String()
		if !r.IsAboutKind() || to.Role != knowledge.Controllers || from.Part != to.Part || from.External || to.External ||
			from.Kind.AlwaysInstalled ||
			len(finalizers) == 0 || from.IsKept() || to.IsKept() || s.at[r.From].compare(s.at[r.To]) > 0 || noted[from.Key.GroupKind()+controller] {
			continue
		}
		noted[from.Key.GroupKind()+controller] = true
		found = append(found, s.finding(r.From, finding.Note, "deleted-first",
			fmt.Sprintf("Argo CD deletes this object together with %s, or after it, and then nothing removes its finalizers (%s), "+
				"so it remains in Terminating", controller, strings.Join(finalizers, ", ")),
			fmt.Sprintf("annotate it with %s: %s/%s, so that Argo CD deletes it first", graph.After, to.Key.Kind, to.Key.Name)))
	}
	return found
}

// beforeSmokes returns, for each smoke, the nodes with health in the last wave
// before it.
func (s *simulation) beforeSmokes() []int {
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

// finding returns a finding about an object.
func (s *simulation) finding(i int, severity finding.Severity, rule finding.Rule, message, remedy string) finding.Finding {
	n := s.Graph.Nodes[i]
	return finding.Finding{Severity: severity, Rule: rule, File: n.File, Line: n.Line, Object: n.Key.String(),
		Message: message, Remedy: remedy}
}
