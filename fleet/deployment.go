package fleet

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/fleet/profile"
	"github.com/ladder-cmp/ladder/internal/finding"
)

// Destination is a destination of a set: an environment, or one of several clusters.
type Destination struct {
	// Name is empty if there is only one.
	Name     string
	Server   string
	Suffix   string
	Revision string
	// In lists the environments whose components are deployed there.
	In []string
}

// Deployment is an Application at one of its destinations.
type Deployment struct {
	*Application
	// Name is the name of the Application there.
	Name      string
	Namespace string
	To        Destination
	// Moved is true if a destination of its set has a namespace suffix.
	Moved bool
	// Label is the environment label of the Application; empty for one without environment.
	Label string
}

// Set is a part of a fleet. A cluster has some Applications once, however many environments
// share it; all others exist once in each environment. It is the content of one ApplicationSet, or of one parent Application.
type Set struct {
	Name string
	// Title describes the set; empty if it is the only one.
	Title string
	// Wave is the position among the sets; nil if it is the only one.
	Wave         *int
	Destinations []Destination
	// Rank is the number of environments that are rolled out before, with promotion.
	Rank int
	// Suffixed is true if the names of Applications contain the destination.
	Suffixed bool
	// Listed are the Applications in the set or, if Rest is true, those that are not in it.
	Listed []*Application
	Rest   bool
}

// Has reports whether an Application is in the set.
func (s Set) Has(app *Application) bool { return slices.Contains(s.Listed, app) != s.Rest }

// HasSuffix reports whether a destination of the set has a namespace suffix.
func (s Set) HasSuffix() bool {
	return slices.ContainsFunc(s.Destinations, func(p Destination) bool { return p.Suffix != "" })
}

// HasEnvironmentLabel reports whether Applications have an environment label. Those that exist
// once per cluster have none, even if only one environment uses them.
func (s Set) HasEnvironmentLabel() bool {
	return s.HasNames() && !slices.ContainsFunc(s.Destinations, func(p Destination) bool { return len(p.In) != 1 })
}

// HasNames reports whether the destinations of the set have names.
func (s Set) HasNames() bool { return s.Destinations[0].Name != "" }

// Deployments returns those of some Applications that are in the set, at its destinations.
func (s Set) Deployments(apps []*Application) []Deployment {
	var all []Deployment
	for _, app := range apps {
		for _, p := range s.Destinations {
			if !s.Has(app) || !p.accepts(app) {
				continue
			}
			d := Deployment{Application: app, Name: app.Name, Namespace: p.namespaceOf(app), To: p, Moved: s.HasSuffix()}
			if s.HasEnvironmentLabel() {
				d.Label = p.Name
			}
			if s.Suffixed {
				d.Name += "-" + p.Name
			}
			all = append(all, d)
		}
	}
	return all
}

// namespaceOf returns the destination namespace of an Application: the one that its component
// has in this environment, or its usual one with the suffix of the environment.
func (p Destination) namespaceOf(app *Application) string {
	if len(p.In) == 1 && app.Environments.Settings[p.In[0]].Namespace != "" {
		return app.namespaceIn(p.In[0])
	}
	return app.namespaceIn("") + p.Suffix
}

// accepts reports whether a component is deployed to a destination.
func (p Destination) accepts(app *Application) bool {
	return len(p.In) == 0 || slices.ContainsFunc(p.In, app.IsIn)
}

// BadEnvironment is the rule about environments that do not exist, and about their values files.
const BadEnvironment finding.Rule = "bad-environment"

