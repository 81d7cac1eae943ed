package report

import (
	"fmt"
	"slices"

	"github.com/ladder-cmp/ladder/internal/draw"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/wave"
)

// Ladder is the order of a component. It contains the identities of the objects and the
// findings about them, but not their content.
type Ladder struct {
	Name       string      `json:"name"`
	Rungs      []Rung      `json:"rungs"`
	Waves      []Wave      `json:"waves"`
	Objects    []Object    `json:"objects"`
	References []Reference `json:"references"`
	Findings   []Finding   `json:"findings"`
}

// Rung is the purpose of objects.
type Rung struct {
	Name string `json:"name"`
	Wave int    `json:"wave"`
	Why  string `json:"why"`
}

// Wave is a set of objects that are applied together.
type Wave struct {
	// Title is, for example, "wave 30"; About describes the content.
	Title string       `json:"title"`
	About string       `json:"about,omitempty"`
	Phase object.Phase `json:"phase,omitempty"`
	Wave  int          `json:"wave"`
	// Why says why the wave is separate, in sentences.
	Why []string `json:"why"`
	// IsGate means that Argo CD waits at its end for an object that a later one needs to be healthy.
	IsGate bool `json:"gate,omitempty"`
	// Awaited, Open and the lists are as in wave.Gate, without Moved.
	Awaited            bool          `json:"awaited,omitempty"`
	Open               bool          `json:"open,omitempty"`
	WaitsFor           []GatedObject `json:"gatedBy,omitempty"`
	WithoutHealthCheck []GatedObject `json:"blind,omitempty"`
	Hanging            []GatedObject `json:"hangs,omitempty"`
	Degrading          []GatedObject `json:"degrades,omitempty"`
}

// GatedObject is an object in one of the lists of a Wave, with the reason.
type GatedObject struct {
	// Object is an index into Ladder.Objects.
	Object int    `json:"object"`
	Why    string `json:"why"`
}

