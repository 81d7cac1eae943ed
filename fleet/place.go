package fleet

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/nearest"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Target overrides the destination in ladder.yaml.
type Target struct {
	// RepoURL and Revision are the repository and revision from which Argo CD reads the
	// components; if empty, those in ladder.yaml.
	RepoURL  string
	Revision string
	// Environment limits the output to one environment; empty means all.
	Environment string
	// Unproven generates the rollout although Lint reports that it cannot finish.
	Unproven bool
}

// place is a destination of a set: an environment, or one of several clusters.
type place struct {
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
	place     place
	// moved is true if a destination of its set has a namespace suffix.
	moved bool
	// environment is the label of the Application; empty for one without environment.
	environment string
}

// set is the content of one ApplicationSet, or of one parent Application.
type set struct {
	name string
	// title describes the set; empty if it is the only one.
	title string
	// wave is the position among the sets; nil if it is the only one.
	wave   *int
	places []place
	// rank is the number of environments that are rolled out before, with promotion.
	rank int
	// suffixed is true if the names of Applications contain the destination.
	suffixed bool
	// has reports whether an Application is in the set. listed are the Applications that the
	// set selects by name or, if rest is true, those that it excludes.
	listed []*Application
	rest   bool
}

func (s set) has(app *Application) bool { return slices.Contains(s.listed, app) != s.rest }

// moved reports whether a component is deployed to another namespace than it names.
func (s set) moved() bool {
	return slices.ContainsFunc(s.places, func(p place) bool { return p.Suffix != "" })
}

// labelled reports whether Applications have an environment label. Those that exist once per
// cluster have none, even if only one environment uses them.
func (s set) labelled() bool {
	return s.named() && !slices.ContainsFunc(s.places, func(p place) bool { return len(p.In) != 1 })
}

// named reports whether the destinations of the set have names.
func (s set) named() bool { return s.places[0].Name != "" }

// deployments returns the Applications of a set at its destinations, by step.
func (f *Fleet) deployments(s set) []Deployment {
	var all []Deployment
	for _, app := range f.Enabled() {
		for _, p := range s.places {
			if !s.has(app) || !p.takes(app) {
				continue
			}
			d := Deployment{Application: app, Name: app.Name, Namespace: p.namespaceOf(app), place: p, moved: s.moved()}
			if s.labelled() {
				d.environment = p.Name
			}
			if s.suffixed {
				d.Name += "-" + p.Name
			}
			all = append(all, d)
		}
	}
	return all
}

// ApplicationNames returns the names of the Applications in an environment. If the fleet does
// not have it, they are those of the components.
func (f *Fleet) ApplicationNames(environment string) map[*Application]string {
	names := map[*Application]string{}
	for _, app := range f.Applications {
		names[app] = app.Name
	}
	sets, err := f.sets(Target{Environment: environment})
	if err != nil {
		return names
	}
	for _, s := range sets {
		for _, d := range f.deployments(s) {
			names[d.Application] = d.Name
		}
	}
	return names
}

// namespaceOf returns the destination namespace of an Application: the one that its component
// has in this environment, or its usual one with the suffix of the environment.
func (p place) namespaceOf(app *Application) string {
	if len(p.In) == 1 && app.Environments.Settings[p.In[0]].Namespace != "" {
		return app.namespaceIn(p.In[0])
	}
	return app.namespaceIn("") + p.Suffix
}

// takes reports whether a component is deployed to a destination.
func (p place) takes(app *Application) bool {
	return len(p.In) == 0 || slices.ContainsFunc(p.In, app.IsIn)
}

