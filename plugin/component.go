package plugin

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/component"
	"github.com/ladder-cmp/ladder/crds"
	"github.com/ladder-cmp/ladder/internal/finding"
	"github.com/ladder-cmp/ladder/internal/settings"
	"github.com/ladder-cmp/ladder/render/helm"
	"github.com/ladder-cmp/ladder/render/input"
)

// allKeys returns all keys of component.yaml, including parameters.
func allKeys() []string {
	names := component.Keys()
	for _, p := range parameters {
		names = append(names, p.Key())
	}
	return names
}

// Describe reads the component.yaml of the request's directory. The error joins all
// findings about the file. Without a file the result is empty.
func (req Request) Describe() (component.Description, error) {
	_, d, err := req.componentSettings()
	return d, err
}

// componentSettings returns the parameters in component.yaml, if it exists, and the
// description of the component.
func (req Request) componentSettings() (Settings, component.Description, error) {
	if req.Chart.Remote() {
		return Settings{Values: req.values()}, component.Description{Chart: req.Chart}, nil
	}
	return req.Files.component(req)
}

func (req Request) readComponent() (Settings, component.Description, error) {
	s := Settings{Values: req.values()}
	s.Values.NamedBy = map[string]input.NamedBy{}
	file := path.Join(req.Dir, component.File)
	if _, err := fs.Stat(req.Repo, file); err != nil {
		return s, component.Description{}, nil // the renderer reports the problem with the directory
	}
	own := settings.File{Name: req.show(file), Rule: finding.BadSettings, Description: "the component's settings"}
	bad := own.Fault
	data, err := fs.ReadFile(req.Repo, file)
	if err != nil {
		return s, component.Description{}, bad(0, "", input.Cause(err), input.UnreadableRemedy(err))
	}
	root, err := own.Parse(data)
	if root == nil {
		return s, component.Description{}, err
	}
	d, decodeFaults := component.Decode(own, root)
	var faults []error
	keys := component.Keys()
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		p, known := find(func(p Parameter) bool { return p.Key() == key.Value })
		switch {
		case known:
			values, ok := p.fromYAML(value)
			if !ok {
				faults = append(faults, p.mistypedFault(own, key.Value, value))
				continue
			}
			switch p.Name {
			case "values":
				maps.Copy(s.Values.NamedBy, namesOf(own.Name, key.Value, value))
			case "set", "set-string", "set-file":
				maps.Copy(s.Values.NamedBy, p.placesIn(own.Name, key.Value, value))
			}
			if p.Name == "crds" {
				p.Choices = append(slices.Clone(p.Choices), component.Split)
				if len(values) == 1 && values[0] == component.Split {
					values = []string{string(crds.Skip)} // the default
				}
			}
			for _, f := range finding.Of(p.Set(&s, values)) {
				f.Rule, f.File, f.Line, f.Field = finding.BadSettings, req.show(file), value.Line, key.Value
				faults = append(faults, f)
			}
		case !slices.Contains(keys, key.Value):
			f := finding.Finding{Severity: finding.Error, Rule: finding.BadSettings, File: req.show(file), Line: key.Line,
				Field: key.Value, Message: "unknown key",
				Remedy: "remove it, or use one of the keys in docs/components.md"}
			faults = append(faults, f.Asking(finding.Suggest(key.Value, allKeys())))
		}
	}
	if d.Render == component.Native {
		faults = append(faults, withoutPlugin(own, root, keys)...)
	}
	// Decode also reports values that a parameter has already reported; keep only the
	// finding of the parameter.
	decodeFaults = slices.DeleteFunc(decodeFaults, func(f error) bool {
		return slices.ContainsFunc(faults, func(other error) bool { return isSamePlace(f, other) })
	})
	faults = slices.Concat(own.DuplicateKeys(root, ""), faults, decodeFaults)
	slices.SortStableFunc(faults, func(a, b error) int { return lineOf(a) - lineOf(b) })
	if d.Chart.SkipCRDs && s.CRDs == "" {
		s.CRDs = crds.Skip
	}
	return s, d, errors.Join(faults...)
}

// withoutPlugin reports the parameters of a component that Argo CD renders itself: only the plugin
// reads them.
func withoutPlugin(own settings.File, root *yaml.Node, keys []string) (faults []error) {
	for i := 0; i+1 < len(root.Content); i += 2 {
		key := root.Content[i]
		if _, known := find(func(p Parameter) bool { return p.Key() == key.Value }); known && !slices.Contains(keys, key.Value) {
			faults = append(faults, own.Fault(key.Line, key.Value,
				"has no effect with render: "+component.Native+", because Argo CD renders the component",
				"remove it; values files of a chart go to chart.valueFiles"))
		}
	}
	return faults
}

