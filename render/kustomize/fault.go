package kustomize

import (
	"cmp"
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

// run builds the assembled kustomization.
func (a *assembly) run(at string) (built resmap.ResMap, err error) {
	defer func() {
		// The library panics on some malformed input.
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	opts := krusty.MakeDefaultOptions() // no files outside the kustomization's directory, no plugins
	if a.component.opt.Unrestricted {
		opts.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(opts).Run(repoFS{a}, at)
}

// Each kustomization on the way to a problem, and each entry of its resources, adds a
// prefix to kustomize's message, which is a text. Some prefixes quote the input of a
// generator or transformer, which may be a secret; some repeat the error of another
// attempt to read an entry.
var (
	prefix = regexp.MustCompile("(?s)^(?:(?:accumulating|merging) resources from '(?P<resource>[^']*)': " +
		"|(?:accumulation err='.*?': )?(?:recursed accumulation of|recursed merging from|couldn't make target for) path '(?P<dir>[^']*)': " +
		"|accumulating (?:resources|components): |MalformedYAMLError: " +
		"|(?:merging from|adding origin annotations for) generator &\\{.*\\}: |trouble configuring builtin \\w+ with config: `.*?`: )")
	notDirectory = regexp.MustCompile(`(?s)^accumulation err='(.*)': must build at directory: '.*$`)
	cycle        = regexp.MustCompile(`(?s)^accumulation err='.*?': (cycle detected: .*)$`)
)

// registered begins the message about two resources of the same identity.
const registered = "may not add resource with an already registered id: "

// readBuildError splits a message of kustomize into the kustomizations on the way,
// outermost first, the entry of the last one's resources that was read, and the problem.
func readBuildError(text string) (dirs []string, resource, message string) {
	for {
		if m := prefix.FindStringSubmatch(text); m != nil {
			if text, resource = text[len(m[0]):], cmp.Or(m[1], resource); m[2] != "" {
				dirs, resource = append(dirs, m[2]), ""
			}
		} else if m := notDirectory.FindStringSubmatch(text); m != nil {
			text = m[1]
		} else if m := cycle.FindStringSubmatch(text); m != nil {
			text = m[1]
		} else if inner, err := strconv.Unquote(strings.TrimPrefix(text, "accumulateDirectory: ")); err == nil {
			text = inner
		} else {
			break
		}
	}
	message = readable(text)
	if id, found := strings.CutPrefix(message, registered); found {
		message = "duplicate object: " + id
	}
	return dirs, resource, message
}

// Other quotations in messages of kustomize: objects by identity, the path of a
// patch, and the offending input in Go syntax, YAML or JSON.
var (
	quotedID     = regexp.MustCompile(`"?([A-Za-z]\w*)\.[\w\[\]]+\.[\w.\[\]-]+/([\w.-]+?)\.(\[noNs\]|[\w-]+)"?`)
	quotedGoID   = regexp.MustCompile(`&?resid\.ResId\{Gvk:resid\.Gvk\{[^}]*?Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`)
	quotedPath   = regexp.MustCompile(`\[path: "([^"]*)"\]`)
	quotedScalar = regexp.MustCompile("(cannot unmarshal !!\\w+) `[^`]*`")
	quotedTree   = regexp.MustCompile(`(^|[\s(])(?:&|map|\w+\.)*[\[{].*[\]}]`)
)

// readable returns the first line of a message of kustomize, with objects in the
// usual notation and without whole trees, such as the patch that does not apply.
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
	// The rest repeats the same in other words.
	text, _, _ = strings.Cut(text, ": no matches for Id ")
	return strings.TrimRight(text, " :")
}

// fault reports why kustomize failed, at the innermost kustomization that its error
// names, and at the resource, if any. kustomize stops at the first problem.
func (a *assembly) fault(t *tree, dir string, err error) finding.Finding {
	dirs, resource, message := readBuildError(err.Error())
	for _, at := range slices.Backward(dirs) {
		if inner, innerDir, ok := a.kustomizationAt(at); ok {
			t, dir = inner, innerDir
			break
		}
		resource = "" // of a kustomization generated for charts
	}
	f := finding.Finding{Severity: finding.Error, Rule: "kustomize", File: t.Show(path.Join(dir, File(t.FS, dir))),
		Message: a.userPaths(redactValues(message, a.read)), Remedy: "correct the kustomization"}
	for _, known := range explained {
		if m := known.message.FindStringSubmatchIndex(f.Message); m != nil {
			f.Message, f.Remedy = string(known.message.ExpandString(nil, known.instead, f.Message, m)), known.remedy
		}
	}
	f.About = f.Message // the library has only a text
	if c, err := a.checker(t, dir); err == nil && resource != "" {
		k, _ := c.decode()
		if i := slices.Index(k.Resources, resource); i >= 0 {
			return c.at(f, fmt.Sprintf("resources[%d]", i), resource)
		}
	}
	return f
}

// explained are messages of kustomize that do not say what to do.
var explained = []struct {
	message         *regexp.Regexp
	instead, remedy string
}{
	{regexp.MustCompile(`^id (.+) does not exist; cannot merge or replace$`), "a generator for $1 has the behavior merge or replace, but no base contains $1", "remove \"behavior\", or correct the name"},
	{regexp.MustCompile(`^no resource matches strategic merge patch "?([^"]+)"?$`), "a patch is for $1, which is not in the kustomization", "correct the kind, the name or the namespace in the patch"},
	{regexp.MustCompile(`^resource with name (\S+) does not match a config with the following GVK.*$`), "replicas are set for $1, but no workload has this name", "correct the name in replicas"},
}

// kustomizationAt finds a kustomization of the user by kustomize's name of the
// directory.
func (a *assembly) kustomizationAt(p string) (*tree, string, bool) {
	t, dir, err := repoFS{a}.find(p)
	return t, dir, err == nil && t.visits[dir] != nil
}
