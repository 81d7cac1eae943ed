package plugin

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"

	yaml "go.yaml.in/yaml/v3"

	"github.com/ladder-cmp/ladder/finding"
	"github.com/ladder-cmp/ladder/settings"
)

// componentFile may lie in a component's directory and say how it is rendered.
const componentFile = "component.yaml"

// descriptive are keys of component.yaml that describe the component to the
// people and tools that roll out a fleet. They say nothing about rendering, and
// are accepted here so that one file can serve both.
var descriptive = []string{"project", "domain", "tier", "componentType", "dependencyPhase", "rolloutPhase", "wave", "enabled",
	"environments", "chart", "syncOptions", "labels", "description", "owner"}

// DescriptiveKeys lists those keys of component.yaml that no parameter has, for
// the documents.
func DescriptiveKeys() []string { return slices.Clone(descriptive) }

// componentSettings reads the component's own settings, if it has any.
func (req Request) componentSettings() (Settings, error) {
	s := Settings{Values: req.values()}
	file := path.Join(req.Dir, componentFile)
	if _, err := fs.Stat(req.Repo, file); err != nil {
		return s, nil // the renderer says what is wrong with the directory
	}
	own := settings.File{Name: req.show(file), Rule: "bad-component", About: "the component's settings"}
	bad := own.Fault
	data, err := fs.ReadFile(req.Repo, file)
	if err != nil {
		return s, bad(0, "", reason(err), "check that it is a file, readable, and no symlink out of the repository")
	}
	root, err := own.Parse(data)
	if root == nil {
		return s, err
	}
	faults := own.Twice(root, "")
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		p, known := find(func(p Parameter) bool { return p.Key() == key.Value })
		switch {
		case known:
			values, ok := p.fromYAML(value)
			if !ok {
				faults = append(faults, bad(value.Line, key.Value, "got "+nodeKind(value)+", want "+p.wants(), "write "+p.Key()+": "+p.sample()))
				continue
			}
			if err := p.Set(&s, values); err != nil {
				f := finding.Of(err)[0]
				f.Rule, f.File, f.Line, f.Field = "bad-component", req.show(file), value.Line, key.Value
				faults = append(faults, f)
			}
		case !slices.Contains(descriptive, key.Value):
			f := unknown(key.Value, Parameter.Key)
			f.Rule, f.File, f.Line, f.Message = "bad-component", req.show(file), key.Line, "there is no such key"
			faults = append(faults, f)
		}
	}
	return s, errors.Join(faults...)
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
		return expressions(m), true
	}
	return []string{n.Value}, n.Kind == yaml.ScalarNode && (p.Item != "boolean" || n.Tag == "!!bool")
}

func allScalars(nodes []*yaml.Node) bool {
	return !slices.ContainsFunc(nodes, func(n *yaml.Node) bool { return n.Kind != yaml.ScalarNode })
}

func scalars(nodes []*yaml.Node) []string {
	var all []string
	for _, n := range nodes {
		all = append(all, n.Value)
	}
	return all
}

func (p Parameter) wants() string {
	switch {
	case p.Collection == "array":
		return "a list of strings"
	case p.Collection == "map":
		return "a mapping of paths to single values"
	case p.Item == "boolean":
		return "true or false"
	}
	return "a string"
}

// sample is a value of the right type.
func (p Parameter) sample() string {
	switch {
	case p.Collection == "array":
		return "[...]"
	case p.Collection == "map":
		return "{path.to.value: value}"
	case p.Item == "boolean":
		return "true"
	}
	return "..."
}

func nodeKind(n *yaml.Node) string {
	switch n.Kind {
	case yaml.SequenceNode:
		return "a list"
	case yaml.MappingNode:
		if !allScalars(n.Content) {
			return "a mapping of more than single values"
		}
		return "a mapping"
	}
	return fmt.Sprintf("%q", n.Value)
}
