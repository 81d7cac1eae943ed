// Package link finds dependencies between Applications.
//
// Waves only work within an Application, and no manifest of Argo CD contains
// dependencies between Applications. They are found in what the Applications render
// to, by the same rules as references within one (package graph), and in the knowledge
// about charts that are not available locally (package knowledge). The rollout of a
// fleet and the waves of an app of apps are based on them.
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

// Strength says what happens to an Application whose dependency is deployed later.
type Strength int

const (
	// Calls: it names the other, but probably starts without it.
	Calls Strength = iota
	// Exists: it does not become healthy before the other is applied. Both may be
	// synced at the same time.
	Exists
	// Healthy: it does not become healthy before the other is.
	Healthy
	// Applied: it cannot even be applied before the other is healthy.
	Applied
)

func (s Strength) String() string {
	return [...]string{"calls", "exists", "healthy", "applied"}[s]
}

// NeedsEarlierStep reports whether the dependency needs an earlier step: within a step,
// Applications are synced at the same time.
func (s Strength) NeedsEarlierStep() bool { return s >= Healthy }

// Gap is the least number of steps between the dependency and its dependent.
func (s Strength) Gap() int { return boolean(s.NeedsEarlierStep()) }

// Contents is what an Application contains, to compare with others.
type Contents struct {
	// Parts are its rendered objects, one part for each source.
	Parts []graph.Part
	// Charts are its known charts that are not available locally.
	Charts []knowledge.Chart
	// File is the file for messages without an object.
	File string
}

// Link is a dependency between Applications. Both are indexes into the input of
// Find.
type Link struct {
	From, To int
	// Reasons are the reasons, strongest first.
	Reasons []Reason
}

// Reason is a reference from an object of one Application to another Application.
type Reason struct {
	Strength Strength
	// Inferred means that it is based on a convention or a sign, not on a record.
	Inferred bool
	// Address means that Field contains addresses, one of which is that of a
	// Service that leads to To.
	Address bool
	// From is the dependent object, whose Field names the other; File and Line are
	// its place.
	From, To object.ID
	Field    string
	File     string
	Line     int
	// Why is the verb of a sentence: From, why, To.
	Why    string
	Source string
}

// String returns the sentence.
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

// Located returns the sentence with its file and with remarks.
func (r Reason) Located(remarks ...string) string {
	if r.File != "" && r.Line > 0 {
		remarks = append([]string{fmt.Sprintf("%s:%d", r.File, r.Line)}, remarks...)
	}
	if len(remarks) == 0 {
		return r.String()
	}
	return r.String() + " (" + strings.Join(remarks, ", ") + ")"
}

// IsNamespace reports whether the dependency is the Namespace of an object. Argo CD creates it
// with CreateNamespace=true, but without its labels.
func (r Reason) IsNamespace() bool {
	return r.Field == "metadata.namespace" && r.To.Kind == "Namespace"
}

// SortReasons puts the strongest reasons first, and certain ones before inferred ones.
func SortReasons(all []Reason) {
	slices.SortStableFunc(all, func(x, y Reason) int {
		return cmp.Or(cmp.Compare(y.Strength, x.Strength), boolean(x.Inferred)-boolean(y.Inferred))
	})
}

// Strength returns that of the strongest reason.
func (l Link) Strength() Strength { return l.Reasons[0].Strength }

// IsCertain reports whether a reason of that strength is not inferred.
func (l Link) IsCertain() bool {
	return slices.ContainsFunc(l.Reasons, func(r Reason) bool { return !r.Inferred && r.Strength == l.Strength() })
}

// finder is the state of Find.
type finder struct {
	apps  []Contents
	base  *knowledge.Base
	graph *graph.Graph
	appOf []int // the Application of each part of the graph
	links map[[2]int][]Reason
	// groups maps each API group that is not built-in to its nodes.
	groups map[string][]int
	// classes are the nodes that name a program.
	classes []int
	// charts are the API groups whose CRDs are in a separate chart.
	charts map[string]bool
}

