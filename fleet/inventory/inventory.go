// Package inventory lists the content of a fleet: components, what they provide and depend on,
// and the differences between two fleets.
package inventory

import (
	"cmp"
	"fmt"
	pages "html/template"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/knowledge"
)

// Inventory is the content of a fleet, by step.
type Inventory struct {
	// Name is the name of the fleet, and Profile that of its profile.
	Name    string `json:"name,omitempty"`
	Profile string `json:"profile"`
	// Environment is the listed environment; empty for all.
	Environment string `json:"environment,omitempty"`
	// Steps are all steps in order, also those without components. The last one has no number,
	// and contains the components without a step.
	Steps      []Row   `json:"steps"`
	Components []Entry `json:"components"`

	key, style string
	// applications are the names in Argo CD, by step.
	applications map[string][]string
}

// Row is a step with its components.
type Row struct {
	Step  string `json:"step"`
	Band  string `json:"band,omitempty"`
	Title string `json:"title,omitempty"`
	// MaxUpdate is the number of Applications that are updated at once; 0 means all.
	MaxUpdate int `json:"maxUpdate"`
	// Manual means that people sync the Applications of the step.
	Manual bool `json:"manual,omitempty"`
	// Components are the names of its components.
	Components []string `json:"components"`

	entries []Entry
}

// AtOnce returns the number of Applications that Argo CD updates at once.
func (r Row) AtOnce() string {
	switch {
	case r.Manual:
		return "none"
	case r.MaxUpdate > 0:
		return fmt.Sprint(r.MaxUpdate)
	}
	return "all"
}

// Entry is an Application in an inventory.
type Entry struct {
	Name string `json:"name"`
	// Path is the path of its component.yaml, relative to the directory of the fleet.
	Path         string `json:"path"`
	RolloutPhase string `json:"rolloutPhase"`
	Domain       string `json:"domain,omitempty"`
	Project      string `json:"project,omitempty"`
	Namespace    string `json:"namespace"`
	// Type is componentType, Rung is the purpose of the component, and Because is the reason for
	// it.
	Type    string `json:"componentType,omitempty"`
	Rung    string `json:"rung,omitempty"`
	Because string `json:"because,omitempty"`
	// Chart is the source of its manifests, if they are not next to the component.yaml.
	Chart string `json:"chart,omitempty"`
	// Part is the part of a split component.
	Part    string `json:"part,omitempty"`
	Enabled bool   `json:"enabled"`
	// Environments lists the environments where it is deployed; empty means all.
	Environments []string `json:"environments,omitempty"`
	// Deployed is false if it is disabled, or not in the environment.
	Deployed bool         `json:"deployed"`
	Objects  int          `json:"objects"`
	Waves    int          `json:"waves"`
	Failed   bool         `json:"failed,omitempty"`
	Provides []Provision  `json:"provides,omitempty"`
	Needs    []Dependency `json:"needs,omitempty"`
}

// Provision lists what an Application provides to others, of one category.
type Provision struct {
	// What they are: "kinds of cert-manager.io", "controllers", "Namespaces", …
	What  string   `json:"what"`
	Names []string `json:"names"`
}

// Dependency is an Application that another one depends on, with the strongest reason.
type Dependency struct {
	Name     string `json:"name"`
	Strength string `json:"strength"`
	Inferred bool   `json:"inferred,omitempty"`
	Why      string `json:"why"`
	// More is the number of other reasons.
	More int `json:"more,omitempty"`
}

// New lists the content of a fleet. With an environment, it marks what is not deployed there;
// everything stays in its step.
func New(f *fleet.Fleet, environment string) Inventory {
	f = f.At(environment)
	inv := Inventory{Name: f.Settings.Name, Profile: f.Profile.Name, Environment: environment, key: f.Profile.Key, style: f.Profile.Style}
	inv.applications = applicationsOf(f, environment)
	provided := provided(f)
	for i, app := range f.Applications {
		inv.Components = append(inv.Components, entry(f, i, app, environment, provided[i]))
	}
	inv.Steps = rows(f, inv.Components)
	return inv
}

func entry(f *fleet.Fleet, i int, app *fleet.Application, environment string, provided []Provision) Entry {
	e := Entry{
		Name: app.Name, Path: relativePath(f, app), RolloutPhase: f.FormatStep(app.Step), Domain: app.Component.DomainOrTier(),
		Project:   cmp.Or(app.Project, f.Settings.Project),
		Namespace: app.Namespace, Type: app.Type, Rung: app.Rung, Because: app.RungWhy, Chart: chartOf(app.Component.Chart),
		Enabled: app.IsEnabled(), Environments: f.EnvironmentsOf(app), Deployed: fleet.Deployed(app, environment),
		Objects: len(app.Objects), Waves: app.Waves, Failed: app.Failed, Provides: provided,
	}
	switch app.Part {
	case crds.Only:
		e.Part = "CRDs of " + app.Component.Name
	case crds.Skip:
		e.Part = "without its CRDs"
	}
	links := slices.DeleteFunc(slices.Clone(f.Links), func(l fleet.Link) bool { return l.From != i })
	slices.SortStableFunc(links, func(x, y fleet.Link) int { return cmp.Compare(y.Strength(), x.Strength()) })
	for _, link := range links {
		r := link.Reasons[0]
		e.Needs = append(e.Needs, Dependency{f.Applications[link.To].Name, r.Strength.String(), r.Inferred, r.String(), len(link.Reasons) - 1})
	}
	return e
}

