package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/graph"
	"github.com/ladder-cmp/ladder/knowledge"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
)

// child is an Application in the rendering of another one, as far as its
// manifest tells.
type child struct {
	object.Object
	namespace string
	// cluster is where it goes; of two clusters, neither provides what the other
	// needs.
	cluster string
	sources []childSource
}

// childSource is one of the places that the manifests of a child come from: a
// request, if they are in the repository at hand, or the name of a chart and the
// address of its registry.
type childSource struct {
	request         *Request
	registry, chart string
	// key tells apart what comes out differently.
	key string
	// place is what messages call it, and err why it cannot be rendered.
	place string
	err   error
}

// ownCluster is the one that Argo CD runs in, where Applications are, too.
const ownCluster = "https://kubernetes.default.svc"

// readChild reads an Application. deploys is what its kind is known by.
func (req Request) readChild(o object.Object, deploys knowledge.Path) child {
	c := child{Object: o, namespace: defaultNamespace, cluster: ownCluster}
	for _, found := range deploys.Find(o.Root()) {
		spec := found.Value
		override(&c.namespace, spec.Get("destination", "namespace").Text())
		switch name := spec.Get("destination", "name").Text(); {
		case name != "" && name != "in-cluster":
			c.cluster = name
		default:
			override(&c.cluster, strings.TrimSuffix(spec.Get("destination", "server").Text(), "/"))
		}
		sources := sourcesOf(spec)
		refs := map[string]bool{}
		for _, s := range sources {
			if ref := s.Get("ref").Text(); ref != "" {
				refs[ref] = req.isOurs(s)
			}
		}
		for _, s := range sources {
			if s.Get("ref").Text() != "" && s.Get("path").Text() == "" && s.Get("chart").Text() == "" {
				continue // is there for its values files
			}
			c.sources = append(c.sources, req.readSource(c, s, refs))
		}
	}
	return c
}

// isOurs reports whether a source is in the repository of the request.
func (req Request) isOurs(s object.Value) bool {
	return s.Get("chart").Text() == "" && req.App.RepoURL != "" && repository(s.Get("repoURL").Text()) == repository(req.App.RepoURL)
}

// guessRepository is the repository in which most of the paths of children are
// that are here. On a laptop nobody says what the repository is called.
func (req Request) guessRepository(specs []object.Value) string {
	here := map[string]int{}
	for _, spec := range specs {
		for _, s := range sourcesOf(spec) {
			dir := sourcePath(s)
			if !fs.ValidPath(dir) || dir == "." || s.Get("chart").Text() != "" {
				continue
			}
			if info, err := fs.Stat(req.Repo, dir); err == nil && info.IsDir() {
				here[s.Get("repoURL").Text()]++
			}
		}
	}
	most := ""
	for _, address := range slices.Sorted(maps.Keys(here)) {
		if here[address] > here[most] {
			most = address
		}
	}
	return most
}

// sourcesOf are the sources of an Application. Argo CD looks at one only if there
// is no list.
func sourcesOf(spec object.Value) []object.Value {
	if all := spec.Get("sources").Items(); len(all) > 0 {
		return all
	}
	return []object.Value{spec.Get("source")}
}

func sourcePath(s object.Value) string {
	return path.Clean(strings.TrimLeft(s.Get("path").Text(), "/"))
}

// repository is what the addresses of a repository have in common: those for
// people and for machines, with and without a name, a port and an ending.
func repository(address string) string {
	address = strings.ToLower(strings.TrimSpace(address))
	scheme, rest, found := strings.Cut(address, "://")
	if !found {
		rest = strings.Replace(scheme, ":", "/", 1) // git@host:path
	}
	host, path, _ := strings.Cut(rest, "/")
	if at := strings.LastIndexByte(host, '@'); at >= 0 {
		host = host[at+1:]
	}
	if found {
		host, _, _ = strings.Cut(host, ":")
	}
	return host + "/" + strings.TrimSuffix(strings.Trim(path, "/"), ".git")
}

