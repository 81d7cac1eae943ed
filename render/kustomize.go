package render

//lint:file-ignore SA1019 people still write the deprecated fields of kustomizations

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	yamlv3 "go.yaml.in/yaml/v3"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/openapi"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/remote"
	"github.com/ladder-cmp/ladder/object"
)

// kustomizeLock serves one kustomization at a time: a kustomization may set
// the OpenAPI schema, which kyaml keeps in a global.
var kustomizeLock sync.Mutex

// kustomize builds a kustomization as "kustomize build --enable-helm" does with
// its default options otherwise. What it would fetch or run is put in place before
// the library sees it (see assembly); plugins that are programs are refused.
func (s source) kustomize(ctx context.Context) (Result, error) { return s.build(ctx, "") }

// build builds a kustomization whose first resource is a text, if there is one.
func (s source) build(ctx context.Context, first string) (res Result, err error) {
	if s, err = s.edited(ctx); err != nil {
		return Result{}, err
	}
	a, t := s.assemble(ctx)
	t.first = first
	t, dir, err := a.visit(t, s.dir, "")
	if err := ctx.Err(); err != nil {
		return Result{}, fmt.Errorf("render %s: %w", s.dir, err)
	}
	if err != nil {
		return Result{}, finding.Err(sortedOnce(finding.Of(err)))
	}
	kustomizeLock.Lock()
	defer kustomizeLock.Unlock()
	defer openapi.ResetOpenAPI()
	built, err := a.run(path.Join(t.at, dir))
	if err != nil {
		return Result{}, a.fault(t, dir, err)
	}
	res.Findings, res.Inflated, res.Edited = sortedOnce(a.findings), a.inflated, true
	var faults []error
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return Result{}, s.fault("kustomize", s.kustomizationFile(s.dir), a.shown(withoutValues(kustomizeMessage(err.Error()), a.read)), "correct the resource "+r.CurId().String())
		}
		objs, err := object.Parse(s.show(path.Join(s.dir, s.kustomizationFile(s.dir))), 0, string(text))
		res.Objects = append(res.Objects, objs...)
		faults = append(faults, err)
	}
	if len(built.Resources()) == 0 && !s.opt.Empty {
		faults = append(faults, s.aloneIfComponent())
	}
	return res, errors.Join(faults...)
}

// aloneIfComponent is the fault of a Component that was rendered without a
// kustomization that includes it, and nil for other kustomizations.
func (s source) aloneIfComponent() error {
	file := s.kustomizationFile(s.dir)
	var k types.Kustomization
	data, err := fs.ReadFile(s.fsys, path.Join(s.dir, file))
	if err != nil || k.Unmarshal(data) != nil || k.Kind != types.ComponentKind {
		return nil
	}
	return s.fault("empty-rendering", file, "nothing was rendered: a kustomization of kind Component changes what others hold, and has no resources itself",
		"name it under components: in a kustomization, and render that one")
}

func (s source) kustomizationFile(dir string) string {
	for _, name := range kustomizationNames {
		if exists(s.fsys, path.Join(dir, name)) {
			return name
		}
	}
	return kustomizationNames[0]
}

