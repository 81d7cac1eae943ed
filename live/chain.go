package live

import (
	"cmp"
	"slices"

	argo "github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/object"
)

// maxChains limits the chains that are kept of one object.
const maxChains = 20

// chains returns the chains of causes of an Application.
func (s *scene) chains(app object.ID) (all []Chain) {
	w := walk{scene: s, known: map[object.ID][][]Step{}, open: map[object.ID]bool{}}
	for _, steps := range w.from(app) {
		all = append(all, Chain{Awaited: steps[0].Object, Steps: steps})
	}
	return all
}

// walk follows causes from object to object. It visits each object once.
type walk struct {
	*scene
	known map[object.ID][][]Step
	open  map[object.ID]bool // on the way to the present object
}

// from returns the chains that start at an object.
func (w *walk) from(id object.ID) [][]Step {
	if steps, ok := w.known[id]; ok || w.open[id] {
		return steps
	}
	w.open[id] = true
	all := w.find(id)
	delete(w.open, id)
	if len(all) > maxChains {
		all = all[:maxChains]
	}
	w.known[id] = all
	return all
}

func (w *walk) find(id object.ID) [][]Step {
	o, exists := w.objects[id]
	var below [][]Step
	if exists {
		below = w.below(id, o)
	}
	var own [][]Step
	for _, c := range w.causesOf(id) {
		about := id
		if argo.IsApplication(id) {
			about = c.Object // of an Application, the object of its entry is the subject
		}
		step := Step{about, c}
		behind := w.reasons(id, c)
		switch {
		case len(behind) > 0:
			for _, steps := range behind {
				own = append(own, append([]Step{step}, steps...))
			}
		case !isOutdone(c, about, below):
			own = append(own, []Step{step})
		}
	}
	// What an object needs is worth a look unless a reason of its own leads further.
	if argo.IsApplication(id) || !exists || slices.ContainsFunc(own, func(steps []Step) bool { return len(steps) > 1 }) {
		return append(own, below...)
	}
	return append(own, w.needs(id, own, below)...)
}

// reasons returns the chains of the object behind a cause.
func (w *walk) reasons(id object.ID, c Cause) [][]Step {
	if c.Because.IsZero() || c.Because == id {
		return nil
	}
	return w.from(c.Because)
}

// isOutdone reports whether the chains below an object say more than a cause of its own: what is
// inside explains what is seen from outside.
func isOutdone(c Cause, about object.ID, below [][]Step) bool {
	return c.Rule != oldRevisionRule && slices.ContainsFunc(below, func(steps []Step) bool {
		last := steps[len(steps)-1]
		return steps[0].Object == about && (last.Evidence >= c.Evidence || c.Evidence == Appearance) && (!last.IsYoung || c.IsYoung)
	})
}

// below returns the chains of what belongs to an object: what an Application waits for, and what
// a controller made for it.
func (w *walk) below(id object.ID, o object.Object) (all [][]Step) {
	if argo.IsApplication(id) {
		for _, to := range w.unfinished(o) {
			if _, exists := w.objects[to]; !exists {
				continue // what its entry says is all that is known
			}
			chains := w.from(to)
			if argo.IsApplication(to) && len(chains) > 0 {
				step := Step{to, w.childStep(w.objects[to])}
				longer := make([][]Step, len(chains))
				for i := range chains {
					if chains[i][0].Object == to { // it says so itself
						longer[i] = chains[i]
						continue
					}
					longer[i] = append([]Step{step}, chains[i]...)
				}
				chains = longer
			}
			all = append(all, chains...)
		}
		return all
	}
	for _, part := range w.parts(o) {
		for _, steps := range w.from(part.ID) {
			lifted := slices.Clone(steps)
			if lifted[0].Object == part.ID {
				lifted[0].Object = id
			}
			all = append(all, lifted)
		}
	}
	return all
}

// childStep says where a child Application is.
func (s *scene) childStep(child object.Object) Cause {
	op := s.operationOf(child)
	text := "hangs"
	switch {
	case op.hasFailed():
		text = "has failed"
	case op.phase == succeeded || op.phase == "":
		text = "is " + cmp.Or(child.Get("status", "health", "status").Text(), "not synced")
	}
	if at := s.place(child, op); at.Phase != "" {
		text += " in " + at.String()
	}
	return Cause{Rule: "child-application", Object: child.ID, Text: text,
		Proof: said(child.ID.String()+":", op.phase, op.message), Evidence: Appearance,
		Fix: "see why " + child.ID.String() + " is not Healthy", Command: argocd("get", child.ID)}
}

