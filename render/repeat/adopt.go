package repeat

import (
	"cmp"
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

const (
	// maxTried limits the values that are tried, each with a rendering.
	maxTried = 500
	// probeText is the value used for trying. It is also a valid name of a Secret.
	probeText = "ladder-adopts-7f3a9c51d20b"
)

// Field is a key of a Secret.
type Field struct {
	Secret object.ID
	Key    string
}

// Component is a component whose Secrets contain generated fields.
type Component struct {
	fsys fs.FS
	dir  string
	opt  render.Options
	keys [2]random.Key
	// Generated lists these fields in order.
	Generated []Field
	// NotTried is the number of values that were not tried because of maxTried.
	NotTried int
	setters  map[Field]setter
	// replacements maps a Secret to the value that names a replacement for it.
	replacements map[object.ID]string
}

// setter is the value that sets a field.
type setter struct {
	path []string
	// encoded means that the value must be base64-encoded.
	encoded bool
}

// content is the content of a field, decoded and in base64.
type content struct{ plain, encoded string }

// Adopt renders a component with two seeds to find the fields that differ, and the
// values that set them. The error is that of rendering the component as it is, or
// of the context.
func Adopt(ctx context.Context, fsys fs.FS, dir string, opt render.Options, seeds [2]random.Key) (*Component, error) {
	opt.Memory, opt.AllCRDs, opt.AllowEmpty = input.NewMemory(sharedBytes), false, true
	opt.Random.OnlyCompared = true
	c := &Component{fsys: fsys, dir: dir, opt: opt, keys: seeds, setters: map[Field]setter{}, replacements: map[object.ID]string{}}
	var texts []helm.TemplateText
	c.opt.Probe = func(all []helm.TemplateText) template.FuncMap {
		texts = append(texts, all...)
		return nil
	}
	first, err := c.render(ctx, 0, nil)
	if err != nil {
		return nil, err
	}
	c.opt.Probe = nil
	second, err := c.render(ctx, 1, nil)
	if err != nil {
		return nil, err
	}
	before, after := c.fields(first), c.fields(second)
	for f := range before {
		if other, there := after[f]; there && other != before[f] {
			c.Generated = append(c.Generated, f)
		}
	}
	slices.SortFunc(c.Generated, func(a, b Field) int {
		return cmp.Or(cmp.Compare(a.Secret.Qualified(), b.Secret.Qualified()), cmp.Compare(a.Key, b.Key))
	})
	if len(c.Generated) == 0 {
		return c, nil
	}
	all := emptyValues(texts)
	c.NotTried = max(len(all)-maxTried, 0)
	for _, path := range all[:len(all)-c.NotTried] {
		if err := c.try(ctx, path, first); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Secrets returns the Secrets with generated fields, in order.
func (c *Component) Secrets() []object.ID {
	var all []object.ID
	for _, f := range c.Generated {
		if !slices.Contains(all, f.Secret) {
			all = append(all, f.Secret)
		}
	}
	return all
}

// render renders the component with one of the seeds and additional values.
func (c *Component) render(ctx context.Context, nth int, values map[string]any) ([]object.Object, error) {
	opt := c.opt
	opt.Random.Key = &c.keys[nth]
	if len(values) > 0 {
		text, err := yaml.Marshal(values)
		if err != nil {
			return nil, err
		}
		opt.Values = append(slices.Clone(opt.Values), input.Values{Inline: []string{string(text)}})
	}
	res, err := render.Dir(ctx, c.fsys, c.dir, opt)
	return res.Objects, err
}

// try sets one value and records the fields it affects. A value that the chart
// refuses is skipped.
func (c *Component) try(ctx context.Context, path []string, first []object.Object) error {
	objects, err := c.render(ctx, 0, put(map[string]any{}, path, probeText))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil
	}
	fields := c.fields(objects)
	for _, f := range c.Generated {
		if _, known := c.setters[f]; known {
			continue
		}
		switch now := fields[f]; probeText {
		case now.plain:
			c.setters[f] = setter{path, false}
		case now.encoded:
			c.setters[f] = setter{path, true}
		}
	}
	c.recordReplacement(path, first, objects)
	return nil
}

// recordReplacement records a value that names a replacement Secret: one of the
// component's Secrets disappeared, none was added, and an object contains the name.
func (c *Component) recordReplacement(path []string, before, after []object.Object) {
	oldIDs, newIDs := c.ids(before), c.ids(after)
	for id := range newIDs {
		if !oldIDs[id] {
			return
		}
	}
	if !slices.ContainsFunc(after, func(o object.Object) bool { return strings.Contains(o.Text(), probeText) }) {
		return
	}
	for _, id := range c.Secrets() {
		if !newIDs[id] && c.replacements[id] == "" {
			c.replacements[id] = strings.Join(path, ".")
		}
	}
}

func (c *Component) ids(all []object.Object) map[object.ID]bool {
	ids := map[object.ID]bool{}
	for _, o := range all {
		ids[c.id(o)] = true
	}
	return ids
}

// id returns the identity of an object in the cluster.
func (c *Component) id(o object.Object) object.ID {
	id := o.ID
	if id.Namespace == "" {
		id.Namespace = c.opt.Namespace
	}
	return id
}

// fields returns the fields of all Secrets.
func (c *Component) fields(objects []object.Object) map[Field]content {
	all := map[Field]content{}
	for _, o := range objects {
		if o.ID.Group != "" || o.ID.Kind != "Secret" {
			continue
		}
		for _, f := range o.Get("data").Fields() {
			all[Field{c.id(o), f.Key}] = content{decoded(f.Value.Text()), f.Value.Text()}
		}
		for _, f := range o.Get("stringData").Fields() {
			all[Field{c.id(o), f.Key}] = content{plain: f.Value.Text()}
		}
	}
	return all
}

// Live maps the Secrets of a cluster to their content.
type Live map[object.ID]map[string][]byte

// Adoption is the result of Adopt: what keeps the content of a cluster.
type Adoption struct {
	// Values are the values to set.
	Values map[string]any
	// Kept lists the fields that then match the cluster, in order.
	Kept []Field
	// Rest lists the Secrets with other fields.
	Rest []Rest
	// Absent lists the Secrets that the cluster does not contain.
	Absent []object.ID
}

// Rest is a Secret with fields that no chart value sets.
type Rest struct {
	Secret object.ID
	Keys   []string
	// Replacement is the value that names a replacement for the Secret; empty if there
	// is none.
	Replacement string
}

// Adopt finds the values that keep the content of a cluster.
func (c *Component) Adopt(ctx context.Context, live Live) (Adoption, error) {
	var values []value
	wanted := map[Field]string{}
	for _, f := range c.Generated {
		text, there := live[f.Secret][f.Key]
		if !there {
			continue
		}
		wanted[f] = string(text)
		t, found := c.setters[f]
		if t.encoded {
			text = []byte(encoded(text))
		}
		if found && utf8.Valid(text) {
			values = append(values, value{t.path, string(text)})
		}
	}
	tree, err := c.accepted(ctx, values)
	if err != nil {
		return Adoption{}, err
	}
	kept, err := c.matching(ctx, tree, wanted)
	if err != nil {
		return Adoption{}, err
	}
	out := Adoption{Values: map[string]any{}}
	for _, f := range c.Generated {
		if !kept[f] {
			continue
		}
		out.Kept = append(out.Kept, f)
		if t, found := c.setters[f]; found {
			put(out.Values, t.path, get(tree, t.path))
		}
	}
	for _, id := range c.Secrets() {
		if live[id] == nil {
			out.Absent = append(out.Absent, id)
			continue
		}
		r := Rest{Secret: id, Replacement: c.replacements[id]}
		for _, f := range c.Generated {
			if _, there := wanted[f]; there && f.Secret == id && !kept[f] {
				r.Keys = append(r.Keys, f.Key)
			}
		}
		if len(r.Keys) > 0 {
			out.Rest = append(out.Rest, r)
		}
	}
	return out, nil
}

// value is a chart value to set.
type value struct {
	path []string
	text string
}

// accepted returns the values that the component accepts: all, or those that it
// does not refuse one by one. If two have the same path, the first is used. Error
// messages of the chart are dropped, since they may contain the values.
func (c *Component) accepted(ctx context.Context, values []value) (map[string]any, error) {
	tree := map[string]any{}
	if len(values) == 0 {
		return tree, nil
	}
	for _, v := range values {
		if get(tree, v.path) == nil {
			put(tree, v.path, v.text)
		}
	}
	if _, err := c.render(ctx, 0, tree); err == nil || ctx.Err() != nil {
		return tree, ctx.Err()
	}
	tree = map[string]any{}
	for _, v := range values {
		if get(tree, v.path) != nil {
			continue
		}
		put(tree, v.path, v.text)
		if _, err := c.render(ctx, 0, tree); err != nil {
			remove(tree, v.path)
		}
	}
	return tree, ctx.Err()
}

// matching returns the fields that have the wanted content with both seeds.
func (c *Component) matching(ctx context.Context, values map[string]any, wanted map[Field]string) (map[Field]bool, error) {
	if len(values) == 0 {
		return nil, nil
	}
	kept := map[Field]bool{}
	for f := range maps.Keys(wanted) {
		kept[f] = true
	}
	for nth := range c.keys {
		objects, err := c.render(ctx, nth, values)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err != nil {
			return nil, nil // it matched with the other seed only by chance
		}
		fields := c.fields(objects)
		for f, value := range wanted {
			if now, there := fields[f]; !there || now.plain != value {
				kept[f] = false
			}
		}
	}
	return kept, nil
}