// look reads a kustomization and those below it, and reports every path that is
// missing or outside of the repository, and everything elsewhere that cannot be
// had. kustomize itself stops at the first, and answers a missing file with an
// attempt to clone it. What kustomize is not to see is replaced: what it would
// fetch by what was fetched, charts by what they render to.
func (a *assembly) look(t *tree, dir, namespace string) (inherits bool, err error) {
	c, err := a.checker(t, dir)
	if err != nil {
		return false, t.unreadable(err)
	}
	c.namespace = namespace
	k, faults := c.decode()
	c.faults = append(c.faults, faults...)
	if k.Namespace != "" {
		c.namespace = k.Namespace
	}
	if t.first != "" && dir == t.dir {
		c.prepend(&k, t.first)
		t.first = ""
	}
	c.roots("resources", &k.Resources)
	c.roots("bases", &k.Bases)
	c.roots("components", &k.Components)
	c.configs("generators", &k.Generators)
	c.configs("transformers", &k.Transformers)
	c.configs("validators", &k.Validators)
	for i := range k.Crds {
		c.entry(fmt.Sprintf("crds[%d]", i), &k.Crds[i])
	}
	for i := range k.Configurations {
		c.entry(fmt.Sprintf("configurations[%d]", i), &k.Configurations[i])
	}
	for i := range k.Patches {
		c.entry(fmt.Sprintf("patches[%d].path", i), &k.Patches[i].Path)
		c.patch(fmt.Sprintf("patches[%d].patch", i), k.Patches[i].Patch)
	}
	for i := range k.PatchesJson6902 {
		c.entry(fmt.Sprintf("patchesJson6902[%d].path", i), &k.PatchesJson6902[i].Path)
		c.patch(fmt.Sprintf("patchesJson6902[%d].patch", i), k.PatchesJson6902[i].Patch)
	}
	for i := range k.PatchesStrategicMerge {
		c.entry(fmt.Sprintf("patchesStrategicMerge[%d]", i), (*string)(&k.PatchesStrategicMerge[i]))
	}
	for i := range k.Replacements {
		c.entry(fmt.Sprintf("replacements[%d].path", i), &k.Replacements[i].Path)
	}
	if schema := k.OpenAPI["path"]; schema != "" {
		c.entry("openapi.path", &schema)
		k.OpenAPI["path"] = schema
	}
	for i := range k.ConfigMapGenerator {
		c.generator(fmt.Sprintf("configMapGenerator[%d]", i), &k.ConfigMapGenerator[i].GeneratorArgs)
	}
	for i := range k.SecretGenerator {
		c.generator(fmt.Sprintf("secretGenerator[%d]", i), &k.SecretGenerator[i].GeneratorArgs)
	}
	c.charts(&k)
	if c.changed {
		if t.made[c.file], err = yaml.Marshal(k); err != nil {
			return false, err
		}
	}
	return c.inherits && k.Namespace == "", errors.Join(c.faults...)
}

// decode reads the kustomization. The library stops at the first key that it
// does not know, or whose value has the wrong type; each such key is taken out
// and the rest read again, so that all that is wrong is found at once.
func (c *checker) decode() (types.Kustomization, []error) {
	data := c.data
	var faults []error
	var written *yamlv3.Node
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
			if places, rest := unknownKeys(data, key); len(places) > 0 {
				if written == nil {
					written = new(yamlv3.Node)
					_ = yamlv3.Unmarshal(c.written, written) // it was read before
				}
				for _, at := range places {
					f.Line = lineIn(written, at)
					faults = append(faults, f)
				}
				data = rest
				continue
			}
			f.Line = lineOfEntry(c.written, key+":")
		} else if field, _, ok := strings.Cut(f.Message, ": got "); ok {
			key = field[strings.LastIndexByte(field, '.')+1:]
			f.Line = lineOfEntry(c.written, key+":")
			atMistyped(&f, c.written)
		}
		atLineThatIs(&f, data)
		faults = append(faults, f)
		rest, ok := withoutKey(data, key)
		if !ok {
			return k, faults
		}
		data = rest
	}
	return types.Kustomization{}, faults
}

// atLineThatIs gives a finding about what is no YAML a line of the text: the library
// leaves out the first, and names one behind the last where the text breaks off.
func atLineThatIs(f *finding.Finding, data []byte) {
	if yamlv3.Unmarshal(data, new(yamlv3.Node)) == nil {
		return
	}
	lines := bytes.Count(bytes.TrimSuffix(data, []byte("\n")), []byte("\n")) + 1
	f.Line = min(max(f.Line, 1), lines)
}

