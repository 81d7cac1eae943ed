package plugin

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/random"
	"github.com/ladder-cmp/ladder/wave"
)

// FromEnvironment returns a request from the environment that Argo CD sets for a
// plugin (util/app and reposerver/repository of Argo CD, newEnv and getPluginEnvs).
// dir is the directory of the component in repo. Settings come from the Application's
// variables and parameters; parameters take precedence. The variable of the parameter
// "values" is LADDER_VALUES, which Argo CD passes as ARGOCD_ENV_LADDER_VALUES.
//
// The error joins all findings.
func FromEnvironment(repo fs.FS, dir string, env map[string]string) (Request, error) {
	req := Request{
		Repo: repo,
		Dir:  path.Clean(dir),
		App: App{Name: appName(env["ARGOCD_APP_NAME"]), Namespace: env["ARGOCD_APP_NAMESPACE"],
			Revision: env[Revision], RepoURL: env[RepoURL]},
		Variables:       map[string]string{},
		KubeVersion:     env["KUBE_VERSION"],
		APIVersions:     object.SplitList(env["KUBE_API_VERSIONS"]),
		AllowUndeployed: true,
	}
	if explain := wave.Explain(env[DefaultExplain]); explain == wave.InAnnotations {
		req.Explain = explain
	}
	if env[ProjectName] == "" {
		req.WhyRandom = random.NoProject
		req.ArgoCD = withoutProject
	}
	for _, name := range substitutable {
		req.Variables[name] = env[name]
	}
	params, faults := parametersFromJSON(env["ARGOCD_APP_PARAMETERS"])
	settings, more := req.settings(env, params)
	req.Settings = settings
	return req, errors.Join(append(more, faults...)...)
}

// settings returns the settings of an Application: its variables, overridden by its
// parameters.
func (req Request) settings(env map[string]string, params []passedParameter) ([]Settings, []error) {
	vars, faults := settingsFromVariables(env)
	own, more := settingsFromParameters(params)
	var all []Settings
	for _, s := range []Settings{vars, own} {
		files := req.values()
		s.Values.Read, s.Values.Path, s.Values.Glob = files.Read, files.Path, files.Glob
		all = append(all, s)
	}
	return all, append(faults, more...)
}

// withoutProject is the Argo CD that does not name the AppProject: newEnv sets the variable since
// 3.0, and 2.14 is the only supported release before.
const withoutProject = "2.14"

// Revision is the environment variable with the commit.
const Revision = "ARGOCD_APP_REVISION"

// RepoURL is the environment variable with the URL of the repository.
const RepoURL = "ARGOCD_APP_SOURCE_REPO_URL"

// DefaultExplain is the environment variable with the default of the explain parameter.
// The plugin server sets it, not Argo CD.
const DefaultExplain = "LADDER_SERVE_EXPLAIN"

// Reads reports whether FromEnvironment reads a variable.
func Reads(variable string) bool {
	switch variable {
	case "ARGOCD_APP_NAME", "ARGOCD_APP_NAMESPACE", Revision, RepoURL, "ARGOCD_APP_PARAMETERS", "KUBE_VERSION",
		"KUBE_API_VERSIONS", DefaultExplain:
		return true
	}
	return slices.Contains(substitutable, variable) || strings.HasPrefix(variable, variablePrefix+"LADDER_")
}

// appName removes the namespace that Argo CD puts before the name of an Application
// outside its own namespace. Names contain no underscore, so the first one
// separates the two. Argo CD names Helm releases the same way.
func appName(name string) string {
	if _, after, ok := strings.Cut(name, "_"); ok {
		return after
	}
	return name
}

// variablePrefix is the prefix of variables from the Application's plugin section.
const variablePrefix = "ARGOCD_ENV_"

func settingsFromVariables(env map[string]string) (Settings, []error) {
	var s Settings
	var faults []error
	entries := map[string]map[string]string{}
	for name, value := range env {
		own, ok := strings.CutPrefix(name, variablePrefix)
		if !ok || !strings.HasPrefix(own, "LADDER_") || value == "" {
			continue // for another plugin, or set to the empty string
		}
		whole, key, entry := strings.Cut(own, ".")
		p, known := find(func(p Parameter) bool { return p.Variable() == whole })
		switch {
		case !known:
			faults = append(faults, unknown(own, whole, Parameter.Variable))
		case entry && p.Collection == "string":
			faults = append(faults, finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, Field: own,
				Message: "the parameter takes one value and has no entries", Remedy: "write " + whole})
		case entry:
			if entries[whole] == nil {
				entries[whole] = map[string]string{}
			}
			entries[whole][key] = value
		}
	}
	for _, p := range parameters {
		values, err := p.fromVariables(env[variablePrefix+p.Variable()], entries[p.Variable()])
		if err == nil && len(values) > 0 {
			err = p.Set(&s, values)
		}
		for _, f := range finding.Of(err) {
			f.Field = p.Variable()
			f.Message = withoutValue(f.Message, append(values, env[variablePrefix+p.Variable()]))
			faults = append(faults, f)
		}
	}
	slices.SortFunc(faults, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return s, faults
}

// fromVariables reads the variable of a parameter, followed by the variables of single
// entries: LADDER_SET.image.tag is the entry image.tag of LADDER_SET. Programs that update
// images set one variable per value.
func (p Parameter) fromVariables(value string, entries map[string]string) ([]string, error) {
	var values []string
	if value != "" {
		var err error
		if values, err = p.fromVariable(value); err != nil {
			return nil, err
		}
	}
	if p.Collection == "map" {
		return append(values, p.expressions(entries)...), nil
	}
	for _, key := range slices.Sorted(maps.Keys(entries)) {
		values = append(values, entries[key])
	}
	return values, nil
}

// withoutValue removes the content of variables from a message. More people read
// messages than variables, which may come from outside the repository. A message
// that quotes a part of a value is dropped as a whole.
func withoutValue(message string, values []string) string {
	for _, v := range values {
		message = strings.ReplaceAll(message, strconv.Quote(v), "the value")
	}
	shown := func(v string) bool { return v != "" && strings.Contains(message, v) }
	if strings.ContainsAny(message, "\"`") || slices.ContainsFunc(values, shown) {
		return "the value is not valid"
	}
	return message
}

// fromVariable reads a variable: lists and maps are separated by commas, but YAML
// texts are a YAML list, and Helm expressions contain commas themselves.
func (p Parameter) fromVariable(value string) ([]string, error) {
	switch {
	case p.YAML && p.Collection == "array":
		var list yaml.Node
		if err := yaml.Unmarshal([]byte(value), &list); err == nil && len(list.Content) == 1 {
			if values, ok := p.textsOf(list.Content[0]); ok {
				return values, nil
			}
		}
		return nil, p.fault("not a list", "write it as YAML")
	case p.Collection == "array", p.Verbatim:
		return object.SplitList(value), nil
	}
	return []string{value}, nil
}
