package wave

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// lifeOfHooks reports hooks that other objects use for longer than Argo CD keeps them: it
// deletes them by their delete policy, and does not start again what uses them. Hooks with
// the same fault share a finding.
func (s *simulation) lifeOfHooks() []finding.Finding {
	uses := s.certainUses()
	var faults []hookFault
	for i := range s.Graph.Nodes {
		n := &s.Graph.Nodes[i]
		if !n.IsHook() || n.External || !slices.ContainsFunc(n.Phases(), object.Phase.RunsInSync) {
			continue
		}
		if f, is := s.removedHook(i, uses); is {
			faults = append(faults, f)
		} else if f, is := s.recreatedHook(i, uses); is {
			faults = append(faults, f)
		}
	}
	return s.foundInHooks(faults)
}

// Recreated is the rule for hooks that Argo CD deletes at every sync, although they should stay.
const Recreated finding.Rule = "recreated-hook"

// hookFault is a hook that is deleted although something uses it.
type hookFault struct {
	hookFaultKind
	node   int
	use    *graph.Reference // nil if what happens concerns the hook alone
	others int              // how many more objects use it
	early  *graph.Reference // the use of a hook of an earlier phase than Sync, if any
}

// hookFaultKind is what the findings about several hooks have in common.
type hookFaultKind struct {
	rule     finding.Rule
	severity finding.Severity
	what     knowledge.Recreated
}

// certainUses returns, by node, a reference of each object that uses it.
func (s *simulation) certainUses() [][]*graph.Reference {
	uses := make([][]*graph.Reference, len(s.Graph.Nodes))
	for at := range s.Graph.References {
		r := &s.Graph.References[at]
		of := uses[r.To]
		isKnown := len(of) > 0 && of[len(of)-1].From == r.From // they are sorted by their objects
		if !isKnown && r.Need == graph.Needs && !r.Inferred() && !r.Explicit() && s.at[r.From] != never && !s.Graph.Nodes[r.From].External {
			uses[r.To] = append(of, r)
		}
	}
	return uses
}

// customRecreated says what happens to a custom resource that is a hook of Helm's, if it is no
// task: what its controller makes for it usually belongs to it.
func (s *simulation) customRecreated(n *graph.Node) knowledge.Recreated {
	if _, isHelm := n.HelmEvents(); !isHelm || s.base.Builtin(n.Key.Group) || n.Kind.Runs == "once" || n.DeletePolicy().Succeeded {
		return knowledge.Recreated{}
	}
	return knowledge.Recreated{Why: "its controller may remove what it has made for it, and makes it anew", Alone: true, Severe: n.Store}
}

// recreatedHook finds a hook that Argo CD deletes and creates again at every sync, although
// that harms it or what uses it.
func (s *simulation) recreatedHook(i int, uses [][]*graph.Reference) (hookFault, bool) {
	n := &s.Graph.Nodes[i]
	what := cmp.Or(n.Kind.Recreated, s.customRecreated(n))
	if what.Why == "" || !n.DeletePolicy().BeforeCreation || n.ID.Name == "" { // of a generated name, it deletes nothing
		return hookFault{}, false
	}
	lasting := slices.DeleteFunc(slices.Clone(uses[i]), func(r *graph.Reference) bool {
		user := &s.Graph.Nodes[r.From]
		return user.Kind.Runs == "once" || !what.Alone && (user.Kind.Runs == "later" || user.IsHook() && slices.Equal(user.Phases(), n.Phases()))
	})
	isTemporary := len(uses[i]) > 0 // only tasks use it
	if !n.Kind.Pod.IsZero() {
		isTemporary = n.DeletePolicy().Succeeded || n.Kind.Runs == "once" || n.Idle
	}
	if len(lasting) == 0 && (!what.Alone || isTemporary) || !n.Kind.Pod.IsZero() && isTemporary {
		return hookFault{}, false
	}
	f := hookFault{hookFaultKind: hookFaultKind{Recreated, finding.Note, what}, node: i, others: max(0, len(lasting)-1),
		early: s.earlyUse(uses[i])}
	if len(lasting) > 0 {
		f.use = lasting[0]
	}
	if what.Severe || slices.ContainsFunc(lasting, s.needsToken) {
		f.severity = finding.Warning
	}
	return f, true
}

