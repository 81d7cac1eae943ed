package importer

import (
	"cmp"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
)

// importedComponent is a component that is created from a source of an Application.
type importedComponent struct {
	app  *application
	name string
	// local is true if the manifests are in the repository, in dir.
	local bool
	dir   string
	chart chart
	// values are the values of a chart from another repository. They become a file, because
	// Argo CD renders such a chart itself and does not read a component.yaml.
	values tree
	// parameters are keys of component.yaml for rendering.
	parameters tree
	// copies maps names to values files of other repositories, which are written next to the
	// component.yaml.
	copies map[string]string
	// missing says which setting that affects the manifests is not imported; empty if all are.
	missing string
}

// chart is the chart key of component.yaml.
type chart struct {
	RepoURL       string   `yaml:"repoURL,omitempty"`
	Path          string   `yaml:"path,omitempty"`
	Chart         string   `yaml:"chart,omitempty"`
	Version       string   `yaml:"version,omitempty"`
	ReleaseName   string   `yaml:"releaseName,omitempty"`
	ValueFiles    []string `yaml:"valueFiles,omitempty"`
	IgnoreMissing bool     `yaml:"ignoreMissingValueFiles,omitempty"`
	SkipCRDs      bool     `yaml:"skipCrds,omitempty"`
}

// source imports a source that has manifests.
func (w *work) source(m *importedComponent, s tree, refs map[string]string, field string) bool {
	url, name := text(s["repoURL"]), takeText(s, "chart")
	take(s, "name")
	if name == "" && w.ours(url) {
		w.revision(m.app, s, field)
		m.local, m.dir = true, path.Clean(takeText(s, "path"))
		m.chart.Path = m.dir
		if info, err := fs.Stat(w.Repo, m.dir); err != nil || !info.IsDir() {
			m.app.report(field+".path", fmt.Sprintf("directory %s not found in the repository, so there is no component", m.dir), "correct it, or delete the Application")
			return false
		}
	} else {
		m.chart = chart{RepoURL: takeText(s, "repoURL"), Chart: name, Version: takeText(s, "targetRevision")}
		if dir := takeText(s, "path"); name == "" {
			m.chart.Path = cmp.Or(dir, ".")
			if s["helm"] == nil {
				m.app.change(field, "Argo CD renders only charts of other repositories for a fleet; run cmp vendor in the directory of the component")
			}
		}
	}
	w.helm(m, s, refs, field)
	if m.name != m.app.name && m.chart.ReleaseName == "" && (m.chart.Chart != "" || m.local && isChart(w.Repo, m.dir)) {
		m.chart.ReleaseName = m.app.name // Argo CD uses this release name for every source
	}
	w.native(m, s, field)
	if plugin := takeText(s, "plugin", "name"); plugin != "" {
		m.app.plugin = plugin
	}
	return true
}

// helm imports the Helm settings of a source.
func (w *work) helm(m *importedComponent, s tree, refs map[string]string, field string) {
	h := fieldsOf(s["helm"])
	if h == nil {
		take(s, "helm")
		return
	}
	if release := takeText(h, "releaseName"); release != m.name {
		m.chart.ReleaseName = release
	}
	m.chart.IgnoreMissing = takeTrue(h, "ignoreMissingValueFiles")
	for _, file := range takeList(h, "valueFiles") {
		name, ok := w.valuesFile(text(file), refs)
		if !ok {
			name, ok = w.copyValuesFile(m, text(file), refs, field)
		}
		switch {
		case ok:
			m.chart.ValueFiles = append(m.chart.ValueFiles, name)
		case w.otherRepository(text(file), refs) != nil:
			if !m.chart.IgnoreMissing {
				m.missing = "the values file " + text(file) + " does not exist"
				m.app.report(field+".helm.valueFiles", fmt.Sprintf("the values file %s does not exist in the other repository", text(file)), "correct it")
			}
		default:
			m.missing = "the values file " + text(file) + " is in another repository"
			m.app.report(field+".helm.valueFiles", fmt.Sprintf("the values file %s is in another repository", text(file)), "import with --repo URL=DIR, where DIR is a checkout of it, or copy it to this repository and name it in chart.valueFiles")
		}
	}
	inline := w.inline(m, h, field)
	if version := text(h["version"]); version == "v3" || version == "" {
		take(h, "version")
	}
	switch {
	case m.local:
		w.parameters(m, h, inline)
	default:
		m.chart.SkipCRDs = takeTrue(h, "skipCrds")
		m.values = w.withParameters(m, h, inline, field)
	}
	if len(h) == 0 {
		take(s, "helm")
	}
}