// lineOf returns the line of the first finding of an error.
func lineOf(err error) int { return finding.Of(err)[0].Line }

// namesOf returns the places where a list names values files.
func namesOf(file, key string, list *yaml.Node) map[string]input.NamedBy {
	for list.Kind == yaml.AliasNode {
		list = list.Alias
	}
	places := map[string]input.NamedBy{}
	for i, item := range list.Content {
		places[item.Value] = input.NamedBy{File: file, Line: item.Line, Field: fmt.Sprintf("%s[%d]", key, i), Ignore: "ignoreMissingValueFiles"}
	}
	return places
}

// placesIn returns the places where a mapping sets values, or names files whose content is a value.
func (p Parameter) placesIn(file, key string, mapping *yaml.Node) map[string]input.NamedBy {
	for mapping.Kind == yaml.AliasNode {
		mapping = mapping.Alias
	}
	places := map[string]input.NamedBy{}
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		name, value := mapping.Content[i], mapping.Content[i+1]
		place := input.NamedBy{File: file, Line: name.Line, Field: key + "." + name.Value}
		for _, expr := range p.expressions(map[string]string{name.Value: value.Value}) {
			places[expr] = place
		}
		if p.Name == "set-file" {
			places[value.Value] = place
		}
	}
	return places
}

// checkName reports an invalid Helm release name if component.yaml sets it and
// nothing overrides it.
func (req Request) checkName(name string, d component.Description) error {
	if release := d.Chart.ReleaseName; release != "" {
		f, invalid := helm.InvalidRelease(release)
		if !invalid {
			return nil
		}
		f.File, f.Line, f.Remedy = req.show(path.Join(req.Dir, component.File)), d.Line("chart.releaseName"), helm.ValidReleaseNames
		return f
	}
	isSet := func(s Settings) bool { return s.Name != "" }
	if name == "" || req.App.Name != "" || slices.ContainsFunc(req.Settings, isSet) || strings.Contains(name, "$") {
		return nil
	}
	if _, err := fs.Stat(req.Repo, path.Join(req.Dir, "Chart.yaml")); err != nil && d.Chart.Chart == "" {
		return nil
	}
	f, invalid := helm.InvalidRelease(name)
	if !invalid {
		return nil
	}
	f.File, f.Line, f.Remedy = req.show(path.Join(req.Dir, component.File)), d.Line("name"),
		helm.ValidReleaseNames+"; or set another name with --name"
	return f
}

func isSamePlace(a, b error) bool {
	x, y := finding.Of(a)[0], finding.Of(b)[0]
	return x.Line == y.Line && x.Field == y.Field
}

// locate returns the request and its options with the location of the manifests.
// component.yaml may name another directory or an external chart. Values files that
// component.yaml names for the chart have the lowest precedence.
func (req Request) locate(ctx context.Context, d component.Description, opt options) (Request, options, error) {
	c := d.Chart
	home := req.Dir
	own := settings.File{Name: req.show(path.Join(home, component.File)), Rule: finding.BadSettings}
	fault := func(field, message, remedy string) (Request, options, error) {
		return req, opt, own.Fault(d.Line("chart"), field, message, remedy)
	}
	switch {
	case c.Remote():
		from, err := req.fetchChart(ctx, c, opt)
		if err != nil {
			return req, opt, atPlace(err, own.Name, d.Line("chart"), "chart")
		}
		from.reference = finding.Finding{File: own.Name, Line: d.Line("chart"), Field: "chart"}
		req.external, opt.crds.dir = from, from.show(from.dir)
	case c.Path != "":
		at := path.Clean(strings.TrimLeft(c.Path, "/"))
		if strings.HasPrefix(c.Path, "./") || strings.HasPrefix(c.Path, "../") {
			at = path.Join(req.Dir, c.Path)
		}
		if !fs.ValidPath(at) {
			return fault("chart.path", "the path leaves the repository", "name a directory inside the repository")
		}
		switch info, err := fs.Stat(req.Repo, at); {
		case err == nil && info.IsDir():
		case req.NoRepository:
			return fault("chart.path",
				fmt.Sprintf("directory %s not found; without a git repository (.git) the path starts at the root of the file system", "/"+at),
				"run git init where the repository begins, or correct the path")
		default:
			return fault("chart.path", fmt.Sprintf("directory %s not found in the repository", req.show(at)),
				"correct the path; it starts at the root of the repository")
		}
		if at != req.Dir {
			opt.crds.dir = req.show(at)
		}
		req.Dir = at
	}
	if len(c.ValueFiles) > 0 {
		values := req.chartValues(ctx, d, opt, home)
		opt.render.Values = append([]input.Values{values}, opt.render.Values...)
	}
	return req, opt, nil
}