// Sets divides the part of a fleet in an environment, or all of it if that is empty: into one set,
// unless several environments share a cluster. Then, components that exist once per cluster are in
// a separate set.
func Sets(f *Fleet, environment string) ([]Set, error) {
	name, revision := NameOf(f), cmp.Or(f.Settings.Revision, "HEAD")
	all := f.Settings.Environments
	if environment != "" && len(all) == 0 {
		all = []profile.Environment{{Name: environment}}
	}
	if len(all) == 0 {
		return []Set{{Name: name, Destinations: []Destination{{Server: f.Settings.Server, Revision: revision}}, Rest: true}}, nil
	}
	wanted := slices.DeleteFunc(slices.Clone(all), func(e profile.Environment) bool { return environment != "" && e.Name != environment })
	if len(wanted) == 0 {
		names := f.Known()
		return nil, finding.Finding{Severity: finding.Error, Rule: BadEnvironment, Field: "fleet.environments",
			Message: fmt.Sprintf("unknown environment %q", environment),
			Remedy:  "add it to fleet.environments in ladder.yaml, or use an environment that is listed there"}.Asking(finding.Suggest(environment,
			names))
	}
	environments := Set{Name: name, Suffixed: len(all) > 1, Rest: true}
	if environments.Suffixed && environment != "" {
		environments.Name += "-" + environment
	}
	clusters := Set{Name: name + "-cluster", Title: "once per cluster", Wave: new(int)}
	shared := false
	for _, e := range wanted {
		p := Destination{Name: e.Name, Server: cmp.Or(e.Server, f.Settings.Server), Suffix: e.NamespaceSuffix,
			Revision: cmp.Or(e.Revision, revision), In: []string{e.Name}}
		environments.Destinations = append(environments.Destinations, p)
		c := Destination{Server: p.Server}
		for _, other := range all {
			if f.Cluster(other.Server) == f.Cluster(e.Server) {
				c.In = append(c.In, other.Name)
				c.Revision = cmp.Or(c.Revision, other.Revision, revision)
			}
		}
		c.Name = strings.Join(c.In, "-")
		shared = shared || len(c.In) > 1
		if !slices.ContainsFunc(clusters.Destinations, func(known Destination) bool { return known.Name == c.Name }) {
			clusters.Destinations = append(clusters.Destinations, c)
		}
	}
	if !shared {
		return []Set{environments}, nil
	}
	for _, app := range f.Applications {
		if f.oncePerCluster(app) {
			clusters.Listed = append(clusters.Listed, app)
		}
	}
	clusters.Suffixed = slices.ContainsFunc(all, func(e profile.Environment) bool { return f.Cluster(e.Server) != f.Cluster(all[0].Server) })
	one := 1
	environments.Listed, environments.Wave, environments.Title = clusters.Listed, &one, "once per environment"
	if environment == "" {
		environments.Name += "-environments"
	}
	return []Set{clusters, environments}, nil
}

// InPromotionOrder returns the sets in promotion order: one for each environment, which is
// rolled out when the previous one is healthy. Components that exist once per cluster come
// first. Without promotion, the sets stay as they are.
func InPromotionOrder(f *Fleet, sets []Set) []Set {
	last := len(sets) - 1
	if !f.Settings.Promotion || len(sets[last].Destinations) < 2 {
		return sets
	}
	all := slices.Clone(sets[:last])
	for i, p := range sets[last].Destinations {
		s, wave := sets[last], last+i
		s.Name, s.Destinations, s.Wave, s.Rank = strings.TrimSuffix(s.Name, "-environments")+"-"+p.Name, []Destination{p}, &wave, i
		s.Title = "the environment " + p.Name
		if i > 0 {
			s.Title += ", which is rolled out when " + sets[last].Destinations[i-1].Name + " is healthy"
		}
		all = append(all, s)
	}
	return all
}

// RestrictedTo returns the part of a set that contains some Applications.
func (s Set) RestrictedTo(members []*Application) Set {
	s.Listed, s.Rest = slices.DeleteFunc(slices.Clone(members), func(app *Application) bool { return !s.Has(app) }), false
	return s
}

// NameOf returns the name of a fleet: from its ladder.yaml, or that of its repository.
func NameOf(f *Fleet) string {
	address, _, _ := strings.Cut(finding.WithoutCredentials(f.Settings.RepoURL), "?")
	return cmp.Or(f.Settings.Name, strings.TrimSuffix(path.Base(address), ".git"))
}
