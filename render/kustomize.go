package render

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/object"
)

// kustomizeLock serves one kustomization at a time: a kustomization may set
// the OpenAPI schema, which kyaml keeps in a global.
var kustomizeLock sync.Mutex

// kustomize builds a kustomization as "kustomize build" does with its default
// options. What it could fetch (remote bases and files) or run (plugins,
// helm) is refused before the library sees it.
func (s source) kustomize() (res Result, err error) {
	if s, err = s.edited(); err != nil {
		return Result{}, err
	}
	if err := s.checkKustomization(s.dir, map[string]bool{}); err != nil {
		return Result{}, err
	}
	kustomizeLock.Lock()
	defer kustomizeLock.Unlock()
	defer openapi.ResetOpenAPI()
	var read []string
	fault := func(text, remedy string) error {
		return s.fault("kustomize", s.kustomizationFile(s.dir), s.kustomizeText(text, read), remedy)
	}
	defer func() {
		// The library panics on some malformed input.
		if r := recover(); r != nil {
			err = fault(fmt.Sprint(r), "correct the kustomization")
		}
	}()
	opts := krusty.MakeDefaultOptions() // files only below their kustomization, no plugins
	if s.opt.Unrestricted {
		opts.LoadRestrictions = types.LoadRestrictionsNone
	}
	built, err := krusty.MakeKustomizer(opts).Run(repoFS{s.fsys, &read}, "/"+strings.TrimPrefix(s.dir, "."))
	if err != nil {
		return Result{}, fault(err.Error(), "correct the kustomization")
	}
	var faults []error
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return Result{}, fault(err.Error(), "correct the resource "+r.CurId().String())
		}
		objs, err := object.Parse(s.show(path.Join(s.dir, s.kustomizationFile(s.dir))), 0, string(text))
		res.Objects = append(res.Objects, objs...)
		faults = append(faults, err)
	}
	return res, errors.Join(faults...)
}

func (s source) kustomizationFile(dir string) string {
	for _, name := range kustomizationNames {
		if exists(s.fsys, path.Join(dir, name)) {
			return name
		}
	}
	return kustomizationNames[0]
}

// checkKustomization reads a kustomization and those below it, and reports
// every path that is missing, remote or outside of the repository. kustomize
// itself stops at the first, and answers a missing file with an attempt to
// clone it.
func (s source) checkKustomization(dir string, seen map[string]bool) error {
	if seen[dir] {
		return nil
	}
	seen[dir] = true
	c := checker{source: s, dir: dir, file: path.Join(dir, s.kustomizationFile(dir)), seen: seen}
	data, err := fs.ReadFile(s.fsys, c.file)
	if err != nil {
		return s.unreadable(err)
	}
	c.data = data
	k, faults := c.decode()
	c.faults = append(c.faults, faults...)
	c.helm(k)
	for field, entries := range map[string][]string{
		"resources": k.Resources, "bases": k.Bases, "components": k.Components,
		"generators": k.Generators, "transformers": k.Transformers, "validators": k.Validators,
	} {
		for i, entry := range entries {
			c.root(fmt.Sprintf("%s[%d]", field, i), entry)
		}
	}
	for field, entries := range map[string][]string{"crds": k.Crds, "configurations": k.Configurations} {
		for i, entry := range entries {
			c.entry(fmt.Sprintf("%s[%d]", field, i), entry)
		}
	}
	for i, p := range k.Patches {
		c.entry(fmt.Sprintf("patches[%d].path", i), p.Path)
	}
	for i, p := range k.PatchesJson6902 {
		c.entry(fmt.Sprintf("patchesJson6902[%d].path", i), p.Path)
	}
	for i, p := range k.PatchesStrategicMerge {
		c.entry(fmt.Sprintf("patchesStrategicMerge[%d]", i), string(p))
	}
	for i, r := range k.Replacements {
		c.entry(fmt.Sprintf("replacements[%d].path", i), r.Path)
	}
	c.entry("openapi.path", k.OpenAPI["path"])
	for i, g := range k.ConfigMapGenerator {
		c.generator(fmt.Sprintf("configMapGenerator[%d]", i), g.KvPairSources)
	}
	for i, g := range k.SecretGenerator {
		c.generator(fmt.Sprintf("secretGenerator[%d]", i), g.KvPairSources)
	}
	all := finding.Of(errors.Join(c.faults...))
	finding.Sort(all)
	return finding.Err(all)
}

