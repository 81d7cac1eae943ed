package wave

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Gate is what stands between a wave and the next: the objects that Argo CD
// waits for, and what can go wrong with waiting.
type Gate struct {
	Phase object.Phase `json:"phase"`
	Wave  int          `json:"wave"`
	// Objects is how many objects are applied then.
	Objects int `json:"objects"`
	// Awaited is false for the last wave of a sync, of which Argo CD waits for
	// nothing unless there are hooks in it.
	Awaited bool `json:"awaited"`
	// Open means that something comes after the wave, but nothing in it has a
	// health check, so that the next wave comes at once.
	Open bool `json:"open,omitempty"`
	// GatedBy is what has a health check, and is normally healthy some day.
	GatedBy []Gated `json:"gatedBy,omitempty"`
	// Blind is what a later object needs healthy, and Argo CD takes for healthy
	// as soon as it is applied, because its kind has no health check.
	Blind []Gated `json:"blind,omitempty"`
	// Hangs is what may never be healthy, which holds an awaited wave for ever.
	Hangs []Gated `json:"hangs,omitempty"`
	// Degrades is what may be Degraded for a while, or end so, which fails the
	// sync of an awaited wave.
	Degrades []Gated `json:"degrades,omitempty"`
}

// Gated is an object at a gate, and why it is there. One object may be in
// several lists of a gate.
type Gated struct {
	Node   int    `json:"-"`
	Object string `json:"object"`
	Kind   string `json:"kind"`
	Why    string `json:"why"`
	// For are the objects that come only when this one is healthy, with what
	// would become of each otherwise. Without any the object is awaited for the
	// sake of another one, or of nothing.
	For []For `json:"for,omitempty"`
}

// For is a customer of an object that is awaited.
type For struct {
	Object string `json:"object"`
	Need   Need   `json:"need"`
	Why    string `json:"why"`
}

// Audit says for each phase and wave of the plan, in the order of the sync, by
// what it is gated and what can go wrong there. It says nothing of whether the
// order is right; that is for Check.
func (p *Plan) Audit(base *knowledge.Base) []Gate {
	s := &sync{Plan: p, base: base}
	s.schedule()
	waiting := s.waiting()
	customers := s.customersNow()
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
		hooks[m] = hooks[m] || n.IsHook()
		switch {
		case !n.HasHealth:
			// Of Kubernetes' own kinds without health, such as a Secret, there is
			// nothing to wait for once they are there.
			if user, needed := waiting[i]; needed && len(n.Kind.Health) == 0 && !base.Builtin(n.ID.Group) {
				g.Blind = append(g.Blind, s.gated(i, fmt.Sprintf("%s %s it", s.name(user.From), user.Why)))
			}
			continue
		case n.Waits.Never != "":
			g.Hangs = append(g.Hangs, s.gated(i, n.Waits.Never))
		case len(absent[i]) > 0:
			for _, a := range absent[i] {
				g.Hangs = append(g.Hangs, s.gated(i, fmt.Sprintf("%s %s, which nothing in the component creates", a.Why, a.ID)))
			}
			g.GatedBy = append(g.GatedBy, s.gated(i, n.Waits.Waits))
			g.GatedBy[len(g.GatedBy)-1].For = customers[i]
		default:
			g.GatedBy = append(g.GatedBy, s.gated(i, n.Waits.Waits))
			g.GatedBy[len(g.GatedBy)-1].For = customers[i]
		}
		if why := degrades(n); why != "" {
			g.Degrades = append(g.Degrades, s.gated(i, why))
		}
	}
	for i := range gates {
		g := &gates[i]
		m := moment{g.Phase, g.Wave}
		g.Awaited = s.awaited(m) || hooks[m]
		g.Open = s.awaited(m) && len(g.GatedBy) == 0 && len(g.Hangs) == 0
	}
	return gates
}

