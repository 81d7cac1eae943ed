package plugin

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/wave"
)

// FromSource returns the request for a source of an Application in a directory of the repository
// of this request, with the settings of the Application. refs are the sources that its values
// files may be in, each with whether it is this repository. It ignores the API versions of the
// cluster, because these change while the children of an app of apps are synced, and the order
// must not change with them.
func (req Request) FromSource(id object.ID, app App, dir string, source object.Value, refs map[string]bool) (Request, error) {
	app.Revision = req.App.Revision
	r := Request{Repo: req.Repo, Dir: dir, Show: req.Show, KubeVersion: req.KubeVersion, Memory: req.Memory, Remote: req.Remote,
		Files: req.Files, App: app}
	helm, err := r.fromHelm(id, source.Get("helm"), refs)
	own, faults := r.fromPlugin(source.Get("plugin"))
	native, more := r.fromNative(source)
	r.Settings = slices.Concat(own, native, []Settings{helm})
	faults = append(faults, more...)
	return r, errors.Join(append(faults, err)...)
}

// FromChart is like FromSource for a source that is not in the repository of this request: a chart
// in a registry, or a directory of another git repository. The request has the directory dir, whose
// lock file knows what is vendored.
func (req Request) FromChart(id object.ID, app App, dir string, source object.Value, refs map[string]bool) (Request, error) {
	r, err := req.FromSource(id, app, dir, source, refs)
	c := component.Chart{RepoURL: source.Get("repoURL").Text(), Chart: source.Get("chart").Text(),
		Version: source.Get("targetRevision").Text(), IgnoreMissing: source.Get("helm", "ignoreMissingValueFiles").True()}
	if c.Chart == "" && !strings.HasPrefix(c.RepoURL, "oci://") {
		c.Path = source.Get("path").Text()
	}
	fill := app.variables()
	for _, v := range source.Get("helm", "valueFiles").Items() {
		name := fill(v.Text())
		ref, _, _ := strings.Cut(strings.TrimPrefix(name, "$"), "/")
		if !strings.HasPrefix(name, "$") || refs[ref] {
			c.ValueFiles = append(c.ValueFiles, name)
		}
	}
	helm := &r.Settings[len(r.Settings)-1]
	named := c.ValueFiles
	helm.Values.Files = slices.DeleteFunc(helm.Values.Files, func(name string) bool {
		return slices.ContainsFunc(named, func(n string) bool {
			_, rest, _ := strings.Cut(n, "/")
			return name == n || strings.HasPrefix(n, "$") && name == "/"+rest
		})
	})
	r.Chart = c
	return r, err
}

// AsBuiltIn returns the settings with which a rendering is that of Argo CD's built-in sources:
// without further waves, and without subdirectories of plain YAML.
func AsBuiltIn() Settings {
	return Settings{Waves: wave.Off, changes: []func(*options){func(o *options) { o.render.Directory.Flat = true }}}
}

// Referred is a component with the references between its objects, before it is ordered.
type Referred struct {
	Graph *graph.Graph
	// Base is the knowledge about its kinds, and Waves how it is ordered.
	Base  *knowledge.Base
	Waves wave.Options
	// CRDs is the part of the component.
	CRDs crds.Mode
	// Revision reports whether the commit may have affected the result.
	Revision bool
}

// Refer renders the component of a request, and finds the references between its objects. With an
// error, the result has what is known until then.
func (req Request) Refer(ctx context.Context, base *knowledge.Base) (Referred, error) {
	req, opt, base, err := req.prepare(ctx, base)
	if err != nil {
		return Referred{}, err
	}
	r := Referred{Base: base, Waves: opt.waves, CRDs: opt.crds.mode}
	rendered, err := req.render(ctx, opt, base)
	if err != nil {
		return r, err
	}
	r.Revision = rendered.Revision
	r.Graph, err = opt.refer(rendered, base)
	return r, err
}

// fromHelm reads source.helm of an Application. Values files of other repositories
// are ignored.
func (req Request) fromHelm(app object.ID, helm object.Value, refs map[string]bool) (Settings, error) {
	if !helm.Exists() {
		return Settings{}, nil
	}
	fill := req.App.variables()
	set := Settings{Name: fill(helm.Get("releaseName").Text()), Namespace: helm.Get("namespace").Text(),
		KubeVersion: helm.Get("kubeVersion").Text(), Values: req.values()}
	for _, v := range helm.Get("apiVersions").Items() {
		set.APIVersions = append(set.APIVersions, v.Text())
	}
	skip := helm.Get("skipTests").True()
	set.changes, set.parameterNames = []func(*options){func(o *options) { o.render.SkipTests = skip }}, []string{"skip-tests"}
	if helm.Get("skipCrds").True() {
		set.CRDs = crds.Skip
	}
	for _, v := range helm.Get("valueFiles").Items() {
		name := fill(v.Text())
		if ref, rest, hasPath := strings.Cut(strings.TrimPrefix(name, "$"), "/"); hasPath && strings.HasPrefix(name, "$") {
			if !refs[ref] {
				continue
			}
			name = "/" + rest
		}
		if strings.Contains(name, "://") {
			continue
		}
		if helm.Get("ignoreMissingValueFiles").True() {
			if _, err := set.Values.Read(name); err != nil {
				continue
			}
		}
		set.Values.Files = append(set.Values.Files, name)
	}
	text := helm.Get("values").Text()
	if object := helm.Get("valuesObject"); object.Exists() { // Argo CD prefers it
		var err error
		if text, err = object.YAML(); err != nil {
			return set, err
		}
	}
	if text != "" {
		set.Values = inline(set.Values, "the values in "+app.String(), text)
	}
	for _, p := range helm.Get("parameters").Items() {
		expression := p.Get("name").Text() + "=" + escapeCommas(fill(p.Get("value").Text()))
		if p.Get("forceString").True() {
			set.Values.SetString = append(set.Values.SetString, expression)
		} else {
			set.Values.Set = append(set.Values.Set, expression)
		}
	}
	for _, p := range helm.Get("fileParameters").Items() {
		set.Values.SetFile = append(set.Values.SetFile, p.Get("name").Text()+"="+fill(p.Get("path").Text()))
	}
	return set, nil
}

