package render

import (
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/finding"
)

// entriesTried are the fields of a kustomization whose entries are looked at for
// the one that an error of kustomize is about: those first that it comes to last,
// since what comes earlier changes what fails later.
var entriesTried = []string{
	"validators", "transformers", "vars", "replacements", "images", "replicas",
	"commonAnnotations", "commonLabels", "labels", "nameSuffix", "namePrefix", "namespace",
	"patchesJson6902", "patchesStrategicMerge", "patches",
	"components", "secretGenerator", "configMapGenerator", "generators", "configurations", "crds", "bases", "resources",
}

// producing are those fields that others work on: without an entry of them, others
// fail that are right.
var producing = []string{"components", "secretGenerator", "configMapGenerator", "generators", "configurations", "crds", "bases", "resources"}

const (
	// mostTries bounds how often a kustomization is built to find what is wrong
	// with it, and triedBytes the files that are read for it, all in all.
	mostTries  = 100
	triedBytes = 4 << 20
)

// run has kustomize build what was assembled.
func (a *assembly) run(at string) (built resmap.ResMap, err error) {
	defer func() {
		// The library panics on some malformed input.
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	opts := krusty.MakeDefaultOptions() // files only below their kustomization, no plugins
	if a.component.opt.Unrestricted {
		opts.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(opts).Run(repoFS{a}, at)
}

// search finds the entries of kustomizations that kustomize fails over. It says
// which only for a few: an entry is at fault if without it kustomize says something
// else.
type search struct {
	*assembly
	at   string // of the kustomization that is built
	left int    // how often it may be built still
}

// faults are all that can be found: what kustomize said, and what it says once that
// is taken out.
func (a *assembly) faults(t *tree, dir string, err error) []finding.Finding {
	size := 1
	for _, f := range a.read {
		size += len(f.data)
	}
	s := &search{assembly: a, at: path.Join(t.at, dir), left: min(mostTries, triedBytes/size)}
	var all []finding.Finding
	var last entry
	for err != nil {
		message := a.shown(kustomizeText(err.Error(), a.read))
		e, found := s.culprit(t, dir, err)
		switch {
		case len(all) > 0 && (!found || slices.Contains(producing, last.key) && last.key != e.key):
			return all // it may fail for want of what was taken out
		case !found:
			f := t.fault("kustomize", t.kustomizationFile(dir), message, "correct the kustomization")
			f.File = t.show(path.Join(dir, t.kustomizationFile(dir)))
			return []finding.Finding{f}
		}
		all, last = append(all, e.fault(a, message)), e
		e.drop()
		_, err = a.run(s.at)
	}
	return all
}

// try is what kustomize says now, as far as it is the same for the same fault.
func (s *search) try() string {
	s.left--
	have := len(s.read)
	_, err := s.run(s.at)
	s.assembly.read = s.read[:have:have]
	return said(err)
}

// addresses are those of memory.
var addresses = regexp.MustCompile(`0x[0-9a-f]+`)

func said(err error) string {
	if err == nil {
		return ""
	}
	return addresses.ReplaceAllString(err.Error(), "")
}

// culprit finds the entry that an error is about, in a kustomization or in those
// below it.
func (s *search) culprit(t *tree, dir string, err error) (entry, bool) {
	if s.left < 2 || s.ctx.Err() != nil || s.try() != said(err) {
		return entry{}, false
	}
	return s.among(t, dir, said(err))
}

func (s *search) among(t *tree, dir, message string) (entry, bool) {
	for _, key := range entriesTried {
		for i := t.entries(dir, key) - 1; i >= 0; i-- {
			if s.left <= 0 || s.ctx.Err() != nil {
				return entry{}, false
			}
			e := entry{tree: t, dir: dir, key: key, index: i}
			restore := e.drop()
			now := s.try()
			restore()
			if now == message {
				continue
			}
			if below, at, ok := e.leads(s.assembly); ok {
				if deeper, found := s.among(below, at, message); found {
					return deeper, true
				}
			}
			return e, true
		}
	}
	return entry{}, false
}

// entry is one of a list in a kustomization, or the value of a key.
type entry struct {
	tree  *tree
	dir   string
	key   string
	index int
}

// content is a kustomization as kustomize sees it.
func (t *tree) content(dir string) (name string, k map[string]any) {
	name = path.Join(dir, t.kustomizationFile(dir))
	data, made := t.made[name]
	if !made {
		var err error
		if data, err = fs.ReadFile(t.fsys, name); err != nil {
			return name, nil
		}
	}
	if yaml.Unmarshal(data, &k) != nil {
		return name, nil
	}
	return name, k
}

// entries counts those of a key.
func (t *tree) entries(dir, key string) int {
	_, k := t.content(dir)
	switch v := k[key].(type) {
	case nil:
		return 0
	case []any:
		return len(v)
	}
	return 1
}

// drop takes the entry out, until restore is called.
func (e entry) drop() (restore func()) {
	name, k := e.tree.content(e.dir)
	was, made := e.tree.made[name]
	if list, ok := k[e.key].([]any); ok {
		k[e.key] = slices.Delete(list, e.index, e.index+1)
	} else {
		delete(k, e.key)
	}
	if len(k) == 0 { // which is no kustomization
		k = map[string]any{"kind": types.KustomizationKind, "apiVersion": types.KustomizationVersion}
	}
	if data, err := yaml.Marshal(k); err == nil {
		e.tree.made[name] = data
	}
	return func() {
		if delete(e.tree.made, name); made {
			e.tree.made[name] = was
		}
	}
}

// leads finds the kustomization that an entry names.
func (e entry) leads(a *assembly) (*tree, string, bool) {
	if !slices.Contains([]string{"resources", "bases", "components"}, e.key) {
		return nil, "", false
	}
	_, k := e.tree.content(e.dir)
	list, _ := k[e.key].([]any)
	if e.index >= len(list) {
		return nil, "", false
	}
	name, _ := list[e.index].(string)
	at, rest, _ := strings.Cut(strings.TrimPrefix(path.Join(e.tree.at, e.dir, name), "/"), "/")
	n, err := strconv.Atoi(at)
	if err != nil || n >= len(a.trees) {
		return nil, "", false
	}
	t, dir := a.trees[n], path.Clean(rest)
	file := path.Join(dir, t.kustomizationFile(dir))
	_, made := t.made[file]
	return t, dir, t.visits[dir] != nil && (made || exists(t.fsys, file))
}

// fault is what kustomize said, at the entry as people wrote it.
func (e entry) fault(a *assembly, message string) finding.Finding {
	c := checker{assembly: a, tree: e.tree, dir: e.dir, file: path.Join(e.dir, e.tree.kustomizationFile(e.dir))}
	c.data, _ = fs.ReadFile(e.tree.fsys, c.file)
	c.written = c.data
	if o, edited := e.tree.fsys.(overlaid); edited && o.name == c.file {
		c.written = o.was
	}
	var as map[string]any
	_ = yaml.Unmarshal(c.data, &as) // it was read before
	f := finding.Finding{Severity: finding.Error, Rule: "kustomize", Message: message, Remedy: "correct the kustomization"}
	list, ok := as[e.key].([]any)
	_, now := e.tree.content(e.dir)
	have, _ := now[e.key].([]any)
	// What was put in place stands before the entries that people wrote.
	index := e.index - (len(have) - len(list))
	if !ok || index < 0 {
		if _, twice, is := strings.Cut(message, sameTwice); is {
			if f, known := a.ofCharts[path.Join(e.tree.at, e.dir)+" "+twice]; known {
				return f
			}
		}
		return c.at(f, e.key, e.key+":")
	}
	return c.at(f, fmt.Sprintf("%s[%d]", e.key, index), "")
}