// Find returns the dependencies between Applications, sorted by both, including
// known links. The graph contains all their objects; the Part of a node is the
// index of its Application.
func Find(apps []Contents, base *knowledge.Base, known ...Link) (*graph.Graph, []Link, error) {
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

// index avoids comparing every chart with every object.
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
				if c.Rung == crdsRung && c.InstallsGroup(group) {
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
				strings.Compare(x.From.String(), y.From.String()), strings.Compare(x.To.String(), y.To.String()),
				strings.Compare(x.Field, y.Field), strings.Compare(x.Why, y.Why))
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

// linkObjects adds the references between objects of different Applications.
func (f *finder) linkObjects() {
	own, kinds, providers := f.ownObjects(), f.ownKinds(), f.providers()
	for _, r := range f.graph.References {
		node, target := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
		from, to := f.appOf[node.Part], f.appOf[target.Part]
		f.linkToProviders(r, providers[r.To])
		if from == to || own[holding{from, target.Key}] || kinds.satisfies(f, r) {
			continue
		}
		if strength, counts := f.strength(r); counts {
			f.add(from, to, Reason{Strength: strength, Inferred: r.Inferred(), Address: r.Sign == graph.Address, From: node.Key, To: target.Key,
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

// provider is the program behind a class: a workload, or a known chart.
type provider struct {
	app      int
	workload object.ID
	chart    string
	inferred bool
	source   string
}

// providers returns the programs behind classes, by their nodes.
func (f *finder) providers() map[int][]provider {
	all := map[int][]provider{}
	for _, r := range f.graph.References {
		if to := f.graph.Nodes[r.To]; isProvider(f.graph.Nodes[r.From], r) {
			all[r.From] = append(all[r.From], provider{app: f.appOf[to.Part], workload: to.Key, inferred: true, source: r.Source})
		}
	}
	for _, i := range f.classes {
		n := f.graph.Nodes[i]
		for _, class := range n.Kind.Provider.Find(n.Root()) {
			for app, a := range f.apps {
				for _, chart := range a.Charts {
					if slices.Contains(chart.ClassProviders, class.Value.Text()) {
						all[i] = append(all[i], provider{app: app, chart: chart.Name, source: chart.Source})
					}
				}
			}
		}
	}
	return all
}

// linkToProviders makes users of a class depend on the program behind it, since a class
// may exist long before its program.
func (f *finder) linkToProviders(r graph.Reference, providers []provider) {
	if r.Inferred() || !isForExistence(r) {
		return
	}
	from, class := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
	if slices.ContainsFunc(providers, func(p provider) bool { return p.app == f.appOf[from.Part] }) {
		return // its own Application provides the class
	}
	for _, p := range providers {
		reason := Reason{Strength: Healthy, Inferred: p.inferred, From: from.Key, To: p.workload, Field: r.Field,
			File: from.File, Line: from.Line,
			Why: fmt.Sprintf("%s %s, which is provided by", r.Why, class.Key), Source: p.source}
		if p.chart != "" {
			reason.Why += " the " + p.chart + " chart"
		}
		f.add(f.appOf[from.Part], p.app, reason)
	}
}

// isProvider reports whether a reference leads from a class to its program.
func isProvider(class graph.Node, r graph.Reference) bool {
	return !class.Kind.Provider.IsZero() && r.Field == class.Kind.Provider.String()
}

// strength returns the strength of a reference between Applications, and whether it
// counts: some inferences that are reliable within a component (from a bare word, an
// image, a webhook for all Pods) are misleading in a fleet.
func (f *finder) strength(r graph.Reference) (Strength, bool) {
	from, to := f.graph.Nodes[r.From], f.graph.Nodes[r.To]
	switch {
	case r.Explicit():
	case r.IsAboutKind() && from.Kind.AlwaysInstalled:
		return 0, false // its kind exists wherever Argo CD runs
	case isProvider(from, r):
		return Healthy, from.HasHealth // most classes work alone
	case !r.Inferred() && isForExistence(r) && to.Stub:
		return Healthy, true // the chart's program creates it
	case r.IsAboutWebhook() && r.Fails != graph.Unchanged && (!r.IsHard() || f.base.Builtin(from.Key.Group)):
		// The object existed before the webhook, or a later object creates it.
		// Webhooks only refuse the creation of Pods, and their owners retry
		// indefinitely, whatever their kind
		// (reference/access-authn-authz/extensible-admission-controllers).
		return 0, false
	case r.Inferred() && isForExistence(r) && r.Sign == graph.Installation:
		return Exists, true
	case r.Inferred() && isForExistence(r) && r.Sign != graph.Call && r.Sign != graph.Configuration:
		return 0, false
	case isForExistence(r) && r.IsAboutNamespace() && to.Key.Kind == "Namespace":
		return Exists, true // CreateNamespace creates it, without its labels
	}
	switch {
	case r.Need != graph.Needs:
		return Calls, true
	case r.Until == graph.Healthy && r.IsHard():
		return Applied, true
	case r.Until == graph.Healthy:
		return Healthy, true
	case r.Inferred():
		return Calls, true
	}
	return Exists, true
}

// isForExistence reports whether the target of a reference need only have been applied.
func isForExistence(r graph.Reference) bool {
	return r.Need != graph.NeedsNot && r.Until == graph.Exists
}

// linkCharts adds the links from and to charts in registries, according to their
// records.
func (f *finder) linkCharts() {
	kinds := f.ownKinds()
	for to, app := range f.apps {
		for _, chart := range app.Charts {
			f.linkToChart(to, chart, kinds)
			for _, group := range chart.Needs {
				if f.bundles(to, group) {
					continue
				}
				for _, provider := range f.servers(group) {
					f.add(to, provider, Reason{Strength: Healthy,
						Why: fmt.Sprintf("the %s chart uses kinds of %s", chart.Name, group), Source: chart.Source})
				}
			}
		}
	}
}

// linkToChart links the objects that use a chart to its Application: those of its
// kinds, those that create such objects, and those that name a class that it provides.
func (f *finder) linkToChart(to int, chart knowledge.Chart, own ownKinds) {
	add := func(i int, r Reason) {
		n := &f.graph.Nodes[i]
		r.From, r.File, r.Line, r.Source = n.Key, n.File, n.Line, chart.Source
		f.add(f.appOf[n.Part], to, r)
	}
	for group, nodes := range f.groups {
		if chart.InstallsGroup(group) {
			f.linkKinds(group, nodes, chart, own, add)
		}
	}
	f.linkClasses(chart, add)
	for _, creation := range f.graph.Creations {
		n := f.graph.Nodes[creation.From]
		if group := creation.Kind.Group; chart.InstallsGroup(group) && !f.bundles(f.appOf[n.Part], group) {
			strength := Exists
			if creation.Until == graph.Healthy {
				strength = Healthy
			}
			f.add(f.appOf[n.Part], to, Reason{Strength: strength, From: n.Key, Field: creation.Field, File: n.File, Line: n.Line,
				Source: creation.Source,
				Why:    fmt.Sprintf("%s %s, which the %s chart installs", creation.Why, creation.Kind, chart.Name)})
		}
	}
	for from, other := range f.apps {
		for _, user := range other.Charts {
			for _, group := range user.Needs {
				if chart.InstallsGroup(group) && !f.bundles(from, group) {
					f.add(from, to, Reason{Strength: Healthy,
						Why: fmt.Sprintf("the %s chart uses kinds of %s, which the %s chart installs", user.Name, group,
							chart.Name), Source: user.Source})
				}
			}
		}
	}
}

// crdsRung is the name of the rung of charts that contain only CRDs.
const crdsRung = "crds"

// linkKinds adds a reason for each object of a group that depends on a chart with its
// kinds: on the CRD, unless another chart installs it, or on its controller.
func (f *finder) linkKinds(group string, nodes []int, chart knowledge.Chart, own ownKinds, add func(int, Reason)) {
	for _, i := range nodes {
		switch {
		case f.graph.Nodes[i].CRDMissing && (chart.Rung == crdsRung || !f.charts[group] && !own.defined[i]):
			add(i, Reason{Strength: Applied, Inferred: chart.Inferred, Field: "kind", Why: "uses a CRD installed by the " + chart.Name + " chart"})
		case chart.Rung == knowledge.Controllers && !own.served[i]:
			add(i, Reason{Strength: Healthy, Inferred: true, Field: "kind", Why: "has a kind that is reconciled by the " + chart.Name + " chart"})
		}
	}
}

// linkClasses adds a reason for each class that names a program of a chart.
func (f *finder) linkClasses(chart knowledge.Chart, add func(int, Reason)) {
	for _, i := range f.classes {
		n := &f.graph.Nodes[i]
		if !n.HasHealth {
			continue // most classes work alone
		}
		for _, found := range n.Kind.Provider.Find(n.Root()) {
			if slices.Contains(chart.ClassProviders, found.Value.Text()) && !f.provides(f.appOf[n.Part], found.Value.Text()) {
				add(i, Reason{Strength: Healthy, Field: found.Field, Why: "is provided by the " + chart.Name + " chart"})
			}
		}
	}
}

// servers returns the Applications that define or reconcile kinds of a group.
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
