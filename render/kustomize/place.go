package kustomize

import (
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render/input"
)

// copies are the places of an object in the files that kustomize read, and its name there.
type copies struct{ places, names []string }

// find finds an object by the name that Ladder gives it, or by its kind and name alone, since its
// namespace may have changed.
func (a *assembly) find(named string) (same, others copies) {
	kind, name, _ := strings.Cut(named, " ")
	for _, f := range a.read {
		if IsFile(path.Base(f.name)) {
			continue
		}
		objs, _ := object.Parse(f.tree.Show(f.name), 1, string(f.data)) // kustomize reports what is invalid
		for _, o := range objs {
			if o.ID.Kind != kind || o.ID.Name != path.Base(name) {
				continue
			}
			place, to := fmt.Sprintf("%s:%d", o.File, o.Line), &others
			if f.tree.generated {
				place = templateOf(f.data, o.Line)
			}
			if _, full, _ := strings.Cut(o.ID.String(), " "); full == name {
				to = &same
			}
			if !slices.Contains(to.places, place) {
				to.places, to.names = append(to.places, place), append(to.names, o.ID.String())
			}
		}
	}
	return same, others
}

// templateOf returns the template of the object at a line of a rendered chart.
func templateOf(rendered []byte, line int) string {
	for _, text := range slices.Backward(strings.Split(string(rendered), "\n")[:line]) {
		if name, found := strings.CutPrefix(text, "# Source: "); found {
			return name
		}
	}
	return "a chart"
}

// quotedField matches what a message quotes of a kustomization or a patch and what is there only
// once as a rule: paths of fields and of JSON patches, unknown fields, patterns.
var quotedField = lazyregexp.New(
	"[\"'`]([^\"'`\\s]*[./\\[][^\"'`\\s]*)[\"'`]|unknown field \"(\\w+)\"|[ '\"](/[\\w./~-]*\\w)|, field (\\S+)")

// placeOf finds the line that a message is about: in the kustomization, or else in a file that
// kustomize read for it, such as a patch.
func (a *assembly) placeOf(c *checker, k types.Kustomization, message string) (file string, line int) {
	if file, line := c.incompleteReplacement(k, message); line > 0 {
		return file, line
	}
	for _, m := range quotedField.FindAllStringSubmatch(message, -1) {
		quoted := m[1] + m[2] + m[3] + m[4]
		if line := lineOfEntry(c.written, quoted); line > 0 {
			return c.Show(c.file), line
		}
		for _, f := range a.read {
			if line := lineOfEntry(f.data, quoted); line > 0 && !IsFile(path.Base(f.name)) {
				return f.tree.Show(f.name), line
			}
		}
	}
	return "", 0
}

// incompleteReplacement finds the replacement that kustomize refuses for what it lacks, which
// its message does not name.
func (c *checker) incompleteReplacement(k types.Kustomization, message string) (file string, line int) {
	if !strings.HasPrefix(message, "replacements must ") && !strings.HasPrefix(message, "target must ") &&
		!strings.HasPrefix(message, "value and resource selectors ") {
		return "", 0
	}
	for i, field := range k.Replacements {
		all, file, line := []types.Replacement{field.Replacement}, c.file,
			input.LineOf(c.written, []string{"replacements", strconv.Itoa(i)})
		if field.Path != "" {
			file, line = path.Join(c.dir, field.Path), 1
			data, err := fs.ReadFile(c.FS, file)
			if all = nil; err != nil || yaml.Unmarshal(data, &all) != nil {
				all = make([]types.Replacement, 1)
				_ = yaml.Unmarshal(data, &all[0]) // nothing of it is then set
			}
		}
		if slices.ContainsFunc(all, isIncomplete) {
			return c.Show(file), line
		}
	}
	return "", 0
}

// isIncomplete reports whether kustomize refuses a replacement before it looks at any object
// (kustomize, api/filters/replacement/replacement.go).
func isIncomplete(r types.Replacement) bool {
	return r.Targets == nil || (r.Source == nil) == (r.SourceValue == nil) ||
		slices.ContainsFunc(r.Targets, func(t *types.TargetSelector) bool { return t.Select == nil })
}