// parts returns the objects that an object owns and that may show why it is not ready: of
// ReplicaSets only the newest, of Pods only those that are not ready.
func (s *scene) parts(o object.Object) (all []object.Object) {
	newest := ""
	if o.ID.GroupKind() == "Deployment.apps" {
		newest, _ = o.Annotation(revisionKey)
	}
	recreates := o.Get("spec", "strategy", "type").Text() == "Recreate"
	for _, part := range s.owned(o, "") {
		revision, _ := part.Annotation(revisionKey)
		switch {
		case part.ID.Kind == "ReplicaSet" && recreates && revision != newest: // its Pods must be gone first
			for _, pod := range s.owned(part, "Pod") {
				if isTerminating(pod) {
					all = append(all, pod)
				}
			}
		case part.ID.Kind == "Pod" && isTerminating(part) && o.ID.Kind == "ReplicaSet" && !isTerminating(o): // another one replaces it
		case part.ID.Kind == "ReplicaSet" && newest != "" && revision != newest:
		case part.ID.Kind == "ReplicaSet" && number(part.Get("spec", "replicas"), 1) == 0:
		case part.ID.Kind == "Pod" && (conditionOf(part, "Ready").status == "True" || part.Get("status", "phase").Text() == succeeded):
		default:
			all = append(all, part)
		}
	}
	return all
}

const revisionKey = "deployment.kubernetes.io/revision"

// needs returns the chains of what an object needs, behind its own cause or, if it shows none,
// behind the fact that it needs it.
func (w *walk) needs(id object.ID, own, below [][]Step) (all [][]Step) {
	head := Step{}
	for _, steps := range slices.Concat(own, below) {
		if head.Rule == "" || steps[0].Evidence > head.Evidence {
			head = steps[0]
		}
	}
	if isFinal(head.Rule) {
		return below
	}
	found := false
	for _, to := range w.needed(id) {
		chains := w.from(to)
		if _, exists := w.objects[to]; !exists && w.isAbsent(to) {
			if head.Rule == "" && len(conditionsOf(w.objects[id])) > 0 {
				continue // it would say so
			}
			missing := lacks(to, to.String()+" was not found", Missing)
			missing.Object, missing.IsYoung = id, w.created(w.objects[id]) < briefly
			first := []Step{{id, missing}}
			if head.Rule != "" {
				first = []Step{head, {id, missing}}
			}
			if len(chains) == 0 {
				all = append(all, first)
			}
			for _, steps := range chains {
				all = append(all, slices.Concat(first, steps))
			}
			continue
		}
		for _, steps := range chains {
			if steps[len(steps)-1].Evidence == Appearance {
				continue // it looks odd, and perhaps always did
			}
			first := head
			if first.Rule == "" {
				first = Step{id, Cause{Rule: "needs", Object: id, Text: "needs " + steps[0].Object.String(),
					Proof: "its manifest names it", Evidence: Missing, Fix: steps[0].Fix, Command: steps[0].Command}}
			}
			all = append(all, append([]Step{first}, steps...))
			found = true
		}
	}
	if found && len(below) > 0 {
		return append(all, below...)
	}
	return append(below, all...)
}

// isFinal reports whether a cause needs no other one behind it: what the object needs does not
// change it.
func isFinal(rule string) bool {
	return slices.Contains([]string{"image", "suspended", "unschedulable", "quota", "pod-security", "webhook", "webhook-denies",
		"finalizer", "volume", "missing-object", "missing-key", "container-config"}, rule)
}

// effects are rules about what is often the effect of something else: a program that does not find
// another one ends, or is not ready.
var effects = []string{"crash", "probe", "init-container", "job-failed", "degraded", "progress-deadline", "needs", "operation",
	"terminated", "sync-error"}

// rank sorts chains: those that have lasted, then those whose innermost cause is no mere effect,
// then by evidence, depth, and the order in which Argo CD applies the objects. Of several chains
// to the same cause, the first stays.
func (s *scene) rank(chains []Chain) []Chain {
	effect := func(c Chain) int {
		if slices.Contains(effects, c.root().Rule) {
			return 1
		}
		return 0
	}
	young := func(c Chain) int {
		if c.isYoung() {
			return 1
		}
		return 0
	}
	slices.SortStableFunc(chains, func(x, y Chain) int {
		return cmp.Or(cmp.Compare(young(x), young(y)), cmp.Compare(effect(x), effect(y)), cmp.Compare(y.evidence(), x.evidence()),
			cmp.Compare(len(y.Steps), len(x.Steps)))
	})
	type key struct {
		object object.ID
		rule   string
	}
	seen, further := map[key]bool{}, map[key]bool{} // roots, and the first steps of longer chains
	for _, c := range chains {
		if len(c.Steps) > 1 && !c.isYoung() {
			further[key{c.Steps[0].Cause.Object, c.Steps[0].Rule}] = true
		}
	}
	return slices.DeleteFunc(chains, func(c Chain) bool {
		k := key{c.root().Cause.Object, c.root().Rule}
		if seen[k] || len(c.Steps) == 1 && further[k] {
			return true
		}
		seen[k] = true
		return false
	})
}