// readSource reads one source of a child. refs are the sources that its values
// files may be in, each with whether that is this repository.
func (req Request) readSource(c child, s object.Value, refs map[string]bool) childSource {
	if req.Repo == nil || !req.isOurs(s) {
		return chartSource(s)
	}
	dir := sourcePath(s)
	src := childSource{place: req.show(dir)}
	text, err := s.YAML()
	src.key = fmt.Sprintf("%q %q %s", c.ID.Name, c.namespace, text)
	if err != nil {
		src.err = err
		return src
	}
	if info, err := fs.Stat(req.Repo, dir); !fs.ValidPath(dir) || err != nil || !info.IsDir() {
		src.err = finding.Finding{Severity: finding.Error, Rule: "no-directory", Message: "there is no such directory in what Argo CD sent of the repository",
			Remedy: "correct the path, or name it in the annotation argocd.argoproj.io/manifest-generate-paths of the parent"}
		return src
	}
	// The API versions of the cluster are left out: they change while the
	// children are synced, and the order must not.
	r := Request{Repo: req.Repo, Dir: dir, Show: req.Show, KubeVersion: req.KubeVersion, Memory: req.Memory, Remote: req.Remote, Files: req.Files,
		App: App{Name: c.ID.Name, Namespace: c.namespace, Revision: req.App.Revision, RepoURL: req.App.RepoURL}}
	if d, err := r.Describe(); err == nil && d.Chart.Remote() && !r.Vendored(d.Chart) {
		return childSource{registry: d.Chart.RepoURL, chart: d.Chart.Chart, place: src.place}
	}
	helm, err := r.fromHelm(c, s.Get("helm"), refs)
	own, faults := r.fromPlugin(c, s.Get("plugin"))
	r.Settings, src.err = append(own, helm), errors.Join(append(faults, err)...)
	src.request = &r
	return src
}

// chartSource is a source that is not at hand, of which a chart's name may tell
// something.
func chartSource(s object.Value) childSource {
	name := s.Get("chart").Text()
	if address, oci := strings.CutPrefix(s.Get("repoURL").Text(), "oci://"); name == "" && oci {
		name = path.Base(address)
	}
	name = path.Base("/" + name)                     // "registry/name" in registries of images
	name = name[strings.LastIndexByte(name, '@')+1:] // a chart has no user, but an address may
	if name == "/" {
		return childSource{place: "path " + s.Get("path").Text() + " of " + s.Get("repoURL").Text()}
	}
	return childSource{registry: s.Get("repoURL").Text() + "/" + s.Get("chart").Text(), chart: name, place: "chart " + name}
}

// fromHelm reads what an Application says to Argo CD's own Helm. Values files of
// other repositories are left out.
func (req Request) fromHelm(c child, helm object.Value, refs map[string]bool) (Settings, error) {
	if !helm.Exists() {
		return Settings{}, nil
	}
	fill := c.variables()
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
		if ref, rest, of := strings.Cut(strings.TrimPrefix(name, "$"), "/"); of && strings.HasPrefix(name, "$") {
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
	if object := helm.Get("valuesObject"); object.Exists() { // which Argo CD prefers
		var err error
		if text, err = object.YAML(); err != nil {
			return set, err
		}
	}
	if text != "" {
		set.Values = inline(set.Values, "the values in "+c.ID.String(), text)
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

// inline adds values that are no file, under a title for messages.
func inline(v render.Values, title, text string) render.Values {
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

// fromPlugin reads what an Application says to this plugin. What it says to
// another one is not for us.
func (req Request) fromPlugin(c child, plugin object.Value) ([]Settings, []error) {
	if name := plugin.Get("name").Text(); name != "" && name != Name && !strings.HasPrefix(name, Name+"-") {
		return nil, nil
	}
	fill := c.variables()
	env := map[string]string{}
	for _, v := range plugin.Get("env").Items() {
		env[variablePrefix+v.Get("name").Text()] = fill(v.Get("value").Text())
	}
	var params []given
	for _, p := range plugin.Get("parameters").Items() {
		params = append(params, readGiven(p))
	}
	return req.settings(env, params)
}

// readGiven reads a parameter as an Application writes it.
func readGiven(p object.Value) given {
	g := given{Name: p.Get("name").Text()}
	if v := p.Get("string"); v.Exists() {
		text := v.Text()
		g.String = &text
	}
	if v := p.Get("array"); v.Exists() {
		list := []string{}
		for _, item := range v.Items() {
			list = append(list, item.Text())
		}
		g.Array = &list
	}
	if v := p.Get("map"); v.Exists() {
		m := map[string]string{}
		for _, f := range v.Fields() {
			m[f.Key] = f.Value.Text()
		}
		g.Map = &m
	}
	return g
}

// variables returns what Argo CD puts in for the variables that people use in
// Applications.
func (c child) variables() func(string) string {
	return strings.NewReplacer("${ARGOCD_APP_NAMESPACE}", c.namespace, "$ARGOCD_APP_NAMESPACE", c.namespace,
		"${ARGOCD_APP_NAME}", c.ID.Name, "$ARGOCD_APP_NAME", c.ID.Name).Replace
}

// part is what a rendered source adds to a graph of several.
func (c child) part(objs []object.Object) graph.Part {
	return graph.Part{Objects: objs, Namespace: c.namespace}
}