// decode reads the kustomization. The library stops at the first key that it
// does not know, or whose value has the wrong type; each such key is taken out
// and the rest read again, so that all that is wrong is found at once.
func (c *checker) decode() (types.Kustomization, []error) {
	data := c.data
	var faults []error
	for len(faults) < maxKustomizationFaults {
		var k types.Kustomization
		err := k.Unmarshal(data)
		if err == nil {
			return k, faults
		}
		f := valuesFault(c.show(c.file), err)
		f.Rule, f.Message, f.Remedy = "kustomization", strings.TrimPrefix(strings.TrimPrefix(f.Message, "not valid YAML: "), "json: "), "correct the kustomization"
		key := ""
		if _, field, ok := strings.Cut(f.Message, "unknown field "); ok {
			key = strings.Trim(field, `"`)
		} else if field, _, ok := strings.Cut(f.Message, ": got "); ok {
			key = field[strings.LastIndexByte(field, '.')+1:]
		}
		if key != "" {
			f.Line = lineOfEntry(c.data, key+":")
		}
		faults = append(faults, f)
		rest, ok := withoutKey(data, key)
		if !ok {
			return k, faults
		}
		data = rest
	}
	return types.Kustomization{}, faults
}

// maxKustomizationFaults bounds the search for further faults, which reads the
// file once more for each.
const maxKustomizationFaults = 50

// withoutKey drops a key from a YAML mapping, or else from those inside it, and
// reports whether it was there.
func withoutKey(data []byte, key string) ([]byte, bool) {
	var tree map[string]any
	if key == "" || yaml.Unmarshal(data, &tree) != nil {
		return nil, false
	}
	if !dropKey(tree, key) {
		return nil, false
	}
	rest, err := yaml.Marshal(tree)
	return rest, err == nil
}

func dropKey(tree any, key string) (dropped bool) {
	switch t := tree.(type) {
	case map[string]any:
		if _, there := t[key]; there {
			delete(t, key)
			return true
		}
		for _, inner := range t {
			dropped = dropKey(inner, key) || dropped
		}
	case []any:
		for _, inner := range t {
			dropped = dropKey(inner, key) || dropped
		}
	}
	return dropped
}

// checker looks at the paths of one kustomization file.
type checker struct {
	source
	dir, file string
	data      []byte
	seen      map[string]bool
	faults    []error
}

func (c *checker) bad(field, entry, message, remedy string) {
	f := finding.Finding{Severity: finding.Error, Rule: "kustomization", File: c.show(c.file), Field: field, Message: message, Remedy: remedy}
	f.Line = lineOfEntry(c.data, entry)
	c.faults = append(c.faults, f)
}

// lineOfEntry finds the line that names a path.
func lineOfEntry(data []byte, entry string) int {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		if entry != "" && strings.Contains(line, entry) {
			return n
		}
	}
	return 0
}

func (c *checker) helm(k types.Kustomization) {
	const remedy = "render the chart as a component of its own, or commit what it renders to"
	if len(k.HelmCharts) > 0 {
		c.bad("helmCharts", "helmCharts", "charts inside a kustomization are not inflated", remedy)
	}
	if len(k.HelmChartInflationGenerator) > 0 {
		c.bad("helmChartInflationGenerator", "helmChartInflationGenerator", "charts inside a kustomization are not inflated", remedy)
	}
}

// root checks an entry that names a file or another kustomization.
func (c *checker) root(field, entry string) {
	// Resources are never text, whatever they look like: kustomize would fetch
	// http://example.com/{a}.
	if places := strings.HasPrefix(field, "resources") || strings.HasPrefix(field, "bases") || strings.HasPrefix(field, "components"); !places && inline(entry) {
		c.pluginConfig(field, []byte(entry))
		return
	}
	p, ok := c.local(field, entry)
	if !ok {
		return
	}
	info, err := fs.Stat(c.fsys, p)
	if err != nil {
		c.faults = append(c.faults, c.unreadable(err))
		return
	}
	if !info.IsDir() {
		if data, err := fs.ReadFile(c.fsys, p); err == nil && strings.HasPrefix(field, "resources") {
			c.syntax(p, data)
		} else if err == nil {
			c.pluginConfig(field, data)
		}
		return
	}
	if !exists(c.fsys, path.Join(p, c.kustomizationFile(p))) {
		c.bad(field, entry, "there is no kustomization.yaml in "+c.show(p), "add one that lists the files there, or list the files here")
		return
	}
	if err := c.checkKustomization(p, c.seen); err != nil {
		c.faults = append(c.faults, err)
	}
}

