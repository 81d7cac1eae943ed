package kustomize

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/resmap"
	"sigs.k8s.io/kustomize/api/types"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
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
	if t, dir, err := (repoFS{a}).find(at); err == nil {
		if k, ok := read(t.FS, dir); ok && k.SortOptions != nil {
			opts.Reorder = krusty.ReorderOptionUnspecified // for any other, kustomize logs that a flag contradicts
		}
	}
	if a.component.opt.Unrestricted {
		opts.LoadRestrictions = types.LoadRestrictionsNone
	}
	return krusty.MakeKustomizer(opts).Run(repoFS{a}, at)
}

// Each kustomization on the way to a problem, and each entry of its resources, adds a
// prefix to kustomize's message, which is a text. Some prefixes quote the input of a
// generator or transformer; some repeat the error of another attempt to read an entry.
var (
	prefix = lazyregexp.New("(?s)^(?:(?:accumulating|merging) resources from '(?P<resource>[^']*)': " +
		"|(?:accumulation err='.*?': )?(?:recursed accumulation of|couldn't make target for) path '(?P<dir>[^']*)': " +
		"|(?:accumulation err='accumulating resources from '(?P<merged>[^']*)'.*?': )?recursed merging from path '[^']*': " +
		"|Failed to read kustomization file under [^\n]*:\n" +
		"|accumulating (?:resources|components): |MalformedYAMLError: " +
		"|(?:merging from|adding origin annotations for) generator &\\{.*\\}: |trouble configuring builtin \\w+ with config: `.*?`: )")
	notDirectory = lazyregexp.New(`(?s)^accumulation err='(.*)': must build at directory: '.*$`)
	cycle        = lazyregexp.New(`(?s)^accumulation err='.*?': (cycle detected: .*)$`)
)

