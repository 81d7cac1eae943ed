package order

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/argocd"
	"github.com/ladder-cmp/ladder/fleet/inplace"
	"github.com/ladder-cmp/ladder/internal/lazyregexp"
	"github.com/ladder-cmp/ladder/internal/textedit"
	"github.com/ladder-cmp/ladder/object"
)

// nameLabel is the label with the name of an Application, by which the steps of an ApplicationSet
// select if its owners have none.
const nameLabel = object.Prefix + "name"

// maxLabel is the length of the value of a label, in characters.
const maxLabel = 63

// Unwritten is a change that has to be made by hand.
type Unwritten struct {
	Change
	// Instead says why.
	Instead string
}

// Changes returns what to write for an order. read returns the content of a file that a generator
// reads.
func Changes(tree inplace.Tree, scopes []Scope, read func(file string) ([]byte, error)) (all []Change, byHand []Unwritten) {
	add := func(c Change, at inplace.Place, instead string) {
		switch {
		case instead == "" && at.File == "":
			instead = "it is not read from a file"
		case instead == "" && at.IsTemplate:
			instead = "the file is a template, or something changes it before Argo CD applies it"
		}
		if instead != "" {
			byHand = append(byHand, Unwritten{c, instead})
			return
		}
		if !slices.ContainsFunc(all, func(other Change) bool { // two parents may share a file
			return reflect.DeepEqual([]any{c.File, c.Line, c.ID, c.Path, c.Value},
				[]any{other.File, other.Line, other.ID, other.Path, other.Value})
		}) {
			all = append(all, c)
		}
	}
	for _, s := range scopes {
		if s.Kind == Waves {
			for _, r := range s.Rows {
				if r.Computed != r.Now {
					add(waveChange(tree.Nodes[r.Node], r), tree.Nodes[r.Node].Place, "")
				}
			}
			continue
		}
		set := rolling{tree: tree, Scope: s, set: tree.Nodes[s.Parent], read: read}
		set.changes(add)
	}
	return all, byHand
}

// waveChange sets the sync wave of an Application or ApplicationSet.
func waveChange(n inplace.Node, r Row) Change {
	return Change{File: n.Place.File, Line: n.Place.Line, ID: n.Object.ID, Path: []any{"metadata", "annotations", object.SyncWave},
		Value: strconv.Itoa(r.Computed), Before: n.Object.Get("metadata", "annotations", object.SyncWave).Text(), Why: r.Why}
}

// rolling changes the steps of an ApplicationSet, or the labels that they select.
type rolling struct {
	Scope
	tree inplace.Tree
	set  inplace.Node
	read func(file string) ([]byte, error)
}

type adder func(c Change, at inplace.Place, instead string)

func (s rolling) changes(add adder) {
	moves := slices.DeleteFunc(slices.Clone(s.Rows), func(r Row) bool { return r.Computed == r.Now })
	if len(moves) == 0 {
		return
	}
	key := s.key()
	switch {
	case s.Kind == Proposed || key != "" && s.template(key) == s.nameTemplate():
		s.byName(add, cmp.Or(key, nameLabel))
	default:
		for _, r := range moves {
			s.move(add, r, key)
		}
	}
}

// key returns the label by which all steps select; empty if there are several, or none.
func (s rolling) key() string {
	var keys []string
	for _, step := range s.set.Object.Get("spec", "strategy", "rollingSync", "steps").Items() {
		for _, x := range step.Get("matchExpressions").Items() {
			keys = append(keys, x.Get("key").Text())
		}
	}
	slices.Sort(keys)
	if keys = slices.Compact(keys); len(keys) != 1 {
		return ""
	}
	return keys[0]
}

func (s rolling) template(label string) string {
	return s.set.Object.Get("spec", "template", "metadata", "labels", label).Text()
}

func (s rolling) nameTemplate() string {
	return s.set.Object.Get("spec", "template", "metadata", "name").Text()
}

// byName writes steps that select Applications by their names. The last step selects all that no
// other step names, so that new Applications are synced, too.
func (s rolling) byName(add adder, key string) {
	change := func(value any, before string, path ...any) Change {
		return Change{File: s.set.Place.File, Line: s.set.Place.Line, ID: s.set.Object.ID, Path: path, Value: value, Before: before}
	}
	instead := s.whyNotByName()
	if s.template(key) == "" {
		add(change(s.nameTemplate(), "", "spec", "template", "metadata", "labels", key), s.set.Place, instead)
	}
	if typ := s.set.Object.Get("spec", "strategy", "type").Text(); typ != "RollingSync" {
		add(change("RollingSync", typ, "spec", "strategy", "type"), s.set.Place, instead)
	}
	if s.Kind == Steps && !s.Lacking {
		s.values(add, instead)
		return
	}
	if s.Kind == Steps && instead == "" && slices.ContainsFunc(s.steps(),
		func(step object.Value) bool { return step.Get("maxUpdate").Exists() }) {
		instead = "the ApplicationSet has too few steps, and the new ones may need a maxUpdate"
	}
	names := make([][]any, s.Count+1)
	for _, r := range s.Rows {
		if r.Computed > 0 {
			names[r.Computed] = append(names[r.Computed], s.tree.Nodes[r.Node].Object.ID.Name)
		}
	}
	var steps, before []any
	for i := 1; i <= s.Count; i++ {
		operator, values := "In", names[i]
		if i == s.Count {
			operator, values = "NotIn", before
		}
		slices.SortFunc(values, func(x, y any) int { return strings.Compare(x.(string), y.(string)) })
		before = append(before, values...)
		steps = append(steps, map[string]any{"matchExpressions": []any{map[string]any{"key": key, "operator": operator, "values": values}}})
	}
	c := change(steps, "", "spec", "strategy", "rollingSync", "steps")
	c.Why = s.why()
	add(c, s.set.Place, instead)
}

