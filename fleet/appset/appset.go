// Package appset expands ApplicationSets: it returns the Applications that Argo CD
// generates from them.
//
// What a generator finds in a repository is read from that repository. Data outside of
// the repository, such as clusters, is unknown unless the user provides it (see
// Values). Templates are rendered exactly as Argo CD renders them, including its
// apparent bugs, so that both show the same result.
package appset

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// Input is what ApplicationSets are expanded from.
type Input struct {
	// Open returns the repository with an address, or nil if it is not available.
	Open func(repoURL string) fs.FS
	// Values are the parameters that generators would find outside of repositories.
	Values Values
}

// Values maps the name of an ApplicationSet and the key of a generator, such as
// clusters, to the parameters that the generator would find outside of repositories.
// The entry "*" is used for ApplicationSets without an entry of their own for the
// generator. From its clusters, the selector of the generator selects; those of an
// ApplicationSet's own entry are all used.
type Values map[string]map[string][]map[string]any

// allSets is the name in Values for all ApplicationSets.
const allSets = "*"

// ParseValues reads Values from YAML.
func ParseValues(file string, text []byte) (Values, error) {
	var v Values
	if err := yaml.Unmarshal(text, &v); err != nil {
		return nil, finding.Finding{Severity: finding.Error, Rule: "invalid-yaml", File: file,
			Message: "not a mapping of ApplicationSets to generators and their lists of parameters",
			Remedy:  "write a mapping such as {addons: {clusters: [{name: prod, server: https://prod.example.com}]}}"}
	}
	return v, nil
}

// Set is an expanded ApplicationSet.
type Set struct {
	// Applications are what it generates, in the order of the generators.
	Applications []Generated
	// Steps is the number of steps of a RollingSync; 0 without one.
	Steps int
	// Faults say why Applications are missing.
	Faults []Fault
	// Unselected says what the steps of a RollingSync do not select, and which of them never end
	// by themselves.
	Unselected []finding.Finding
}

// Objects returns the Applications as objects.
func (s Set) Objects() []object.Object {
	var all []object.Object
	for _, app := range s.Applications {
		all = append(all, app.Object)
	}
	return all
}

// Generated is a generated Application.
type Generated struct {
	object.Object
	// Step is the step of a RollingSync, counted from 1. It is 0 if no step selects the
	// Application, so that it is never synced.
	Step int
	// ReadFrom is the file of a git generator that says what it is; empty for other generators.
	ReadFrom string
}

// SourcesOf returns the directories and charts of an Application, for users.
func SourcesOf(app object.Object) []string {
	all := []string{}
	for _, s := range argocd.SourcesOf(app.Get("spec")) {
		switch chart, dir := s.Get("chart").Text(), s.Get("path").Text(); {
		case chart != "":
			all = append(all, strings.TrimSpace("chart "+chart+" "+s.Get("targetRevision").Text()))
		case dir != "":
			all = append(all, dir)
		}
	}
	return all
}

// Fault is a reason why Applications of a set are missing.
type Fault struct {
	Message string
	// NeedsValues means that a generator needs data outside of the available
	// repositories.
	NeedsValues bool
	// UsesValues means that a generator may use Input.Values, which may lack a parameter
	// that a template uses.
	UsesValues bool
}

// Finding returns the fault of an ApplicationSet as a finding.
func (f Fault) Finding(set object.Object) finding.Finding {
	found := finding.Finding{Severity: finding.Error, Rule: "bad-set", File: set.File, Line: set.Line, Object: set.ID.String(),
		Message: f.Message, Remedy: "correct the ApplicationSet"}
	switch {
	case f.NeedsValues:
		found.Severity = finding.Note
		found.Remedy = "list the parameters of the generator in a file, and pass it with --generator-values"
	case f.UsesValues:
		found.Severity = finding.Warning
		found.Remedy = "add what is missing to the file of --generator-values, or correct the ApplicationSet"
	}
	return found
}

// spec is the part of an ApplicationSet that decides what it generates.
type spec struct {
	GoTemplate        bool             `json:"goTemplate"`
	GoTemplateOptions []string         `json:"goTemplateOptions"`
	Generators        []map[string]any `json:"generators"`
	Template          map[string]any   `json:"template"`
	TemplatePatch     string           `json:"templatePatch"`
	SyncPolicy        struct {
		Preserve bool `json:"preserveResourcesOnDeletion"`
	} `json:"syncPolicy"`
	Strategy struct {
		Type        string `json:"type"`
		RollingSync struct {
			Steps []step `json:"steps"`
		} `json:"rollingSync"`
	} `json:"strategy"`
}

// expansion is the work on one ApplicationSet.
type expansion struct {
	Input
	spec
	name, namespace string
}

// Expand returns the Applications of an ApplicationSet.
func Expand(o object.Object, in Input) Set {
	var doc struct {
		Spec spec `json:"spec"`
	}
	if err := yaml.Unmarshal([]byte(o.Text()), &doc); err != nil {
		return Set{Faults: []Fault{{Message: "a field has the wrong type: " + err.Error()}}}
	}
	e := expansion{Input: in, spec: doc.Spec, name: o.ID.Name, namespace: o.ID.Namespace}
	var set Set
	steps := e.Strategy.RollingSync.Steps
	if e.Strategy.Type == "RollingSync" {
		set.Steps = len(steps)
	}
	fail := func(err error) {
		var outside outsideError
		f := Fault{Message: err.Error(), NeedsValues: errors.As(err, &outside), UsesValues: len(in.Values[e.name])+len(in.Values[allSets]) > 0}
		if !slices.Contains(set.Faults, f) { // several Applications may have the same fault
			set.Faults = append(set.Faults, f)
		}
	}
	seen := map[string]bool{}
	for _, g := range e.Generators {
		all, err := e.transform(g, e.Template, nil)
		if err != nil {
			fail(err)
		}
		for _, generated := range all {
			for _, p := range generated.params {
				app, err := e.application(o, generated.template, p)
				switch {
				case err != nil:
					fail(err)
					continue
				case seen[app.ID.Name]:
					fail(fmt.Errorf("two of its Applications have the name %q, so Argo CD generates none", app.ID.Name))
					continue
				}
				seen[app.ID.Name] = true
				app.ReadFrom = fileOf(p)
				if set.Steps > 0 {
					app.Step = stepOf(steps, labelsIn(app.Object))
				}
				set.Applications = append(set.Applications, app)
			}
		}
	}
	set.Unselected = e.unselected(o, set)
	return set
}

// application renders the template for the parameters of one Application.
func (e expansion) application(set object.Object, template map[string]any, p params) (Generated, error) {
	manifest, err := e.render(template, p)
	if err != nil {
		return Generated{}, err
	}
	text, err := yaml.Marshal(manifest)
	if err != nil {
		return Generated{}, err
	}
	objs, err := object.Parse(set.File, max(set.Line, 1), string(text))
	if err != nil || len(objs) != 1 {
		return Generated{}, fmt.Errorf("the template does not render to an Application: %w", err)
	}
	app := objs[0]
	app.Line = set.Line // generated, so it has the line of its set
	return Generated{Object: app}, nil
}
