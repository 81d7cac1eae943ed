package importer

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/profile"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
)

// componentFile is a component.yaml. The fields are in the order in which people read them.
type componentFile struct {
	Name                        string   `yaml:"name"`
	Namespace                   string   `yaml:"namespace,omitempty"`
	Project                     string   `yaml:"project,omitempty"`
	Server                      string   `yaml:"server,omitempty"`
	RolloutPhase                int      `yaml:"rolloutPhase"`
	Chart                       *chart   `yaml:"chart,omitempty"`
	Parameters                  tree     `yaml:",inline"`
	SyncOptions                 []string `yaml:"syncOptions,omitempty"`
	component.ApplicationFields `yaml:",inline"`
}

// ladderFile is a ladder.yaml.
type ladderFile struct {
	Fleet fleetFile `yaml:"fleet"`
}

type fleetFile struct {
	Profile              string               `yaml:"profile"`
	Name                 string               `yaml:"name,omitempty"`
	RepoURL              string               `yaml:"repoURL,omitempty"`
	Revision             string               `yaml:"revision,omitempty"`
	Project              string               `yaml:"project,omitempty"`
	ArgoCDNamespace      string               `yaml:"argocdNamespace,omitempty"`
	Server               string               `yaml:"server,omitempty"`
	SyncOptions          []string             `yaml:"syncOptions,omitempty,flow"`
	Automated            *component.Automated `yaml:"automated,omitempty"`
	Retry                *component.Retry     `yaml:"retry,omitempty"`
	RevisionHistoryLimit *int                 `yaml:"revisionHistoryLimit,omitempty"`
	Allow                *allowList           `yaml:"allow,omitempty"`
	Bands                []bandFile           `yaml:"bands"`
}

type bandFile struct {
	Name string `yaml:"name"`
	From int    `yaml:"from"`
	To   int    `yaml:"to"`
	Why  string `yaml:"why"`
}

// text returns the component.yaml without anything that depends on other Applications, which
// is enough to render it.
func (m *importedComponent) text(w *work, step int) string { return m.file(w, common{}, step) }

func (m *importedComponent) file(w *work, c common, step int) string {
	a := m.app
	f := componentFile{Name: m.name, Namespace: a.namespace, RolloutPhase: step, Parameters: m.parameters, ApplicationFields: a.ApplicationFields}
	if a.project != c.project && a.project != "" {
		f.Project = a.project
	}
	if a.server != c.server {
		f.Server = a.server
	}
	if len(m.values) > 0 {
		m.chart.ValueFiles = slices.DeleteFunc(m.chart.ValueFiles, func(name string) bool { return name == m.valuesFile(w) })
		m.chart.ValueFiles = append(m.chart.ValueFiles, m.valuesFile(w))
	}
	f.Chart = &m.chart
	f.SyncOptions, f.Automated = c.own(a), c.ownAutomated(a)
	if c.retry != nil && textedit.MustEncode(a.Retry) == textedit.MustEncode(c.retry) {
		f.Retry = nil
	}
	if c.history != nil {
		f.RevisionHistoryLimit = nil
	}
	return textedit.MustEncode(f)
}

// valuesFile returns the path of the values file for a chart that is not in this repository,
// relative to the root of the repository.
func (m *importedComponent) valuesFile(w *work) string {
	return "/" + path.Join(w.Dir, m.name, "values.yaml")
}

// write returns the files of a fleet.
func (w *work) write(all []*application, steps map[*application]int) Result {
	slices.SortFunc(all, func(x, y *application) int { return strings.Compare(x.name, y.name) })
	c := commonSettings(all)
	var res Result
	taken := map[string]bool{}
	for _, a := range all {
		w.reportDifferent(a, c)
		for _, m := range a.components {
			if !object.IsName(m.name) {
				a.report("metadata.name", "it is not a valid Application name", "correct it")
				continue
			}
			if taken[m.name] {
				a.report("", "another component is called "+m.name, "rename the Application")
				continue
			}
			taken[m.name] = true
			file := path.Join(w.Dir, m.name, component.File)
			res.Files = append(res.Files, File{file, m.file(w, c, steps[a])})
			if len(m.values) > 0 {
				res.Files = append(res.Files, File{strings.TrimPrefix(m.valuesFile(w), "/"), textedit.MustEncode(m.values)})
			}
			for _, name := range sortedKeys(m.copies) {
				res.Files = append(res.Files, File{path.Join(w.Dir, m.name, name), m.copies[name]})
			}
			res.Components = append(res.Components, Component{File: file, Name: m.name, Source: m.chart.String(), Step: steps[a], Application: a.text})
		}
	}
	w.reportNewSettings(all, c)
	res.Files = append([]File{{path.Join(w.Dir, knowledge.File), w.ladder(all, steps, c, taken)}}, res.Files...)
	res.Findings = w.findings()
	return res
}

