package plugin

import (
	"fmt"
	"io/fs"
	"path"
	"slices"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/render/input"
)

// EnvironmentValues returns what an environment of a fleet sets for the component: the
// values files, those of the fleet first, and the paths and values of its set. Names of
// files are relative to the component, or begin with "/".
func (req Request) EnvironmentValues(d component.Description, platform component.Platform, environment string) (files []string,
	set map[string]string) {
	for _, e := range platform.Environments {
		if e.Name != environment {
			continue
		}
		for _, name := range e.Values {
			if info, err := fs.Stat(req.Repo, path.Join(req.Dir, name)); err == nil && !info.IsDir() {
				files = append(files, name)
			}
		}
	}
	own := d.Environments.Settings[environment]
	return append(files, own.Values...), own.Set
}

// NotDeployed is the rule of the error about a component that is not deployed in the
// environment of a request.
const NotDeployed finding.Rule = "not-deployed"

// IsNotDeployed reports whether this is the only reason for an error of Generate.
func IsNotDeployed(err error) bool {
	all := finding.Of(err)
	return len(all) == 1 && all[0].Rule == NotDeployed
}

// notDeployedError returns the error about a component that is not deployed in an environment,
// at the key of component.yaml that says so.
func (req Request) notDeployedError(d component.Description, environment string) error {
	field, remedy := "environments", "add "+environment+" to the list, or use another environment"
	if _, named := d.Environments.Settings[environment]; named {
		field, remedy = "environments."+environment+".enabled", "write enabled: true, or use another environment"
	}
	return finding.Finding{Severity: finding.Error, Rule: NotDeployed, File: req.show(path.Join(req.Dir, component.File)),
		Line: d.Line(field), Field: field,
		Message: "the component is not deployed in environment " + environment, Remedy: remedy}
}

// environmentSettings returns the settings of the environment of a request. An unknown
// environment is an error, unless neither the fleet nor the component defines any
// environment.
func (req Request) environmentSettings(own Settings, d component.Description, platform component.Platform) ([]Settings, error) {
	environment := ""
	for _, s := range append([]Settings{own}, req.Settings...) {
		override(&environment, s.Environment)
	}
	if environment == "" {
		return nil, nil
	}
	known := d.Environments.Names()
	for _, e := range platform.Environments {
		known = append(known, e.Name)
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if len(known) > 0 && !slices.Contains(known, environment) {
		f := finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: "parameter environment",
			Message: fmt.Sprintf("unknown environment %q", environment),
			Remedy:  "add it to fleet.environments in ladder.yaml, or use an environment that is listed there"}
		if !slices.ContainsFunc(req.Settings, func(s Settings) bool { return s.Environment != "" }) {
			f.File, f.Line, f.Field = req.show(path.Join(req.Dir, component.File)), d.Line("environment"), "environment"
		}
		return nil, f.Asking(finding.Suggest(environment, known))
	}
	if !d.IsIn(environment) && !req.AllowUndeployed {
		return nil, req.notDeployedError(d, environment)
	}
	files, set := req.EnvironmentValues(d, platform, environment)
	settings := d.Environments.Settings[environment]
	if len(files)+len(set) == 0 && settings.Namespace == "" {
		return nil, nil
	}
	s := Settings{Namespace: settings.Namespace, Values: req.values()}
	s.Values.Files, s.Values.NamedBy = files, map[string]input.NamedBy{}
	place := func(at, ignore string) input.NamedBy {
		at = "environments." + environment + "." + at
		return input.NamedBy{File: req.show(path.Join(req.Dir, component.File)), Line: d.Line(at), Field: at, Ignore: ignore}
	}
	for i, name := range settings.Values {
		s.Values.NamedBy[name] = place(fmt.Sprintf("values[%d]", i), "ignoreMissingValueFiles")
	}
	p, _ := find(func(p Parameter) bool { return p.Name == "set" })
	for key, value := range set {
		for _, expr := range p.expressions(map[string]string{key: value}) {
			s.Values.NamedBy[expr] = place("set."+key, "")
		}
	}
	return []Settings{s}, p.Set(&s, p.expressions(set))
}