// atMistyped gives a finding the place of the value that its message says to be of the
// wrong type, if there is one in a file.
func atMistyped(f *finding.Finding, data []byte) {
	field, got, ok := strings.Cut(f.Message, ": got ")
	if !ok {
		return
	}
	if steps, line := mistyped(data, strings.Split(field, "."), got); line > 0 {
		f.Line, f.Message = line, fieldPath(steps)+": got "+got
	}
}

// mistyped finds the value that the library says to be of the wrong type: it names
// the way there without the indexes of lists. got begins with the type.
func mistyped(data []byte, way []string, got string) (steps []string, line int) {
	var doc yamlv3.Node
	if yamlv3.Unmarshal(data, &doc) != nil || len(doc.Content) == 0 {
		return nil, 0
	}
	var find func(n *yamlv3.Node, way, steps []string, at int) ([]string, int)
	find = func(n *yamlv3.Node, way, steps []string, at int) ([]string, int) {
		if len(way) == 0 {
			if (n.Kind == yamlv3.SequenceNode) == strings.HasPrefix(got, "a list") && (n.Kind == yamlv3.MappingNode) == strings.HasPrefix(got, "a mapping") {
				return steps, at
			}
		}
		for i := range n.Content {
			rest, step, line := way, strconv.Itoa(i), n.Content[i].Line
			if n.Kind == yamlv3.MappingNode {
				if i%2 == 0 || len(way) == 0 || n.Content[i-1].Value != way[0] {
					continue
				}
				rest, step, line = way[1:], way[0], n.Content[i-1].Line
			}
			if steps, at := find(n.Content[i], rest, append(slices.Clone(steps), step), line); at > 0 {
				return steps, at
			}
		}
		return nil, 0
	}
	return find(doc.Content[0], way, nil, 0)
}

// maxKustomizationFaults bounds the search for further faults, which reads the
// file once more for each.
const maxKustomizationFaults = 50

// unknownKeys finds the places at which a key means nothing, which the library does
// not tell, and returns the rest. Elsewhere the same key may be right.
func unknownKeys(data []byte, key string) (places [][]string, rest []byte) {
	var tree map[string]any
	if yaml.Unmarshal(data, &tree) != nil {
		return nil, nil
	}
	all := placesOfKey(tree, key, nil)
	if len(all) > maxKustomizationFaults {
		return nil, nil
	}
	if len(all) == 1 {
		dropAt(tree, all[0])
		rest, err := yaml.Marshal(tree)
		if err != nil {
			return nil, nil
		}
		return all, rest
	}
	without := func(these [][]string) []byte {
		var tree map[string]any
		if yaml.Unmarshal(data, &tree) != nil {
			return nil
		}
		for _, at := range these {
			dropAt(tree, at)
		}
		text, err := yaml.Marshal(tree)
		if err != nil {
			return nil
		}
		return text
	}
	for i, at := range all {
		alone := without(slices.Delete(slices.Clone(all), i, i+1))
		if err := new(types.Kustomization).Unmarshal(alone); err != nil && strings.Contains(err.Error(), "unknown field "+strconv.Quote(key)) {
			places = append(places, at)
		}
	}
	return places, without(places)
}

// placesOfKey are the ways to all keys of a name.
func placesOfKey(tree any, key string, way []string) (all [][]string) {
	switch t := tree.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(t)) {
			at := append(slices.Clone(way), name)
			if name == key {
				all = append(all, at)
			}
			all = append(all, placesOfKey(t[name], key, at)...)
		}
	case []any:
		for i, inner := range t {
			all = append(all, placesOfKey(inner, key, append(slices.Clone(way), strconv.Itoa(i)))...)
		}
	}
	return all
}

func dropAt(tree any, at []string) {
	switch t := tree.(type) {
	case map[string]any:
		if len(at) == 1 {
			delete(t, at[0])
			return
		}
		dropAt(t[at[0]], at[1:])
	case []any:
		if i, err := strconv.Atoi(at[0]); err == nil && i < len(t) {
			dropAt(t[i], at[1:])
		}
	}
}

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