// Object is a manifest. Objects are in wave order.
type Object struct {
	// ID is unique within the ladder.
	ID        string `json:"id"`
	Kind      string `json:"kind"`
	Group     string `json:"group,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Wave is an index into Ladder.Waves, and Rung into Ladder.Rungs, -1 for none.
	Wave int `json:"wave"`
	Rung int `json:"rung"`
	// Why says what decided the wave, and Source is its source. DecidedBy is the index
	// of the object that decided the wave, -1 for none.
	Why       string `json:"why"`
	DecidedBy int    `json:"because"`
	Source    string `json:"source,omitempty"`
	File      string `json:"file,omitempty"`
	Line      int    `json:"line,omitempty"`
	// Icon is the name of the icon of its kind.
	Icon string `json:"icon"`
}

// Reference says that From refers to To; both are indexes into Ladder.Objects.
type Reference struct {
	From  int    `json:"from"`
	To    int    `json:"to"`
	Why   string `json:"why"`
	Field string `json:"field,omitempty"`
	// IsGate means that To must be healthy before From is applied, and Blind that Argo CD does not
	// wait for it nevertheless.
	IsGate bool `json:"gate,omitempty"`
	Blind  bool `json:"blind,omitempty"`
	// Inferred means that the reference is not based on a record.
	Inferred bool `json:"inferred,omitempty"`
	// Ignored means that it does not affect the order.
	Ignored bool `json:"loose,omitempty"`
	// Contradicted means that the order contradicts it.
	Contradicted bool `json:"against,omitempty"`
	// Implied means that it is the reference to the namespace or the CRD, which every
	// object has.
	Implied bool `json:"quiet,omitempty"`
}

// Finding is a finding with its object: an index into Ladder.Objects, -1 for none.
type Finding struct {
	finding.Finding
	About int `json:"about"`
}

// LadderOf returns the ladder of a plan. base is the knowledge with which the plan was
// computed.
func LadderOf(name string, p *wave.Plan, base *knowledge.Base, findings []finding.Finding) *Ladder {
	b := &builder{plan: p, Ladder: &Ladder{Name: finding.Sanitize(name), Rungs: []Rung{}, Waves: []Wave{}, Objects: []Object{},
		References: []Reference{}, Findings: []Finding{}}}
	b.number = make([]int, len(p.Graph.Nodes))
	for i := range b.number {
		b.number[i] = -1
	}
	bands := p.WaveGroups(func(int) bool { return true })
	count := 0
	for _, band := range bands {
		for _, i := range band.Nodes {
			b.number[i] = count
			count++
		}
	}
	b.objects(bands)
	b.waves(bands, p.Audit(base))
	b.references()
	b.attach(findings)
	return b.Ladder
}

// builder builds a ladder.
type builder struct {
	*Ladder
	plan *wave.Plan
	// number maps nodes to indexes of objects, -1 for none.
	number []int
}

func (b *builder) objects(bands []wave.WaveGroup) {
	ids := map[string]int{}
	for k, band := range bands {
		for _, i := range band.Nodes {
			n, place := b.plan.Graph.Nodes[i], b.plan.Places[i]
			o := Object{ID: finding.Sanitize(n.Key.Qualified()), Kind: finding.Sanitize(n.Key.Kind),
				Icon: draw.IconOf(n.Key).Name, Group: finding.Sanitize(n.Key.Group), Namespace: finding.Sanitize(n.Key.Namespace),
				Name: finding.Sanitize(n.Key.Name), Wave: k, Rung: -1, Why: finding.Sanitize(b.plan.Row(i).Why), DecidedBy: -1,
				File: finding.Sanitize(n.File), Line: n.Line}
			// Hooks may share the identity of a plain object.
			if ids[o.ID]++; ids[o.ID] > 1 {
				o.ID = fmt.Sprintf("%s (%d)", o.ID, ids[o.ID])
			}
			if place.Computed {
				o.Rung = b.rung(place.Rung)
			}
			if other, ok := b.plan.Decider(i); ok {
				o.DecidedBy = b.number[other]
			} else if place.Because.Cause == wave.ByRung {
				o.Source = finding.Sanitize(n.Kind.Source)
			}
			b.Objects = append(b.Objects, o)
		}
	}
}

// rung returns the index of a rung, and adds it if needed.
func (b *builder) rung(r knowledge.Rung) int {
	at := slices.IndexFunc(b.Rungs, func(known Rung) bool { return known.Name == r.Name })
	if at < 0 {
		at = len(b.Rungs)
		b.Rungs = append(b.Rungs, Rung{Name: r.Name, Wave: r.Wave, Why: finding.Sanitize(r.Why)})
	}
	return at
}

func (b *builder) waves(bands []wave.WaveGroup, gates []wave.Gate) {
	for k, band := range bands {
		w := Wave{Title: band.Title, About: finding.Sanitize(band.About), Phase: band.Phase, Wave: band.Wave, Why: b.why(bands, k)}
		at := slices.IndexFunc(gates, func(g wave.Gate) bool { return g.Phase == band.Phase && g.Wave == band.Wave })
		if at >= 0 {
			g := gates[at]
			w.Awaited, w.Open = g.Awaited, g.NoHealthChecks
			w.IsGate = g.Awaited && slices.ContainsFunc(g.GatedBy, func(o wave.Gated) bool { return len(o.Waiters) > 0 })
			w.WaitsFor, w.WithoutHealthCheck, w.Hanging, w.Degrading = b.gatedObjects(g.GatedBy),
				b.gatedObjects(g.WithoutHealthCheck), b.gatedObjects(g.Hangs), b.gatedObjects(g.Degrades)
		}
		b.Waves = append(b.Waves, w)
	}
}

func (b *builder) gatedObjects(all []wave.Gated) []GatedObject {
	var objects []GatedObject
	for _, g := range all {
		objects = append(objects, GatedObject{b.number[g.Node], finding.Sanitize(g.Why)})
	}
	return objects
}

func (b *builder) references() {
	for _, r := range b.plan.Graph.References {
		from, to := b.number[r.From], b.number[r.To]
		if from < 0 || to < 0 {
			continue
		}
		b.References = append(b.References, Reference{From: from, To: to, Why: finding.Sanitize(r.Why + r.Detail()),
			Field: finding.Sanitize(r.Field), IsGate: b.plan.IsGate(r), Blind: b.plan.IsGate(r) && b.plan.IsBlind(r.To),
			Inferred: r.Inferred(),
			Ignored:  !b.plan.Orders(r), Contradicted: b.plan.Contradicts(r), Implied: wave.IsImplied(b.plan.Graph, &r)})
	}
}

// attach assigns each finding to the object it names.
func (b *builder) attach(findings []finding.Finding) {
	named := map[string]int{}
	for i, n := range b.plan.Graph.Nodes {
		if _, there := named[n.Key.String()]; !there && b.number[i] >= 0 {
			named[n.Key.String()] = b.number[i]
		}
	}
	for _, f := range findings {
		about, there := named[f.Object]
		if !there {
			about = -1
		}
		b.Findings = append(b.Findings, Finding{f.Redacted(), about})
	}
}