// relativePath returns the path of a component.yaml, relative to the directory of the fleet.
func relativePath(f *fleet.Fleet, app *fleet.Application) string {
	p := app.Dir
	if app.Described {
		p = path.Join(p, component.File)
	}
	if p == f.Dir {
		return path.Base(p)
	}
	return strings.TrimPrefix(p, f.Dir+"/")
}

func chartOf(c component.Chart) string {
	switch {
	case c.Chart != "":
		return strings.TrimSpace(c.Chart+" "+c.Version) + " of " + finding.WithoutCredentials(c.RepoURL)
	case c.RepoURL != "":
		return c.Path + " of " + finding.WithoutCredentials(c.RepoURL)
	}
	return c.Path
}

// rows returns the steps of the profile and those in use, in order.
func rows(f *fleet.Fleet, entries []Entry) []Row {
	numbered := map[int]bool{}
	for _, p := range f.Profile.All() {
		numbered[p.Step] = true
	}
	members := map[int][]Entry{}
	var none []Entry
	for i, app := range f.Applications {
		if !app.Step.Set {
			none = append(none, entries[i])
			continue
		}
		numbered[app.Step.Number] = true
		members[app.Step.Number] = append(members[app.Step.Number], entries[i])
	}
	var sorted []int
	for n := range numbered {
		sorted = append(sorted, n)
	}
	slices.Sort(sorted)
	var all []Row
	for _, n := range sorted {
		band, _ := f.Profile.Band(n)
		place, _ := f.Profile.Place(n)
		text := f.Profile.Write(n)
		if f.InPlace() {
			text = members[n][0].RolloutPhase
		}
		all = append(all, withMembers(Row{Step: text, Band: band.Name, Title: place.Title,
			MaxUpdate: place.MaxUpdate, Manual: place.Manual}, members[n]))
	}
	if none != nil {
		all = append(all, withMembers(Row{Title: "without a step"}, none))
	}
	return all
}

func withMembers(s Row, entries []Entry) Row {
	s.entries, s.Components = entries, []string{}
	for _, e := range entries {
		s.Components = append(s.Components, e.Name)
	}
	return s
}

// provided returns what each Application provides to others.
func provided(f *fleet.Fleet) [][]Provision {
	all := make([][]Provision, len(f.Applications))
	add := func(part int, what, name string) {
		list := &all[part]
		i := slices.IndexFunc(*list, func(p Provision) bool { return p.What == what })
		if i < 0 {
			i = len(*list)
			*list = append(*list, Provision{What: what})
		}
		if p := &(*list)[i]; !slices.Contains(p.Names, name) {
			p.Names = append(p.Names, name)
		}
	}
	for i, app := range f.Applications {
		for _, chart := range app.KnownCharts() {
			for _, group := range chart.Provides {
				add(i, "kinds", "of "+group)
			}
		}
	}
	for _, n := range f.Objects.Nodes {
		for _, d := range n.Kind.Defines {
			for _, kind := range d.Kind.Find(n.Root()) {
				group := d.GroupIs
				for _, found := range d.Group.Find(n.Root()) {
					group = found.Value.Text()
				}
				add(n.Part, "kinds of "+group, kind.Value.Text())
			}
		}
	}
	for _, n := range f.Objects.Nodes {
		switch {
		case n.Role == knowledge.Controllers && !n.Companion:
			add(n.Part, "controllers", n.ID.Name)
		case n.Key.Group == "" && n.Key.Kind == "Namespace":
			add(n.Part, "Namespaces", n.Key.Name)
		case n.Key.Group == "storage.k8s.io" && n.Key.Kind == "StorageClass":
			add(n.Part, "StorageClasses", n.Key.Name)
		}
	}
	addUsed(f, add)
	for _, list := range all {
		for _, p := range list {
			slices.Sort(p.Names)
		}
	}
	return all
}

// addUsed adds the objects that others refer to: Services and their workloads, and Secrets that
// the Application contains or writes.
func addUsed(f *fleet.Fleet, add func(part int, what, name string)) {
	for _, r := range f.Objects.References {
		from, to := f.Objects.Nodes[r.From], f.Objects.Nodes[r.To]
		if from.Part == to.Part {
			continue
		}
		switch {
		case to.Key.Group == "" && to.Key.Kind == "Service":
			add(to.Part, "Services that others use", to.Key.Namespace+"/"+to.Key.Name)
		case to.Key.Group == "" && to.Key.Kind == "Secret":
			add(to.Part, "Secrets for others", to.Key.Namespace+"/"+to.Key.Name)
		case !to.Kind.Pod.IsZero() && (r.Sign == graph.Call || r.Sign == graph.Address || r.Sign == graph.Field):
			add(to.Part, "workloads that others call", to.Key.Namespace+"/"+to.Key.Name)
		case r.Product.Kind == "Secret":
			add(to.Part, "Secrets for others", r.Product.Namespace+"/"+r.Product.Name)
		}
	}
}

