package kustomize

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
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

// buildError is what an error of kustomize tells, which is a text: each kustomization
// on the way down puts its layer before the cause.
type buildError struct {
	// dirs are the kustomizations on the way, from the outermost down.
	dirs []string
	// resource is the entry under resources of the last of them that was being read.
	resource string
	// duplicate is the object that kustomize was given twice.
	duplicate string
	message   string
}

// The layers. What a generator or a transformer was given is quoted in some of them,
// and may be a secret.
var (
	fileLayer        = regexp.MustCompile(`^(?:accumulating|merging) resources from '([^']*)': `)
	directoryLayer   = regexp.MustCompile(`(?s)^(?:accumulation err='.*?': )?(?:recursed accumulation of|recursed merging from|couldn't make target for) path '([^']*)': `)
	notDirectory     = regexp.MustCompile(`(?s)^accumulation err='(.*)': must build at directory: '.*$`)
	notResource      = regexp.MustCompile(`(?s)^accumulation err='.*?': (cycle detected: .*)$`)
	componentLayer   = regexp.MustCompile(`^accumulateDirectory: (".*")$`)
	namelessLayer    = regexp.MustCompile("(?s)^(?:accumulating (?:resources|components): |MalformedYAMLError: |(?:merging from|adding origin annotations for) generator &\\{.*\\}: |trouble configuring builtin \\w+ with config: `.*?`: )")
	duplicateMessage = regexp.MustCompile(`^may not add resource with an already registered id: (.*)$`)
)

// readBuildError takes an error of kustomize apart.
func readBuildError(text string) buildError {
	var e buildError
	for {
		if m := fileLayer.FindStringSubmatch(text); m != nil {
			e.resource, text = m[1], text[len(m[0]):]
		} else if m := directoryLayer.FindStringSubmatch(text); m != nil {
			e.dirs, e.resource, text = append(e.dirs, m[1]), "", text[len(m[0]):]
		} else if m := notDirectory.FindStringSubmatch(text); m != nil {
			text = m[1]
		} else if m := notResource.FindStringSubmatch(text); m != nil {
			text = m[1]
		} else if m := namelessLayer.FindString(text); m != "" {
			text = text[len(m):]
		} else if m := componentLayer.FindStringSubmatch(text); m != nil {
			inner, err := strconv.Unquote(m[1])
			if err != nil {
				inner = m[1]
			}
			text = inner
		} else {
			break
		}
	}
	e.message = readable(text)
	if m := duplicateMessage.FindStringSubmatch(e.message); m != nil {
		e.duplicate, e.message = m[1], "the same object is there twice: "+m[1]
	}
	return e
}

// What kustomize quotes in a message besides: objects by their identity, the path of a
// patch, and what it failed over, in the notation of Go, YAML or JSON.
var (
	quotedID     = regexp.MustCompile(`"?([A-Za-z]\w*)\.[\w\[\]]+\.[\w.\[\]-]+/([\w.-]+?)\.(\[noNs\]|[\w-]+)"?`)
	quotedGoID   = regexp.MustCompile(`&?resid\.ResId\{Gvk:resid\.Gvk\{[^}]*?Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`)
	quotedPath   = regexp.MustCompile(`\[path: "([^"]*)"\]`)
	quotedScalar = regexp.MustCompile("(cannot unmarshal !!\\w+) `[^`]*`")
	quotedTree   = regexp.MustCompile(`(^|[\s(])(?:&|map|\w+\.)*[\[{].*[\]}]`)
)

// readable is the first line of a message of kustomize, which names objects as
// people do, and leaves out whole trees, such as the patch that does not fit.
func readable(text string) string {
	for _, ids := range []*regexp.Regexp{quotedGoID, quotedID} {
		text = ids.ReplaceAllStringFunc(text, func(id string) string {
			m := ids.FindStringSubmatch(id)
			return object.ID{Kind: m[1], Namespace: strings.TrimPrefix(m[3], "[noNs]"), Name: m[2]}.String()
		})
	}
	text, _, _ = strings.Cut(strings.TrimSpace(text), "\n")
	text = quotedPath.ReplaceAllString(text, "$1")
	text = quotedScalar.ReplaceAllString(text, "$1")
	text = quotedTree.ReplaceAllString(text, "$1(…)")
	// The same once more, in other words.
	text, _, _ = strings.Cut(text, ": no matches for Id ")
	return strings.TrimRight(text, " :")
}

// fault is what kustomize failed over, at the innermost kustomization that its error
// names, and the resource if it names one. It stops at the first.
func (a *assembly) fault(t *tree, dir string, err error) finding.Finding {
	e := readBuildError(err.Error())
	for _, at := range slices.Backward(e.dirs) {
		if inner, innerDir, ok := a.kustomizationAt(at); ok {
			t, dir = inner, innerDir
			break
		}
		e.resource = "" // of a kustomization that was made for charts
	}
	if f, known := a.ofCharts[path.Join(t.at, dir)+" "+e.duplicate]; known {
		return f
	}
	f := finding.Finding{Severity: finding.Error, Rule: "kustomize", File: t.Show(path.Join(dir, File(t.FS, dir))),
		Message: a.shown(withoutValues(e.message, a.read)), Remedy: "correct the kustomization"}
	if c, err := a.checker(t, dir); err == nil && e.resource != "" {
		k, _ := c.decode()
		if i := slices.Index(k.Resources, e.resource); i >= 0 {
			return c.at(f, fmt.Sprintf("resources[%d]", i), e.resource)
		}
	}
	return f
}

// kustomizationAt finds one that people wrote by its directory as kustomize calls it.
func (a *assembly) kustomizationAt(p string) (*tree, string, bool) {
	t, dir, err := repoFS{a}.find(p)
	return t, dir, err == nil && t.visits[dir] != nil
}
