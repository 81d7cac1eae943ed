package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
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

// Link is what one Application needs of another. Both are indices of
// Fleet.Applications.
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
	to := r.To.String()
	if r.To == (object.ID{}) {
		to = ""
	}
	return strings.TrimSpace(r.From.String() + " " + r.Why + " " + to)
}

// Strength is that of the strongest reason.
func (l Link) Strength() Strength { return l.Reasons[0].Strength }

// Sure reports whether some reason of that strength is not inferred.
func (l Link) Sure() bool {
	return slices.ContainsFunc(l.Reasons, func(r Reason) bool { return !r.Inferred && r.Strength == l.Strength() })
}

// link finds what Applications need of each other.
func (f *Fleet) link() error {
	parts := make([]graph.Part, len(f.Applications))
	for i, app := range f.Applications {
		parts[i] = graph.Part{Objects: app.Objects, Namespace: app.Namespace}
		if app.Chart != nil {
			stubs, err := app.Chart.Stubs()
			if err != nil {
				return err
			}
			parts[i].Objects = stubs
		}
	}
	g, err := graph.Join(parts, f.base)
	if err != nil {
		return err
	}
	f.graph = g
	links := map[[2]int][]Reason{}
	add := func(from, to int, r Reason) {
		if from != to {
			links[[2]int{from, to}] = append(links[[2]int{from, to}], r)
		}
	}
	own, providers := f.held(), f.providers()
	for _, r := range g.References {
		from, to := g.Nodes[r.From], g.Nodes[r.To]
		f.behind(r, providers[r.To], add)
		if from.Part == to.Part || own[holding{from.Part, to.Key}] {
			continue
		}
		if strength, counts := f.crossing(r); counts {
			add(from.Part, to.Part, Reason{Strength: strength, Inferred: r.Inferred, From: from.Key, To: to.Key,
				Field: r.Field, File: from.File, Line: from.Line, Why: r.Why, Source: r.Source})
		}
	}
	f.fromCharts(add)
	f.halves(add)
	for ends, reasons := range links {
		slices.SortFunc(reasons, func(x, y Reason) int {
			return cmp.Or(cmp.Compare(y.Strength, x.Strength), boolean(x.Inferred)-boolean(y.Inferred),
				strings.Compare(x.From.String(), y.From.String()), strings.Compare(x.To.String(), y.To.String()), strings.Compare(x.Field, y.Field), strings.Compare(x.Why, y.Why))
		})
		f.Links = append(f.Links, Link{ends[0], ends[1], slices.Compact(reasons)})
	}
	slices.SortFunc(f.Links, func(x, y Link) int { return cmp.Or(cmp.Compare(x.From, y.From), cmp.Compare(x.To, y.To)) })
	return nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// holding is an object in an Application.
type holding struct {
	part int
	key  object.ID
}

func (f *Fleet) held() map[holding]bool {
	own := make(map[holding]bool, len(f.graph.Nodes))
	for _, n := range f.graph.Nodes {
		own[holding{n.Part, n.Key}] = true
	}
	return own
}

// provider is the program behind a class: a workload, or what a record says
// about a chart.
type provider struct {
	part     int
	workload object.ID
	chart    string
	inferred bool
	source   string
}

// providers are the programs behind classes, by the nodes of these.
func (f *Fleet) providers() map[int][]provider {
	all := map[int][]provider{}
	for _, r := range f.graph.References {
		if to := f.graph.Nodes[r.To]; isProvider(f.graph.Nodes[r.From], r) {
			all[r.From] = append(all[r.From], provider{part: to.Part, workload: to.Key, inferred: true, source: r.Source})
		}
	}
	for i, n := range f.graph.Nodes {
		for _, asked := range n.Kind.Provider.Find(n.Root()) {
			for part, app := range f.Applications {
				if app.Chart != nil && slices.Contains(app.Chart.Answers, asked.Value.Text()) {
					all[i] = append(all[i], provider{part: part, chart: app.Chart.Name, source: app.Chart.Source})
				}
			}
		}
	}
	return all
}

// behind: a class may be there long before the program that it asks for. Who
// uses the class needs the program.
func (f *Fleet) behind(r graph.Reference, providers []provider, add func(from, to int, r Reason)) {
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
		add(from.Part, p.part, reason)
	}
}

// isProvider reports whether a reference leads from a class to the program that
// it asks for.
func isProvider(class graph.Node, r graph.Reference) bool {
	return !class.Kind.Provider.IsZero() && r.Field == class.Kind.Provider.String()
}