// most is the number of names of a sort that texts list.
const most = 4

// Short formats a provision for texts.
func (p Provision) Short() string {
	if len(p.Names) <= most {
		return p.What + ": " + strings.Join(p.Names, ", ")
	}
	return fmt.Sprintf("%d %s: %s, …", len(p.Names), p.What, strings.Join(p.Names[:most-1], ", "))
}

// Short formats a dependency for texts.
func (n Dependency) Short() string {
	why := n.Why
	if n.Inferred {
		why += " (inferred)"
	}
	if n.More > 0 {
		why += fmt.Sprintf(", and %d more", n.More)
	}
	return n.Name + " (" + why + ")"
}

// State says why an entry is not deployed, or where it is; empty if it is deployed everywhere.
func (e Entry) State() string {
	var parts []string
	if !e.Enabled {
		parts = append(parts, "disabled")
	}
	if len(e.Environments) > 0 {
		parts = append(parts, "only "+strings.Join(e.Environments, ", "))
	}
	if e.Enabled && !e.Deployed {
		parts = append(parts, "not in this environment")
	}
	if e.Failed {
		parts = append(parts, "not rendered")
	}
	return strings.Join(parts, "; ")
}

// HTML returns the inventory as a self-contained page.
func (inv Inventory) HTML() (string, error) {
	var b strings.Builder
	err := page().Execute(&b, struct {
		Inventory
		Waves bool
	}{inv, inv.waves()})
	return b.String(), err
}

var page = sync.OnceValue(func() *pages.Template {
	return pages.Must(pages.New("inventory").Funcs(pages.FuncMap{
		"what": Entry.what, "where": Entry.where,
		"safe": finding.Sanitize, // writes out characters that change the direction of text
	}).Parse(skeleton))
})

const skeleton = `<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Inventory{{with .Name}} of {{safe .}}{{end}}</title>
<style>
:root { color-scheme: light dark; }
body { font: 15px/1.45 system-ui, sans-serif; margin: 2rem auto; max-width: 80rem; padding: 0 1rem; }
table { border-collapse: collapse; width: 100%; margin: 0 0 2rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid #8886; }
th { font-weight: 600; }
td.number, th.number { font-variant-numeric: tabular-nums; white-space: nowrap; }
ul { margin: 0; padding-left: 1.1rem; }
.off { opacity: .6; }
.state { font-style: italic; }
</style>
</head>
<body>
<h1>Inventory{{with .Name}} of {{safe .}}{{end}}{{with .Environment}} in {{safe .}}{{end}}</h1>
<p>{{len .Components}} components, {{len .Steps}} {{if .Waves}}waves{{else}}steps{{end}}, profile {{safe .Profile}}.</p>
<h2>{{if .Waves}}Waves{{else}}Steps{{end}}</h2>
<table>
<thead><tr><th class="number">{{if .Waves}}wave{{else}}step{{end}}</th><th>band</th><th>purpose</th><th>max. updated at once</th><th>components</th></tr></thead>
<tbody>
{{- range .Steps}}
<tr{{if not .Components}} class="off"{{end}}><td class="number">{{.Step}}</td><td>{{safe .Band}}</td><td>{{safe .Title}}</td><td>{{.AtOnce}}</td><td>{{range $i, $n := .Components}}{{if $i}}, {{end}}<a href="#{{$n}}">{{safe $n}}</a>{{end}}</td></tr>
{{- end}}
</tbody>
</table>
<h2>Components</h2>
<table>
<thead><tr><th class="number">{{if .Waves}}wave{{else}}step{{end}}</th><th>component</th><th>purpose</th><th>where</th><th>provides</th><th>depends on</th></tr></thead>
<tbody>
{{- range .Components}}
<tr id="{{.Name}}"{{if not .Deployed}} class="off"{{end}}><td class="number">{{.RolloutPhase}}</td><td>{{safe .Name}}{{with .State}} <span class="state">{{safe .}}</span>{{end}}</td><td>{{range what .}}{{safe .}}<br>{{end}}</td><td>{{range where .}}{{safe .}}<br>{{end}}</td><td>{{with .Provided}}<ul>{{range .}}<li>{{safe .}}</li>{{end}}</ul>{{end}}</td><td>{{with .Needed}}<ul>{{range .}}<li>{{safe .}}</li>{{end}}</ul>{{end}}</td></tr>
{{- end}}
</tbody>
</table>
</body>
</html>
`
