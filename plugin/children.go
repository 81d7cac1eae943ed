package plugin

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/fleet/parent"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// childSources gives package parent access to the children's sources in the repository
// of their parent.
type childSources struct {
	parent Request
	base   *knowledge.Base
}

// appOfApps returns the options to find the children of the component.
func (req Request) appOfApps(opt options, base *knowledge.Base) parent.Options {
	platform, _ := component.PlatformOf(base.Fleet().Node) // prepare reports an error
	o := parent.Options{Name: req.App.Name, Namespace: opt.render.Namespace, Dir: req.Dir, RepoURL: cmp.Or(req.App.RepoURL, platform.RepoURL), Show: req.Show}
	if req.Repo != nil {
		o.Repository = childSources{req, base}
	}
	return o
}

// HasDir reports whether a directory exists in the repository.
func (s childSources) HasDir(dir string) bool {
	if !fs.ValidPath(dir) {
		return false
	}
	info, err := fs.Stat(s.parent.Repo, dir)
	return err == nil && info.IsDir()
}

// Open returns the source of a child Application in directory dir, with the settings of
// the Application. It ignores the API versions of the cluster, because these change while
// the children are synced, and the order must not change with them.
func (s childSources) Open(app parent.Application, dir string, source object.Value, refs map[string]bool) parent.Source {
	r := Request{Repo: s.parent.Repo, Dir: dir, Show: s.parent.Show, KubeVersion: s.parent.KubeVersion, Memory: s.parent.Memory, Remote: s.parent.Remote, Files: s.parent.Files,
		App: App{Name: app.ID.Name, Namespace: app.Namespace, Revision: s.parent.App.Revision, RepoURL: app.RepoURL}}
	if d, err := r.Describe(); err == nil && d.Chart.Remote() && !r.Vendored(d.Chart) {
		return parent.Source{Registry: d.Chart.RepoURL, Chart: d.Chart.Chart}
	}
	helm, err := r.fromHelm(app.ID, source.Get("helm"), refs)
	own, faults := r.fromPlugin(source.Get("plugin"))
	native, more := r.fromNative(source)
	r.Settings = slices.Concat(own, native, []Settings{helm})
	faults = append(faults, more...)
	return parent.Source{Render: r.asChild(s.base), Err: errors.Join(append(faults, err)...)}
}

// asChild returns a function that renders the component of the request, so that it can be
// ordered within its parent.
func (req Request) asChild(base *knowledge.Base) func(context.Context) (parent.Rendered, error) {
	return func(ctx context.Context) (parent.Rendered, error) {
		req, opt, base, err := req.prepare(ctx, base)
		if err != nil {
			return parent.Rendered{}, err
		}
		r := parent.Rendered{Base: base, Waves: opt.waves, CRDs: opt.crds.mode}
		rendered, err := req.render(ctx, opt, base)
		if err != nil {
			return r, err
		}
		r.Revision = rendered.Revision
		r.Graph, err = opt.refer(rendered, base)
		return r, err
	}
}

// fromHelm reads source.helm of an Application. Values files of other repositories
// are ignored.
func (req Request) fromHelm(app object.ID, helm object.Value, refs map[string]bool) (Settings, error) {
	if !helm.Exists() {
		return Settings{}, nil
	}
	fill := req.App.variables()
	set := Settings{Name: fill(helm.Get("releaseName").Text()), Namespace: helm.Get("namespace").Text(), KubeVersion: helm.Get("kubeVersion").Text(), Values: req.values()}
	for _, v := range helm.Get("apiVersions").Items() {
		set.APIVersions = append(set.APIVersions, v.Text())
	}
	skip := helm.Get("skipTests").True()
	set.SkipTests = &skip
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