// customersNow finds for each object those that need it healthy and come later.
func (s *sync) customersNow() map[int][]For {
	all := map[int][]For{}
	rules := s.byDefault(s.base)
	last := map[int]int{} // customer, by object
	for _, c := range rules {
		if c.gap == 0 || s.at[c.from].compare(s.at[c.to]) <= 0 || all[c.to] != nil && last[c.to] == c.from {
			continue
		}
		last[c.to] = c.from
		all[c.to] = append(all[c.to], For{Object: s.name(c.from), Need: c.need, Why: c.need.Without()})
	}
	for i := range s.at {
		for _, c := range s.customers[i] {
			if c.Need == Checks && s.at[c.Node] != never && s.at[c.Node].compare(s.at[i]) > 0 {
				all[i] = append(all[i], For{Object: s.name(c.Node), Need: Checks, Why: Checks.Without()})
			}
		}
	}
	return all
}

// waiting finds for each object one that comes later and needs it healthy: the
// first, by the order of the references.
func (s *sync) waiting() map[int]graph.Reference {
	users := map[int]graph.Reference{}
	for _, r := range s.Graph.References {
		if r.Meaning != knowledge.Healthy || s.at[r.From] == never || s.at[r.To] == never || s.at[r.From].compare(s.at[r.To]) <= 0 {
			continue
		}
		if _, there := users[r.To]; !there {
			users[r.To] = r
		}
	}
	return users
}

// degrades says how an object may be Degraded without a fault in the order:
// what passes through it, and what runs once and may fail.
func degrades(n graph.Node) string {
	if n.Waits.Passes != "" {
		return n.Waits.Passes
	}
	if n.Kind.Runs == "once" && slices.Contains(n.Waits.Can, "Degraded") {
		return "it runs once, and a failed run is not retried"
	}
	return ""
}

func (s *sync) gated(i int, why string) Gated {
	key := s.Graph.Nodes[i].Key
	return Gated{Node: i, Object: key.String(), Kind: key.GroupKind(), Why: why}
}

// Unseen returns the nodes of the plan that are blind in some gate: what Argo
// CD would have to see for every wave to mean what it says.
func Unseen(gates []Gate) []Gated {
	var all []Gated
	for _, g := range gates {
		all = append(all, g.Blind...)
	}
	return all
}

// mostShown is how many customers of an object are named to people.
const mostShown = 3

// AuditText writes gates for people: a block for each, with a line for each
// object in it that has something to say.
func AuditText(gates []Gate) string {
	var b bytes.Buffer
	for i, g := range gates {
		if i > 0 {
			b.WriteByte('\n')
		}
		fmt.Fprintf(&b, "%s: %s\n", g.Moment(), g.summary())
		w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		health := "gated by"
		if !g.Awaited {
			health = "health"
		}
		for _, list := range []struct {
			mark string
			all  []Gated
		}{{health, g.GatedBy}, {"blind", g.Blind}, {"can hang", g.Hangs}, {"can fail", g.Degrades}} {
			for _, o := range list.all {
				fmt.Fprintf(w, "  %s\t%s\t%s\n", list.mark, finding.Harmless(o.Object), finding.Harmless(o.Why))
				for at, c := range o.For {
					if at == mostShown {
						fmt.Fprintf(w, "  \tand %d more\t\n", len(o.For)-at)
						break
					}
					fmt.Fprintf(w, "  for\t%s\t%s\n", finding.Harmless(c.Object), c.Why)
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

// summary says in a line what a gate is worth.
func (g Gate) summary() string {
	parts := []string{fmt.Sprintf("%d objects", g.Objects)}
	if g.Objects == 1 {
		parts[0] = "1 object"
	}
	switch {
	case !g.Awaited:
		parts = append(parts, "not awaited: it is the last wave")
	case g.Open:
		parts = append(parts, "nothing in it has a health check, so the next wave follows at once")
	case len(g.GatedBy)+len(g.Hangs) == 0:
		parts = append(parts, "awaited, but nothing in it has a health check")
	default:
		parts = append(parts, "awaited")
	}
	return strings.Join(parts, ", ")
}