// checker looks at one kustomization file, and puts in place what it refers to.
type checker struct {
	*assembly
	*tree
	dir, file string
	data      []byte
	// written is data without edits, which has the lines that people see.
	written []byte
	// namespace is where charts go that do not say it themselves.
	namespace string
	// inherits says that one does, here or below, that is to say where the overlay
	// of this kustomization decides.
	inherits bool
	// changed says that kustomize is to see another text than data.
	changed bool
	// inflations are the charts of generators.
	inflations []named
	// held are the objects of the files under resources, by what kustomize knows them
	// by, with the entry.
	held   map[string]string
	faults []error
}

// checker is that of the kustomization in a directory.
func (a *assembly) checker(t *tree, dir string) (c *checker, err error) {
	c = &checker{assembly: a, tree: t, dir: dir, file: path.Join(dir, t.kustomizationFile(dir))}
	c.data, err = fs.ReadFile(t.fsys, c.file)
	c.written = c.data
	if edited, ok := t.fsys.(editedFS); ok && edited.name == c.file {
		c.written = edited.was
	}
	return c, err
}

func (c *checker) bad(field, entry, message, remedy string) {
	c.faults = append(c.faults, c.finding(finding.Error, field, entry, message, remedy))
}

func (c *checker) finding(severity finding.Severity, field, entry, message, remedy string) finding.Finding {
	f := finding.Finding{Severity: severity, Rule: "kustomization", Message: message, Remedy: remedy}
	return c.at(f, field, entry)
}