// valuesFile returns the name of a values file as a component.yaml names it.
func (w *work) valuesFile(name string, refs map[string]string) (string, bool) {
	if strings.Contains(name, "://") {
		return "", false
	}
	ref, below, is := strings.Cut(strings.TrimPrefix(name, "$"), "/")
	if !is || !strings.HasPrefix(name, "$") {
		return name, true
	}
	return "/" + below, w.ours(refs[ref])
}

// otherRepository returns the repository of a values file, if it is another one that is available.
func (w *work) otherRepository(name string, refs map[string]string) fs.FS {
	ref, _, _ := strings.Cut(strings.TrimPrefix(name, "$"), "/")
	return w.open(refs[ref])
}

// copyValuesFile copies a values file of another repository next to the component.yaml.
func (w *work) copyValuesFile(m *importedComponent, name string, refs map[string]string, field string) (string, bool) {
	ref, below, _ := strings.Cut(strings.TrimPrefix(name, "$"), "/")
	repo := w.otherRepository(name, refs)
	if repo == nil || !fs.ValidPath(path.Clean(below)) {
		return "", false
	}
	text, err := fs.ReadFile(repo, path.Clean(below))
	if err != nil {
		return "", false
	}
	file := ref + "-" + strings.ReplaceAll(path.Clean(below), "/", "-")
	if m.copies == nil {
		m.copies = map[string]string{}
	}
	m.copies[file] = string(text)
	m.app.change(field+".helm.valueFiles", fmt.Sprintf("%s is copied from %s; later changes there have no effect", name, refs[ref]))
	return "/" + path.Join(w.Dir, m.name, file), true
}

// inline imports values in the Application. Argo CD prefers valuesObject.
func (w *work) inline(m *importedComponent, h tree, field string) tree {
	typed, written := fieldsOf(h["valuesObject"]), h["values"]
	take(h, "valuesObject")
	if typed != nil {
		take(h, "values")
		return typed
	}
	if written == nil {
		take(h, "values")
		return nil
	}
	values, err := object.ParsePlain(text(written))
	if err != nil {
		m.app.report(field+".helm.values", "the values are not valid YAML", "correct them")
	}
	take(h, "values")
	return fieldsOf(values)
}

// parameters imports the settings with which Ladder renders a chart of this repository.
func (w *work) parameters(m *importedComponent, h, inline tree) {
	if len(inline) > 0 {
		m.parameters["valuesObject"] = inline
	}
	set, setString, setFile := tree{}, tree{}, tree{}
	for _, item := range takeList(h, "parameters") {
		p := fieldsOf(item)
		into := set
		if takeTrue(p, "forceString") {
			into = setString
		}
		into[text(p["name"])] = text(p["value"])
	}
	for _, item := range takeList(h, "fileParameters") {
		p := fieldsOf(item)
		setFile[text(p["name"])] = text(p["path"])
	}
	for key, values := range map[string]tree{"set": set, "setString": setString, "setFile": setFile} {
		if len(values) > 0 {
			m.parameters[key] = values
		}
	}
	for field, key := range map[string]string{"skipCrds": "skipCrds", "skipTests": "skipTests", "skipSchemaValidation": "skipSchemaValidation"} {
		if takeTrue(h, field) {
			m.parameters[key] = true
		}
	}
	if version := takeText(h, "kubeVersion"); version != "" {
		m.parameters["kubeVersion"] = version
	}
	if versions := takeList(h, "apiVersions"); len(versions) > 0 {
		m.parameters["apiVersions"], m.parameters["capabilities"] = versions, "pinned" // they replace those of the cluster
	}
	if namespace := text(h["namespace"]); namespace != "" && namespace != m.app.namespace {
		m.missing = "helm.namespace is not imported"
	}
}

// withParameters adds parameters to inline values. As in Argo CD, they take precedence. A
// parameter for an element of a list stays, because the rest of the list is unknown.
func (w *work) withParameters(m *importedComponent, h, values tree, field string) tree {
	var remaining []any
	for _, item := range takeList(h, "parameters") {
		p := fieldsOf(item)
		keys := pathOf(text(p["name"]))
		if keys == nil || strings.ContainsAny(text(p["value"]), ",{}[]\\") || strings.Contains(text(p["value"]), "$ARGOCD_") {
			remaining = append(remaining, item)
			continue
		}
		if values == nil {
			values = tree{}
		}
		put(values, keys, parseValue(text(p["value"]), p["forceString"] == true))
	}
	for _, item := range remaining {
		m.app.report(field+".helm.parameters", fmt.Sprintf("the parameter %s sets a list, several values or a variable", text(fieldsOf(item)["name"])), "write it as values")
	}
	return values
}

