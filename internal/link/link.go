// Package link finds what Applications need of each other.
//
// Waves end at the edge of an Application, and what one needs of another stands
// in no manifest of Argo CD's. It is found in what both render to, by the rules
// that find references within one (package graph), and in what is known of
// charts that are not at hand (package knowledge). Both the rollout of a fleet
// and the waves of an app of apps follow from it.
//
// The package is pure: objects in, links out.
package link

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// Strength says what becomes of an Application whose need comes later.
type Strength int

const (
	// Calls: it names the other, and may well start without it.
	Calls Strength = iota
	// Exists: it does not become healthy before the other is applied. Both may
	// be synced at the same time.
	Exists
	// Healthy: it does not become healthy before the other is.
	Healthy
	// Applied: it cannot even be applied before the other is healthy.
	Applied
)

func (s Strength) String() string {
	return [...]string{"calls", "exists", "healthy", "applied"}[s]
}

// Later reports whether the phase must be a later one than that of the other:
// within a phase, Applications are synced at the same time.
func (s Strength) Later() bool { return s >= Healthy }

// Application is what Find compares with others.
type Application struct {
	// Parts are what it renders to: one for each of its sources.
	Parts []graph.Part
	// Charts are what is known of those of its charts that are not at hand.
	Charts []knowledge.Chart
	// File is what messages name when no object does.
	File string
}

// Link is what one Application needs of another. Both are indices of what Find
// was given.
type Link struct {
	From, To int
	// Reasons are what says so, the strongest first.
	Reasons []Reason
}

// Reason is one reference that crosses from one Application to another.
type Reason struct {
	Strength Strength
	// Inferred means that no record says so, but a convention or a sign.
	Inferred bool
	// Address means that Field is called for an address, and holds that of a Service
	// which leads to To.
	Address bool
	// From is the object that needs the other, which Field of it names; File and
	// Line are where it was rendered from.
	From, To object.ID
	Field    string
	File     string
	Line     int
	// Why is the verb of a sentence: From, why, To.
	Why    string
	Source string
}

// String is the sentence.
func (r Reason) String() string {
	var words []string
	if r.From != (object.ID{}) {
		words = append(words, r.From.String())
	}
	words = append(words, r.Why)
	if r.To != (object.ID{}) {
		words = append(words, r.To.String())
	}
	return strings.Join(words, " ")
}

// Strength is that of the strongest reason.
func (l Link) Strength() Strength { return l.Reasons[0].Strength }

// Sure reports whether some reason of that strength is not inferred.
func (l Link) Sure() bool {
	return slices.ContainsFunc(l.Reasons, func(r Reason) bool { return !r.Inferred && r.Strength == l.Strength() })
}

// finder is the work of Find.
type finder struct {
	apps  []Application
	base  *knowledge.Base
	graph *graph.Graph
	appOf []int // the Application, by part of the graph
	links map[[2]int][]Reason
	// groups are the nodes of each group of kinds that is not Kubernetes' own,
	// classes those that name a program, and charts the groups whose definitions
	// are in a chart of their own.
	groups  map[string][]int
	classes []int
	charts  map[string]bool
}

// Find says what Applications need of each other, sorted by both, besides the
// links that are known already. The graph is of all their objects; the Part of a
// node is the index of its Application.
func Find(apps []Application, base *knowledge.Base, known ...Link) (*graph.Graph, []Link, error) {
	f := &finder{apps: apps, base: base, links: map[[2]int][]Reason{}}
	var parts []graph.Part
	for i, app := range apps {
		for _, part := range app.Parts {
			parts = append(parts, part)
			f.appOf = append(f.appOf, i)
		}
		for _, chart := range app.Charts {
			stubs, err := chart.Stubs()
			if err != nil {
				return nil, nil, err
			}
			parts = append(parts, graph.Part{Objects: stubs, Stubs: true})
			f.appOf = append(f.appOf, i)
		}
	}
	var err error
	if f.graph, err = graph.Join(parts, base); err != nil {
		return nil, nil, err
	}
	f.index()
	f.linkObjects()
	f.linkCharts()
	for _, l := range known {
		for _, r := range l.Reasons {
			f.add(l.From, l.To, r)
		}
	}
	for i := range f.graph.Nodes {
		f.graph.Nodes[i].Part = f.appOf[f.graph.Nodes[i].Part]
	}
	return f.graph, f.sorted(), nil
}

// index saves every chart from being compared with every object.
func (f *finder) index() {
	f.groups, f.charts = map[string][]int{}, map[string]bool{}
	for i := range f.graph.Nodes {
		n := &f.graph.Nodes[i]
		if !f.base.Builtin(n.Key.Group) {
			f.groups[n.Key.Group] = append(f.groups[n.Key.Group], i)
		}
		if !n.Kind.Provider.IsZero() {
			f.classes = append(f.classes, i)
		}
	}
	for _, app := range f.apps {
		for _, c := range app.Charts {
			for group := range f.groups {
				if c.Rung == definitions && c.Brings(group) {
					f.charts[group] = true
				}
			}
		}
	}
}

