package fleet

import (
	"slices"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet/link"
	"github.com/ladder-cmp/ladder/graph"
)

// Link is a dependency of one Application on another. Both are indices of Fleet.Applications.
type Link = link.Link

// Reason is one reference that crosses from one Application to another.
type Reason = link.Reason

// Strength says what happens if the dependency comes later than the dependent.
type Strength = link.Strength

// The strengths of links. Package link describes each of them.
const (
	Calls   = link.Calls
	Exists  = link.Exists
	Healthy = link.Healthy
	Applied = link.Applied
)

// link finds the dependencies between Applications.
func (f *Fleet) link() error {
	apps := make([]link.Contents, len(f.Applications))
	for i, app := range f.Applications {
		apps[i] = link.Contents{Parts: []graph.Part{{Objects: app.Objects, Namespace: app.Namespace, Expects: app.Expects}}, File: app.File}
		apps[i].Charts = app.KnownCharts()
		if stubs := app.valueStubs(); stubs != nil {
			apps[i].Parts = append(apps[i].Parts, graph.Part{Objects: stubs, Namespace: app.Namespace, Stubs: true})
		}
	}
	var err error
	f.Objects, f.Links, err = link.Find(apps, f.Base, f.crdsLinks()...)
	if err != nil {
		return err
	}
	elsewhere := func(l Link) bool { return f.OnDifferentClusters(f.Applications[l.From], f.Applications[l.To]) }
	f.Networks = link.NetworksOf(f.Objects, apps)
	f.Links = withValueNames(slices.DeleteFunc(link.WithNetwork(f.Objects, f.Networks, f.Links), elsewhere))
	for _, l := range f.Links {
		trustAddresses(l.Reasons)
	}
	return nil
}

// trustAddresses makes some inferred dependencies certain: if a field for an address contains
// that of a Service in another component, a rollout that does not wait for that component
// hangs.
func trustAddresses(reasons []link.Reason) {
	for i := range reasons {
		reasons[i].Inferred = reasons[i].Inferred && !reasons[i].Address
	}
	link.SortReasons(reasons)
}

// LinksEverywhere returns the dependencies of all environments. A reason that several
// environments have is listed once.
func (f *Fleet) LinksEverywhere() []Link {
	all := slices.Clone(f.Links)
	for _, e := range f.Environments() {
		inEnvironment := f.byEnvironment[e]
		if inEnvironment == nil {
			continue
		}
		for _, l := range inEnvironment.Links {
			if !Deployed(inEnvironment.Applications[l.From], e) || !Deployed(inEnvironment.Applications[l.To], e) {
				continue
			}
			i := slices.IndexFunc(all, func(known Link) bool { return known.From == l.From && known.To == l.To })
			if i < 0 {
				all = append(all, l)
				continue
			}
			reasons := slices.Clone(all[i].Reasons)
			for _, r := range l.Reasons {
				if !slices.Contains(reasons, r) {
					reasons = append(reasons, r)
				}
			}
			all[i].Reasons = reasons
			link.SortReasons(all[i].Reasons)
		}
	}
	return all
}

// Used returns the objects that something else uses in some environment.
func (f *Fleet) Used() link.Used {
	used := link.Used{}
	used.Add(f.Objects)
	for _, inEnvironment := range f.byEnvironment {
		used.Add(inEnvironment.Objects)
	}
	return used
}

// crdsLinks returns a link from the rest of each split component to its CRDs, which come first.
func (f *Fleet) crdsLinks() []Link {
	crdsApps := map[*Component]int{}
	for i, app := range f.Applications {
		if app.Part == crds.Only {
			crdsApps[app.Component] = i
		}
	}
	var all []Link
	for from, app := range f.Applications {
		if to, split := crdsApps[app.Component]; split && app.Part == crds.Skip {
			all = append(all, Link{From: from, To: to,
				Reasons: []Reason{{Strength: Applied, Why: "its CRDs are in " + f.Applications[to].Name, File: app.File}}})
		}
	}
	return all
}