func (s rolling) steps() []object.Value {
	return s.set.Object.Get("spec", "strategy", "rollingSync", "steps").Items()
}

// values changes the names that the steps of the owners list, and nothing else of these steps.
func (s rolling) values(add adder, instead string) {
	known := map[string]int{}
	for _, r := range s.Rows {
		known[s.tree.Nodes[r.Node].Object.ID.Name] = r.Computed
	}
	for i, step := range s.steps() {
		conditions := step.Get("matchExpressions").Items()
		isIn := func(name string) bool { return known[name] == i+1 }
		why := instead
		switch {
		case len(conditions) != 1:
			why = fmt.Sprintf("step %d has several conditions", i+1)
		case conditions[0].Get("operator").Text() == "NotIn":
			isIn = func(name string) bool { return known[name] > 0 && known[name] != i+1 }
		case conditions[0].Get("operator").Text() != "In":
			why = fmt.Sprintf("step %d has the operator %s", i+1, conditions[0].Get("operator").Text())
		}
		var before []string
		var values []any
		if len(conditions) > 0 {
			for _, v := range conditions[0].Get("values").Items() {
				before = append(before, v.Text())
			}
		}
		for _, name := range before { // also of Applications that are not there yet
			if _, read := known[name]; !read || isIn(name) {
				values = append(values, name)
			}
		}
		for _, name := range slices.Sorted(maps.Keys(known)) {
			if isIn(name) && !slices.Contains(before, name) {
				values = append(values, name)
			}
		}
		if len(values) == len(before) && !slices.ContainsFunc(values, func(v any) bool { return !slices.Contains(before, v.(string)) }) {
			continue
		}
		if len(values) == 0 && why == "" {
			why = fmt.Sprintf("step %d would have no Application", i+1)
		}
		add(Change{File: s.set.Place.File, Line: s.set.Place.Line, ID: s.set.Object.ID, Value: values, Why: s.why(),
			Path: []any{"spec", "strategy", "rollingSync", "steps", i, "matchExpressions", 0, "values"}}, s.set.Place, why)
	}
}

// why returns the reason of the first step that another one follows.
func (s rolling) why() string {
	for _, r := range s.Rows {
		if r.Computed != r.Now && r.Why != "" {
			return s.tree.Nodes[r.Node].Object.ID.Name + " " + r.Why
		}
	}
	return ""
}

// whyNotByName says why the names cannot be a label.
func (s rolling) whyNotByName() string {
	spec := s.set.Object.Get("spec")
	switch {
	case spec.Get("templatePatch").Text() != "":
		return "templatePatch may change the label"
	case slices.ContainsFunc(spec.Get("generators").Items(), func(g object.Value) bool {
		return slices.ContainsFunc(g.Fields(), func(f object.Field) bool { return f.Value.Get("template").Exists() })
	}):
		return "a generator has its own template"
	case s.nameTemplate() == "":
		return "the template has no name"
	}
	for _, r := range s.Rows {
		if name := s.tree.Nodes[r.Node].Object.ID.Name; len(name) > maxLabel {
			return fmt.Sprintf("the name %s is longer than a label may be (%d characters)", name, maxLabel)
		}
	}
	return ""
}

// move changes the value that becomes the label of an Application, in the element of a list or in
// the file that the generator reads.
func (s rolling) move(add adder, r Row, key string) {
	n := s.tree.Nodes[r.Node]
	c := Change{ID: n.Object.ID, File: n.Place.File, Line: n.Place.Line, Path: []any{"metadata", "labels", key}, Why: r.Why,
		Before: n.Object.Get("metadata", "labels", key).Text()}
	if s.Lacking {
		add(c, n.Place, fmt.Sprintf("the ApplicationSet has too few steps: add one, up to step %d", s.Count))
		return
	}
	value, ok := s.value(n, r.Computed, key)
	if key == "" || !ok {
		c.Path[2] = cmp.Or(key, "...")
		add(c, n.Place, fmt.Sprintf("no value of one label selects step %d", r.Computed))
		return
	}
	c.Value = value
	ref := reference.FindStringSubmatch(s.template(key))
	if ref == nil || s.set.Object.Get("spec", "templatePatch").Text() != "" {
		add(c, n.Place, "the label is not a parameter of the generator: "+cmp.Or(s.template(key), "templatePatch may set it"))
		return
	}
	fields := strings.Split(ref[1], ".")
	if n.Place.File != s.set.Place.File {
		s.moveInFile(add, c, n.Place, fields)
		return
	}
	paths := s.elements(n.Object.ID.Name, fields, c.Before)
	if len(paths) != 1 {
		add(c, s.set.Place, fmt.Sprintf("%d elements of lists in the ApplicationSet are for it", len(paths)))
		return
	}
	c.ID, c.Path = s.set.Object.ID, paths[0]
	add(c, s.set.Place, "")
}