// String returns the location of a chart.
func (c chart) String() string {
	switch {
	case c.Chart != "":
		return strings.TrimSpace(fmt.Sprintf("chart %s %s of %s", c.Chart, c.Version, c.RepoURL))
	case c.RepoURL != "":
		return c.Path + " of " + c.RepoURL
	}
	return c.Path
}

// reportDifferent reports settings of an Application that differ from those of the others, and
// that a component.yaml cannot contain.
func (w *work) reportDifferent(a *application, c common) {
	if a.settings.revision != "" && a.settings.revision != c.revision {
		a.report("spec.source.targetRevision", fmt.Sprintf("the revision is %[2]s, but the fleet has one revision, %[1]s", c.revision, a.settings.revision), "use one revision, or environments of the fleet")
	}
	if a.argoCDNamespace != "" && a.argoCDNamespace != c.argoCDNamespace {
		a.report("metadata.namespace", fmt.Sprintf("the namespace is %[2]s, but all Applications of the fleet are in %[1]s", c.argoCDNamespace, a.argoCDNamespace), "make a separate fleet of those in "+a.argoCDNamespace)
	}
}

// reportNewSettings reports settings that Applications will have and did not have before.
func (w *work) reportNewSettings(all []*application, c common) {
	note := func(which func(*application) bool, message, remedy string) { w.note(all, which, message, remedy) }
	var parents []*application
	plugins := map[string]bool{}
	for _, name := range w.order {
		parents = append(parents, w.apps[name])
		plugins[w.apps[name].plugin] = true
	}
	w.note(parents, func(a *application) bool { return a.parent }, "the parent that cmp fleet apps generates replaces these parents, without their settings", "")
	for _, plugin := range sortedKeys(plugins) {
		note(func(a *application) bool { return plugin != "" && a.plugin == plugin }, "Applications that Ladder renders instead of the plugin "+plugin, "compare their output with cmp render")
	}
	retries := "five retries"
	if c.retry != nil {
		retries = "the retries of the fleet"
	}
	note(func(a *application) bool { return a.Retry == nil }, "Applications without retries will have "+retries, "set retry, here or as fleet.retry, for another number")
	note(func(a *application) bool { return !a.cascades }, "Applications without a finalizer will delete their objects when they are deleted", "use --preserve with cmp fleet apps and appset to keep the objects")
	note(func(a *application) bool { return a.namespace == "" }, "Applications without a namespace will deploy objects that name none to default", "set namespace")
}

// note adds one note about the Applications that match.
func (w *work) note(all []*application, which func(*application) bool, message, remedy string) {
	var names []string
	for _, a := range all {
		if which(a) {
			names = append(names, a.name)
		}
	}
	if len(names) == 0 {
		return
	}
	slices.Sort(names)
	shown := strings.Join(names[:min(len(names), 5)], ", ")
	if len(names) > 5 {
		shown += fmt.Sprintf(" and %d more", len(names)-5)
	}
	w.general = append(w.general, finding.Finding{Severity: finding.Note, Rule: Changes, Message: message + ": " + shown, Remedy: remedy})
}

// ladder returns the ladder.yaml of the fleet.
func (w *work) ladder(all []*application, steps map[*application]int, c common, taken map[string]bool) string {
	b := band(all, steps)
	f := fleetFile{Profile: "waves", RepoURL: w.RepoURL, Project: c.project, SyncOptions: c.nonDefaultOptions(), Retry: c.retry, RevisionHistoryLimit: c.history,
		Bands: []bandFile{{b.Name, b.From, b.To, b.Why}}}
	if slices.ContainsFunc(all, func(a *application) bool { return a.step > 0 }) {
		f.Profile = profile.Default
	}
	if c.revision != "HEAD" {
		f.Revision = c.revision
	}
	if c.argoCDNamespace != "argocd" {
		f.ArgoCDNamespace = c.argoCDNamespace
	}
	if c.server != inCluster {
		f.Server = c.server
	}
	if textedit.MustEncode(c.automated) != textedit.MustEncode(component.Automated{Prune: truth(true), SelfHeal: truth(true)}) {
		f.Automated = &c.automated
	}
	if textedit.MustEncode(c.allow) != textedit.MustEncode(allowList{}) {
		f.Allow = &c.allow
	}
	f.Name = w.fleetName(taken)
	return "# Written by cmp fleet import.\n" + textedit.MustEncode(ladderFile{f})
}

// fleetName returns the name of the parent Application, if there is one: the generated parent
// replaces it, and takes over its Applications.
func (w *work) fleetName(taken map[string]bool) string {
	var tops []string
	for _, name := range w.order {
		if a := w.apps[name]; a.parent && a.parentApp == nil {
			tops = append(tops, a.name)
		}
	}
	if len(tops) == 1 {
		return tops[0]
	}
	name := cmp.Or(path.Base(remote.RepositoryName(w.RepoURL)), "fleet")
	if taken[name] {
		return name + "-fleet"
	}
	return name
}