// sets divides the fleet: into one set, unless several environments share a cluster. Then,
// components that exist once per cluster are in a separate set.
func (f *Fleet) sets(t Target) ([]set, error) {
	name, revision := f.name(t), cmp.Or(t.Revision, f.Settings.Revision, "HEAD")
	all := f.Settings.Environments
	if t.Environment != "" && len(all) == 0 {
		all = []profile.Environment{{Name: t.Environment}}
	}
	if len(all) == 0 {
		return []set{{name: name, places: []place{{Server: f.Settings.Server, Revision: revision}}, rest: true}}, nil
	}
	wanted := slices.DeleteFunc(slices.Clone(all), func(e profile.Environment) bool { return t.Environment != "" && e.Name != t.Environment })
	if len(wanted) == 0 {
		var names []string
		for _, e := range all {
			names = append(names, e.Name)
		}
		return nil, finding.Finding{Severity: finding.Error, Rule: "no-environment", Field: "fleet.environments",
			Message: fmt.Sprintf("unknown environment %q", t.Environment), Remedy: nearest.Or(t.Environment, names, "use one of "+strings.Join(names, ", ")+", or add it to ladder.yaml")}
	}
	suffixed := len(all) > 1
	environments := set{name: name, suffixed: suffixed, rest: true}
	if suffixed && t.Environment != "" {
		environments.name += "-" + t.Environment
	}
	clusters := set{name: name + "-cluster", title: "once per cluster", wave: new(int)}
	shared := false
	for _, e := range wanted {
		p := place{Name: e.Name, Server: cmp.Or(e.Server, f.Settings.Server), Suffix: e.NamespaceSuffix, Revision: cmp.Or(t.Revision, e.Revision, revision), In: []string{e.Name}}
		environments.places = append(environments.places, p)
		c := place{Server: p.Server}
		for _, other := range all {
			if f.serverOf(other) == f.serverOf(e) {
				c.In = append(c.In, other.Name)
				c.Revision = cmp.Or(c.Revision, t.Revision, other.Revision, revision)
			}
		}
		c.Name = strings.Join(c.In, "-")
		shared = shared || len(c.In) > 1
		if !slices.ContainsFunc(clusters.places, func(known place) bool { return known.Name == c.Name }) {
			clusters.places = append(clusters.places, c)
		}
	}
	if !shared {
		return []set{environments}, nil
	}
	for _, app := range f.Applications {
		if f.forCluster(app) {
			clusters.listed = append(clusters.listed, app)
		}
	}
	servers := map[string]bool{}
	for _, e := range all {
		servers[f.serverOf(e)] = true
	}
	clusters.suffixed = len(servers) > 1
	one := 1
	environments.listed, environments.wave, environments.title = clusters.listed, &one, "once per environment"
	if t.Environment == "" {
		environments.name += "-environments"
	}
	return []set{clusters, environments}, nil
}

// promoted returns the sets in promotion order: one for each environment, which is rolled out
// when the previous one is healthy. Components that exist once per cluster come first. Without
// promotion, the sets stay as they are.
func (f *Fleet) promoted(sets []set) []set {
	last := len(sets) - 1
	if !f.Settings.Promotion || len(sets[last].places) < 2 {
		return sets
	}
	all := slices.Clone(sets[:last])
	for i, p := range sets[last].places {
		s, wave := sets[last], last+i
		s.name, s.places, s.wave, s.rank = strings.TrimSuffix(s.name, "-environments")+"-"+p.Name, []place{p}, &wave, i
		s.title = "the environment " + p.Name
		if i > 0 {
			s.title += ", which is rolled out when " + sets[last].places[i-1].Name + " is healthy"
		}
		all = append(all, s)
	}
	return all
}

// forCluster reports whether a cluster has an Application once, however many environments
// share it: CRDs, the controllers of their kinds, namespaces, and Applications with only
// cluster-scoped objects. A component that names its environments belongs to each of them,
// and so does one with values for an environment.
func (f *Fleet) forCluster(app *Application) bool {
	rung := app.Rung
	return len(app.Environments.Names()) == 0 && !app.differs() &&
		(app.Part == crds.Only || slices.Contains([]string{"crds", knowledge.Controllers, "namespaces"}, rung) || f.onlyForCluster(app))
}

// name returns the name of the fleet: from its ladder.yaml, or that of its repository.
func (f *Fleet) name(t Target) string {
	address, _, _ := strings.Cut(finding.WithoutCredentials(cmp.Or(t.RepoURL, f.Settings.RepoURL)), "?")
	return cmp.Or(f.Settings.Name, strings.TrimSuffix(path.Base(address), ".git"))
}

// namespace returns the namespace of Argo CD's objects.
func (f *Fleet) namespace() string { return cmp.Or(f.Settings.ArgoCDNamespace, "argocd") }

// projectOf returns the AppProject of an Application: the one that the component names, if the
// platform allows it to choose.
func (f *Fleet) projectOf(app *Application) string {
	if slices.Contains(f.Projects, app.Project) {
		return app.Project
	}
	return f.project()
}

// project returns the AppProject of components that do not choose one.
func (f *Fleet) project() string { return cmp.Or(f.Settings.Project, "default") }
