package doctor

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/object"
)

// node is a value of the input with its location.
type node struct {
	object.Value
	// file, line, object and field are as in a finding; first is the line of the
	// file at which lines of Value start, 0 if they are unknown.
	file, object, field string
	first, line         int
}

// rootOf returns the root of a manifest.
func rootOf(o object.Object) node {
	return node{Value: o.Root(), file: o.File, object: o.ID.String(), first: o.Line, line: o.Line}
}

// at follows keys.
func (t node) at(keys ...string) node {
	for _, key := range keys {
		t = t.inner(t.Value.Get(key), joined(t.field, key))
	}
	return t
}

func (t node) inner(v object.Value, field string) node {
	t.Value, t.field = v, field
	if t.first > 0 && v.Line() > 0 {
		t.line = t.first + v.Line() - 1
	}
	return t
}

func joined(field, key string) string {
	if field == "" {
		return key
	}
	return field + "." + key
}

// items returns the items of a list, identified by name if possible.
func (t node) items() []node {
	var all []node
	for i, v := range t.Value.Items() {
		name := v.Get("name").Text()
		if name == "" {
			name = strconv.Itoa(i)
		}
		all = append(all, t.inner(v, fmt.Sprintf("%s[%s]", t.field, name)))
	}
	return all
}

// entries returns the entries of a mapping.
func (t node) entries() map[string]node {
	all := map[string]node{}
	for _, f := range t.Value.Fields() {
		v := t.inner(f.Value, joined(t.field, f.Key))
		if t.first > 0 && f.Line() > 0 { // a block starts after its key
			v.line = t.first + f.Line() - 1
		}
		all[f.Key] = v
	}
	return all
}

// texts returns the items of a list of strings. A single string, which Kubernetes
// refuses, is split into words.
func (t node) texts() []string {
	if text := t.Text(); !t.IsList() && !strings.Contains(text, "{{") {
		return strings.Fields(text)
	}
	var all []string
	for _, v := range t.Value.Items() {
		all = append(all, v.Text())
	}
	return all
}

// name returns the name of a list item.
func (t node) name() string { return t.Get("name").Text() }

// number returns an integer, written as a number or a string.
func (t node) number() (int, bool) {
	n, err := strconv.Atoi(t.Text())
	return n, err == nil
}

// findByName returns the item with a name.
func findByName(all []node, name string) (node, bool) {
	for _, t := range all {
		if t.name() == name {
			return t, true
		}
	}
	return node{}, false
}

// fault returns a finding at the location of a value.
func (t node) fault(format string, args ...any) finding.Finding {
	return finding.Finding{File: t.file, Line: t.line, Object: t.object, Field: t.field, Message: fmt.Sprintf(format, args...)}
}

// withSeverity returns a finding with another severity.
func withSeverity(severity finding.Severity, f finding.Finding) finding.Finding {
	f.Severity = severity
	return f
}

// withRemedy returns a finding with a remedy that replaces that of its rule.
func withRemedy(f finding.Finding, format string, args ...any) finding.Finding {
	f.Remedy = fmt.Sprintf(format, args...)
	return f
}

// image is a parsed container image.
type image struct {
	// repository is the part before the tag, base its last path element.
	repository, base, tag string
	digest                bool
}

func imageOf(text string) image {
	text, _, digest := strings.Cut(text, "@")
	repository, tag := text, ""
	if i := strings.LastIndex(text, ":"); i > strings.LastIndex(text, "/") {
		repository, tag = text[:i], text[i+1:]
	}
	return image{repository, path.Base(repository), tag, digest}
}

// mebibytes formats a size.
func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

// seconds formats a duration.
func seconds(s float64) string { return strconv.FormatFloat(s, 'f', -1, 64) + "s" }