// readBuildError splits a message of kustomize into the kustomizations on the way,
// outermost first, the entry of the last one's resources that was read, and the problem.
func readBuildError(text string) (dirs []string, resource, message string) {
	for {
		if m := prefix.FindStringSubmatch(text); m != nil {
			if text, resource = text[len(m[0]):], cmp.Or(m[1], m[3], resource); m[2] != "" {
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
	return dirs, resource, text
}

// Quotations in messages of kustomize: objects by identity, the path of a patch, and
// generators and other data in Go syntax.
var (
	quotedID     = lazyregexp.New(`"?([A-Za-z]\w*|\[noKind\])\.[\w\[\]]+\.[\w.\[\]-]+/((?:[\w.:-]|\[noName\])+)\.(\[noNs\]|[\w-]+)"?`)
	quotedGoID   = lazyregexp.New(`&?resid\.ResId\{Gvk:resid\.Gvk\{[^}]*?Kind:"([^"]*)"[^}]*\}, Name:"([^"]*)", Namespace:"([^"]*)"\}`)
	quotedPath   = lazyregexp.New(`\[path: "([^"]*)"\]`)
	selectorPath = lazyregexp.New(`((?:for selector|selected by) [^:\s]+):(\S+)$`)
	goPointer    = lazyregexp.New(`&?\{?0x[0-9a-f]+[^)}]*\}?`)
	jsonTree     = lazyregexp.New(`(^|[\s(])\[?(\{"[^\n]*\})\]?`)
)

// readable returns the first line of a message of kustomize, with objects as Ladder names
// them.
func readable(text string) string {
	text = selectorPath.ReplaceAllString(text, "$1, field $2")
	for _, ids := range []*lazyregexp.Regexp{quotedGoID, quotedID} {
		text = ids.ReplaceAllStringFunc(text, func(id string) string {
			m := ids.FindStringSubmatch(id)
			if m[1] == "[noKind]" {
				return strings.TrimSpace("any kind " + strings.TrimPrefix(m[2], "[noName]"))
			}
			of := object.ID{Kind: m[1], Namespace: strings.TrimPrefix(m[3], "[noNs]"), Name: strings.TrimPrefix(m[2], "[noName]")}
			return strings.TrimSpace(of.String())
		})
	}
	text = quotedPath.ReplaceAllString(text, "$1")
	text = jsonTree.ReplaceAllStringFunc(text, func(tree string) string {
		m := jsonTree.FindStringSubmatch(tree)
		if names := objectsIn(m[2]); names != "" {
			return m[1] + names
		}
		return tree
	})
	text = goPointer.ReplaceAllString(text, "(…)")
	text, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	if strings.HasSuffix(text, ":") {
		first, _, _ := strings.Cut(strings.TrimSpace(rest), "\n")
		text += " " + first
	}
	// The rest repeats the same in other words.
	text, _, _ = strings.Cut(text, ": no matches for Id ")
	text, _, _ = strings.Cut(text, "; failed to find unique target for patch ")
	return finding.CutMiddle(strings.TrimRight(text, " :"), maxMessage)
}

// maxMessage is the maximum length in bytes of a message of kustomize, which may quote files.
const maxMessage = 1000

// The annotations in which kustomize keeps what an object was called before it was changed.
const (
	previousNames      = "internal.config.kubernetes.io/previousNames"
	previousNamespaces = "internal.config.kubernetes.io/previousNamespaces"
	// notNamespaced is the previous namespace of an object without one.
	notNamespaced = "_non_namespaceable_"
)

// objectsIn names the objects that a message quotes as JSON, one after the other, with their
// names before kustomize changed them; empty if they are something else.
func objectsIn(trees string) string {
	var names []string
	for decoder := json.NewDecoder(strings.NewReader(trees)); ; {
		var o struct {
			Kind     string
			Metadata struct {
				Name, Namespace string
				Annotations     map[string]string
			}
		}
		err := decoder.Decode(&o)
		if errors.Is(err, io.EOF) {
			return strings.Join(names, " and ")
		}
		if err != nil || o.Kind+o.Metadata.Name == "" {
			return ""
		}
		id := object.ID{Kind: o.Kind, Namespace: o.Metadata.Namespace, Name: o.Metadata.Name}
		before := id
		if name, _, _ := strings.Cut(o.Metadata.Annotations[previousNames], ","); name != "" {
			before.Name = name
		}
		if namespace, _, _ := strings.Cut(o.Metadata.Annotations[previousNamespaces], ","); namespace != "" &&
			namespace != "default" && namespace != notNamespaced {
			before.Namespace = namespace
		}
		if names = append(names, id.String()); before != id {
			names[len(names)-1] += " (before: " + before.String() + ")"
		}
	}
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
	f := finding.Finding{Severity: finding.Error, Rule: finding.BadKustomization, File: t.Show(path.Join(dir, File(t.FS, dir))),
		Message: a.userPaths(readable(a.hidden().From(message))), Remedy: "correct the kustomization"}
	for _, known := range explained {
		if m := known.message.FindStringSubmatchIndex(f.Message); m != nil {
			f.Message, f.Remedy = string(known.message.ExpandString(nil, known.instead, f.Message, m)), known.remedy
		}
	}
	f.About = f.Message // the library has only a text
	c, err := a.checker(t, dir)
	if err != nil {
		return f
	}
	switch m := aboutObject.FindStringSubmatch(f.Message); {
	case m == nil && resource != "" && c.isFile(resource):
		f.File, f.Remedy = c.Show(path.Join(dir, resource)), "correct this file"
		return f
	case m == nil:
	case m[1] != "":
		same, others := a.find(m[1])
		if both := append(same.places, others.places...); len(both) > 0 {
			f.Message += ", in " + strings.Join(both, " and ")
		}
	default: // a patch that no object matches
		patch, others := a.find(m[2])
		if len(others.places) > 0 {
			f.Remedy = "correct the namespace in the patch: " + others.places[0] + " contains " + others.names[0]
		}
		if len(patch.places) > 0 {
			file, line, _ := strings.Cut(patch.places[0], ":")
			f.File = file
			f.Line, _ = strconv.Atoi(line)
			return f
		}
	}
	k, _ := c.decode()
	if i := slices.Index(k.Resources, resource); i >= 0 {
		return c.at(f, fmt.Sprintf("resources[%d]", i), resource)
	}
	if file, line := a.placeOf(c, k, f.Message); line > 0 {
		f.File, f.Line = file, line
	}
	return f
}

const duplicate = "duplicate object: "

// aboutObject matches messages about an object that is there twice, and about a strategic merge
// patch without its object.
var aboutObject = lazyregexp.New(`^duplicate object: (.+)$|^a patch is for (.+), which is not in the kustomization$`)

// explained are messages of kustomize that do not say what to do.
var explained = []struct {
	message         *lazyregexp.Regexp
	instead, remedy string
}{
	{lazyregexp.New(`^may not add resource with an already registered id: (.*)$`), duplicate + "$1", "keep one of the two"},
	{lazyregexp.New(`^missing (\S+) in object \{\{(.*?) ?\} .*$`), "an object ($2) lacks $1", ""},
	{lazyregexp.New(`^no matches for Id (.+)$`), "a patch is for $1, which is not in the kustomization",
		"correct the kind, the name or the namespace in the patch"},
	{lazyregexp.New(`^multiple matches for Id (.+)$`), "a patch is for $1, but several objects match",
		"set the namespace in the patch, or a target"},
	{lazyregexp.New(`^namespace transformation produces ID conflict: (.*)$`),
		"the namespace of the kustomization makes two objects one: $1", "rename one of them, or use a NamespaceTransformer with unsetOnly: true"},
	{lazyregexp.New(`^(unable to parse SM or JSON patch from .*)$`), "$1",
		"set \"target\" for a JSON patch; any other patch is an object with apiVersion, kind and metadata.name"},
	{lazyregexp.New(`^id (.+) does not exist; cannot merge or replace$`),
		"a generator for $1 has the behavior merge or replace, but no base contains $1", "remove \"behavior\", or correct the name"},
	{lazyregexp.New(`^no resource matches strategic merge patch "?([^"]+)"?$`),
		"a patch is for $1, which is not in the kustomization", "correct the kind, the name or the namespace in the patch"},
	{lazyregexp.New(`^resource with name (\S+) does not match a config with the following GVK.*$`),
		"replicas are set for $1, but no workload has this name", "correct the name in replicas"},
}

// kustomizationAt finds a kustomization of the user by kustomize's name of the
// directory.
func (a *assembly) kustomizationAt(p string) (*tree, string, bool) {
	t, dir, err := repoFS{a}.find(p)
	return t, dir, err == nil && t.visits[dir] != nil
}
