// Package adopt finds the values of a chart that take the place of what its templates
// generate into Secrets, so that an Application which runs with passwords that nobody can
// derive keeps them.
//
// What is generated differs between two renderings with two seeds that are thrown away.
// Which value takes its place is found by trying: each value that the chart leaves empty
// is set to a text of our own, and where that comes out, it is the one. At last all values
// are set to what the cluster has, and only what comes out the same counts. Nothing is
// concluded from names.
package adopt

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

	"github.com/ladder-cmp/ladder/internal/seed"
	"github.com/ladder-cmp/ladder/object"
	"github.com/ladder-cmp/ladder/render"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
	"github.com/ladder-cmp/ladder/render/random"
)

const (
	// sharedBytes is how much decoded text the renderings share.
	sharedBytes = 32 << 20
	// rememberedKeys is how many private keys they share.
	rememberedKeys = 64
	// maxTried bounds the values that are tried, a rendering for each.
	maxTried = 500
	// probe is what they are set to. It is a name that a Secret can have, too.
	probe = "ladder-adopts-7f3a9c51d20b"
)

// Field is a key of a Secret.
type Field struct {
	Secret object.ID
	Key    string
}

// Component is one whose Secrets have fields that are generated.
type Component struct {
	fsys fs.FS
	dir  string
	opt  render.Options
	keys [2]seed.Key
	// Generated are these fields, in order.
	Generated []Field
	// Untried is how many values were not tried, because there are too many.
	Untried int
	takes   map[Field]taken
	// instead is, for a Secret, the value that names another one to be used instead.
	instead map[object.ID]string
}

// taken is the value that a field is taken from.
type taken struct {
	path []string
	// encoded means that the value is in base64, as it comes out.
	encoded bool
}

// content is what a field of a manifest holds: plain, and as it stands there in base64.
type content struct{ plain, encoded string }

// Find renders a component with two seeds and looks for the fields that differ, and for
// the values that they are taken from. The error is that of the component as it is, or of
// the context.
func Find(ctx context.Context, fsys fs.FS, dir string, opt render.Options, seeds [2]seed.Key) (*Component, error) {
	opt.Memory, opt.Ship, opt.Empty = input.NewMemory(sharedBytes), false, true
	opt.Random.Keys = random.NewKeys(rememberedKeys)
	c := &Component{fsys: fsys, dir: dir, opt: opt, keys: seeds, takes: map[Field]taken{}, instead: map[object.ID]string{}}
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
	c.Untried = max(len(all)-maxTried, 0)
	for _, path := range all[:len(all)-c.Untried] {
		if err := c.try(ctx, path, first); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// Secrets are those that hold the fields, in order.
func (c *Component) Secrets() []object.ID {
	var all []object.ID
	for _, f := range c.Generated {
		if !slices.Contains(all, f.Secret) {
			all = append(all, f.Secret)
		}
	}
	return all
}

// render renders the component with one of the seeds, and values besides its own.
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

// try sets one value and notes what takes it. A value that the chart refuses is none.
func (c *Component) try(ctx context.Context, path []string, first []object.Object) error {
	objects, err := c.render(ctx, 0, put(map[string]any{}, path, probe))
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return nil
	}
	fields := c.fields(objects)
	for _, f := range c.Generated {
		if _, known := c.takes[f]; known {
			continue
		}
		switch now := fields[f]; probe {
		case now.plain:
			c.takes[f] = taken{path, false}
		case now.encoded:
			c.takes[f] = taken{path, true}
		}
	}
	c.noteInstead(path, first, objects)
	return nil
}

// noteInstead notes a value that names a Secret: one of the component's is gone, nothing
// came, and something has the name.
func (c *Component) noteInstead(path []string, before, after []object.Object) {
	had, has := c.ids(before), c.ids(after)
	for id := range has {
		if !had[id] {
			return
		}
	}
	if !slices.ContainsFunc(after, func(o object.Object) bool { return strings.Contains(o.Text(), probe) }) {
		return
	}
	for _, id := range c.Secrets() {
		if !has[id] && c.instead[id] == "" {
			c.instead[id] = strings.Join(path, ".")
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

// id is that of an object in the cluster.
func (c *Component) id(o object.Object) object.ID {
	id := o.ID
	if id.Namespace == "" {
		id.Namespace = c.opt.Namespace
	}
	return id
}

// fields are those of all Secrets.
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

// Live are the Secrets of a cluster, with their content.
type Live map[object.ID]map[string][]byte

// Adoption is what keeps what a cluster has.
type Adoption struct {
	// Values are to be set.
	Values map[string]any
	// Kept are the fields that come out as they are in the cluster then, in order.
	Kept []Field
	// Rest are the Secrets with others.
	Rest []Rest
	// Absent are the Secrets that the cluster does not have.
	Absent []object.ID
}

// Rest is a Secret with fields that no value of the chart sets.
type Rest struct {
	Secret object.ID
	Keys   []string
	// Instead is the value that names a Secret to be used instead; empty if none does.
	Instead string
}

// Adopt finds the values that keep what a cluster has.
func (c *Component) Adopt(ctx context.Context, live Live) (Adoption, error) {
	var values []value
	wanted := map[Field]string{}
	for _, f := range c.Generated {
		text, there := live[f.Secret][f.Key]
		if !there {
			continue
		}
		wanted[f] = string(text)
		t, found := c.takes[f]
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
	kept, err := c.kept(ctx, tree, wanted)
	if err != nil {
		return Adoption{}, err
	}
	out := Adoption{Values: map[string]any{}}
	for _, f := range c.Generated {
		if !kept[f] {
			continue
		}
		out.Kept = append(out.Kept, f)
		if t, found := c.takes[f]; found {
			put(out.Values, t.path, get(tree, t.path))
		}
	}
	for _, id := range c.Secrets() {
		if live[id] == nil {
			out.Absent = append(out.Absent, id)
			continue
		}
		r := Rest{Secret: id, Instead: c.instead[id]}
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

// value is one to be set.
type value struct {
	path []string
	text string
}

// accepted are the values that the component renders with: all, or those that it does not
// refuse. Of two with one path the first holds. What the chart says of them is not passed
// on, because it may show them.
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

// kept are the fields that come out as wanted, with both seeds.
func (c *Component) kept(ctx context.Context, values map[string]any, wanted map[Field]string) (map[Field]bool, error) {
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
			return nil, nil // it did with the other seed, so that it is by chance
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
