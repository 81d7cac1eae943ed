package compare

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
	"sigs.k8s.io/yaml"

	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/object"
)

// Field is a changed field of an object.
type Field struct {
	// Path is its path, such as "spec.template.spec.containers[name=web].image".
	Path   string `json:"path"`
	Change Change `json:"change"`
	// Before and After are the values, as YAML; both are empty for secrets.
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
	// Lines are the changed lines of a long text, as a unified diff without its
	// header, instead of Before and After.
	Lines string `json:"lines,omitempty"`
	// Secret means that the value is not shown.
	Secret bool `json:"secret,omitempty"`
}

// Change is the kind of change of a field.
type Change string

// The changes of a field.
const (
	Added    Change = "added"
	Removed  Change = "removed"
	Replaced Change = "changed"
	// Reordered is a list with the same items in another order.
	Reordered Change = "reordered"
)

// fields compares two manifests, ignoring comments, layout and the wave.
func fields(old, now object.Object) []Field {
	if old.Text() == now.Text() {
		return nil
	}
	d := differ{secret: old.ID.Group == "" && old.ID.Kind == "Secret"}
	before, after := decode(old), decode(now)
	d.compare(nil, before, after)
	return d.found
}

// decode decodes a manifest like Kubernetes. (The view of package object leaves out
// the schemas of CRDs.)
func decode(o object.Object) any {
	text, err := yaml.YAMLToJSON([]byte(o.Text()))
	if err != nil {
		return o.Text() // it was parsed before; the texts can be compared
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return o.Text()
	}
	manifest, _ := v.(map[string]any)
	meta, _ := manifest["metadata"].(map[string]any)
	annotations, annotated := meta["annotations"].(map[string]any)
	delete(annotations, object.SyncWave)
	delete(annotations, object.Why)
	delete(annotations, lastApplied)
	if annotated && len(annotations) == 0 {
		delete(meta, "annotations")
	}
	return v
}

// lastApplied is the annotation with kubectl's copy of the manifest, also of a
// Secret.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// differ collects changed fields.
type differ struct {
	secret bool
	found  []Field
}

// step is a key of a mapping, or an item of a list.
type step struct {
	key  string
	item bool
}

func (d *differ) compare(path []step, before, after any) {
	if reflect.DeepEqual(before, after) {
		return
	}
	switch old := before.(type) {
	case map[string]any:
		if now, ok := after.(map[string]any); ok {
			d.mappings(path, old, now)
			return
		}
	case []any:
		if now, ok := after.([]any); ok {
			d.lists(path, old, now)
			return
		}
	case string:
		if now, ok := after.(string); ok && (strings.Contains(old, "\n") || strings.Contains(now, "\n")) {
			d.texts(path, old, now)
			return
		}
	}
	d.add(path, Replaced, before, after)
}

