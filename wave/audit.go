package wave

import (
	"bytes"
	"fmt"
	"slices"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Gate describes the end of a wave: which objects Argo CD waits for, and what can
// go wrong.
type Gate struct {
	Phase object.Phase `json:"phase"`
	Wave  int          `json:"wave"`
	// Objects is the number of objects in the wave.
	Objects int `json:"objects"`
	// Awaited is false for the last wave of a sync: Argo CD does not wait for it
	// unless it contains hooks.
	Awaited bool `json:"awaited"`
	// HooksOnly means that Argo CD waits only for the hooks of the wave, because the sync
	// has no other phase or wave. GatedBy and Hangs then list only hooks.
	HooksOnly bool `json:"hooksOnly,omitempty"`
	// NoHealthChecks means that no object in the wave has a health check, so Argo CD starts
	// the next wave after the delay between waves.
	NoHealthChecks bool `json:"open,omitempty"`
	// GatedBy lists objects that have a health check and normally become healthy.
	GatedBy []Gated `json:"gatedBy,omitempty"`
	// WithoutHealthCheck lists objects that a later object needs to be healthy, but that
	// Argo CD considers healthy as soon as they are applied, because their kinds have no
	// health check.
	WithoutHealthCheck []Gated `json:"blind,omitempty"`
	// Hangs lists objects that may never become healthy, which blocks an awaited
	// wave.
	Hangs []Gated `json:"hangs,omitempty"`
	// Moved lists CRDs and namespaces that Argo CD applies here, before their first
	// user, although they have a later wave.
	Moved []Gated `json:"moved,omitempty"`
	// Degrades lists objects that may become Degraded, which fails the sync if the
	// wave is awaited.
	Degrades []Gated `json:"degrades,omitempty"`
}

// Gated is an object at a gate, with the reason. An object can be in several lists
// of a gate.
type Gated struct {
	Node   int    `json:"-"`
	Object string `json:"object"`
	Kind   string `json:"kind"`
	Why    string `json:"why"`
	// Waiters lists the objects that wait until this one is healthy, with what would
	// happen to them otherwise. If it is empty, Argo CD waits for the object because
	// of another one in its wave, or for no reason.
	Waiters []Waiter `json:"for,omitempty"`
}

// Waiter is a dependent of an awaited object.
type Waiter struct {
	Object string     `json:"object"`
	Reason WaitReason `json:"need"`
	Why    string     `json:"why"`
}

// Audit lists the gate of each phase and wave in sync order, with what can go wrong
// there. It does not check the order; see Check.
func (p *Plan) Audit(base *knowledge.Base) []Gate {
	s := newSimulation(p, base)
	waiting := s.waiting()
	dependents := s.dependentsByNode()
	absent := map[int][]graph.Absent{}
	for _, a := range p.Graph.Absent {
		absent[a.From] = append(absent[a.From], a)
	}
	var gates []Gate
	at := map[moment]int{}
	hooks := map[moment]bool{}
	order := slices.Clone(p.Order)
	slices.SortStableFunc(order, func(a, b int) int { return s.at[a].compare(s.at[b]) })
	for _, i := range order {
		m := s.at[i]
		if m == never {
			continue
		}
		k, ok := at[m]
		if !ok {
			k = len(gates)
			at[m] = k
			gates = append(gates, Gate{Phase: m.phase, Wave: m.wave})
		}
		g := &gates[k]
		g.Objects++
		n := p.Graph.Nodes[i]
		hooks[m] = hooks[m] || s.opt.runsAsHook(&s.Graph.Nodes[i])
		if own := s.own(i); own != m {
			g.Moved = append(g.Moved, s.gated(i, fmt.Sprintf("has the later wave %d; Argo CD applies it before its first user", own.wave)))
		}
		switch {
		case !n.HasHealth:
			// Built-in kinds without health, such as a Secret, are complete once
			// they exist.
			if user, needed := waiting[i]; needed && len(n.Kind.Health) == 0 && !base.Builtin(n.ID.Group) {
				g.WithoutHealthCheck = append(g.WithoutHealthCheck, s.gated(i, fmt.Sprintf("%s %s this object", s.name(user.From), user.Why)))
			}
			continue
		case s.awaited(m) && !s.awaits(i):
		case n.Stuck.Why != "":
			g.Hangs = append(g.Hangs, s.gated(i, n.Stuck.Why))
		case n.Health.Never != "" && !(n.Kind.Placement == knowledge.WithConsumer && s.isConsumed(i)):
			g.Hangs = append(g.Hangs, s.gated(i, n.Health.Never))
		case len(absent[i]) > 0:
			for at, a := range absent[i] {
				if at == 0 || a.ID != absent[i][at-1].ID || a.Why != absent[i][at-1].Why { // several fields may name it
					g.Hangs = append(g.Hangs, s.gated(i, a.Absence(p.Graph)))
				}
			}
			g.GatedBy = append(g.GatedBy, s.gated(i, n.Health.Waits))
			g.GatedBy[len(g.GatedBy)-1].Waiters = dependents[i]
		default:
			g.GatedBy = append(g.GatedBy, s.gated(i, n.Health.Waits))
			g.GatedBy[len(g.GatedBy)-1].Waiters = dependents[i]
		}
		if why := degrades(n); why != "" {
			g.Degrades = append(g.Degrades, s.gated(i, why))
		}
	}
	for i := range gates {
		g := &gates[i]
		m := moment{g.Phase, g.Wave}
		g.Awaited = s.awaited(m) || hooks[m]
		g.HooksOnly = s.awaited(m) && s.single
		g.NoHealthChecks = s.awaited(m) && !s.single && len(g.GatedBy) == 0 && len(g.Hangs) == 0
	}
	return gates
}

// dependentsByNode maps each object to later objects that need it to be healthy.
func (s *simulation) dependentsByNode() map[int][]Waiter {
	all := map[int][]Waiter{}
	rules := s.defaultConstraints(s.base)
	last := map[int]int{} // dependent, by object
	for _, c := range rules {
		if c.gap == 0 || s.at[c.dependent].compare(s.at[c.dependency]) <= 0 || all[c.dependency] != nil && last[c.dependency] == c.dependent {
			continue
		}
		last[c.dependency] = c.dependent
		all[c.dependency] = append(all[c.dependency], Waiter{Object: s.name(c.dependent), Reason: c.reason, Why: c.reason.Without()})
	}
	for i := range s.at {
		for _, c := range s.dependents[i] {
			if c.Reason == Checks && s.at[c.Node] != never && s.at[c.Node].compare(s.at[i]) > 0 {
				all[i] = append(all[i], Waiter{Object: s.name(c.Node), Reason: Checks, Why: Checks.Without()})
			}
		}
	}
	return all
}

// waiting maps each object to the first reference of a later object that needs it to
// be healthy.
func (s *simulation) waiting() map[int]graph.Reference {
	users := map[int]graph.Reference{}
	for _, r := range s.Graph.References {
		if r.Need == graph.NeedsNot || r.Until != graph.Healthy || s.at[r.From] == never || s.at[r.To] == never ||
			s.at[r.From].compare(s.at[r.To]) <= 0 {
			continue
		}
		if _, exists := users[r.To]; !exists {
			users[r.To] = r
		}
	}
	return users
}

// degrades says how an object may become Degraded although the order is right: a
// transient state, or a failure of a task that runs once.
func degrades(n graph.Node) string {
	if n.Health.TemporarilyDegraded != "" {
		return n.Health.TemporarilyDegraded
	}
	if spec := n.Get("spec"); spec.Get("containers").Exists() && spec.Get("restartPolicy").Text() != "Never" {
		return "" // a bare Pod: the kubelet restarts its containers
	}
	if n.Kind.Runs == "once" && slices.Contains(n.Health.Can, "Degraded") {
		return failsFinally(n)
	}
	return ""
}

// failsFinally says when a task that runs once fails for good.
func failsFinally(n graph.Node) string {
	retries := n.Get("spec", "backoffLimit")
	switch {
	case retries.Exists():
		return fmt.Sprintf("it fails when its retries are used up (backoffLimit: %s), and nothing starts a failed Job again during a sync",
			retries.Text())
	case n.ID.GroupKind() == "Job.batch":
		return "it fails when its retries are used up (backoffLimit: 6, the default), and nothing starts a failed Job again during a sync"
	}
	return "nothing starts it again during a sync if it fails"
}

func (s *simulation) gated(i int, why string) Gated {
	key := s.Graph.Nodes[i].Key
	return Gated{Node: i, Object: key.String(), Kind: key.GroupKind(), Why: why}
}

// WithoutHealthCheck returns the objects that a later object needs to be healthy, but
// whose kinds have no health check. Each of them needs one for its wave to have an
// effect.
func WithoutHealthCheck(gates []Gate) []Gated {
	var all []Gated
	for _, g := range gates {
		all = append(all, g.WithoutHealthCheck...)
	}
	return all
}

// DegradedAtStart returns the objects of awaited waves that are Degraded for a while
// during a normal start, which fails the sync. Each of them needs a health check that says Progressing
// instead.
func (p *Plan) DegradedAtStart(gates []Gate) []Gated {
	var all []Gated
	for _, g := range gates {
		for _, o := range g.Degrades {
			if g.Awaited && p.Graph.Nodes[o.Node].Health.TemporarilyDegraded != "" {
				all = append(all, o)
			}
		}
	}
	return all
}

// maxShown is how many dependents of an object the text lists.
const maxShown = 3

// noHealthCheck marks the objects in Gate.WithoutHealthCheck.
const noHealthCheck = "no health check"

// AuditText returns the gates as text: a block for each gate, with a line for each object
// that is worth mentioning.
func AuditText(gates []Gate) string {
	var b bytes.Buffer
	for i, g := range gates {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", g.Moment(), g.summary())
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		health := "waits for"
		if !g.Awaited {
			health = "health"
		}
		for _, list := range []struct {
			mark string
			all  []Gated
		}{{health, g.GatedBy}, {"moved", g.Moved}, {noHealthCheck, g.WithoutHealthCheck}, {"can hang", g.Hangs}, {"can fail", g.Degrades}} {
			for _, o := range list.all {
				why := o.Why
				if list.mark == noHealthCheck {
					why += "; Argo CD does not wait for it"
				}
				fmt.Fprintf(w, "  %s\t%s\t%s\n", list.mark, finding.Sanitize(o.Object), finding.Sanitize(why))
				for at, c := range o.Waiters {
					if at == maxShown {
						fmt.Fprintf(w, "  \tand %d more\t\n", len(o.Waiters)-at)
						break
					}
					fmt.Fprintf(w, "  needed by\t%s\t%s\n", finding.Sanitize(c.Object), c.Why)
				}
			}
		}
		w.Flush() // into memory
	}
	return b.String()
}

// Moment names the phase and wave of a gate.
func (g Gate) Moment() string {
	if g.Phase == object.Sync {
		return fmt.Sprintf("wave %d", g.Wave)
	}
	return fmt.Sprintf("%s, wave %d", g.Phase, g.Wave)
}

// summary describes a gate in one line.
func (g Gate) summary() string {
	objects := finding.Counted(g.Objects, "object")
	switch {
	case !g.Awaited:
		return objects + " (last wave: Argo CD does not wait)"
	case g.NoHealthChecks:
		return objects + " (no health checks: Argo CD continues after the delay between waves)"
	case g.HooksOnly:
		return objects + " (Argo CD waits only for the hooks)"
	case len(g.GatedBy)+len(g.Hangs) == 0:
		return objects + " (Argo CD waits, but none of them has a health check)"
	}
	return objects + " (Argo CD waits)"
}