// pathOf returns the keys of a parameter; nil if it names an element of a list, or several
// values.
func pathOf(name string) []string {
	if name == "" || strings.ContainsAny(name, "[]{},=") {
		return nil
	}
	var keys []string
	key := ""
	for i := 0; i < len(name); i++ {
		switch {
		case name[i] == '\\' && i+1 < len(name):
			i++
			key += string(name[i])
		case name[i] == '.':
			keys, key = append(keys, key), ""
		default:
			key += string(name[i])
		}
	}
	return append(keys, key)
}

// parseValue returns a value with the type that helm --set would give it: number, boolean, null
// or string.
func parseValue(value string, forced bool) any {
	if forced {
		return value
	}
	switch value {
	case "true", "false":
		return value == "true"
	case "null":
		return nil
	case "0":
		return 0
	}
	var n int64
	if len(value) > 0 && value[0] != '0' && value[0] != '+' {
		if _, err := fmt.Sscanf(value, "%d", &n); err == nil && fmt.Sprint(n) == value {
			return n
		}
	}
	return value
}

func put(t tree, keys []string, value any) {
	for _, key := range keys[:len(keys)-1] {
		inner := fieldsOf(t[key])
		if inner == nil {
			inner = tree{}
			t[key] = inner
		}
		t = inner
	}
	t[keys[len(keys)-1]] = value
}

// nativeKeys maps the fields of kustomize and directory sources to keys of component.yaml.
var nativeKeys = []struct{ of, field, key string }{
	{"kustomize", "namePrefix", "namePrefix"},
	{"kustomize", "nameSuffix", "nameSuffix"},
	{"kustomize", "namespace", "kustomizeNamespace"},
	{"kustomize", "images", "images"},
	{"kustomize", "commonLabels", "commonLabels"},
	{"kustomize", "forceCommonLabels", "forceCommonLabels"},
	{"kustomize", "labelWithoutSelector", "labelWithoutSelector"},
	{"kustomize", "labelIncludeTemplates", "labelIncludeTemplates"},
	{"kustomize", "commonAnnotations", "commonAnnotations"},
	{"kustomize", "forceCommonAnnotations", "forceCommonAnnotations"},
	{"kustomize", "commonAnnotationsEnvsubst", "commonAnnotationsEnvsubst"},
	{"kustomize", "patches", "patches"},
	{"kustomize", "components", "components"},
	{"kustomize", "ignoreMissingComponents", "ignoreMissingComponents"},
	{"directory", "include", "include"},
	{"directory", "exclude", "exclude"},
}

// native imports the settings of kustomize and directory sources. Unless it is configured to,
// Argo CD does not read directories below a directory source, but Ladder does.
func (w *work) native(m *importedComponent, s tree, field string) {
	if m.local {
		directory := len(fieldsOf(s["directory"])) > 0 // Argo CD then ignores charts and kustomizations
		for _, k := range nativeKeys {
			v := take(s, k.of, k.field)
			if v != nil && v != false && v != "" {
				m.parameters[k.key] = v
			}
		}
		replicas := tree{}
		for _, item := range takeList(s, "kustomize", "replicas") {
			replicas[text(fieldsOf(item)["name"])] = fieldsOf(item)["count"]
		}
		if len(replicas) > 0 {
			m.parameters["replicas"] = replicas
		}
		w.jsonnet(m, s)
		kind, err := render.Detect(w.Repo, m.dir)
		if directory && err == nil && kind != render.Plain {
			kind, m.parameters["renderer"] = render.Plain, string(render.Plain)
		}
		if recurses := takeTrue(s, "directory", "recurse"); err == nil && kind == render.Plain && !recurses && hasDirectories(w.Repo, m.dir) {
			m.parameters["recurse"] = false
		}
	}
	for _, of := range []string{"kustomize", "directory"} {
		if m := fieldsOf(s[of]); m != nil && len(m) == 0 {
			delete(s, of)
		}
	}
}

func hasDirectories(repo fs.FS, dir string) bool {
	entries, err := fs.ReadDir(repo, dir)
	return err == nil && slices.ContainsFunc(entries, fs.DirEntry.IsDir)
}

// jsonnet imports the variables of jsonnet files.
func (w *work) jsonnet(m *importedComponent, s tree) {
	for field, key := range map[string]string{"tlas": "tlas", "extVars": "extVars"} {
		plain, code := tree{}, tree{}
		for _, item := range takeList(s, "directory", "jsonnet", field) {
			v := fieldsOf(item)
			if v["code"] == true {
				code[text(v["name"])] = text(v["value"])
			} else {
				plain[text(v["name"])] = text(v["value"])
			}
		}
		if len(plain) > 0 {
			m.parameters[key] = plain
		}
		if len(code) > 0 {
			m.parameters[key+"Code"] = code
		}
	}
	if libs := takeList(s, "directory", "jsonnet", "libs"); len(libs) > 0 {
		m.parameters["libs"] = libs
	}
}
