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

// Target overrides where the ladder.yaml says that a fleet is deployed.
type Target struct {
	// RepoURL and Revision are where Argo CD finds the components; if empty, those of the
	// ladder.yaml.
	RepoURL  string
	Revision string
	// Environment is the only one to deploy to; empty means all.
	Environment string
	// Unproven generates the rollout even if Lint proves that it never ends.
	Unproven bool
}

// place is what the Applications of a set go to: an environment, or the cluster
// of several.
type place struct {
	// Name is empty where there is only one.
	Name     string
	Server   string
	Suffix   string
	Revision string
	// In are the environments whose components go there.
	In []string
}

// Deployment is an Application at one of its places.
type Deployment struct {
	*Application
	// Name is that of the Application there.
	Name      string
	Namespace string
	place     place
	// moved is true if some place of its set has a namespace of its own for it.
	moved bool
	// environment is the label of the Application; empty for what is of none.
	environment string
}

// set is what one ApplicationSet, or one parent Application, holds.
type set struct {
	name string
	// title says what is special about the set; empty if it is the only one.
	title string
	// wave is where it stands among the sets; nil if it is the only one.
	wave   *int
	places []place
	// rank is how many environments are rolled out before, with promotion.
	rank int
	// suffixed is true if Applications are named by their places.
	suffixed bool
	// has reports whether an Application is in the set. listed are those that
	// are chosen by name, unless rest is true: then they are those left out.
	listed []*Application
	rest   bool
}

func (s set) has(app *Application) bool { return slices.Contains(s.listed, app) != s.rest }

// moved reports whether a component lands in another namespace than it names.
func (s set) moved() bool {
	return slices.ContainsFunc(s.places, func(p place) bool { return p.Suffix != "" })
}

// labelled reports whether Applications are labelled with an environment: what a
// cluster has once is of none, though it may be that of one only.
func (s set) labelled() bool {
	return s.named() && !slices.ContainsFunc(s.places, func(p place) bool { return len(p.In) != 1 })
}

// named reports whether the set goes to places with names.
func (s set) named() bool { return s.places[0].Name != "" }

// deployments are the Applications of a set at its places, by their steps.
func (f *Fleet) deployments(s set) []Deployment {
	var all []Deployment
	for _, app := range f.Enabled() {
		for _, p := range s.places {
			if !s.has(app) || !p.takes(app) {
				continue
			}
			d := Deployment{Application: app, Name: app.Name, Namespace: app.Namespace + p.Suffix, place: p, moved: s.moved()}
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

// ApplicationNames are the names that Applications have in an environment. If the fleet
// does not know it, they are those of the components.
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

// takes reports whether a component goes to a place.
func (p place) takes(app *Application) bool {
	return len(p.In) == 0 || slices.ContainsFunc(p.In, app.IsIn)
}

// sets divides the fleet: one set, unless several environments share a cluster.
// What is for the whole of a cluster goes there once, in a set of its own.
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

// promoted are the sets in the order of a promotion: each environment has one of its own,
// which is rolled out when the one before is healthy. What a cluster has once comes before
// all of them. Without promotion, the sets stay as they are.
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

// forCluster reports whether a cluster has an Application once, however many
// environments share it: definitions, what serves them, namespaces, and what
// holds nothing that is in a namespace. A component that names its environments
// belongs to each, and so does one with values for an environment.
func (f *Fleet) forCluster(app *Application) bool {
	rung := app.Rung
	return len(app.Environments.Names()) == 0 && !app.differs() &&
		(app.Part == crds.Only || slices.Contains([]string{"crds", knowledge.Controllers, "namespaces"}, rung) || f.onlyForCluster(app))
}

// name is what the fleet is called: by its ladder.yaml, or as its repository.
func (f *Fleet) name(t Target) string {
	address, _, _ := strings.Cut(finding.WithoutCredentials(cmp.Or(t.RepoURL, f.Settings.RepoURL)), "?")
	return cmp.Or(f.Settings.Name, strings.TrimSuffix(path.Base(address), ".git"))
}

// namespace is where the objects of Argo CD live.
func (f *Fleet) namespace() string { return cmp.Or(f.Settings.ArgoCDNamespace, "argocd") }

// projectOf is the AppProject of an Application: what its component names, where
// the platform lets it choose that.
func (f *Fleet) projectOf(app *Application) string {
	if slices.Contains(f.Projects, app.Project) {
		return app.Project
	}
	return f.project()
}

// project is that of components that choose none.
func (f *Fleet) project() string { return cmp.Or(f.Settings.Project, "default") }