// syntax reports what is no YAML in a file of resources, and keys given twice,
// which kustomize refuses at any depth, with the lines that kustomize does not
// know. Whatever else is wrong may be mended by a patch.
func (c *checker) syntax(p string, data []byte) {
	objs, err := object.Parse(c.show(p), 1, string(data))
	for _, f := range finding.Of(err) {
		if f.Rule == "invalid-yaml" || f.Rule == object.DoubledKey {
			c.faults = append(c.faults, f)
		}
	}
	for _, o := range objs {
		for _, f := range o.Doubts() {
			if f.Rule == object.DoubledKey {
				f.Severity = finding.Error
				c.faults = append(c.faults, f)
			}
		}
	}
}

// entry checks an entry that names a file; it may be the content itself.
func (c *checker) entry(field, entry string) {
	if entry != "" && !inline(entry) {
		c.local(field, entry)
	}
}

func (c *checker) generator(field string, g types.KvPairSources) {
	for _, spec := range g.FileSources {
		_, file, named := strings.Cut(spec, "=")
		if !named {
			file = spec
		}
		c.entry(field+".files", file)
	}
	for _, file := range append(g.EnvSources, g.EnvSource) {
		c.entry(field+".envs", file)
	}
}

// local resolves an entry inside the repository and reports what cannot be.
func (c *checker) local(field, entry string) (string, bool) {
	p, ok := repoPath(c.dir, entry)
	switch {
	case ok && irregular(c.fsys, p):
		c.bad(field, entry, c.show(p)+" is a pipe, a socket or a device, and no file", "name a file or a directory")
	case ok && !strings.Contains(entry, "://") && pathExists(c.fsys, p):
		if isFile := exists(c.fsys, p); isFile && !c.opt.Unrestricted && !strings.HasPrefix(p, prefix(c.dir)) {
			c.bad(field, entry, "kustomize reads no file outside of the kustomization's directory", "move "+c.show(p)+" below "+c.show(c.dir)+", or name a directory with a kustomization of its own")
			return "", false
		}
		return p, true
	case elsewhere(entry):
		c.bad(field, entry, "the remote base "+entry+" is not fetched", "copy it into the repository and name the copy")
	case !ok || strings.HasPrefix(entry, "/"):
		c.bad(field, entry, entry+" leaves the repository", "use a relative path inside the repository")
	default:
		c.bad(field, entry, "there is no file or directory "+c.show(p), "correct the path, or add the file")
	}
	return "", false
}

// pluginConfig looks into the configuration of generators and transformers,
// which may name files of their own.
func (c *checker) pluginConfig(field string, data []byte) {
	for _, doc := range strings.Split(string(data), "\n---") {
		var config any
		if yaml.Unmarshal([]byte(doc), &config) != nil {
			continue // kustomize says what is wrong with it
		}
		c.scanURLs(field, config)
		if m, ok := config.(map[string]any); ok && m["kind"] == "HelmChartInflationGenerator" {
			c.bad(field, "HelmChartInflationGenerator", "charts inside a kustomization are not inflated", "render the chart as a component of its own, or commit what it renders to")
		}
	}
}

// scanURLs reports URLs under the keys with which plugins name files.
func (c *checker) scanURLs(field string, config any) {
	switch v := config.(type) {
	case map[string]any:
		for key, inner := range v {
			if slices.Contains([]string{"path", "paths", "files", "env", "envs"}, key) {
				c.urls(field, inner)
			}
			c.scanURLs(field, inner)
		}
	case []any:
		for _, inner := range v {
			c.scanURLs(field, inner)
		}
	}
}

func (c *checker) urls(field string, v any) {
	switch v := v.(type) {
	case []any:
		for _, inner := range v {
			c.urls(field, inner)
		}
	case string:
		if strings.Contains(v, "://") {
			c.bad(field, v, "the remote file "+v+" is not fetched", "copy it into the repository and name the copy")
		}
	}
}

// inline reports whether an entry is YAML text and no path, and no URL with a
// brace in it.
func inline(entry string) bool {
	u, err := url.Parse(entry)
	return strings.ContainsAny(entry, "\n{") && (err != nil || u.Scheme != "http" && u.Scheme != "https")
}

func irregular(fsys fs.FS, p string) bool {
	info, err := fs.Stat(fsys, p)
	return err == nil && !info.IsDir() && !info.Mode().IsRegular()
}

func pathExists(fsys fs.FS, p string) bool {
	_, err := fs.Stat(fsys, p)
	return err == nil
}

// elsewhere reports whether kustomize would take a path that is not there for a
// URL or a git repository.
func elsewhere(entry string) bool {
	if strings.Contains(entry, "://") || strings.HasPrefix(entry, "git@") || strings.HasPrefix(entry, "git::") || strings.Contains(entry, "?ref=") {
		return true
	}
	host, rest, ok := strings.Cut(entry, "/")
	return ok && rest != "" && strings.Contains(strings.Trim(host, "."), ".")
}