// reference matches a template that is nothing but a parameter.
var reference = lazyregexp.New(`^\{\{-?\s*\.?([A-Za-z_][\w.-]*?)\s*(?:\|\s*(?:quote|toString)\s*)?-?\}\}$`)

// value returns a value of a label that a step selects: one that another Application of the step
// has, or one that the step names.
func (s rolling) value(n inplace.Node, step int, key string) (string, bool) {
	var all []string
	for _, r := range s.Rows {
		if r.Now == step && r.Computed == step {
			all = append(all, s.tree.Nodes[r.Node].Object.Get("metadata", "labels", key).Text())
		}
	}
	steps := s.set.Object.Get("spec", "strategy", "rollingSync", "steps").Items()
	if step <= len(steps) {
		for _, x := range steps[step-1].Get("matchExpressions").Items() {
			for _, v := range x.Get("values").Items() {
				all = append(all, v.Text())
			}
		}
	}
	labels := map[string]string{}
	for _, f := range n.Object.Get("metadata", "labels").Fields() {
		labels[f.Key] = f.Value.Text()
	}
	for _, v := range all {
		labels[key] = v
		if v != "" && s.stepOf(labels) == step {
			return v, true
		}
	}
	return "", false
}

// stepOf returns the first step that selects labels; 0 if none does.
func (s rolling) stepOf(labels map[string]string) int {
	var spec struct {
		Strategy struct {
			RollingSync struct {
				Steps []argocd.Selector `yaml:"steps"`
			} `yaml:"rollingSync"`
		} `yaml:"strategy"`
	}
	text, err := s.set.Object.Get("spec").YAML()
	if err != nil || yaml.Unmarshal([]byte(text), &spec) != nil {
		return 0
	}
	return 1 + slices.IndexFunc(spec.Strategy.RollingSync.Steps, func(x argocd.Selector) bool {
		is, err := x.Matches(labels)
		return is && err == nil
	})
}

// moveInFile changes a value in the file that a generator reads for an Application.
func (s rolling) moveInFile(add adder, c Change, at inplace.Place, fields []string) {
	text, err := s.read(at.File)
	if err != nil {
		add(c, at, "the file cannot be read")
		return
	}
	docs, err := decode(string(text))
	if err != nil || len(docs) != 1 {
		add(c, at, "the file is not YAML or JSON")
		return
	}
	c.ID, c.Line, c.Path = object.ID{}, 0, pathOf(fields)
	if scalarText(get(docs[0], c.Path)) != c.Before {
		add(c, at, "the file has no "+strings.Join(fields, "."))
		return
	}
	add(c, at, "")
}

func pathOf(fields []string) []any {
	var path []any
	for _, f := range fields {
		path = append(path, f)
	}
	return path
}

// elements returns the paths of a field in the elements of lists from which an Application is
// generated: those from which its name follows.
func (s rolling) elements(name string, fields []string, value string) [][]any {
	var all [][]any
	var look func(generators object.Value, path []any)
	look = func(generators object.Value, path []any) {
		for i, g := range generators.Items() {
			at := append(slices.Clone(path), i)
			for _, nested := range []string{"matrix", "merge"} {
				look(g.Get(nested, "generators"), append(slices.Clone(at), nested, "generators"))
			}
			for j, element := range g.Get("list", "elements").Items() {
				if substituted(s.nameTemplate(), element) != name || element.Get(fields...).Text() != value {
					continue
				}
				all = append(all, append(append(slices.Clone(at), "list", "elements", j), pathOf(fields)...))
			}
		}
	}
	look(s.set.Object.Get("spec", "generators"), []any{"spec", "generators"})
	return all
}

var parameter = lazyregexp.New(`\{\{-?\s*\.?([A-Za-z_][\w.-]*)\s*-?\}\}`)

// substituted returns a template with the parameters of an element; others stay.
func substituted(template string, element object.Value) string {
	return parameter.ReplaceAllStringFunc(template, func(tag string) string {
		fields := strings.Split(parameter.FindStringSubmatch(tag)[1], ".")
		if v := element.Get(fields...); v.Exists() {
			return v.Text()
		}
		return tag
	})
}

// Patch returns a change as YAML, for those that have to be made by hand.
func (c Change) Patch() string {
	n := nodeOf(c.Value)
	if c.Value == nil {
		return ""
	}
	for _, at := range slices.Backward(c.Path) {
		switch at := at.(type) {
		case string:
			n = &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Content: []*yaml.Node{{Kind: yaml.ScalarNode, Tag: "!!str", Value: at}, n}}
		case int:
			n = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Content: []*yaml.Node{n}, HeadComment: fmt.Sprintf("item %d", at)}
		}
	}
	return textedit.MustEncode(n)
}