// at puts a finding at an entry of the kustomization, or at the parameter that
// added the entry.
func (c *checker) at(f finding.Finding, field, entry string) finding.Finding {
	name, _, _ := strings.Cut(field, "[")
	if strings.Contains(field, "[") && !bytes.Equal(c.written, c.data) && (name == "components" || name == "patches") {
		entries, _, _ := strings.Cut(field, "]")
		if lineOf(c.written, fieldSteps(entries)) == 0 {
			f.Field = "parameter " + name
			return f
		}
	}
	f.File, f.Line, f.Field = c.show(c.file), lineOf(c.written, fieldSteps(field)), field
	if f.Line == 0 {
		f.Line = lineOfEntry(c.written, entry)
	}
	return f
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

// prepend makes a text the first resource.
func (c *checker) prepend(k *types.Kustomization, text string) {
	name := c.unused(c.dir, "chart", ".yaml")
	c.made[path.Join(c.dir, name)] = []byte(text)
	k.Resources = append([]string{name}, k.Resources...)
	c.changed = true
}

// roots checks entries that name files or other kustomizations. They are never
// text, whatever they look like: kustomize would fetch http://example.com/{a}.
func (c *checker) roots(field string, entries *[]string) {
	for i, entry := range *entries {
		if _, made := c.made[path.Join(c.dir, entry)]; !made {
			(*entries)[i] = c.root(fmt.Sprintf("%s[%d]", field, i), entry)
		}
	}
}

// root checks one of them, and returns the name under which kustomize finds it.
func (c *checker) root(field, entry string) string {
	file := c.isFile(entry)
	if git, ok := readGitAddress(entry); ok && !file {
		return c.elsewhere(field, entry, git)
	}
	if isWeb(entry) {
		name, _ := c.web(field, entry)
		return name
	}
	p, ok := c.local(field, entry)
	if !ok {
		return entry
	}
	if file {
		if data, err := fs.ReadFile(c.fsys, p); err != nil {
			c.faults = append(c.faults, c.unreadable(err))
		} else {
			objs, err := object.Parse(c.show(p), 1, string(data))
			c.holds(field, objs, err)
		}
		return entry
	}
	return c.base(c.tree, field, entry, p)
}

// isFile reports whether an entry names a file in the tree, which kustomize looks
// for before it looks for anything else.
func (c *checker) isFile(entry string) bool {
	p, ok := repoPath(c.dir, entry)
	return ok && !strings.Contains(entry, "://") && exists(c.fsys, p)
}

// base goes on to another kustomization, and returns the name under which
// kustomize finds it.
func (c *checker) base(of *tree, field, entry, p string) string {
	if !exists(of.fsys, path.Join(p, of.kustomizationFile(p))) {
		c.bad(field, entry, "there is no kustomization.yaml in "+of.show(p), "add one that lists the files there, or list the files here")
		return entry
	}
	at, p, err := c.visit(of, p, c.namespace)
	if err != nil {
		c.faults = append(c.faults, err)
	}
	c.inherits = c.inherits || at.inherits(p)
	if at == c.tree {
		return entry
	}
	c.changed = true
	return c.from(c.dir, at, p)
}

// configs checks entries that name configurations of generators, transformers and
// validators, or hold them. They may name files of their own. Charts among them
// are taken out.
func (c *checker) configs(field string, entries *[]string) {
	var texts, kept []string
	for i, entry := range *entries {
		field := fmt.Sprintf("%s[%d]", field, i)
		if !inline(entry) {
			continue
		}
		rest, charts := c.pluginConfig(field, entry)
		c.changed = c.changed || charts > 0
		if rest != "" {
			texts = append(texts, rest)
		}
	}
	// kustomize takes texts first, too.
	for i, entry := range *entries {
		field := fmt.Sprintf("%s[%d]", field, i)
		if inline(entry) {
			continue
		}
		if !c.isFile(entry) {
			kept = append(kept, c.root(field, entry))
			continue
		}
		p, ok := c.local(field, entry)
		if !ok {
			continue
		}
		data, err := fs.ReadFile(c.fsys, p)
		if err != nil {
			c.faults = append(c.faults, c.unreadable(err))
			continue
		}
		rest, charts := c.pluginConfig(field, string(data))
		if charts > 0 {
			c.changed = true
			if rest == "" {
				continue
			}
			entry = c.unused(c.dir, "plugins", ".yaml")
			c.made[path.Join(c.dir, entry)] = []byte(rest)
		}
		kept = append(kept, entry)
	}
	*entries = append(texts, kept...)
}

// syntax reports what is no YAML in a file of resources, and keys given twice,
// which kustomize refuses at any depth, with the lines that kustomize does not
// know. Whatever else is wrong may be mended by a patch.
func (c *checker) syntax(shown string, data []byte) {
	c.objects(object.Parse(shown, 1, string(data)))
}

// holds does the same, and notes which entry the objects stand in.
func (c *checker) holds(entry string, objs []object.Object, err error) {
	c.objects(objs, err)
	if c.held == nil {
		c.held = map[string]string{}
	}
	for _, o := range objs {
		c.held[registeredAs(o)] = entry
	}
}

// registeredAs is what kustomize knows an object by, of which it takes no two.
func registeredAs(o object.Object) string {
	id := o.ID
	if id.Namespace == "" {
		id.Namespace = "default"
	}
	return o.APIVersion + " " + id.Qualified()
}

// objects reports what kustomize refuses in objects that were read.
func (c *checker) objects(objs []object.Object, err error) {
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

// entry checks an entry that names a file; it may be the content itself. What
// lies on the web is put in place.
func (c *checker) entry(field string, entry *string) {
	switch {
	case *entry == "" || inline(*entry):
	case isWeb(*entry):
		*entry, _ = c.web(field, *entry)
	default:
		c.local(field, *entry)
	}
}

// patch checks a patch that stands in the kustomization itself.
func (c *checker) patch(field, text string) {
	// What only one of the libraries refuses, kustomize may read with the other.
	err := yaml.Unmarshal([]byte(text), new(any))
	if err == nil || yamlv3.Unmarshal([]byte(text), new(yamlv3.Node)) == nil {
		return
	}
	_, message := object.SyntaxError(innermost(err))
	c.bad(field, "", "the patch is no YAML: "+message, "correct the patch")
}

func (c *checker) generator(field string, g *types.GeneratorArgs) {
	if g.Name == "" {
		c.bad(field, "", "what it generates has no name", "add name")
	}
	if g.Behavior != "" && types.NewGenerationBehavior(g.Behavior) == types.BehaviorUnspecified {
		c.bad(field+".behavior", "", "there is no behavior "+g.Behavior, "write create, merge or replace")
	}
	for i, spec := range g.FileSources {
		key, file, named := strings.Cut(spec, "=")
		if !named {
			key, file = path.Base(spec), spec
		}
		if !isWeb(file) {
			c.entry(fmt.Sprintf("%s.files[%d]", field, i), &file)
			continue
		}
		if name, ok := c.web(fmt.Sprintf("%s.files[%d]", field, i), file); ok {
			g.FileSources[i] = key + "=" + name
		}
	}
	for i := range g.EnvSources {
		c.entry(fmt.Sprintf("%s.envs[%d]", field, i), &g.EnvSources[i])
	}
	for i, literal := range g.LiteralSources {
		if strings.IndexByte(literal, '=') <= 0 {
			c.bad(fmt.Sprintf("%s.literals[%d]", field, i), "", "a literal is no key=value", "write it so")
		}
	}
	c.entry(field+".env", &g.EnvSource)
}

// local resolves an entry inside the repository and reports what cannot be.
func (c *checker) local(field, entry string) (string, bool) {
	p, ok := repoPath(c.dir, entry)
	switch {
	case ok && irregular(c.fsys, p):
		c.bad(field, entry, c.show(p)+" is a pipe, a socket or a device, not a regular file", "name a file or a directory")
	case ok && !strings.Contains(entry, "://") && pathExists(c.fsys, p):
		if isFile := exists(c.fsys, p); isFile && !c.opt.Unrestricted && !strings.HasPrefix(p, prefix(c.dir)) {
			c.bad(field, entry, "kustomize reads no file outside of the kustomization's directory", "move "+c.show(p)+" below "+c.show(c.dir)+", or name a directory with a kustomization of its own")
			return "", false
		}
		return p, true
	case schemeless(entry):
		c.bad(field, entry, "kustomize takes "+entry+" for a path, and there is none", "write https:// in front of the address of a repository")
	case !ok || strings.HasPrefix(entry, "/"):
		c.bad(field, entry, entry+" leaves the repository", "use a relative path inside the repository")
	default:
		_, err := fs.Stat(c.fsys, p)
		c.bad(field, entry, missing("file or directory", c.show(p), err), "correct the path, or add the file")
	}
	return "", false
}

// pluginConfig looks into the configuration of generators and transformers,
// which may name files of their own. It renders the charts among them, and
// returns the rest and how many they are.
func (c *checker) pluginConfig(field, text string) (rest string, charts int) {
	var others []string
	for _, doc := range strings.Split(text, "\n---") {
		var config any
		if yaml.Unmarshal([]byte(doc), &config) != nil {
			others = append(others, doc)
			continue // kustomize says what is wrong with it
		}
		if m, ok := config.(map[string]any); ok && m["kind"] == "HelmChartInflationGenerator" && m["apiVersion"] == "builtin" {
			var in inflation
			if err := yaml.Unmarshal([]byte(doc), &in); err != nil {
				c.bad(field, "HelmChartInflationGenerator", strings.TrimPrefix(innermost(err).Error(), "json: "), "correct the generator")
			} else {
				c.inflations = append(c.inflations, named{field, in})
			}
			charts++
			continue
		}
		c.scanURLs(field, config)
		if config != nil {
			others = append(others, doc)
		}
	}
	return strings.Join(others, "\n---"), charts
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
			c.bad(field, v, "the remote file "+v+" is not fetched for a plugin", "copy it into the repository and name the copy")
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

// schemeless reports whether a path that is not there may be meant for the
// address of a repository.
func schemeless(entry string) bool {
	if strings.HasPrefix(entry, "git::") || strings.Contains(entry, "?ref=") {
		return true
	}
	host, rest, ok := strings.Cut(entry, "/")
	return ok && rest != "" && strings.Contains(strings.Trim(host, "."), ".")
}

// elsewhere goes on to a kustomization in another repository, and returns the
// name under which kustomize finds it. An address that may be that of a file is
// tried as one, as kustomize does it.
func (c *checker) elsewhere(field, entry string, git gitAddress) string {
	if !git.certain(entry) {
		content, err := c.fileAt(entry)
		switch _, parsed := object.Parse("", 1, string(content.Data)); {
		case errors.Is(err, errNotFetched):
			c.unfetched(field, entry, "the remote base "+entry, err)
			return entry
		case err == nil && parsed == nil, yamlFile(entry):
			name, _ := c.web(field, entry)
			return name
		}
	}
	if strings.HasPrefix(git.clone, "file://") {
		c.bad(field, entry, entry+" leaves the repository", "use a relative path inside the repository, or an address on the web")
		return entry
	}
	of, content, err := c.repository(git)
	if errors.Is(err, errNotFetched) && git.overSSH() { // a Fetcher says it itself
		c.bad(field, entry, "the remote base "+entry+" is fetched by ssh, and here nothing is", "write its address with https://, as https://host/org/repo//dir?ref=v1")
		return entry
	}
	if err != nil {
		c.unfetched(field, entry, "the remote base "+entry, err)
		return entry
	}
	c.warn(field, entry, content)
	p := git.dir
	switch info, err := fs.Stat(of.fsys, p); {
	case err != nil:
		c.bad(field, entry, missing("directory", p+" in "+of.fetched, err), "correct the path, or the ref")
		return entry
	case !info.IsDir():
		c.bad(field, entry, p+" in "+of.fetched+" is a file, and a repository is asked for a kustomization", "name its directory, or the address of the file itself")
		return entry
	}
	return c.base(of, field, entry, p)
}

// missing says that a path cannot be had: there is nothing, or a symlink leads out.
func missing(what, name string, err error) string {
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		return "there is no " + what + " " + name
	}
	return name + ": " + Cause(err)
}

func yamlFile(entry string) bool {
	u, err := url.Parse(entry)
	return err == nil && slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(u.Path))
}

// web puts a file of the web beside the kustomization, and returns its name.
func (c *checker) web(field, entry string) (string, bool) {
	content, err := c.fileAt(entry)
	if err != nil {
		c.unfetched(field, entry, "the remote file "+entry, err)
		return entry, false
	}
	c.warn(field, entry, content)
	if strings.HasPrefix(field, "resources") || strings.HasPrefix(field, "bases") {
		c.syntax(entry, content.Data)
	}
	name := c.unused(c.dir, "fetched", extension.FindString(path.Ext(strings.SplitN(entry, "?", 2)[0])))
	c.made[path.Join(c.dir, name)] = content.Data
	c.changed = true
	return name, true
}

// extension is the end of a file's name, as far as it can be one.
var extension = regexp.MustCompile(`^\.[a-z]{1,8}$`)

// warn passes on what is to be said of something that was fetched.
func (c *checker) warn(field, entry string, content remote.Content) {
	if content.Warning != "" {
		c.assembly.findings = append(c.assembly.findings, c.finding(finding.Warning, field, entry, content.Warning, "see that it can be fetched again"))
	}
}

// unfetched reports that something elsewhere cannot be had.
func (c *checker) unfetched(field, entry, what string, err error) {
	if errors.Is(err, errNotFetched) {
		c.bad(field, entry, what+" is not fetched", notFetchedRemedy(c.component))
		return
	}
	if c.ctx.Err() != nil {
		return // said by the caller
	}
	for _, f := range finding.Of(err) {
		said := f.Field
		if f = c.at(f, field, entry); said != "" {
			f.Field = said
		}
		c.faults = append(c.faults, f)
	}
}

// notFetchedRemedy says what to do where nothing may be fetched.
func notFetchedRemedy(component source) string {
	return `vendor it with "` + component.vendorIt() + `", or allow it with --allow-remote`
}