// needsToken reports whether a reference is that of Pods with permissions to their
// ServiceAccount: without a valid token they have none. The binding may be a hook, too.
func (s *simulation) needsToken(r *graph.Reference) bool {
	return s.Graph.Nodes[r.To].Key.GroupKind() == "ServiceAccount" &&
		slices.ContainsFunc(s.Graph.References, func(granted graph.Reference) bool {
			from, to := &s.Graph.Nodes[granted.From], &s.Graph.Nodes[granted.To]
			return granted.From == r.From && granted.Need == graph.Needs && to.Kind.Permissions == "binding" ||
				granted.To == r.To && from.Kind.Permissions == "binding"
		})
}

// removedHook finds a hook that Argo CD deletes when the sync succeeds, although other
// objects still use it, or start only then.
func (s *simulation) removedHook(i int, uses [][]*graph.Reference) (hookFault, bool) {
	n := &s.Graph.Nodes[i]
	if n.Kind.Recreated.Gone == "" || !n.DeletePolicy().Succeeded {
		return hookFault{}, false
	}
	left := slices.DeleteFunc(slices.Clone(uses[i]), func(r *graph.Reference) bool {
		user := &s.Graph.Nodes[r.From]
		return user.DeletePolicy().Succeeded || user.Kind.Runs == "once" && !s.endsWith(r.From)
	})
	if len(left) == 0 {
		return hookFault{}, false
	}
	return hookFault{hookFaultKind{"removed-hook", finding.Warning, n.Kind.Recreated}, i, left[0], len(left) - 1, s.earlyUse(uses[i])}, true
}

// endsWith reports whether the sync succeeds in the step that applies an object.
func (s *simulation) endsWith(i int) bool { return s.at[i] == s.final && !s.endsWithHook }

// earlyUse returns the first use by a hook that runs before the Sync phase.
func (s *simulation) earlyUse(uses []*graph.Reference) *graph.Reference {
	for _, r := range uses {
		if s.at[r.From].phase == object.PreSync && s.opt.runsAsHook(&s.Graph.Nodes[r.From]) {
			return r
		}
	}
	return nil
}

// foundInHooks returns a finding for each kind of fault, in the order of the hooks.
func (s *simulation) foundInHooks(faults []hookFault) []finding.Finding {
	var order []hookFaultKind
	byKind := map[hookFaultKind][]hookFault{}
	for _, f := range faults {
		if byKind[f.hookFaultKind] == nil {
			order = append(order, f.hookFaultKind)
		}
		byKind[f.hookFaultKind] = append(byKind[f.hookFaultKind], f)
	}
	var found []finding.Finding
	for _, kind := range order {
		all := byKind[kind]
		message := s.effectOnHook(all[0])
		if len(all) > 1 {
			var names []string
			for _, f := range all[1:] {
				names = append(names, s.name(f.node))
			}
			message += "; the same goes for " + finding.Several(names)
		}
		found = append(found, s.finding(all[0].node, kind.severity, kind.rule, message, s.keepHook(all[0])))
	}
	return found
}

// effectOnHook says when Argo CD deletes a hook, who uses it and what happens then.
func (s *simulation) effectOnHook(f hookFault) string {
	users, gone := "", f.what.Why
	if f.use != nil {
		users = fmt.Sprintf("%s %s it", s.name(f.use.From), f.use.Why)
		if f.others > 0 {
			users += fmt.Sprintf(", and %d more use it", f.others)
		}
	}
	if f.rule == "removed-hook" {
		when := "when the sync has succeeded"
		if s.endsWith(f.use.From) {
			when = "in the step that applies the last wave"
		}
		return fmt.Sprintf("Argo CD deletes this hook %s (HookSucceeded), but %s: %s", when, users, f.what.Gone)
	}
	if users != "" {
		gone += " (" + users + ")"
	}
	return "Argo CD deletes this hook at every sync, before it creates it again (BeforeHookCreation): " + gone
}

// keepHook says how to keep the object of a hook.
func (s *simulation) keepHook(f hookFault) string {
	remedy := "remove its hook annotations, so that Argo CD updates and keeps it"
	if f.what.Kept {
		remedy += ", and annotate it with " + object.SyncOptions + ": " + object.NoPrune
	}
	switch {
	case f.early == nil:
	case s.Graph.Nodes[f.early.From].Kind.Runs == "once":
		remedy += fmt.Sprintf("; %s, which %s it, must then be a Sync hook, too (%s: Sync)", s.name(f.early.From), f.early.Why, object.Hook)
	default:
		remedy += fmt.Sprintf("; %s, which %s it, must then not be a hook either", s.name(f.early.From), f.early.Why)
	}
	return remedy
}