// fromNative reads source.directory and source.kustomize of an Application, whose fields
// have the names of the parameters in component.yaml.
func (req Request) fromNative(source object.Value) ([]Settings, []error) {
	var params []passedParameter
	for _, group := range []struct {
		key string
		all []Parameter
	}{{"directory", ofDirectory}, {"kustomize", ofKustomize}} {
		for _, p := range group.all {
			field := p.Key()
			if field == "kustomizeNamespace" {
				field = "namespace"
			}
			v := source.Get(group.key, field)
			if !v.Exists() {
				continue
			}
			g, err := readParameter(p.Name, v)
			if err != nil {
				return nil, []error{err}
			}
			params = append(params, g)
		}
	}
	params = append(params, jsonnetParameters(source.Get("directory", "jsonnet"))...)
	if directory := source.Get("directory"); directory.IsMap() && !directory.Get("recurse").Exists() {
		no := "false" // Argo CD reads such a source as a directory
		params = append(params, passedParameter{Name: "recurse", String: &no})
	}
	return req.settings(nil, params)
}

// readParameter returns a value as a parameter. Items of a list may be YAML.
func readParameter(parameter string, v object.Value) (passedParameter, error) {
	g := passedParameter{Name: parameter}
	items := v.Items()
	switch {
	case v.IsMap():
		m := map[string]string{}
		for _, f := range v.Fields() {
			m[f.Key] = f.Value.Text()
		}
		g.Map = &m
	case parameter == "replicas":
		m := map[string]string{}
		for _, item := range items {
			m[item.Get("name").Text()] = item.Get("count").Text()
		}
		g.Map = &m
	case v.IsList():
		list := []string{}
		for _, item := range items {
			text := item.Text()
			if item.IsMap() {
				var err error
				if text, err = item.YAML(); err != nil {
					return g, err
				}
			}
			list = append(list, text)
		}
		g.Array = &list
	default:
		text := v.Text()
		g.String = &text
	}
	return g, nil
}

// jsonnetParameters returns the variables of an Application's jsonnet files as
// parameters.
func jsonnetParameters(jsonnet object.Value) []passedParameter {
	var all []passedParameter
	for _, f := range []struct{ field, parameter string }{{"extVars", "ext-vars"}, {"tlas", "tlas"}} {
		texts, code := map[string]string{}, map[string]string{}
		for _, v := range jsonnet.Get(f.field).Items() {
			to := texts
			if v.Get("code").True() {
				to = code
			}
			to[v.Get("name").Text()] = v.Get("value").Text()
		}
		if len(texts) > 0 {
			all = append(all, passedParameter{Name: f.parameter, Map: &texts})
		}
		if len(code) > 0 {
			all = append(all, passedParameter{Name: f.parameter + "-code", Map: &code})
		}
	}
	if libs := jsonnet.Get("libs").Items(); len(libs) > 0 {
		list := []string{}
		for _, v := range libs {
			list = append(list, v.Text())
		}
		all = append(all, passedParameter{Name: "libs", Array: &list})
	}
	return all
}

// inline adds values without a file, under a title for messages.
func inline(v input.Values, title, text string) input.Values {
	read, show := v.Read, v.Path
	v.Files = append(v.Files, title)
	v.Read = func(name string) ([]byte, error) {
		if name == title {
			return []byte(text), nil
		}
		return read(name)
	}
	v.Path = func(name string) string {
		if name == title {
			return title
		}
		return show(name)
	}
	return v
}

// fromPlugin reads source.plugin of an Application. Other plugins are ignored.
func (req Request) fromPlugin(plugin object.Value) ([]Settings, []error) {
	if name := plugin.Get("name").Text(); name != "" && name != Name && !strings.HasPrefix(name, Name+"-") {
		return nil, nil
	}
	fill := req.App.variables()
	env := map[string]string{}
	for _, v := range plugin.Get("env").Items() {
		env[variablePrefix+v.Get("name").Text()] = fill(v.Get("value").Text())
	}
	var params []passedParameter
	for _, p := range plugin.Get("parameters").Items() {
		g := passedParameter{Name: p.Get("name").Text()}
		for _, key := range []string{"string", "array", "map"} {
			if v := p.Get(key); v.Exists() {
				var err error
				if g, err = readParameter(g.Name, v); err != nil {
					return nil, []error{err}
				}
			}
		}
		params = append(params, g)
	}
	return req.settings(env, params)
}

// variables returns the values that Argo CD substitutes for variables in
// Applications.
func (a App) variables() func(string) string {
	return strings.NewReplacer("${ARGOCD_APP_NAMESPACE}", a.Namespace, "$ARGOCD_APP_NAMESPACE", a.Namespace,
		"${ARGOCD_APP_NAME}", a.Name, "$ARGOCD_APP_NAME", a.Name).Replace
}