// crossing says what a reference from one Application to another demands, and
// whether it is one: signs that are good enough among the objects of a
// component (a bare word, an image, a webhook for Pods of anybody) lead astray
// among those of eighty.
func (f *Fleet) crossing(r graph.Reference) (Strength, bool) {
	from, to := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
	switch {
	case r.Explicit:
	case r.Field == "kind" && from.Kind.Assured:
		return 0, false // its kind is there wherever Argo CD is
	case isProvider(from, r):
		return Healthy, from.HasHealth // most classes are fine alone
	case !r.Inferred && r.Meaning == knowledge.Exists && f.Applications[to.Part].Chart != nil:
		return Healthy, true // it comes once what the chart runs is there
	case r.Field == "webhooks" && f.base.Builtin(from.Key.Group):
		return 0, false // it was there before the webhook, or comes with whatever is applied later
	case r.Inferred && r.Meaning == knowledge.Exists && strings.HasSuffix(r.Why, graph.MayCome):
		return Exists, true
	case r.Inferred && r.Meaning == knowledge.Exists && r.Why != "calls" && r.Why != "is configured by":
		return 0, false
	case r.Meaning == knowledge.Exists && r.Field == "metadata.namespace" && to.Key.Kind == "Namespace":
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

// fromCharts: kinds of a chart in a registry come with what is known of it.
func (f *Fleet) fromCharts(add func(from, to int, r Reason)) {
	for to, app := range f.Applications {
		if app.Chart == nil {
			continue
		}
		for _, n := range f.graph.Nodes {
			f.fromChart(n, app.Chart, func(r Reason) {
				r.From, r.File, r.Line, r.Source = n.Key, n.File, n.Line, app.Chart.Source
				add(n.Part, to, r)
			})
		}
		for _, made := range f.graph.Made {
			if n := f.graph.Nodes[made.From]; app.Chart.Brings(made.Kind.Group) {
				strength := Exists
				if made.Meaning == knowledge.Healthy {
					strength = Healthy
				}
				add(n.Part, to, Reason{Strength: strength, From: n.Key, Field: made.Field, File: n.File, Line: n.Line, Source: made.Source,
					Why: fmt.Sprintf("%s %s, which comes with the chart %s", made.Why, made.Kind, app.Chart.Name)})
			}
		}
		for from, other := range f.Applications {
			if other.Chart == nil {
				continue
			}
			for _, group := range other.Chart.Needs {
				if app.Chart.Brings(group) {
					add(from, to, Reason{Strength: Healthy, Why: fmt.Sprintf("the chart %s uses kinds of %s, which come with the chart %s", other.Chart.Name, group, app.Chart.Name), Source: other.Chart.Source})
				}
			}
		}
		for _, group := range app.Chart.Needs {
			for _, provider := range f.serving(group) {
				add(to, provider, Reason{Strength: Healthy, Why: fmt.Sprintf("the chart %s uses kinds of %s", app.Chart.Name, group), Source: app.Chart.Source})
			}
		}
	}
}

// definitions is the rung of charts that bring nothing but definitions.
const definitions = "crds"

// defines reports whether the definitions of a group are in a chart of their own.
func (f *Fleet) defines(group string) bool {
	return slices.ContainsFunc(f.Applications, func(a *Application) bool {
		return a.Chart != nil && a.Chart.Rung == definitions && a.Chart.Brings(group)
	})
}

// fromChart says what an object needs of a chart: the definition of its kind, if
// nobody else has it, the controller behind that, or what a class names.
func (f *Fleet) fromChart(n graph.Node, chart *knowledge.Chart, add func(Reason)) {
	brings := !f.base.Builtin(n.Key.Group) && chart.Brings(n.Key.Group)
	switch {
	case brings && n.Foreign && (chart.Rung == definitions || !f.defines(n.Key.Group)):
		add(Reason{Strength: Applied, Field: "kind", Why: "is of a kind that comes with the chart " + chart.Name})
	case brings && chart.Rung == knowledge.Controllers:
		add(Reason{Strength: Healthy, Inferred: true, Field: "kind", Why: "is of a kind that is reconciled by the chart " + chart.Name})
	}
	if n.HasHealth {
		for _, found := range n.Kind.Provider.Find(n.Root()) {
			if slices.Contains(chart.Answers, found.Value.Text()) {
				add(Reason{Strength: Healthy, Field: found.Field, Why: "is provided by the chart " + chart.Name})
			}
		}
	}
}

// serving are the Applications that define kinds of a group, or reconcile them.
func (f *Fleet) serving(group string) []int {
	var all []int
	for _, n := range f.graph.Nodes {
		if slices.Contains(n.Reconciles, group) && !slices.Contains(all, n.Part) {
			all = append(all, n.Part)
		}
		for _, d := range n.Kind.Defines {
			for _, found := range d.Group.Find(n.Root()) {
				if found.Value.Text() == group && !slices.Contains(all, n.Part) {
					all = append(all, n.Part)
				}
			}
		}
	}
	return all
}

// halves: what is left of a component that is split comes after its definitions.
func (f *Fleet) halves(add func(from, to int, r Reason)) {
	for from, app := range f.Applications {
		for to, other := range f.Applications {
			if app.Component == other.Component && app.Part == crds.Skip && other.Part == crds.Only {
				add(from, to, Reason{Strength: Applied, Why: "its definitions are in " + other.Name, File: app.File})
			}
		}
	}
}