func (f *finder) add(from, to int, r Reason) {
	if from != to {
		f.links[[2]int{from, to}] = append(f.links[[2]int{from, to}], r)
	}
}

func (f *finder) sorted() []Link {
	var all []Link
	for ends, reasons := range f.links {
		slices.SortStableFunc(reasons, func(x, y Reason) int {
			return cmp.Or(cmp.Compare(y.Strength, x.Strength), boolean(x.Inferred)-boolean(y.Inferred),
				strings.Compare(x.From.String(), y.From.String()), strings.Compare(x.To.String(), y.To.String()), strings.Compare(x.Field, y.Field), strings.Compare(x.Why, y.Why))
		})
		all = append(all, Link{ends[0], ends[1], slices.Compact(reasons)})
	}
	slices.SortFunc(all, func(x, y Link) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	return all
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// linkObjects: references that cross from one Application to another.
func (f *finder) linkObjects() {
	own, providers := f.ownObjects(), f.providers()
	for _, r := range f.graph.References {
		node, target := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
		from, to := f.appOf[node.Part], f.appOf[target.Part]
		f.linkToProviders(r, providers[r.To])
		if from == to || own[holding{from, target.Key}] {
			continue
		}
		if strength, counts := f.strength(r); counts {
			f.add(from, to, Reason{Strength: strength, Inferred: r.Inferred, Address: r.Sign == graph.Address, From: node.Key, To: target.Key,
				Field: r.Field, File: node.File, Line: node.Line, Why: r.Why, Source: r.Source})
		}
	}
}

// holding is an object in an Application.
type holding struct {
	app int
	key object.ID
}

func (f *finder) ownObjects() map[holding]bool {
	own := make(map[holding]bool, len(f.graph.Nodes))
	for _, n := range f.graph.Nodes {
		own[holding{f.appOf[n.Part], n.Key}] = true
	}
	return own
}

// provider is the program behind a class: a workload, or what a record says
// about a chart.
type provider struct {
	app      int
	workload object.ID
	chart    string
	inferred bool
	source   string
}

// providers are the programs behind classes, by the nodes of these.
func (f *finder) providers() map[int][]provider {
	all := map[int][]provider{}
	for _, r := range f.graph.References {
		if to := f.graph.Nodes[r.To]; isProvider(f.graph.Nodes[r.From], r) {
			all[r.From] = append(all[r.From], provider{app: f.appOf[to.Part], workload: to.Key, inferred: true, source: r.Source})
		}
	}
	for _, i := range f.classes {
		n := f.graph.Nodes[i]
		for _, asked := range n.Kind.Provider.Find(n.Root()) {
			for app, a := range f.apps {
				for _, chart := range a.Charts {
					if slices.Contains(chart.Answers, asked.Value.Text()) {
						all[i] = append(all[i], provider{app: app, chart: chart.Name, source: chart.Source})
					}
				}
			}
		}
	}
	return all
}

// linkToProviders: a class may be there long before the program that it asks for. Who
// uses the class needs the program.
func (f *finder) linkToProviders(r graph.Reference, providers []provider) {
	if r.Inferred || r.Meaning != knowledge.Exists {
		return
	}
	from, class := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
	for _, p := range providers {
		reason := Reason{Strength: Healthy, Inferred: p.inferred, From: from.Key, To: p.workload, Field: r.Field, File: from.File, Line: from.Line,
			Why: fmt.Sprintf("%s %s, which is provided by", r.Why, class.Key), Source: p.source}
		if p.chart != "" {
			reason.Why += " the chart " + p.chart
		}
		f.add(f.appOf[from.Part], p.app, reason)
	}
}

// isProvider reports whether a reference leads from a class to the program that
// it asks for.
func isProvider(class graph.Node, r graph.Reference) bool {
	return !class.Kind.Provider.IsZero() && r.Field == class.Kind.Provider.String()
}

// strength says what a reference from one Application to another demands, and
// whether it is one: signs that are good enough among the objects of a
// component (a bare word, an image, a webhook for Pods of anybody) lead astray
// among those of eighty.
func (f *finder) strength(r graph.Reference) (Strength, bool) {
	from, to := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
	switch {
	case r.Explicit:
	case r.IsAboutKind() && from.Kind.Assured:
		return 0, false // its kind is there wherever Argo CD is
	case isProvider(from, r):
		return Healthy, from.HasHealth // most classes are fine alone
	case !r.Inferred && r.Meaning == knowledge.Exists && to.Stub:
		return Healthy, true // it comes once what the chart runs is there
	case r.IsAboutWebhook() && (!r.Hard || f.base.Builtin(from.Key.Group)):
		// It was there before the webhook, or comes with whatever is applied later. Of
		// Pods only the creation is refused, and their owners try again for ever,
		// whichever kind these are of (reference/access-authn-authz/extensible-admission-controllers).
		return 0, false
	case r.Inferred && r.Meaning == knowledge.Exists && r.Sign == graph.Bringer:
		return Exists, true
	case r.Inferred && r.Meaning == knowledge.Exists && r.Sign != graph.Call && r.Sign != graph.Configuration:
		return 0, false
	case r.Meaning == knowledge.Exists && r.IsAboutNamespace() && to.Key.Kind == "Namespace":
		return Exists, true // CreateNamespace makes it, without its labels
	}
	switch r.Meaning {
	case knowledge.Healthy:
		if r.Hard {
			return Applied, true
		}
		return Healthy, true
	case knowledge.Exists, knowledge.With:
		if r.Optional || r.Inferred {
			return Calls, true
		}
		return Exists, true
	}
	return Calls, true
}

// linkCharts: kinds of a chart in a registry come with what is known of it.
func (f *finder) linkCharts() {
	for to, app := range f.apps {
		for _, chart := range app.Charts {
			f.linkToChart(to, chart)
			for _, group := range chart.Needs {
				for _, provider := range f.servers(group) {
					f.add(to, provider, Reason{Strength: Healthy, Why: fmt.Sprintf("the chart %s uses kinds of %s", chart.Name, group), Source: chart.Source})
				}
			}
		}
	}
}

// linkToChart links what uses a chart to the Application that has it: its kinds,
// also those that others make, and the classes that it answers for.
func (f *finder) linkToChart(to int, chart knowledge.Chart) {
	add := func(i int, r Reason) {
		n := &f.graph.Nodes[i]
		r.From, r.File, r.Line, r.Source = n.Key, n.File, n.Line, chart.Source
		f.add(f.appOf[n.Part], to, r)
	}
	for group, nodes := range f.groups {
		if chart.Brings(group) {
			f.byKind(group, nodes, chart, add)
		}
	}
	f.byClass(chart, add)
	for _, made := range f.graph.Made {
		if n := f.graph.Nodes[made.From]; chart.Brings(made.Kind.Group) {
			strength := Exists
			if made.Meaning == knowledge.Healthy {
				strength = Healthy
			}
			f.add(f.appOf[n.Part], to, Reason{Strength: strength, From: n.Key, Field: made.Field, File: n.File, Line: n.Line, Source: made.Source,
				Why: fmt.Sprintf("%s %s, which comes with the chart %s", made.Why, made.Kind, chart.Name)})
		}
	}
	for from, other := range f.apps {
		for _, user := range other.Charts {
			for _, group := range user.Needs {
				if chart.Brings(group) {
					f.add(from, to, Reason{Strength: Healthy, Why: fmt.Sprintf("the chart %s uses kinds of %s, which come with the chart %s", user.Name, group, chart.Name), Source: user.Source})
				}
			}
		}
	}
}

// definitions is the rung of charts that bring nothing but definitions.
const definitions = "crds"

// byKind says what objects of a group need of a chart that brings its kinds: the
// definition, if nobody else has it, or the controller behind that.
func (f *finder) byKind(group string, nodes []int, chart knowledge.Chart, add func(int, Reason)) {
	for _, i := range nodes {
		switch {
		case f.graph.Nodes[i].Foreign && (chart.Rung == definitions || !f.charts[group]):
			add(i, Reason{Strength: Applied, Inferred: chart.Guessed, Field: "kind", Why: "is a kind installed by the chart " + chart.Name})
		case chart.Rung == knowledge.Controllers:
			add(i, Reason{Strength: Healthy, Inferred: true, Field: "kind", Why: "is a kind reconciled by the chart " + chart.Name})
		}
	}
}

// byClass says who names a program of a chart.
func (f *finder) byClass(chart knowledge.Chart, add func(int, Reason)) {
	for _, i := range f.classes {
		n := &f.graph.Nodes[i]
		if !n.HasHealth {
			continue // most classes are fine alone
		}
		for _, found := range n.Kind.Provider.Find(n.Root()) {
			if slices.Contains(chart.Answers, found.Value.Text()) {
				add(i, Reason{Strength: Healthy, Field: found.Field, Why: "is provided by the chart " + chart.Name})
			}
		}
	}
}

// servers are the Applications that define kinds of a group, or reconcile them.
func (f *finder) servers(group string) []int {
	var all []int
	for _, n := range f.graph.Nodes {
		if slices.Contains(n.Reconciles, group) && !slices.Contains(all, f.appOf[n.Part]) {
			all = append(all, f.appOf[n.Part])
		}
		for _, d := range n.Kind.Defines {
			for _, found := range d.Group.Find(n.Root()) {
				if found.Value.Text() == group && !slices.Contains(all, f.appOf[n.Part]) {
					all = append(all, f.appOf[n.Part])
				}
			}
		}
	}
	return all
}