func (d *differ) mappings(path []step, old, now map[string]any) {
	keys := slices.Collect(maps.Keys(old))
	for key := range now {
		if _, both := old[key]; !both {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	for _, key := range keys {
		before, was := old[key]
		after, is := now[key]
		d.entry(with(path, step{key: key}), before, after, was, is)
	}
}

// entry compares values that may be missing on one side.
func (d *differ) entry(path []step, before, after any, was, is bool) {
	switch {
	case !was:
		d.add(path, Added, nil, after)
	case !is:
		d.add(path, Removed, before, nil)
	default:
		d.compare(path, before, after)
	}
}

// itemKeys are the fields by which Kubernetes identifies list items
// (x-kubernetes-patch-merge-key and x-kubernetes-list-map-keys in its OpenAPI
// description), most frequent first.
var itemKeys = []string{"name", "mountPath", "containerPort", "port", "key", "type", "topologyKey", "devicePath", "ip", "uid"}

func (d *differ) lists(path []step, old, now []any) {
	for _, key := range itemKeys {
		before, ok := byKey(old, key)
		after, both := byKey(now, key)
		if !ok || !both {
			continue
		}
		d.keyed(path, key, before, after)
		return
	}
	if len(old) == len(now) {
		for i := range old {
			d.compare(with(path, step{key: fmt.Sprint(i), item: true}), old[i], now[i])
		}
		return
	}
	d.texts(path, yamlOf(old)+"\n", yamlOf(now)+"\n")
}

func (d *differ) keyed(path []step, key string, old, now items) {
	for _, name := range old.names {
		item := with(path, step{key: key + "=" + name, item: true})
		after, is := now.of[name]
		d.entry(item, old.of[name], after, true, is)
	}
	for _, name := range now.names {
		if _, was := old.of[name]; !was {
			d.entry(with(path, step{key: key + "=" + name, item: true}), nil, now.of[name], false, true)
		}
	}
	before, after := old.common(now), now.common(old)
	if !slices.Equal(before, after) {
		d.add(path, Reordered, strings.Join(before, ", "), strings.Join(after, ", "))
	}
}

// items are the items of a list by one of their fields.
type items struct {
	names []string
	of    map[string]any
}

func (i items) common(other items) []string {
	return slices.DeleteFunc(slices.Clone(i.names), func(name string) bool { _, there := other.of[name]; return !there })
}

// byKey indexes the items of a list by a field, if it is set and unique.
func byKey(list []any, key string) (items, bool) {
	all := items{of: map[string]any{}}
	for _, item := range list {
		m, _ := item.(map[string]any)
		value, there := m[key]
		name := fmt.Sprint(value)
		if _, twice := all.of[name]; !there || twice || !isScalar(value) {
			return items{}, false
		}
		all.names = append(all.names, name)
		all.of[name] = item
	}
	return all, true
}

// texts compares texts line by line.
func (d *differ) texts(path []step, old, now string) {
	if d.hides(path) {
		d.add(path, Replaced, nil, nil)
		return
	}
	full := string(diff.Diff("before", []byte(old), "after", []byte(now)))
	_, hunks, _ := strings.Cut(full, "\n+++ after\n")
	d.found = append(d.found, Field{Path: written(path), Change: Replaced, Lines: shown(hunks)})
}

func (d *differ) add(path []step, change Change, before, after any) {
	f := Field{Path: written(path), Change: change}
	if d.hides(path) {
		f.Secret = true
		d.found = append(d.found, f)
		return
	}
	if change != Added {
		f.Before = shown(yamlOf(before))
	}
	if change != Removed {
		f.After = shown(yamlOf(after))
	}
	d.found = append(d.found, f)
}

// hides reports whether a value may be secret. Only the metadata and type of a
// Secret are shown.
func (d *differ) hides(path []step) bool {
	if !d.secret {
		return false
	}
	if len(path) == 0 {
		return true
	}
	switch path[0].key {
	case "apiVersion", "kind", "metadata", "type", "immutable":
		return false
	}
	return true
}

// with returns an extended path.
func with(path []step, next step) []step { return append(slices.Clip(path), next) }

var plainKey = lazyregexp.New(`^[A-Za-z0-9_-]+$`)

func written(path []step) string {
	var b strings.Builder
	for i, s := range path {
		switch {
		case s.item || !plainKey.MatchString(s.key):
			fmt.Fprintf(&b, "[%s]", s.key)
		case i > 0:
			b.WriteString("." + s.key)
		default:
			b.WriteString(s.key)
		}
	}
	return finding.Sanitize(b.String())
}

// yamlOf encodes a value, without a trailing line break. Text is not folded, and
// quoted only if necessary.
func yamlOf(v any) string {
	if text, ok := v.(string); ok {
		var other any
		if text == "" || yaml.Unmarshal([]byte(text), &other) == nil && other != any(text) && isScalar(other) {
			return strconv.Quote(text)
		}
		return text
	}
	text, err := yaml.Marshal(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	return strings.TrimSuffix(string(text), "\n")
}

func isScalar(v any) bool {
	switch v.(type) {
	case map[string]any, []any:
		return false
	}
	return true
}

// shown replaces control characters, line by line.
func shown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = finding.Sanitize(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(lines, "\n")
}