// fromYAML flattens a value of component.yaml, and reports whether it has the
// parameter's type.
func (p Parameter) fromYAML(n *yaml.Node) ([]string, bool) {
	for n.Kind == yaml.AliasNode {
		n = n.Alias
	}
	if n.Tag == "!!null" {
		return nil, true
	}
	if p.YAML {
		return p.textsOf(n)
	}
	switch p.Collection {
	case "array":
		return scalars(n.Content), n.Kind == yaml.SequenceNode && allScalars(n.Content)
	case "map":
		if n.Kind != yaml.MappingNode || !allScalars(n.Content) {
			return nil, false
		}
		m := map[string]string{}
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = n.Content[i+1].Value
		}
		return p.expressions(m), true
	}
	// As a parameter of an Application, a boolean is a string.
	return []string{n.Value}, n.Kind == yaml.ScalarNode &&
		(p.Item != "boolean" || n.Tag == "!!bool" || n.Value == "true" || n.Value == "false")
}

// textsOf returns values that are YAML texts, either as strings or as the YAML
// itself.
func (p Parameter) textsOf(n *yaml.Node) ([]string, bool) {
	items := []*yaml.Node{n}
	if p.Collection == "array" {
		if n.Kind != yaml.SequenceNode {
			return nil, false
		}
		items = n.Content
	}
	var all []string
	for _, item := range items {
		if item.Kind == yaml.ScalarNode {
			all = append(all, item.Value)
			continue
		}
		text, err := yaml.Marshal(item)
		if err != nil || item.Kind == yaml.SequenceNode {
			return nil, false
		}
		all = append(all, string(text))
	}
	return all, true
}

func allScalars(nodes []*yaml.Node) bool { return !slices.ContainsFunc(nodes, isNotScalar) }

func isNotScalar(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode }

func scalars(nodes []*yaml.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Value)
	}
	return all
}

// mistypedFault reports a value of component.yaml that does not have the parameter's type, or the
// entry of a mapping that is the reason.
func (p Parameter) mistypedFault(f settings.File, key string, n *yaml.Node) error {
	i := slices.IndexFunc(n.Content, isNotScalar)
	if p.Collection != "map" || n.Kind != yaml.MappingNode || i%2 != 1 {
		return f.Fault(n.Line, key, p.mistyped(n), p.typeRemedy(n))
	}
	entry := n.Content[i]
	return f.Fault(entry.Line, key+"."+n.Content[i-1].Value, "must be a single value, not "+p.describeActual(entry), p.typeRemedy(n))
}

// mistyped says why a value of component.yaml does not have the parameter's type.
func (p Parameter) mistyped(n *yaml.Node) string {
	must := "must be " + p.expectedType()
	switch {
	case n.Kind != yaml.SequenceNode || p.Collection != "array":
		return must + ", not " + p.describeActual(n)
	case p.YAML:
		return must + ", but some elements are lists"
	}
	return must + ", but some elements are lists or mappings"
}

// typeRemedy says how to write the value.
func (p Parameter) typeRemedy(n *yaml.Node) string {
	switch {
	case p.Item == "boolean":
		return "write true or false"
	case n.Kind != yaml.SequenceNode || p.Collection != "array":
		return "write " + p.Key() + ": " + p.sample()
	case p.YAML:
		return "make each element a mapping"
	}
	return "make each element a string"
}

// expectedType describes the type of the parameter's value in component.yaml.
func (p Parameter) expectedType() string {
	switch {
	case p.YAML && p.Collection == "array":
		return "a list of mappings"
	case p.YAML:
		return "a mapping"
	case p.Collection == "array":
		return "a list of strings"
	case p.Collection == "map":
		if p.Verbatim {
			return "a mapping of names to single values"
		}
		return "a mapping of paths to single values"
	case p.Item == "boolean":
		return "true or false"
	}
	return "a string"
}

// sample returns an example value of the right type.
func (p Parameter) sample() string {
	switch {
	case p.Collection == "array":
		return "[...]"
	case p.YAML:
		return "{key: value}"
	case p.Verbatim:
		return "{name: value}"
	case p.Collection == "map":
		return "{path.to.value: value}"
	}
	return "..."
}

// describeActual describes the value found instead. A string in place of a list or mapping is
// not quoted, since it is probably a value, and may be a password.
func (p Parameter) describeActual(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		return "a mapping"
	case yaml.AliasNode:
		return "an alias"
	}
	if p.Item != "boolean" {
		return "a single value"
	}
	return fmt.Sprintf("%q", n.Value)
}
